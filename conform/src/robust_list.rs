//! Robust lists, in memory that processes share: what a thread leaves behind can be read after its
//! process has died.

use core::mem::size_of;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::errno::Answer;
use crate::futex_pi::OWNER_DIED;
use crate::numbers;
use crate::processes::{Child, SHARED};
use crate::scenario::{Outcome, Trouble};
use crate::world::{Shown, Started, World, unfit, wrong};

/// The size of a list's head, in bytes, as `set_robust_list` is told it.
pub(crate) const HEAD: usize = 3 * size_of::<usize>();
const PROT_READ_WRITE: usize = 3;
const MAP_PRIVATE_ANONYMOUS: usize = 0x22;
const MAP_FIXED_NOREPLACE: usize = 0x10_0000;
/// How many entries there are: more than the 2048 that Linux walks.
pub(crate) const ENTRIES: usize = 2100;
/// What is added to a pointer to an entry whose lock inherits priorities.
pub(crate) const INHERITS: usize = 1;
/// The distance from an entry to its lock, unless a scenario stores another.
pub(crate) const OFFSET: isize = size_of::<usize>() as isize;
/// The distance from an entry to its other lock, which lies before it.
pub(crate) const OFFSET_BEFORE: isize = -(size_of::<usize>() as isize);

/// The distance from a pointer to the word that is its low half.
pub(crate) const LOW_HALF: usize = if cfg!(target_endian = "little") { 0 } else { size_of::<usize>() - 4 };

/// The words of a world that hold the address of its list.
const PLACE: usize = crate::world::WORDS - 2;

/// A robust list: its head, and entries that are linked as a scenario wants them.
#[repr(C)]
pub(crate) struct List {
    /// The first entry.
    pub(crate) first: AtomicUsize,
    /// The distance from an entry to its lock.
    pub(crate) offset: AtomicUsize,
    /// The entry whose lock is being taken or freed, or 0.
    pub(crate) pending: AtomicUsize,
    /// The number of the thread that has set it.
    owner: AtomicU32,
    /// What `set_robust_list` answered there, if not 0.
    error: AtomicU32,
    /// Not 0: the thread may end.
    may_end: AtomicU32,
    entries: [Entry; ENTRIES],
}

/// An entry, with a lock behind it and another before it.
#[repr(C)]
struct Entry {
    before: AtomicU32,
    _unused: AtomicU32,
    next: AtomicUsize,
    lock: AtomicU32,
    _unused_too: AtomicU32,
}

impl List {
    /// Returns where the head is.
    pub(crate) fn head(&self) -> usize {
        (&raw const self.first).expose_provenance()
    }

    /// Returns where an entry is: where the pointer to the next one is.
    pub(crate) fn entry(&self, at: usize) -> usize {
        (&raw const self.entries[at].next).expose_provenance()
    }

    /// Returns the word of an entry's lock.
    pub(crate) fn lock(&self, at: usize) -> &AtomicU32 {
        &self.entries[at].lock
    }

    /// Returns the word of the lock that lies before an entry.
    pub(crate) fn lock_before(&self, at: usize) -> &AtomicU32 {
        &self.entries[at].before
    }

    /// Returns the address of an entry's lock.
    pub(crate) fn lock_address(&self, at: usize) -> usize {
        (&raw const self.entries[at].lock).expose_provenance()
    }

    /// Stores where an entry leads.
    pub(crate) fn set_next(&self, at: usize, next: usize) {
        self.entries[at].next.store(next, Ordering::SeqCst);
    }

    /// Returns the word that is the low half of the pointer to the next entry.
    pub(crate) fn next_low(&self, at: usize) -> &AtomicU32 {
        let halves = (&raw const self.entries[at].next).cast::<AtomicU32>();
        // SAFETY: within the pointer.
        let low = unsafe { halves.byte_add(LOW_HALF) };
        // SAFETY: aligned, and while it is used no thread uses the pointer as a whole.
        unsafe { &*low }
    }

    /// Stores a value in the word of an entry's lock.
    pub(crate) fn set_lock(&self, at: usize, value: u32) {
        self.lock(at).store(value, Ordering::SeqCst);
    }

    /// Links the first `count` entries one after the other, and gives the word of each lock this value.
    pub(crate) fn link(&self, count: usize, value: u32) {
        let place = |at: usize| if at < count { self.entry(at) } else { self.head() };
        self.first.store(place(0), Ordering::SeqCst);
        for at in 0..count {
            self.set_next(at, place(at + 1));
            self.set_lock(at, value);
        }
    }

