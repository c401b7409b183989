//! The asymmetric locks: pairs G, H, I and J, with a heavy fence that is one.
//!
//! A lock is *biased*: towards readers (`asym::RwLock`) or towards one owner (`asym::Mutex`). While
//! it is, a favoured thread locks it by a store into a slot of its own. Every other thread takes
//! the ordinary lock underneath, takes the bias away and waits for the slots. The programs below
//! are `asym/{slots,drain,rwlock,mutex}.rs` step by step; the ordinary lock is a blocking one that
//! one thread holds at a time.

use super::explore::Verdict::{self, Stuck, Violated};
use super::explore::explore;
use super::lang::{Acquire, Asm, Imm, Is, IsNot, Label, Op, Order, Plus, Program, Reg, Relaxed, Release};
use super::layout::{X, Y, asked, bias, held, object, ordinary};
use super::machine::Machine;
use super::memory::Model;
use super::print;
use super::verdicts::{ALL, FROM_PSO, FROM_TSO, NONE, ONLY_WEAK};

/// What a thread reports that sees two words differ which a holder changes together: it was not
/// alone.
const TORN: &str = "two threads were inside";

const FREE: u8 = 0;
const NOBODY: u8 = 0;
const T: Reg = 0;
const A: Reg = 1;
const B: Reg = 2;
/// 1 if a slot of those that are waited for was held.
const ANY: Reg = 3;

/// What is taken out of the algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Cut {
    /// G, I: the heavy fence between taking the bias away and the scan of the slots.
    NoHeavy,
    /// G, I: the light fence, as the compiler's swap of the announcement and the load.
    NoLightOnEnter,
    /// A full fence in the light fence's place: what a model without remote fences would see.
    /// Sound.
    FullLight,
    AnnounceRelaxed,
    /// The release with which a reader gives the bias back to all readers.
    OpenRelaxed,
    /// The acquire of a reader's load of whether the lock is open.
    LookRelaxed,
    LeaveRelaxed,
    ScanRelaxed,
    NoWait,
    /// H, J: the heavy fence between the request and the recheck.
    NoSleepHeavy,
    HeavyBeforeAsking,
    /// H, J: the light fence, as the compiler's swap of the leaving store and the load.
    NoLightOnLeave,
    NoWake,
    NoRecheck,
    /// Asking again: one request a slot, although waits return and other writers overwrite it.
    NoAskingAgain,
    /// Tokens of their own: a request is 1 for every lock, also that of another lock's writer.
    OneToken,
    /// Putting the bias back: a revoker that gives up leaves it taken away.
    NotRestored,
}

#[derive(Clone, Copy)]
enum Role {
    /// Reads lock 0 `reads` times by its slots; if refused, reads by the ordinary lock, and gives
    /// the bias back where `opens`.
    Reader { reads: u8, opens: bool },
    /// Reads lock 0, then lock 1, by the same slot.
    ReaderOfBoth,
    /// Writes that lock `writes` times.
    Writer { lock: u8, writes: u8 },
    /// The thread that lock 0 is biased to, as a mutex. It locks it `locks` times; where the bias
    /// was taken away by the ordinary lock, after which it is the owner again.
    Owner { locks: u8 },
    /// Locks the mutex as another thread.
    Revoker,
    /// Tries to lock the mutex as another thread, once and without waiting.
    Trier,
}

#[derive(Clone)]
struct Setup {
    name: &'static str,
    roles: Vec<Role>,
    cuts: Vec<Cut>,
    /// True if writers and revokers sleep where they are blocked; else they spin.
    sleep: bool,
    spurious: bool,
}

fn setup(name: &'static str, roles: &[Role]) -> Setup {
    Setup { name, roles: roles.to_vec(), cuts: Vec::new(), sleep: false, spurious: false }
}

impl Setup {
    fn sleeping(mut self) -> Setup {
        self.sleep = true;
        self
    }

    fn cut(&self, cut: Cut) -> bool {
        self.cuts.contains(&cut)
    }

    fn order(&self, cut: Cut, order: Order) -> Order {
        if self.cut(cut) { Relaxed } else { order }
    }

    /// Returns the token of a writer of the lock.
    fn token(&self, lock: u8) -> u8 {
        if self.cut(Cut::OneToken) { 1 } else { name(lock) }
    }

