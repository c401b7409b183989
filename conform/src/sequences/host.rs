//! The model's host: memory that is a copy of the kernel's pages, at made-up addresses, and a thread that
//! never sleeps.

use core::cell::Cell;

use leeward_engine::{
    Access, Address, Clock, Deadline, Errno, Fault, Flag, Host, Inheritance, Owner, ParkEnd, Priority, RobustHost,
    SharedKey, Space, Thread,
};

use super::arena::Arena;
use super::script::{CALLER, DATA, Page, WORDS};

/// The distance of the made-up pages.
const PAGE: u64 = 1 << 20;
/// The address of the times and arrays.
pub(super) const AT_DATA: Address = 16 * PAGE;
/// The number of each thread that dies.
pub(super) const DYING: u32 = CALLER + 1;
/// What every clock of the model shows, in nanoseconds: later than the times that are past, and earlier
/// than the one that never comes.
const NOW: u64 = 1 << 40;

/// Returns the made-up address of a page.
pub(super) fn base(page: Page) -> Address {
    (page as u64 + 1) * PAGE
}

/// What the pages hold.
pub(super) struct Copy {
    own: [Cell<u32>; WORDS],
    shared: [Cell<u32>; WORDS],
    read_only: [Cell<u32>; WORDS],
    data: [u64; DATA],
}

impl Copy {
    pub(super) fn new(data: [u64; DATA]) -> Copy {
        let zeros = || [const { Cell::new(0) }; WORDS];
        Copy { own: zeros(), shared: zeros(), read_only: zeros(), data }
    }

    /// Returns the words of a page, if it may be accessed so.
    fn words(&self, page: Page, access: Access) -> Result<&[Cell<u32>; WORDS], Fault> {
        match (page, access) {
            (Page::Own, _) => Ok(&self.own),
            (Page::Shared | Page::Alias, _) => Ok(&self.shared),
            (Page::ReadOnly, Access::Read) => Ok(&self.read_only),
            _ => Err(Fault),
        }
    }

    fn word(&self, address: Address, access: Access) -> Result<&Cell<u32>, Fault> {
        let page = page(address).ok_or(Fault)?;
        self.words(page, access)?.get((address % PAGE / 4) as usize).ok_or(Fault)
    }

    /// Returns a byte of a page, or of the times and arrays.
    fn byte(&self, address: Address) -> Result<u8, Fault> {
        match address.checked_sub(AT_DATA) {
            Some(at) => Ok(self.data.get(at as usize / 8).ok_or(Fault)?.to_ne_bytes()[at as usize % 8]),
            None => Ok(self.word(address, Access::Read)?.get().to_ne_bytes()[address as usize % 4]),
        }
    }

    pub(super) fn set(&self, page: Page, word: usize, value: u32) {
        if let Ok(words) = self.words(page, Access::Write) {
            words[word].set(value);
        }
    }

    /// Returns what the words hold that calls may change.
    pub(super) fn contents(&self) -> [[u32; WORDS]; 2] {
        [core::array::from_fn(|at| self.own[at].get()), core::array::from_fn(|at| self.shared[at].get())]
    }
}

fn page(address: Address) -> Option<Page> {
    Page::ALL.into_iter().find(|&page| (base(page)..base(page) + PAGE).contains(&address))
}

/// The one thread of the model, which stands for those that die, too.
pub(super) struct Model<'a> {
    pub(super) space: Space<Model<'a>>,
    pub(super) copy: &'a Copy,
    /// The robust list of a thread that dies.
    pub(super) head: Cell<Address>,
}

impl<'a> Host for Model<'a> {
    type Task = ();
    type Memory = &'a Arena;
    type Preemption<'b>
        = ()
    where
        Self: 'b;

    fn space(&self) -> &Space<Model<'a>> {
        &self.space
    }
    fn threads(&self) -> u32 {
        8
    }
    fn in_range(&self, address: Address) -> bool {
        // The upper half is the kernel's.
        address >> 63 == 0
    }
    fn load(&self, address: Address) -> Result<u32, Fault> {
        self.copy.word(address, Access::Read).map(Cell::get)
    }
    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        let word = self.copy.word(address, Access::Write)?;
        let was = word.get();
        if was == old {
            word.set(new);
        }
        Ok(was)
    }
    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault> {
        for (byte, place) in to.iter_mut().zip(address..) {
            *byte = self.copy.byte(place)?;
        }
        Ok(())
    }
    fn fault_in(&self, address: Address, access: Access) -> Result<(), Errno> {
        self.copy.word(address, access).map(drop).map_err(|_| Errno::EFAULT)
    }
    fn resolve_shared(&self, address: Address, access: Access) -> Result<SharedKey, Errno> {
        self.fault_in(address, access)?;
        match page(address) {
            Some(Page::Shared | Page::Alias) => Ok(SharedKey::Object { object: 1, offset: address % PAGE }),
            Some(Page::Own) => Ok(SharedKey::Anonymous),
            _ => Err(Errno::EFAULT),
        }
    }
    fn task(&self, _: &Flag) {}
    /// Never sleeps: a time that is past is up, and a call that would sleep is interrupted, which is how
    /// the model learns that it would.
    fn park(&self, _: &Flag, until: Option<Deadline>) -> ParkEnd {
        match until {
            // A relative time of a moment counts as past.
            Some(deadline) if deadline.at <= NOW + 1_000_000_000 => ParkEnd::TimedOut,
            _ => ParkEnd::Interrupted,
        }
    }
    fn unpark(&self, (): ()) {}
    fn now(&self, _: Clock) -> u64 {
        NOW
    }
    fn preempt_off(&self) {}
    fn inheritance(&self) -> Option<&dyn Inheritance<Model<'a>>> {
        Some(self)
    }
}

impl<'a> Inheritance<Model<'a>> for Model<'a> {
    fn current(&self) -> Thread {
        Thread { id: CALLER.into(), number: CALLER }
    }
    fn find(&self, number: u32) -> Owner {
        if number == CALLER { Owner::Thread(CALLER.into()) } else { Owner::Nobody }
    }
    fn priority(&self, _: u64) -> Priority {
        Priority::NORMAL
    }
    fn lend(&self, _: u64, _: Option<Priority>) {}
}

impl RobustHost for Model<'_> {
    fn thread_id(&self) -> u32 {
        DYING
    }
    fn robust_head(&self, _: u32) -> Result<Address, Errno> {
        Ok(self.head.get())
    }
    fn set_robust_head(&self, head: Address) {
        self.head.set(head);
    }
    fn write(&self, _: Address, _: &[u8]) -> Result<(), Fault> {
        Err(Fault)
    }
}
