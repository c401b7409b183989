//! Something that is done once.

use core::marker::PhantomData;

use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{ALL, Futex, Private, Timeout};
use crate::mutant::{check, mutated};

const NEW: u32 = 0;
const RUNNING: u32 = 1;
const AWAITED: u32 = 2;
const DONE: u32 = 3;
const WANTED: u32 = 4;
/// The bits that hold one of these.
const STATES: u32 = 7;
/// Where the number of the thread that runs it begins.
const THREAD_SHIFT: u32 = 3;

/// The number of the thread that runs it; 0 where that is not known.
const fn runner(word: u32) -> u32 {
    match word & STATES {
        RUNNING | AWAITED => word >> THREAD_SHIFT,
        _ => 0,
    }
}

/// Does something once, whoever comes first.
///
/// Zeroed memory is one that has not run. There is no poison: if what is run panics, it has not run, and the next caller
/// tries again (as `OnceLock` does; std's `Once` is poisoned instead). Afterwards a call costs one load.
#[repr(C)]
pub struct Once<F: Futex = Private> {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-2 | 0: has not run. 1: runs. 2: runs, and somebody may sleep until it has. 3: has run. 4: has not run, and somebody may sleep until it has |
    /// | 3-31 | while it runs: the [number](Futex::thread_number) of the thread that runs it, if threads have any |
    word: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

/// Whoever runs it; when dropped, says how it ended.
struct Run<'a, F: Futex> {
    once: &'a Once<F>,
    end: u32,
}

impl<F: Futex> Drop for Run<'_, F> {
    fn drop(&mut self) {
        // Release: partner of the acquires of those who look.
        let before = self.once.word.swap(self.end, Ordering::Release);
        if check!(once_wake, before & STATES == AWAITED) {
            F::wake(&self.once.word, ALL);
        }
    }
}

impl<F: Futex> Once<F> {
    const_fn! {
        /// One that has not run.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Once { word: AtomicU32::new(NEW), futex: PhantomData }
        }
    }

    /// Whether it has run; then what it did is seen.
    #[inline]
    pub fn is_completed(&self) -> bool {
        // Acquire: partner of the release in `Run`.
        self.word.load(Ordering::Acquire) == DONE
    }

    /// Runs `work` unless it has been run, and waits for whoever runs it already.
    ///
    /// # Panics
    /// If `work` does; then it has not run. If it is called from within `work`, which would wait
    /// for itself. (Where threads have no [number](Futex::thread_number), as with a
    /// [`Shared`](crate::futex::Shared) futex, and in the child of a fork that `work` makes, it
    /// waits for ever then.)
    #[inline]
    #[track_caller]
    pub fn call_once(&self, work: impl FnOnce()) {
        if !self.is_completed() {
            let mut work = Some(work);
            let run = &mut || {
                if let Some(work) = work.take() {
                    work();
                }
            };
            self.call_slow(Some(run));
        }
    }

    /// Waits until it has run.
    ///
    /// # Panics
    /// As [`call_once`](Self::call_once), if the calling thread runs it.
    #[track_caller]
    pub fn wait(&self) {
        if !self.is_completed() {
            self.call_slow(None);
        }
    }

    /// Runs it, or waits until it has run; without `work` for whoever will.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn call_slow(&self, mut work: Option<&mut dyn FnMut()>) {
        let this = F::thread_number();
        let mut budget = SpinBudget::for_event(Timeout::Never);
        loop {
            // Acquire: as in `is_completed`.
            let word = self.word.load(Ordering::Acquire);
            match (word, &mut work) {
                (DONE, _) => return,
                (NEW | WANTED, Some(work)) => {
                    if self.begin(word, this) {
                        let mut run = Run { once: self, end: NEW };
                        work();
                        run.end = DONE;
                        return;
                    }
                }
                _ if this != 0 && runner(word) == this && !mutated!(once_itself) => {
                    panic!("what a Once runs asks for it again: it would wait for itself for ever")
                }
                _ if budget.pause::<F>() => {}
                _ => self.sleep(word),
            }
        }
    }

    fn begin(&self, word: u32, this: u32) -> bool {
        let state = if word == NEW { RUNNING } else { AWAITED };
        let running = state | this << THREAD_SHIFT;
        // Acquire: what a call that panicked did is seen. Relaxed on failure: looks again.
        self.word.compare_exchange(word, running, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn sleep(&self, word: u32) {
        let marked = if word == NEW || word == WANTED { WANTED } else { word & !STATES | AWAITED };
        // Relaxed: everything that is said is in this word.
        if word == marked || self.word.compare_exchange(word, marked, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            F::wait(&self.word, marked, Timeout::Never);
        }
    }
}

impl<F: Futex> core::fmt::Debug for Once<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Once").field("is_completed", &self.is_completed()).finish()
    }
}