    fn machine(&self, model: Model) -> Machine {
        let programs = (0u8..).zip(&self.roles).map(|(t, &role)| self.program(t, role)).collect();
        Machine {
            model,
            programs,
            memory: vec![(bias(0).base, name(0)), (bias(1).base, name(1))],
            window: if model == Model::Sc { 1 } else { 5 },
            spurious: self.spurious,
            plain: false,
            loose_wake: false,
        }
    }

    fn program(&self, slot: u8, role: Role) -> Program {
        let title = match role {
            Role::Reader { .. } | Role::ReaderOfBoth => "reader",
            Role::Writer { .. } => "writer",
            Role::Owner { .. } => "owner",
            Role::Revoker => "revoker",
            Role::Trier => "trier",
        };
        let mut a = Asm::new(title);
        match role {
            Role::Reader { reads, opens } => (0..reads).for_each(|_| self.read(&mut a, slot, 0, opens)),
            Role::ReaderOfBoth => [0, 1].into_iter().for_each(|lock| self.read(&mut a, slot, lock, false)),
            Role::Writer { lock, writes } => (0..writes).for_each(|_| self.write(&mut a, lock, &self.readers())),
            Role::Owner { locks } => (0..locks).for_each(|_| self.own(&mut a, slot)),
            Role::Revoker => self.write(&mut a, 0, &self.owners()),
            Role::Trier => self.try_once(&mut a),
        }
        a.finish()
    }

    fn slots_of(&self, wanted: fn(&Role) -> bool) -> Vec<u8> {
        (0u8..).zip(&self.roles).filter(|(_, role)| wanted(role)).map(|(slot, _)| slot).collect()
    }

    fn readers(&self) -> Vec<u8> {
        self.slots_of(|role| matches!(role, Role::Reader { .. } | Role::ReaderOfBoth))
    }

    fn owners(&self) -> Vec<u8> {
        self.slots_of(|role| matches!(role, Role::Owner { .. }))
    }

    /// `slot = name; light(); if bias == name { inside }`, else leaves and jumps to `refused`.
    fn enter(&self, a: &mut Asm, slot: u8, lock: u8, look: Order, refused: Label) {
        let swapped = self.cut(Cut::NoLightOnEnter);
        if swapped {
            a.load(T, bias(lock), look);
        }
        a.store(held(slot), Imm(name(lock)), self.order(Cut::AnnounceRelaxed, Release));
        a.op(if self.cut(Cut::FullLight) { Op::Fence } else { Op::CompilerFence });
        if !swapped {
            a.load(T, bias(lock), look);
        }
        a.branch(T, IsNot, Imm(name(lock)), refused);
    }

    /// `slot = 0; light(); if asked != 0 { asked = 0; wake }`.
    fn leave(&self, a: &mut Asm, slot: u8) {
        let left = a.label();
        let swapped = self.cut(Cut::NoLightOnLeave);
        a.op(Op::CompilerFence);
        if swapped {
            a.load(T, asked(slot), Relaxed);
        }
        a.store(held(slot), Imm(FREE), self.order(Cut::LeaveRelaxed, Release));
        a.op(if self.cut(Cut::FullLight) { Op::Fence } else { Op::CompilerFence });
        if !swapped {
            a.load(T, asked(slot), Relaxed);
        }
        a.branch(T, Is, Imm(0), left);
        a.store(asked(slot), Imm(0), Relaxed);
        if !self.cut(Cut::NoWake) {
            a.op(Op::Wake { at: asked(slot), all: true });
        }
        a.place(left);
    }

    fn read(&self, a: &mut Asm, slot: u8, lock: u8, opens: bool) {
        let (refused, done) = (a.label(), a.label());
        self.enter(a, slot, lock, self.order(Cut::LookRelaxed, Acquire), refused);
        look(a, lock);
        self.leave(a, slot);
        a.jump(done);
        a.place(refused);
        self.leave(a, slot);
        a.op(Op::Lock { at: ordinary(lock) });
        if opens {
            a.store(bias(lock), Imm(name(lock)), self.order(Cut::OpenRelaxed, Release));
        }
        look(a, lock);
        a.store(ordinary(lock), Imm(0), Release);
        a.place(done);
    }

