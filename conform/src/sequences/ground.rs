//! The kernel's side of a script: pages of the process, and threads that make one call each.

use core::cell::UnsafeCell;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicIsize, AtomicU32, AtomicU64, Ordering};

use super::script::{Argument, DATA, Death, HELD, OWNER, Page, STEPS, WAITERS, WORDS, address};
use crate::numbers;
use crate::pages::PAGES;
use crate::robust_list::HEAD;
use crate::scenario::Trouble;
use crate::syscalls::{Syscalls, ask};
use crate::world::unfit;

const PROT_NONE: usize = 0;
const PROT_READ: usize = 1;
const PROT_READ_WRITE: usize = 3;
const MAP_SHARED: usize = 1;
const MAP_PRIVATE: usize = 2;
const MAP_ANONYMOUS: usize = 0x20;

const IDLE: u32 = 0;
const STARTED: u32 = 1;
const ENDED: u32 = 2;

/// A thread that makes one call.
struct Caller {
    kernel: UnsafeCell<Option<&'static dyn Syscalls>>,
    call: UnsafeCell<(usize, [usize; 6])>,
    state: AtomicU32,
    answer: AtomicIsize,
}

/// What lies in a page of its own: the callers, and what their calls point to.
struct Board {
    callers: [Caller; STEPS],
    data: [AtomicU64; DATA],
}

/// The memory of scripts, one after another. Threads that the kernel does not wake use it for ever: then it is
/// left as it is, and the next script gets another.
pub(super) struct Ground {
    kernel: &'static dyn Syscalls,
    pages: [usize; Page::ALL.len()],
    board: NonNull<Board>,
    /// The number of the thread that makes the calls which do not sleep.
    caller: u32,
}

/// Returns the number of the calling thread, or 0.
pub(super) fn own_number(kernel: &dyn Syscalls) -> u32 {
    // SAFETY: takes nothing.
    unsafe { ask(kernel, numbers::GETTID, [0; 6]) }.unwrap_or(0) as u32 & OWNER
}

/// Maps shared memory twice; returns both addresses. The memory is a file in memory, as in the program in C.
fn twice(kernel: &dyn Syscalls) -> Option<(usize, usize)> {
    let name = c"sequences".as_ptr().expose_provenance();
    // SAFETY: reads a string that ends.
    let file = unsafe { ask(kernel, numbers::MEMFD_CREATE, [name, 0, 0, 0, 0, 0]) }.ok()?;
    // SAFETY: takes numbers.
    let sized = unsafe { ask(kernel, numbers::FTRUNCATE, [file, PAGES, 0, 0, 0, 0]) };
    // SAFETY: a new mapping.
    let map = || unsafe { ask(kernel, numbers::MMAP, [0, PAGES, PROT_READ_WRITE, MAP_SHARED, file, 0]) };
    let both = sized.and_then(|_| Ok((map()?, map()?)));
    // SAFETY: a descriptor of ours; what is mapped of it stays.
    let _ = unsafe { ask(kernel, numbers::CLOSE, [file, 0, 0, 0, 0, 0]) };
    both.ok()
}

/// Returns true if the kernel maps shared memory twice.
pub(super) fn is_mapped_twice(kernel: &dyn Syscalls) -> bool {
    let Some((one, other)) = twice(kernel) else { return false };
    for address in [one, other] {
        // SAFETY: a mapping of ours, to which there is no reference.
        let _ = unsafe { ask(kernel, numbers::MUNMAP, [address, PAGES, 0, 0, 0, 0]) };
    }
    true
}

impl Ground {
    /// Maps the memory of scripts. A kernel that cannot map shared memory twice has it once: then no script names
    /// the alias ([`is_mapped_twice`]).
    pub(super) fn new(kernel: &'static dyn Syscalls) -> Result<Ground, Trouble> {
        const { assert!(size_of::<Board>() <= PAGES) };
        let map = |protection, how| {
            // SAFETY: a new mapping.
            let mapped =
                unsafe { ask(kernel, numbers::MMAP, [0, PAGES, protection, how | MAP_ANONYMOUS, usize::MAX, 0]) };
            mapped.map_err(|errno| unfit(format_args!("mmap of anonymous memory: {errno}")))
        };
        let (shared, alias) = match twice(kernel) {
            Some(both) => both,
            None => (map(PROT_READ_WRITE, MAP_SHARED)?, map(PROT_NONE, MAP_PRIVATE)?),
        };
        let own = map(PROT_READ_WRITE, MAP_PRIVATE)?;
        let (read_only, missing) = (map(PROT_READ, MAP_PRIVATE)?, map(PROT_NONE, MAP_PRIVATE)?);
        let board = core::ptr::with_exposed_provenance_mut(map(PROT_READ_WRITE, MAP_PRIVATE)?);
        let board = NonNull::new(board).ok_or_else(|| unfit(format_args!("mmap answered 0")))?;
        let caller = own_number(kernel);
        Ok(Ground { kernel, pages: [own, shared, alias, read_only, missing], board, caller })
    }

