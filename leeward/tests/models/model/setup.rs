//! Configurations: which threads run what, and which parts of the algorithm are cut out or changed.
//! The algorithm itself (`reader`, `grace`, `followers`, `slots`) is written once and asks
//! `Setup::cut` where a change applies.

use super::lang::{Asm, Program};
use super::layout::{self, Fixed};
use super::machine::Machine;
use super::memory::Model;
use super::{followers, grace, reader, slots};

/// A change to the algorithm. All but the last few must be noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cut {
    // The pairing of readers and grace periods.
    NoHeavy,
    NoWait,
    GlobalBeforeHeavy,
    EnterRelaxed,
    LeaveRelaxed,
    ScanRelaxed,
    /// The reader's half of the pair between epoch and pointer: the fence of the `Mb` flavour, or
    /// (`Memb`) the compiler fence, as the compiler's swap of the two accesses.
    NoLightOnEnter,
    /// The reader's half of the pair between epoch and `waited`: a fence, or the compiler's swap.
    NoLightOnLeave,
    PublishRelaxed,
    WaitForZero,
    /// A phase of one bit instead of the counter.
    Parity,
    // Sharing.
    NoTicketFence,
    WantStarted,
    WantDonePlusOne,
    StartAfterHeavy,
    StartAfterAdvance,
    DoneLoadRelaxed,
    DoneStoreRelaxed,
    // The count of readers that need a heavy fence.
    /// The writer's fences before its loads of the count.
    NoQuietFence,
    /// The fence of a reader that registers, after it has counted itself.
    NoRegisterFence,
    SectionsRelaxed,
    SectionsReleaseRelaxed,
    /// A look at the slot before `waited` is set, instead of one at the count after a full fence,
    /// decides if the fence before the sleep is a heavy one.
    LookBeforeWaited,
    /// A look at the slot after `waited` is set, and before the full fence, decides it.
    LookAfterWaited,
    // Sleeping.
    NoSleepHeavy,
    HeavyBeforeWaited,
    RearmWithoutHeavy,
    NoRearm,
    ClearAfterUnlock,
    NeverClear,
    NoWake,
    /// After a wait that returned, the reader is taken to have left.
    TrustTheWake,
    // Quiescent states.
    QuiescentRelaxed,
    OfflineRelaxed,
    /// The full fence of a quiescent state.
    NoQuiescentFence,
    // Nesting and signal handlers.
    NestBeforeEpoch,
    EpochBeforeExtra,
    // Registration.
    HeadBeforeHeavy,
    PushRelaxed,
    UnregisterRelaxed,
    ClaimRelaxed,
    HeadRelaxed,
    DropSlotAtExit,
    // Polling.
    NoPollFence,
    CookieStarted,
    PollRelaxed,
    // Followers.
    NoSleeperFence,
    NoRecheck,
    RecheckDoneOnly,
    NoLeaderFence,
    NextClassNotWoken,
    LeaderBeforeDone,
    /// A leader that finds its ticket served unlocks and returns without loading the count of
    /// sleepers.
    SilentEarlyReturn,
    WakeAllOfNext,
    /// That leader wakes one caller of the next grace period and no other: enough.
    EarlyReturnWakesOne,
    /// The futex's fault: a wake comes before the store to its word.
    WakeBeforeStore,
    // Sound variants.
    /// The repair of `GlobalBeforeHeavy`, first half: the reader's load is an acquire.
    GlobalAcquire,
    /// The repair of `GlobalBeforeHeavy`, second half: the writer's store is a release.
    GlobalRelease,
    /// The repair of `GlobalBeforeHeavy`, another second half: a fence before the writer's store.
    GlobalFence,
    /// The repair of relaxed slot stores: a second heavy fence after the scan.
    SecondHeavy,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flavour {
    /// Light is a compiler fence, heavy reaches every thread.
    Memb,
    /// Light and heavy are full fences of the thread itself.
    Mb,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Publish {
    /// A release store, by the only updater of the pointer.
    Store,
    Swap,
    /// A release store under a mutex of the updaters.
    Locked,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sharing {
    /// The only caller: no tickets, no lock.
    Alone,
    /// Tickets and a blocking lock.
    Tickets,
    /// Tickets; a caller that does not get the lock sleeps as a follower.
    Followers,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Runs `sections` sections, each nested `nest` deep, by the pointer of that number. `signals`
    /// may arrive at any instruction; their handler is a section too.
    Reader {
        sections: u8,
        nest: u8,
        pointer: u8,
        signals: u8,
        handlers: u8,
    },
    /// A reader that unregisters at its end.
    Leaver,
    /// A reader that executes full fences, and unregisters at its end.
    FencedLeaver,
    /// A reader without them, which takes over that one's slot, the first.
    Heir,
    /// A thread that registers: it takes a slot over or pushes its own, and runs one section.
    Comer {
        claims: bool,
    },
    /// A thread that leaks its guard and exits while others use what it protects.
    Leaker,
    /// Runs a number of stretches between quiescent states.
    Quiescent {
        stretches: u8,
    },
    /// Quiescent states until the updater has finished.
    QuiescentLoop,
    Updater {
        updates: u8,
        publish: Publish,
        pointer: u8,
    },
    /// A caller that only synchronizes.
    Caller {
        times: u8,
    },
    /// Unpublishes, takes a cookie, polls once, and frees if it may.
    Poller,
    /// Polls twice: what was done stays done.
    Watcher,
}

#[derive(Clone)]
pub struct Setup {
    pub name: String,
    pub roles: Vec<Role>,
    pub cuts: Vec<Cut>,
    pub flavour: Flavour,
    pub sharing: Sharing,
    /// True if the writer sleeps where it is blocked; else it spins.
    pub sleep: bool,
    /// True if readers take a payload out of the object; the drop checks that it is still there.
    pub payload: bool,
    /// True if slots are found by walking the list.
    pub list: bool,
    /// True if readers of sections are counted; the leader needs no heavy fence where there are
    /// none.
    pub counted: bool,
    /// True if a writer that counts no reader at all returns without a grace period.
    pub returns_early: bool,
    pub spurious: bool,
    /// The thread during whose sleep alone readers leave their last section.
    pub gate: Option<u8>,
    pub window: u8,
    pub plain: bool,
}

impl Setup {
    pub fn new(roles: &[Role]) -> Self {
        Self {
            name: String::new(),
            roles: roles.to_vec(),
            cuts: Vec::new(),
            flavour: Flavour::Memb,
            sharing: Sharing::Alone,
            sleep: false,
            payload: false,
            list: false,
            counted: false,
            returns_early: false,
            spurious: false,
            gate: None,
            window: 5,
            plain: false,
        }
    }

    pub fn named(mut self, name: &str) -> Self {
        self.name = name.to_string();
        self
    }

    pub fn without(mut self, cuts: &[Cut]) -> Self {
        self.cuts.extend_from_slice(cuts);
        self
    }

    pub fn cut(&self, cut: Cut) -> bool {
        self.cuts.contains(&cut)
    }

    /// Returns the name with what was changed.
    pub fn title(&self) -> String {
        let cuts = self.cuts.iter().map(|cut| format!(" {cut:?}"));
        format!("{}{}", self.name, cuts.collect::<String>())
    }

    pub fn machine(&self, model: Model) -> Machine {
        let programs = (0..self.roles.len()).map(|t| self.program(t)).collect();
        let window = if model == Model::Sc { 1 } else { self.window };
        Machine {
            model,
            programs,
            memory: self.memory(),
            window,
            spurious: self.spurious,
            plain: self.plain,
            loose_wake: self.cut(Cut::WakeBeforeStore),
        }
    }

    fn program(&self, t: usize) -> Program {
        let role = self.roles[t];
        let name = format!("{role:?}").to_lowercase();
        let mut a = Asm::new(name.split(' ').next().unwrap_or_default());
        match role {
            Role::Reader { .. } => reader::reader(&mut a, self, role, self.slot(t)),
            Role::Quiescent { stretches } => {
                reader::quiescent(&mut a, self, self.slot(t), stretches);
            }
            Role::QuiescentLoop => reader::quiescent_loop(&mut a, self, self.slot(t)),
            Role::Leaver => slots::leaver(&mut a, self, self.slot(t)),
            Role::FencedLeaver => slots::fenced_leaver(&mut a, self, self.slot(t)),
            Role::Heir => slots::heir(&mut a, self),
            Role::Comer { claims } => slots::comer(&mut a, self, self.slot(t), claims),
            Role::Leaker => slots::leaker(&mut a, self, self.slot(t)),
            Role::Updater { .. } => grace::updater(&mut a, self, role, self.first_object(t)),
            Role::Caller { times } => (0..times).for_each(|_| synchronize(&mut a, self)),
            Role::Poller => grace::poller(&mut a, self, self.first_object(t)),
            Role::Watcher => grace::watcher(&mut a, self),
        }
        let mut program = a.finish();
        if self.slot(t) != 0 && !self.list && !self.counted {
            let slot = Fixed(self.slot(t));
            program.private = vec![layout::extra(slot).base];
            program.owned = vec![layout::epoch(slot).base];
        }
        program
    }

    /// Returns the slot of a thread that reads, from 1; 0: it does not read, or has no slot of its
    /// own.
    fn slot(&self, t: usize) -> u8 {
        let reads = |role: &&Role| {
            !matches!(role, Role::Updater { .. } | Role::Caller { .. } | Role::Poller | Role::Watcher | Role::Heir)
        };
        if reads(&&self.roles[t]) {
            u8::try_from(self.roles[..=t].iter().filter(reads).count()).expect("few slots")
        } else {
            0
        }
    }

    /// Returns all slots.
    pub fn slots(&self) -> Vec<u8> {
        (0..self.roles.len()).map(|t| self.slot(t)).filter(|&s| s != 0).collect()
    }

    /// Returns the first object of an updater: objects 0 and 1 are what the two pointers hold at
    /// first, and updaters bring their own.
    fn first_object(&self, t: usize) -> u8 {
        let brings = |role: &Role| match *role {
            Role::Updater { updates, .. } => updates,
            Role::Poller => 1,
            _ => 0,
        };
        2 + self.roles[..t].iter().map(brings).sum::<u8>()
    }

    fn memory(&self) -> Vec<(u8, u8)> {
        let mut memory = vec![(layout::GLOBAL.base, 1), (layout::pointer(1).base, 1)];
        for object in 0..2 {
            memory.push((layout::object(Fixed(object)).base, layout::LIVE));
            memory.push((layout::payload(Fixed(object)).base, 1));
        }
        if self.list {
            // The first reader is registered, those that come later are not.
            memory.push((layout::HEAD.base, 1));
            memory.push((layout::in_use(Fixed(1)).base, 1));
        }
        if self.roles.contains(&Role::FencedLeaver) {
            memory.push((layout::FENCED.base, 1));
            memory.push((layout::in_use(Fixed(1)).base, 1));
        }
        if self.counted {
            let registered = |role: &&Role| matches!(role, Role::Reader { .. } | Role::Leaver | Role::Leaker);
            let count = self.roles.iter().filter(registered).count();
            memory.push((layout::SECTIONS.base, u8::try_from(count).expect("few readers")));
        }
        memory
    }
}

/// Writes `synchronize()`, as the setup shares it.
pub fn synchronize(a: &mut Asm, setup: &Setup) {
    match setup.sharing {
        Sharing::Alone => grace::period(a, setup),
        Sharing::Tickets => grace::with_ticket(a, setup),
        Sharing::Followers => followers::synchronize(a, setup),
    }
}