    /// Locks as a thread that the lock is not biased to, changes what it guards, unlocks.
    fn write(&self, a: &mut Asm, lock: u8, slots: &[u8]) {
        let unbiased = a.label();
        a.op(Op::Lock { at: ordinary(lock) });
        a.load(T, bias(lock), Relaxed);
        a.branch(T, Is, Imm(NOBODY), unbiased);
        self.revoke(a, lock);
        if !self.cut(Cut::NoWait) {
            if self.sleep { self.sleep_until_left(a, lock, slots) } else { self.spin_until_left(a, lock, slots) }
        }
        a.place(unbiased);
        change(a, lock);
        a.store(ordinary(lock), Imm(0), Release);
    }

    fn revoke(&self, a: &mut Asm, lock: u8) {
        a.store(bias(lock), Imm(NOBODY), Relaxed);
        if !self.cut(Cut::NoHeavy) {
            a.op(Op::Heavy);
        }
    }

    /// Jumps to `free` where the slot is not the lock's.
    fn branch_if_left(&self, a: &mut Asm, lock: u8, slot: u8, free: Label) {
        a.load(T, held(slot), self.order(Cut::ScanRelaxed, Acquire));
        a.branch(T, IsNot, Imm(name(lock)), free);
    }

    fn spin_until_left(&self, a: &mut Asm, lock: u8, slots: &[u8]) {
        for &slot in slots {
            let free = a.label();
            let again = a.mark();
            self.branch_if_left(a, lock, slot, free);
            a.jump(again);
            a.place(free);
        }
    }

    /// Writes down `drain::sleep`.
    fn sleep_until_left(&self, a: &mut Asm, lock: u8, slots: &[u8]) {
        let nothing = a.label();
        a.set(ANY, Imm(0));
        if self.cut(Cut::HeavyBeforeAsking) {
            a.op(Op::Heavy);
        }
        for &slot in slots {
            let free = a.label();
            self.branch_if_left(a, lock, slot, free);
            a.set(ANY, Imm(1));
            a.store(asked(slot), Imm(self.token(lock)), Relaxed);
            a.place(free);
        }
        a.branch(ANY, Is, Imm(0), nothing);
        self.sleep_heavy(a);
        a.place(nothing);
        for &slot in slots {
            self.sleep_on(a, lock, slot);
        }
    }

    fn sleep_on(&self, a: &mut Asm, lock: u8, slot: u8) {
        let (free, stands) = (a.label(), a.label());
        let again = a.mark();
        self.branch_if_left(a, lock, slot, free);
        if !self.cut(Cut::NoAskingAgain) {
            a.load(T, asked(slot), Relaxed);
            a.branch(T, Is, Imm(self.token(lock)), stands);
            a.store(asked(slot), Imm(self.token(lock)), Relaxed);
            self.sleep_heavy(a);
            a.place(stands);
        }
        if !self.cut(Cut::NoRecheck) {
            self.branch_if_left(a, lock, slot, free);
        }
        a.op(Op::Wait { at: asked(slot), val: Imm(self.token(lock)) });
        a.jump(again);
        a.place(free);
    }

    fn sleep_heavy(&self, a: &mut Asm) {
        if !self.cut(Cut::NoSleepHeavy) && !self.cut(Cut::HeavyBeforeAsking) {
            a.op(Op::Heavy);
        }
    }

    /// Locks as the owner: by its slot, or by the ordinary lock, after which it is the owner again.
    fn own(&self, a: &mut Asm, slot: u8) {
        let (refused, done) = (a.label(), a.label());
        self.enter(a, slot, 0, Relaxed, refused);
        change(a, 0);
        self.leave(a, slot);
        a.jump(done);
        a.place(refused);
        self.leave(a, slot);
        a.op(Op::Lock { at: ordinary(0) });
        change(a, 0);
        a.store(bias(0), Imm(name(0)), Release);
        a.store(ordinary(0), Imm(0), Release);
        a.place(done);
    }