    /// Makes an entry at an address that is no multiple of 4, in place of this one, with a lock of this
    /// value. It leads to the head. Returns its address.
    pub(crate) fn misaligned(&self, at: usize, lock: u32) -> usize {
        let entry = self.entry(at) + 2;
        write(entry, self.head());
        write(entry.wrapping_add_signed(OFFSET), lock);
        entry
    }

    /// Stores the entry whose lock is being taken or freed.
    pub(crate) fn set_pending(&self, entry: usize) {
        self.pending.store(entry, Ordering::SeqCst);
    }

    /// Asserts what the word of an entry's lock comes to hold.
    pub(crate) fn holds(&self, world: &World<'_>, at: usize, what: &str, linux: u32) -> Outcome {
        world.soon(|| self.lock(at).load(Ordering::SeqCst) == linux);
        match self.lock(at).load(Ordering::SeqCst) {
            value if value == linux => Ok(()),
            value => wrong(format_args!("the word of {what} holds {value:#x}; on Linux {linux:#x}")),
        }
    }

    /// Asserts that the word of an entry's lock says that its owner died.
    pub(crate) fn is_marked(&self, world: &World<'_>, at: usize, what: &str) -> Outcome {
        self.holds(world, at, what, OWNER_DIED)
    }
}

/// Writes a pointer or the word of a lock, at an address that need not be aligned.
fn write<T: Copy>(place: usize, value: T) {
    let place = core::ptr::with_exposed_provenance_mut::<T>(place);
    // SAFETY: in a mapping of the scenario's, in a part that no thread uses.
    unsafe { place.write_unaligned(value) };
}

