//! A host with one thread that never sleeps, and a few pages, some of which are missing, read-only,
//! not yet present, or mapped twice.

use std::cell::{Cell, RefCell};

use leeward_engine::{
    Access, Address, Clock, Deadline, Errno, Fault, Flag, Heap, Host, Inheritance, Owner, ParkEnd, Priority,
    RobustHost, RobustUnlock, SharedKey, Size, Space, Thread, Word,
};

pub const PAGE: u64 = 4096;
/// The number of words that a page has; its other addresses are these words again.
pub const WORDS: usize = 64;
/// The page that has all its words.
pub const WIDE: Address = 6 * PAGE;

/// The kind of a page, by its number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Page {
    Anonymous,
    ReadOnly,
    /// An anonymous page, which becomes present when it is asked for.
    Late,
    /// A page of a shared object.
    Object,
    /// The same page of the shared object, mapped again.
    Alias,
    Missing,
    /// An anonymous page that has all its words.
    Wide,
}

const PAGES: [Page; 7] =
    [Page::Anonymous, Page::ReadOnly, Page::Late, Page::Object, Page::Alias, Page::Missing, Page::Wide];

/// A write of a word: its address, old value and new value.
pub type Write = (Address, u32, u32);
/// What others do at an access of that number: the late page goes, and a word gets a value.
pub type Meddling = (u32, Address, u32);
/// An action of others while the thread sleeps.
type Sleep = Box<dyn FnMut(&Guest)>;

impl Page {
    fn words(self) -> usize {
        if self == Page::Wide { PAGE as usize / 4 } else { WORDS }
    }
}

pub struct Guest {
    space: Space<Guest>,
    words: Vec<Vec<Cell<u32>>>,
    late: Cell<bool>,
    /// The way in which the next sleeps end.
    pub end: Cell<ParkEnd>,
    pub threads: Cell<u32>,
    /// The number of sleeps so far. It bounds a wait that would never end.
    pub parks: Cell<u32>,
    /// The number of locks that are held.
    locks: Cell<i32>,
    /// The number of accesses of any kind so far.
    pub accesses: Cell<u32>,
    /// The words that the engine has written.
    pub writes: RefCell<Vec<Write>>,
    pub meddling: RefCell<Vec<Meddling>>,
    /// The action of the next sleep, which happens once.
    pub sleep: RefCell<Option<Sleep>>,
    pub thread: Cell<u32>,
    /// The thread's place among the waiters of a word.
    pub priority: Cell<Priority>,
    pub head: Cell<Address>,
    pub compat_head: Cell<Address>,
    /// How a robust lock is unlocked in one call.
    pub unlock: Cell<RobustUnlock>,
    /// Words of other sizes than 32 bits are served.
    pub sizes: Cell<bool>,
}

impl Default for Guest {
    fn default() -> Guest {
        Guest {
            space: Space::new(1, 7, Heap),
            words: PAGES.iter().map(|page| vec![Cell::new(0); page.words()]).collect(),
            late: Cell::new(false),
            end: Cell::new(ParkEnd::TimedOut),
            threads: Cell::new(1),
            parks: Cell::new(0),
            locks: Cell::new(0),
            accesses: Cell::new(0),
            writes: RefCell::default(),
            meddling: RefCell::default(),
            sleep: RefCell::default(),
            thread: Cell::new(77),
            priority: Cell::new(Priority::NORMAL),
            head: Cell::new(0),
            compat_head: Cell::new(0),
            unlock: Cell::new(RobustUnlock::Absent),
            sizes: Cell::new(false),
        }
    }
}

impl Guest {
    fn page(address: Address) -> Page {
        PAGES.get((address / PAGE) as usize).copied().unwrap_or(Page::Missing)
    }

    /// Returns the word at an address, whatever its page allows.
    pub fn cell(&self, address: Address) -> Option<&Cell<u32>> {
        let page = match Guest::page(address) {
            Page::Missing => return None,
            // The alias has the object's words.
            Page::Alias => 3,
            _ => (address / PAGE) as usize,
        };
        let words = &self.words[page];
        Some(&words[(address / 4) as usize % words.len()])
    }