    /// Takes the mutex if that is possible at once; gives the bias back where it is not.
    fn try_once(&self, a: &mut Asm) {
        let (unbiased, busy, done) = (a.label(), a.label(), a.label());
        let owner = self.owners()[0];
        a.op(Op::Cas { dst: T, at: ordinary(0), old: Imm(0), new: Imm(1), order: Acquire });
        a.branch(T, Is, Imm(0), done);
        a.load(T, bias(0), Relaxed);
        a.branch(T, Is, Imm(NOBODY), unbiased);
        self.revoke(a, 0);
        a.load(T, held(owner), self.order(Cut::ScanRelaxed, Acquire));
        a.branch(T, Is, Imm(name(0)), busy);
        a.place(unbiased);
        change(a, 0);
        a.store(ordinary(0), Imm(0), Release);
        a.jump(done);
        a.place(busy);
        if !self.cut(Cut::NotRestored) {
            a.store(bias(0), Imm(name(0)), Release);
        }
        a.store(ordinary(0), Imm(0), Release);
        a.place(done);
    }
}

const fn name(lock: u8) -> u8 {
    lock + 1
}

/// Returns the two words that a lock guards.
fn guarded(lock: u8) -> [super::lang::At; 2] {
    use super::layout::Fixed;
    if lock == 0 { [X, Y] } else { [object(Fixed(0)), object(Fixed(1))] }
}

/// Reads both words, which must be the same.
fn look(a: &mut Asm, lock: u8) {
    let [first, second] = guarded(lock);
    a.load(A, first, Relaxed);
    a.load(B, second, Relaxed);
    a.check(A, Is, super::lang::Src::Reg(B), TORN);
}

/// Reads both words and adds one to each.
fn change(a: &mut Asm, lock: u8) {
    let [first, second] = guarded(lock);
    look(a, lock);
    a.store(first, Plus(A, 1), Relaxed);
    a.store(second, Plus(B, 1), Relaxed);
}

/// Asserts the verdict of a setup under a model; another verdict prints its schedule.
fn judge(setup: &Setup, model: Model, expected: Verdict) {
    let title = setup.cuts.iter().fold(format!("asym: {}", setup.name), |title, cut| format!("{title} {cut:?}"));
    let machine = setup.machine(model);
    let report = explore(&machine, 60_000_000);
    print::line(&title, model, &report);
    let schedule = || print::schedule(&machine, &report.schedule);
    assert_eq!(report.verdict, expected, "{title} under {model:?}\n{}", schedule());
    if expected != Verdict::Holds && std::env::var_os("LEEWARD_MODEL_SCHEDULES").is_some() {
        println!("{title} under {model:?}\n{}", schedule());
    }
}

/// Asserts that the whole setup holds everywhere, and breaks without each of these under exactly
/// these models.
fn needs(setup: &Setup, cuts: &[(Cut, &[Model], Verdict)]) {
    ALL.iter().for_each(|&model| judge(setup, model, Verdict::Holds));
    for &(cut, models, how) in cuts {
        let mut without = setup.clone();
        without.cuts.push(cut);
        for &model in ALL {
            judge(&without, model, if models.contains(&model) { how } else { Verdict::Holds });
        }
    }
}

const BOTH: Verdict = Violated(TORN);

/// Pair G, with what its acquires and releases are for.
#[test]
fn readers_and_a_writer() {
    needs(
        &setup("2 reads, 2 writes", &[Role::Reader { reads: 2, opens: true }, Role::Writer { lock: 0, writes: 2 }]),
        &[
            (Cut::NoHeavy, FROM_TSO, BOTH),
            (Cut::NoLightOnEnter, ALL, BOTH),
            (Cut::NoWait, ALL, BOTH),
            (Cut::LeaveRelaxed, ONLY_WEAK, BOTH),
            (Cut::ScanRelaxed, NONE, BOTH),
            // The thread takes another lock at the same slot.
            (Cut::AnnounceRelaxed, NONE, BOTH),
            (Cut::FullLight, NONE, BOTH),
        ],
    );
}

/// A reader opens the lock for another one: its release and the other's acquire carry what the
/// writer wrote.
#[test]
fn opened_for_another_reader() {
    let roles = [
        Role::Reader { reads: 1, opens: true },
        Role::Reader { reads: 1, opens: false },
        Role::Writer { lock: 0, writes: 1 },
    ];
    needs(
        &setup("a reader opens it for another", &roles),
        &[
            (Cut::NoHeavy, FROM_TSO, BOTH),
            // In these models the writer's stores are visible to all threads when they are to one.
            // The language promises that with the release only, as POWER does; ThreadSanitizer
            // shows it.
            (Cut::OpenRelaxed, NONE, BOTH),
            (Cut::LookRelaxed, ONLY_WEAK, BOTH),
        ],
    );
}