    fn board(&self) -> &Board {
        // SAFETY: mapped by `new`, all zero, which is a value of it, and never unmapped. Its cells are written by
        // `start` alone, before their thread is there.
        unsafe { self.board.as_ref() }
    }

    /// Returns the address of a page.
    pub(super) fn base(&self, page: Page) -> u64 {
        self.pages[page as usize] as u64
    }

    /// Returns the number of the thread that makes the calls which do not sleep.
    pub(super) fn caller(&self) -> u32 {
        self.caller
    }

    /// Returns the address of the times and arrays.
    pub(super) fn data(&self) -> u64 {
        (&raw const self.board().data).expose_provenance() as u64
    }

    /// Returns a word of a page that may be written.
    fn word(&self, page: Page, word: usize) -> &AtomicU32 {
        assert!(matches!(page, Page::Own | Page::Shared | Page::Alias) && word < WORDS);
        let place = core::ptr::with_exposed_provenance_mut(self.pages[page as usize] + 4 * word);
        // SAFETY: within a mapping that stays, aligned; all accesses to it are atomic.
        unsafe { AtomicU32::from_ptr(place) }
    }

    pub(super) fn set(&self, page: Page, word: usize, value: u32) {
        self.word(page, word).store(value, Ordering::SeqCst);
    }

    /// Returns what the words hold that calls may change.
    pub(super) fn contents(&self) -> [[u32; WORDS]; 2] {
        [Page::Own, Page::Shared].map(|page| core::array::from_fn(|at| self.word(page, at).load(Ordering::SeqCst)))
    }

    /// Prepares the memory for a script: words of 0, its times and arrays, and no caller.
    pub(super) fn begin(&self, data: [u64; DATA]) {
        for page in [Page::Own, Page::Shared] {
            (0..WORDS).for_each(|word| self.set(page, word, 0));
        }
        for (place, number) in self.board().data.iter().zip(data) {
            place.store(number, Ordering::SeqCst);
        }
        self.board().callers.iter().for_each(|caller| caller.state.store(IDLE, Ordering::SeqCst));
    }

    /// Makes a call on this thread.
    pub(super) fn ask(&self, number: usize, arguments: [usize; 6]) -> i64 {
        // SAFETY: a call of the futex family: what it writes are words of the pages, which are atomics, and what
        // it reads stays.
        (unsafe { self.kernel.call(number, arguments) }) as i64
    }

    /// Makes a step's call on a thread of its own, which has begun when this returns.
    pub(super) fn start(&self, step: usize, number: usize, arguments: [usize; 6]) -> Result<(), Trouble> {
        self.spawn(begin, step, number, arguments)
    }

    /// Starts a thread that holds words and ends, whose list is in the step's array. When this returns it has begun.
    pub(super) fn die(&self, step: usize, death: &Death) -> Result<(), Trouble> {
        let head = address(Argument::Array, |page| self.base(page), self.data(), step) as usize;
        let mut arguments = [head, 0, 0, 0, 0, 0];
        // After the head the address of each word that is held, then as bits which of them say that threads wait.
        for (word, bits) in death.words() {
            arguments[1 + word] = self.pages[death.page as usize] + 4 * word;
            arguments[1 + HELD] |= usize::from(bits != 0) << word;
        }
        self.spawn(die, step, numbers::SET_ROBUST_LIST, arguments)
    }