impl World<'_> {
    /// Makes an empty list. A scenario has one.
    pub(crate) fn new_list(&self) -> Result<&List, Trouble> {
        const { assert!(size_of::<List>() <= SHARED) };
        let place = self.shared()?.0.as_ptr().expose_provenance() as u64;
        self.set(PLACE, place as u32);
        self.set(PLACE + 1, (place >> 32) as u32);
        let list = self.list();
        list.offset.store(OFFSET as usize, Ordering::SeqCst);
        list.link(0, 0);
        Ok(list)
    }

    /// Returns the list that `new_list` made.
    pub(crate) fn list(&self) -> &List {
        let place = u64::from(self.get(PLACE)) | u64::from(self.get(PLACE + 1)) << 32;
        // SAFETY: mapped by `new_list`, all zero, which is a value of it, and never unmapped.
        unsafe { &*core::ptr::with_exposed_provenance::<List>(place as usize) }
    }

    /// Sets the calling thread's robust list.
    pub(crate) fn set_robust_list(&self, head: usize, size: usize) -> Answer {
        // SAFETY: the kernel writes only words of locks that the list names.
        unsafe { self.call(numbers::SET_ROBUST_LIST, [head, size, 0, 0, 0, 0]) }
    }

    /// Asserts that there are robust lists; the caller then has none.
    pub(crate) fn has_robust_lists(&self) -> Outcome {
        self.same("set_robust_list", self.set_robust_list(0, HEAD), Ok(0))
    }

    /// Asks for a thread's robust list; returns the answer, its head and its size.
    pub(crate) fn get_robust_list(&self, thread: usize) -> (Answer, usize, usize) {
        let (mut head, mut size) = (usize::MAX, usize::MAX);
        let (to, size_to) = ((&raw mut head).expose_provenance(), (&raw mut size).expose_provenance());
        // SAFETY: writes both.
        let answered = unsafe { self.call(numbers::GET_ROBUST_LIST, [thread, to, size_to, 0, 0, 0]) };
        (answered, head, size)
    }

    /// Maps a page that may be read, or not even that, but not written.
    pub(crate) fn unwritable(&self, may_be_read: bool) -> Result<usize, Trouble> {
        let arguments = [0, SHARED, usize::from(may_be_read), MAP_PRIVATE_ANONYMOUS, usize::MAX, 0];
        // SAFETY: a new mapping.
        let memory = unsafe { self.call(numbers::MMAP, arguments) };
        memory.map_err(|errno| unfit(format_args!("mmap of memory that may not be written: {errno}")))
    }

    /// Makes an entry whose address has this low half, a multiple of 4, and which leads to `next`.
    /// Returns its address.
    pub(crate) fn entry_like(&self, low: u32, next: usize) -> Result<usize, Trouble> {
        const HIGHS: core::ops::Range<u64> = 0x10..0x20;
        let mut answered = Ok(0);
        for high in HIGHS {
            let entry = (high << 32 | u64::from(low)) as usize;
            let place = entry & !(SHARED - 1);
            let flags = MAP_PRIVATE_ANONYMOUS | MAP_FIXED_NOREPLACE;
            // SAFETY: a new mapping, where there is none.
            answered = unsafe { self.call(numbers::MMAP, [place, 2 * SHARED, PROT_READ_WRITE, flags, usize::MAX, 0]) };
            if answered == Ok(place) {
                write(entry, next);
                return Ok(entry);
            }
        }
        Err(unfit(format_args!("mmap at a given address answered {}", Shown(answered))))
    }

    /// Makes an entry in memory that may only be read, with a lock of this value, which leads to the
    /// head. Returns its address, and the word of the lock.
    pub(crate) fn read_only_entry(&self, list: &List, lock: u32) -> Result<(usize, &AtomicU32), Trouble> {
        let arguments = [0, SHARED, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, usize::MAX, 0];
        // SAFETY: a new mapping.
        let entry = unsafe { self.call(numbers::MMAP, arguments) };
        let entry = entry.map_err(|errno| unfit(format_args!("mmap of private anonymous memory: {errno}")))?;
        write(entry, list.head());
        let word = entry.wrapping_add_signed(OFFSET);
        write(word, lock);
        // SAFETY: a mapping that no thread writes.
        let protected = unsafe { self.call(numbers::MPROTECT, [entry, SHARED, 1, 0, 0, 0]) };
        protected.map_err(|errno| unfit(format_args!("mprotect: {errno}")))?;
        // SAFETY: in the mapping, which stays; it is only read.
        Ok((entry, unsafe { &*core::ptr::with_exposed_provenance::<AtomicU32>(word) }))
    }

    /// Starts a thread that sets the list, and ends when it is told to; returns it with its number.
    pub(crate) fn thread_with_list(&self) -> Result<(Started, u32), Trouble> {
        let thread = self.start(has_list)?;
        Ok((thread, self.owner_of_list()?))
    }

    /// Starts a child process that sets the list, and ends when it is told to; returns it with the
    /// number of its thread, as it says itself.
    pub(crate) fn child_with_list(&self) -> Result<(Child, u32), Trouble> {
        let child = self.child(has_list)?;
        Ok((child, self.owner_of_list()?))
    }

    /// Waits until a thread has set the list; returns its number. Absent where there are no such
    /// lists.
    pub(crate) fn owner_of_list(&self) -> Result<u32, Trouble> {
        let list = self.list();
        self.step(&"waits for a thread that calls gettid and set_robust_list");
        while list.owner.load(Ordering::SeqCst) == 0 {
            self.rest();
        }
        let answered = match list.error.load(Ordering::SeqCst) {
            0 => Ok(0),
            error => Err(crate::Errno(error as u16)),
        };
        self.same("set_robust_list", answered, Ok(0))?;
        match list.owner.load(Ordering::SeqCst) {
            u32::MAX => Err(unfit(format_args!("a thread cannot learn its number by gettid"))),
            owner => Ok(owner),
        }
    }

    /// Lets a thread that has the list end.
    pub(crate) fn end_list_owner(&self) {
        self.list().may_end.store(1, Ordering::SeqCst);
    }

    /// Lets a thread that has the list end, and waits until it is about to.
    pub(crate) fn dies(&self, thread: Started) {
        self.step(&"waits for the end of the thread that has the list");
        self.end_list_owner();
        let _ = self.end_of(thread);
    }

    /// Forgets the last thread that had the list, before another has it.
    pub(crate) fn forget_list_owner(&self) {
        let list = self.list();
        list.owner.store(0, Ordering::SeqCst);
        list.may_end.store(0, Ordering::SeqCst);
    }
}

/// Sets the list, says so, and waits until it may end.
pub(crate) fn has_list(world: &World<'_>) -> Answer {
    let list = world.list();
    let answered = world.set_robust_list(list.head(), HEAD);
    list.error.store(answered.err().map_or(0, |errno| u32::from(errno.0)), Ordering::SeqCst);
    // SAFETY: takes no argument.
    let number = unsafe { world.call(numbers::GETTID, [0; 6]) }.unwrap_or(usize::MAX);
    list.owner.store(number as u32, Ordering::SeqCst);
    // Not for ever: a process whose parent has gone may be here.
    for _ in 0..100_000 {
        if list.may_end.load(Ordering::SeqCst) != 0 {
            break;
        }
        world.rest();
    }
    answered
}