/// Pair H: a writer that sleeps on a slot.
#[test]
fn a_writer_that_sleeps() {
    let mut setup = setup(
        "sleep, 2 reads, 2 writes",
        &[Role::Reader { reads: 2, opens: true }, Role::Writer { lock: 0, writes: 2 }],
    )
    .sleeping();
    needs(
        &setup,
        &[
            (Cut::NoHeavy, FROM_TSO, BOTH),
            (Cut::NoSleepHeavy, FROM_TSO, Stuck),
            (Cut::HeavyBeforeAsking, FROM_TSO, Stuck),
            (Cut::NoLightOnLeave, ALL, Stuck),
            (Cut::NoWake, ALL, Stuck),
            (Cut::NoRecheck, ALL, Stuck),
            (Cut::NoAskingAgain, NONE, Stuck),
        ],
    );
    setup.spurious = true;
    setup.name = "sleep, EINTR, 2 reads, 2 writes";
    needs(&setup, &[(Cut::NoSleepHeavy, NONE, Stuck)]);
}

/// Slots serve one lock after another: two writers of two locks may ask at one slot, each with a
/// token of its own.
#[test]
fn two_locks_at_one_slot() {
    let roles = [Role::ReaderOfBoth, Role::Writer { lock: 0, writes: 1 }, Role::Writer { lock: 1, writes: 1 }];
    needs(
        &setup("two locks, one slot", &roles).sleeping(),
        &[
            (Cut::NoSleepHeavy, FROM_TSO, Stuck),
            (Cut::NoWake, ALL, Stuck),
            (Cut::OneToken, ALL, Stuck),
            (Cut::NoAskingAgain, NONE, Stuck),
        ],
    );
}

/// A scan for one lock that reads the announcement of the next lock must see that the section
/// before it ended.
#[test]
fn another_lock_after_this_one() {
    let roles = [Role::ReaderOfBoth, Role::Writer { lock: 0, writes: 1 }];
    needs(
        &setup("two locks in turn", &roles),
        &[(Cut::AnnounceRelaxed, ONLY_WEAK, BOTH), (Cut::LeaveRelaxed, ONLY_WEAK, BOTH)],
    );
}

/// Pair I: the owner, which is the owner again after it has had the ordinary lock, and a revoker.
#[test]
fn an_owner_and_a_revoker() {
    needs(
        &setup("an owner, twice, and a revoker", &[Role::Owner { locks: 2 }, Role::Revoker]),
        &[
            (Cut::NoHeavy, FROM_TSO, BOTH),
            (Cut::NoLightOnEnter, ALL, BOTH),
            (Cut::NoWait, ALL, BOTH),
            (Cut::LeaveRelaxed, FROM_PSO, BOTH),
            (Cut::ScanRelaxed, ONLY_WEAK, BOTH),
            (Cut::FullLight, NONE, BOTH),
        ],
    );
}

/// Pair J: the owner, and a revoker that sleeps.
#[test]
fn a_revoker_that_sleeps() {
    needs(
        &setup("sleep, an owner, twice, and a revoker", &[Role::Owner { locks: 2 }, Role::Revoker]).sleeping(),
        &[
            (Cut::NoHeavy, FROM_TSO, BOTH),
            (Cut::NoSleepHeavy, FROM_TSO, Stuck),
            (Cut::HeavyBeforeAsking, FROM_TSO, Stuck),
            (Cut::NoLightOnLeave, ALL, Stuck),
            (Cut::NoWake, ALL, Stuck),
            (Cut::NoRecheck, ALL, Stuck),
        ],
    );
}

/// A thread that only tries, and gives the bias back where the owner is inside.
#[test]
fn an_owner_and_a_thread_that_gives_up() {
    needs(
        &setup("an owner, twice, and one that tries", &[Role::Owner { locks: 2 }, Role::Trier]),
        &[
            (Cut::NoHeavy, FROM_TSO, BOTH),
            // No thread is the owner then, and all take the ordinary lock: slower, and safe.
            (Cut::NotRestored, NONE, BOTH),
        ],
    );
    needs(
        &setup("an owner, one that tries, a revoker", &[Role::Owner { locks: 1 }, Role::Trier, Role::Revoker]),
        &[(Cut::NoHeavy, FROM_TSO, BOTH)],
    );
}