    /// Copies the words of another guest.
    pub fn copy(&self, from: &Guest) {
        for (to, from) in self.words.iter().flatten().zip(from.words.iter().flatten()) {
            to.set(from.get());
        }
    }

    /// Returns the first word that differs from another guest's: which one of all words, what it
    /// holds, and what the other's holds.
    pub fn difference(&self, from: &Guest) -> Option<(usize, u32, u32)> {
        let words = self.words.iter().flatten().zip(from.words.iter().flatten());
        let mut values = words.enumerate().map(|(at, (this, other))| (at, this.get(), other.get()));
        values.find(|(_, this, other)| this != other)
    }

    /// Returns a number of `bytes` bytes at any address, or none if a part of it is missing.
    pub fn number(&self, address: Address, bytes: u64) -> Option<u64> {
        let byte = |i: u64| {
            let place = address.checked_add(i)?;
            Some(u64::from(self.cell(place)?.get().to_ne_bytes()[place as usize % 4]))
        };
        (0..bytes).try_fold(0, |number, i| Some(number | byte(i)? << (8 * i)))
    }

    /// Returns the value of a word, if it is present.
    pub fn held(&self, word: Word) -> Option<u64> {
        self.number(word.address, word.size.bytes())
    }

    /// Stores a number of 64 bits, as far as its memory is present.
    pub fn put(&self, address: Address, value: u64) {
        for (i, half) in [(0, value as u32), (4, (value >> 32) as u32)] {
            self.cell(address.wrapping_add(i)).inspect(|word| word.set(half));
        }
    }

    /// Returns the name of a shared word: a word of the object has one name at all its addresses,
    /// and different words have different names.
    pub fn name(address: Address) -> Option<u64> {
        match Guest::page(address) {
            Page::Missing => None,
            Page::Object | Page::Alias => Some((1 << 60) | (address % PAGE)),
            _ => Some(address),
        }
    }

    pub fn is_writable(address: Address) -> bool {
        !matches!(Guest::page(address), Page::Missing | Page::ReadOnly)
    }

    fn access(&self) {
        let number = self.accesses.get() + 1;
        self.accesses.set(number);
        for (at, address, value) in &*self.meddling.borrow() {
            if *at == number {
                self.swap_out();
                self.cell(*address).inspect(|word| word.set(*value));
            }
        }
    }

    fn word(&self, address: Address) -> Result<&Cell<u32>, Fault> {
        if Guest::page(address) == Page::Late && !self.late.get() {
            return Err(Fault);
        }
        self.cell(address).ok_or(Fault)
    }

    /// Makes the late page absent again.
    pub fn swap_out(&self) {
        self.late.set(false);
    }

    fn may_sleep(&self) {
        assert_eq!(self.locks.get(), 0, "a lock is held where the host may sleep");
    }
}

/// A time in which a lock is held, and how many were held before.
pub struct Locked<'a>(&'a Guest, i32);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        assert_eq!(self.0.locks.replace(self.1), self.1 + 1, "what was made last is dropped first");
    }
}

