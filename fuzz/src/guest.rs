//! A host of one thread that never sleeps: a few pages, of which some are missing, read-only, not there yet, or mapped twice.

use std::cell::Cell;

use leeward_engine::{Access, Address, Clock, Deadline, Errno, Fault, Flag, Heap, Host, ParkEnd, SharedKey, Space};

pub const PAGE: u64 = 4096;
/// Words of a page that are there; the page's others are these again.
pub const WORDS: usize = 64;

/// A page, by its number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Page {
    Anonymous,
    ReadOnly,
    /// Anonymous; comes when it is asked for.
    Late,
    /// A shared object's page,
    Object,
    /// and the same once more.
    Alias,
    Missing,
}

const PAGES: [Page; 6] = [Page::Anonymous, Page::ReadOnly, Page::Late, Page::Object, Page::Alias, Page::Missing];

pub struct Guest {
    space: Space<Guest>,
    words: Vec<[Cell<u32>; WORDS]>,
    late: Cell<bool>,
    /// How the next sleeps end.
    pub end: Cell<ParkEnd>,
    pub threads: Cell<u32>,
    /// Sleeps so far: bounds a test, as a wait that never ends would.
    pub parks: Cell<u32>,
    /// Locks that are held.
    locks: Cell<i32>,
}

impl Default for Guest {
    fn default() -> Guest {
        Guest {
            space: Space::new(1, 7, Heap),
            words: (0..PAGES.len()).map(|_| [const { Cell::new(0) }; WORDS]).collect(),
            late: Cell::new(false),
            end: Cell::new(ParkEnd::TimedOut),
            threads: Cell::new(1),
            parks: Cell::new(0),
            locks: Cell::new(0),
        }
    }
}

impl Guest {
    fn page(address: Address) -> Page {
        PAGES.get((address / PAGE) as usize).copied().unwrap_or(Page::Missing)
    }

    /// The word, whatever may be done to it.
    pub fn cell(&self, address: Address) -> Option<&Cell<u32>> {
        let page = match Guest::page(address) {
            Page::Missing => return None,
            // The object's.
            Page::Alias => 3,
            _ => (address / PAGE) as usize,
        };
        Some(&self.words[page][(address / 4) as usize % WORDS])
    }

    fn word(&self, address: Address) -> Result<&Cell<u32>, Fault> {
        if Guest::page(address) == Page::Late && !self.late.get() {
            return Err(Fault);
        }
        self.cell(address).ok_or(Fault)
    }

    /// The late page goes away again.
    pub fn swap_out(&self) {
        self.late.set(false);
    }

    fn may_sleep(&self) {
        assert_eq!(self.locks.get(), 0, "a lock is held where the host may sleep");
    }
}

impl Host for Guest {
    type Task = ();
    type Memory = Heap;

    fn space(&self) -> &Space<Guest> {
        &self.space
    }

    fn threads(&self) -> u32 {
        self.threads.get()
    }

    fn in_range(&self, address: Address) -> bool {
        address >> 47 == 0
    }

    fn load(&self, address: Address) -> Result<u32, Fault> {
        assert_eq!(address % 4, 0, "the engine reads a misaligned word");
        self.word(address).map(Cell::get)
    }

    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        assert_eq!(address % 4, 0, "the engine writes a misaligned word");
        let word = self.word(address)?;
        if Guest::page(address) == Page::ReadOnly {
            return Err(Fault);
        }
        Ok(if word.get() == old { word.replace(new) } else { word.get() })
    }

    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault> {
        self.may_sleep();
        for (place, byte) in to.iter_mut().enumerate() {
            let place = address.checked_add(place as u64).ok_or(Fault)?;
            *byte = self.cell(place).ok_or(Fault)?.get().to_ne_bytes()[place as usize % 4];
        }
        Ok(())
    }

    fn fault_in(&self, address: Address, access: Access) -> Result<(), Errno> {
        self.may_sleep();
        match (Guest::page(address), access) {
            (Page::Missing, _) | (Page::ReadOnly, Access::Write) => Err(Errno::EFAULT),
            (Page::Late, _) => {
                self.late.set(true);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn resolve_shared(&self, address: Address, access: Access) -> Result<SharedKey, Errno> {
        self.may_sleep();
        match (Guest::page(address), access) {
            (Page::Missing, _) | (Page::ReadOnly, Access::Write) => Err(Errno::EFAULT),
            (Page::Object | Page::Alias, _) => Ok(SharedKey::Object { object: 9, offset: address % PAGE }),
            _ => Ok(SharedKey::Anonymous),
        }
    }

    fn task(&self, _: &Flag) {}

    fn park(&self, _: &Flag, _: Option<Deadline>) -> ParkEnd {
        self.may_sleep();
        let parks = self.parks.get() + 1;
        self.parks.set(parks);
        // Nobody is there to wake it: early returns are bounded.
        if self.end.get() == ParkEnd::Unparked && parks % 8 != 0 { ParkEnd::Unparked } else { self.end_at_last() }
    }

    fn unpark(&self, (): ()) {
        self.may_sleep();
    }

    fn now(&self, _: Clock) -> u64 {
        u64::from(self.parks.get())
    }

    fn preempt_off(&self) {
        self.locks.set(self.locks.get() + 1);
    }

    fn preempt_on(&self) {
        self.locks.set(self.locks.get() - 1);
    }

    fn spin(&self, _: u32) {
        panic!("a lock is held by nobody");
    }
}

impl Guest {
    fn end_at_last(&self) -> ParkEnd {
        match self.end.get() {
            ParkEnd::Interrupted => ParkEnd::Interrupted,
            _ => ParkEnd::TimedOut,
        }
    }
}