    fn spawn(
        &self,
        body: extern "C" fn(usize),
        step: usize,
        number: usize,
        arguments: [usize; 6],
    ) -> Result<(), Trouble> {
        let caller = &self.board().callers[step];
        assert_eq!(caller.state.load(Ordering::SeqCst), IDLE);
        // SAFETY: idle: no thread has it.
        unsafe { caller.kernel.get().write(Some(self.kernel)) };
        // SAFETY: as above.
        unsafe { caller.call.get().write((number, arguments)) };
        // SAFETY: the caller stays for ever.
        let spawned = unsafe { self.kernel.spawn(body, (&raw const *caller).expose_provenance()) };
        spawned.map_err(|errno| unfit(format_args!("no thread: {errno}")))?;
        while caller.state.load(Ordering::SeqCst) == IDLE {
            self.kernel.pause(10);
        }
        Ok(())
    }

    /// Returns what a step's call answered, if it has.
    pub(super) fn answer_of(&self, step: usize) -> Option<i64> {
        let caller = &self.board().callers[step];
        (caller.state.load(Ordering::SeqCst) == ENDED).then(|| caller.answer.load(Ordering::SeqCst) as i64)
    }

    /// Waits for the answer of a step's call, at most about this number of microseconds.
    pub(super) fn end_of(&self, step: usize, microseconds: u64) -> Option<i64> {
        let mut left = microseconds;
        let mut pause = 20;
        while self.answer_of(step).is_none() && left != 0 {
            pause = left.min(pause);
            self.rest(pause);
            left -= pause;
            pause = (2 * pause).min(1_000);
        }
        self.answer_of(step)
    }

    pub(super) fn rest(&self, microseconds: u64) {
        self.kernel.pause(microseconds);
    }

    /// Wakes all that still sleep; returns true if no thread is left.
    pub(super) fn clear(&self) -> bool {
        let is_left = |step: usize| self.board().callers[step].state.load(Ordering::SeqCst) == STARTED;
        if !(0..STEPS).any(is_left) {
            return true;
        }
        for page in [Page::Own, Page::Shared, Page::Alias, Page::ReadOnly] {
            for word in 0..WORDS {
                for operation in [1, 1 | 128] {
                    let address = self.pages[page as usize] + 4 * word;
                    self.ask(numbers::FUTEX, [address, operation, i32::MAX as usize, 0, 0, 0]);
                }
            }
        }
        (0..STEPS).all(|step| !is_left(step) || self.end_of(step, 50_000).is_some())
    }
}

/// What a thread was started with: its place on the board, the kernel, and its call.
///
/// # Safety
/// The argument is one that `Ground::spawn` passes.
unsafe fn started(argument: usize) -> Option<(&'static Caller, &'static dyn Syscalls, usize, [usize; 6])> {
    // SAFETY: the caller's promise: a place that is never unmapped.
    let caller = unsafe { &*core::ptr::with_exposed_provenance::<Caller>(argument) };
    // SAFETY: `spawn` wrote it before it started this thread.
    let kernel = unsafe { caller.kernel.get().read() };
    // SAFETY: as above.
    let (number, arguments) = unsafe { caller.call.get().read() };
    caller.state.store(STARTED, Ordering::SeqCst);
    Some((caller, kernel?, number, arguments))
}

extern "C" fn begin(argument: usize) {
    // SAFETY: `spawn` passes it.
    let Some((caller, kernel, number, arguments)) = (unsafe { started(argument) }) else { return };
    // SAFETY: as in `Ground::ask`.
    let answered = unsafe { kernel.call(number, arguments) };
    caller.answer.store(answered, Ordering::SeqCst);
    caller.state.store(ENDED, Ordering::SeqCst);
}

/// Sets the thread's robust list, writes its number into the words that it holds, and ends.
extern "C" fn die(argument: usize) {
    // SAFETY: `spawn` passes it.
    let Some((caller, kernel, number, arguments)) = (unsafe { started(argument) }) else { return };
    // SAFETY: a list whose memory stays, and whose words are the script's.
    let answered = unsafe { kernel.call(number, [arguments[0], HEAD, 0, 0, 0, 0]) };
    let own = own_number(kernel);
    for word in 0..HELD {
        let place = core::ptr::with_exposed_provenance_mut::<u32>(arguments[1 + word]);
        let waiters = if arguments[1 + HELD] & 1 << word == 0 { 0 } else { WAITERS };
        if !place.is_null() {
            // SAFETY: a word of the script's, in a mapping that stays; all accesses to it are atomic.
            unsafe { AtomicU32::from_ptr(place) }.store(own | waiters, Ordering::SeqCst);
        }
    }
    caller.answer.store(answered, Ordering::SeqCst);
    caller.state.store(ENDED, Ordering::SeqCst);
}