impl Host for Guest {
    type Task = ();
    type Memory = Heap;
    type Preemption<'a> = Locked<'a>;

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
        self.access();
        self.word(address).map(Cell::get)
    }

    fn serves(&self, size: Size) -> bool {
        size == Size::U32 || self.sizes.get()
    }

    fn load_sized(&self, address: Address, size: Size) -> Result<u64, Fault> {
        assert_eq!(address % size.bytes(), 0, "the engine reads a misaligned word");
        self.access();
        self.word(address)?;
        self.number(address, size.bytes()).ok_or(Fault)
    }

    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        assert_eq!(address % 4, 0, "the engine writes a misaligned word");
        self.access();
        let word = self.word(address)?;
        if Guest::page(address) == Page::ReadOnly {
            return Err(Fault);
        }
        if word.get() == old {
            word.set(new);
            self.writes.borrow_mut().push((address, old, new));
            return Ok(old);
        }
        Ok(word.get())
    }

    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault> {
        self.may_sleep();
        self.access();
        for (place, byte) in to.iter_mut().enumerate() {
            let place = address.checked_add(place as u64).ok_or(Fault)?;
            *byte = self.cell(place).ok_or(Fault)?.get().to_ne_bytes()[place as usize % 4];
        }
        Ok(())
    }

    fn fault_in(&self, address: Address, access: Access) -> Result<(), Errno> {
        self.may_sleep();
        self.access();
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
        if let Some(mut sleep) = self.sleep.take() {
            sleep(self);
        }
        // There is no thread to wake this one, so early returns are bounded.
        match self.end.get() {
            early @ (ParkEnd::Unparked | ParkEnd::Recheck) if parks % 8 != 0 => early,
            _ => self.end_at_last(),
        }
    }

    fn unpark(&self, (): ()) {
        self.may_sleep();
    }

    fn now(&self, _: Clock) -> u64 {
        u64::from(self.parks.get())
    }

    fn preempt_off(&self) -> Locked<'_> {
        Locked(self, self.locks.replace(self.locks.get() + 1))
    }

    fn spin(&self, _: u32) {
        // An access to a word that others change is retried here. A bucket's lock is tried after
        // `preempt_off`, and none can be held.
        assert_eq!(self.locks.get(), 0, "a lock is held, and no thread holds it");
    }

    fn priority(&self) -> Priority {
        self.priority.get()
    }

    fn inheritance(&self) -> Option<&dyn Inheritance<Guest>> {
        Some(self)
    }
}

/// The number in a lock word determines its owner: every fifth number has none, and so on.
impl Inheritance<Guest> for Guest {
    fn current(&self) -> Thread {
        Thread { id: u64::from(self.thread.get()), number: self.thread.get() }
    }

    fn find(&self, number: u32) -> Owner {
        assert_ne!(self.locks.get(), 0, "an owner is asked for under locks");
        match number % 5 {
            0 => Owner::Nobody,
            1 => Owner::Forbidden,
            2 => Owner::Exiting,
            3 => Owner::Outside(u64::from(number)),
            _ => Owner::Thread(u64::from(number)),
        }
    }

    fn priority(&self, thread: u64) -> Priority {
        Priority(thread as u32 % 7)
    }

    fn lend(&self, _: u64, _: Option<Priority>) {
        assert_ne!(self.locks.get(), 0, "priorities are lent under locks");
    }

    fn await_exit(&self, number: u32) -> Result<(), Errno> {
        self.may_sleep();
        // Some exits never end.
        if number % 64 == 2 { Ok(()) } else { Err(Errno::EAGAIN) }
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

impl RobustHost for Guest {
    fn thread_id(&self) -> u32 {
        self.thread.get()
    }

    fn robust_head(&self, thread: u32) -> Result<Address, Errno> {
        if thread == 0 || thread == self.thread.get() { Ok(self.head.get()) } else { Err(Errno::ESRCH) }
    }

    fn set_robust_head(&self, head: Address) {
        self.head.set(head);
    }

    fn compat_robust_head(&self, _: u32) -> Result<Address, Errno> {
        Ok(self.compat_head.get())
    }

    fn set_compat_robust_head(&self, head: Address) -> Result<(), Errno> {
        self.compat_head.set(head);
        Ok(())
    }

    fn robust_unlock(&self) -> RobustUnlock {
        self.unlock.get()
    }

    fn write(&self, address: Address, from: &[u8]) -> Result<(), Fault> {
        self.may_sleep();
        self.access();
        for (place, byte) in from.iter().enumerate() {
            let place = address.checked_add(place as u64).ok_or(Fault)?;
            let word = self.cell(place).filter(|_| Guest::is_writable(place)).ok_or(Fault)?;
            let mut bytes = word.get().to_ne_bytes();
            bytes[place as usize % 4] = *byte;
            word.set(u32::from_ne_bytes(bytes));
        }
        Ok(())
    }
}
