//! A closure that runs once. Called through `sync` and `shared`, by `sync/once.rs` for its values, and
//! by `sync/poison/once.rs`; calls [`Futex`] and `spin_budget.rs`.

use core::marker::PhantomData;

use super::spin_budget::SpinBudget;
use crate::atomic::{AtomicU32, Ordering, const_fn};
use crate::futex::{ALL, Futex, Private, Timeout};
use crate::mutant::check;

// The states; the table is on the field.
const NEW: u32 = 0;
const RUNNING: u32 = 1;
const AWAITED: u32 = 2;
const DONE: u32 = 3;
const WANTED: u32 = 4;
const PANICKED: u32 = 5;
const PANICKED_WANTED: u32 = 6;
/// The state of a [`Once`] whose closure has run.
pub(super) const COMPLETED: u32 = DONE;
/// The bits that hold the state.
const STATES: u32 = 7;
/// The first bit of the running thread's number.
const THREAD_SHIFT: u32 = 3;

/// Returns the number of the thread that runs the closure; 0 where that is not known.
const fn runner(word: u32) -> u32 {
    match word & STATES {
        RUNNING | AWAITED => word >> THREAD_SHIFT,
        _ => 0,
    }
}

/// A flag that lets one of many callers run its closure, and the others wait for it; 4 bytes, valid
/// when zeroed (has not run).
///
/// What the closure did happens before the return of each call. A closure that panics has not run:
/// the waiters are woken, and the next caller tries again, who learns of the panic if it asks
/// ([`call_once_force`](Self::call_once_force), [`state`](Self::state)).
///
/// ```
/// use leeward::raw::Once;
/// static START: Once = Once::new();
/// let mut runs = 0;
/// for _ in 0..2 {
///     START.call_once(|| runs += 1);
/// }
/// assert!(START.is_completed());
/// assert_eq!(runs, 1);
/// START.wait();                                   // returns at once: it has run
/// ```
///
/// # Differences from std
/// - It is not poisoned by a closure that panics: [`call_once`](Self::call_once) tries again, as
///   [`call_once_force`](Self::call_once_force) does. (`sync::poison` has one that is.)
/// - [`state`](Self::state) tells how far it is, and [`OnceState`] is an enum.
/// - A closure that calls the same `Once` panics; std leaves it open whether that panics or waits
///   forever.
///
/// # Differences from parking_lot
/// - It is not poisoned, as above.
/// - 4 bytes instead of 1.
///
/// # Cost
/// - Free: once the closure has run, a call is one load.
/// - The caller that runs the closure pays a compare-exchange and an exchange. Others
///   [spin](super#waiting), then sleep, and are woken together.
///
/// # Fork
/// If another thread runs the closure at the fork, a call in the child waits forever. If the
/// forking thread runs it, the closure may finish in the child as well.
#[repr(C)]
pub struct Once<F: Futex = Private> {
    /// | bits | meaning |
    /// |---|---|
    /// | 0-2 | 0: has not run. 1: runs. 2: runs, and a thread may sleep. 3: has run. |
    /// | | 4: has not run, and a thread may sleep (in [`wait`](Once::wait)) |
    /// | | 5, 6: as 0 and 4, and the closure that ran last has panicked |
    /// | 3-31 | while it runs: the [number](Futex::thread_number) of the running thread, or 0 |
    word: AtomicU32,
    futex: PhantomData<fn() -> F>,
}

/// How far a [`Once`] is: what [`Once::state`] returns, and what the closure of
/// [`Once::call_once_force`] is told.
///
/// ```
/// use leeward::raw::{Once, OnceState};
/// let once = <Once>::new();
/// assert_eq!(once.state(), OnceState::New);
/// once.call_once_force(|before| assert!(!before.is_poisoned()));
/// assert!(once.state().done());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnceState {
    /// No closure has run.
    New,
    /// The closure that ran last has panicked, and none has run since.
    Poisoned,
    /// A closure is running.
    InProgress,
    /// A closure has run.
    Done,
}

impl OnceState {
    const fn of(word: u32) -> OnceState {
        match word {
            NEW | WANTED => OnceState::New,
            PANICKED | PANICKED_WANTED => OnceState::Poisoned,
            DONE => OnceState::Done,
            _ => OnceState::InProgress,
        }
    }

    /// Returns true if the closure that ran last has panicked; the name is std's.
    pub const fn is_poisoned(self) -> bool {
        matches!(self, OnceState::Poisoned)
    }

    /// Returns true if the closure that ran last has panicked; the name is parking_lot's.
    ///
    /// ```
    /// use leeward::raw::{Once, OnceState};
    /// static TABLE: Once = Once::new();
    /// let first = std::thread::spawn(|| TABLE.call_once(|| panic!("half of it is made")));
    /// assert!(first.join().is_err());
    /// assert!(TABLE.state().poisoned() && !OnceState::New.poisoned());
    /// ```
    pub const fn poisoned(self) -> bool {
        self.is_poisoned()
    }

    /// Returns true if a closure has run.
    pub const fn done(self) -> bool {
        matches!(self, OnceState::Done)
    }
}

/// A run of the closure. Its drop writes how the run ended, also when the closure unwinds.
struct Run<'a, F: Futex> {
    once: &'a Once<F>,
    is_done: bool,
}

impl<F: Futex> Drop for Run<'_, F> {
    fn drop(&mut self) {
        self.once.end(self.is_done);
    }
}

/// What a caller that may run the work learns.
pub enum Begun {
    /// The caller runs the work now; how far the `Once` was before: `New` or `Poisoned`.
    Mine(OnceState),
    /// The work has been done.
    Done,
    /// The caller is the thread that runs the work, and would wait for itself.
    WouldDeadlock,
}

impl Once {
    const_fn! {
        /// Returns a `Once` that has not run.
        #[allow(clippy::new_without_default)]
        pub fn new() -> Self {
            Self::new_in()
        }
    }
}

impl<F: Futex> Once<F> {
    const_fn! {
        /// Returns a `Once` that has not run.
        ///
        /// It is on the futexes that its type names; [`new`](Once::new) returns one for a single process.
        pub fn new_in() -> Self {
            Once { word: AtomicU32::new(NEW), futex: PhantomData }
        }
    }

    /// Returns true if a closure has run. What it did happens before the return.
    #[inline]
    pub fn is_completed(&self) -> bool {
        // Acquire: partner of the release in `Run`.
        self.word.load(Ordering::Acquire) == DONE
    }

    /// Returns how far the `Once` is; out of date when it returns, unless it is done. What a closure
    /// that has run did happens before the return.
    ///
    /// Async-signal-safe.
    pub fn state(&self) -> OnceState {
        // Acquire: as in `is_completed`.
        OnceState::of(self.word.load(Ordering::Acquire))
    }

    /// Runs `work` unless a closure has run. Waits while another thread runs one.
    ///
    /// # Panics
    /// - If `work` does; then it has not run.
    /// - If it is called from within `work`, which would wait for itself. (Where threads have no
    ///   [number](Futex::thread_number), as with a [`Shared`](crate::futex::Shared) futex, and in
    ///   the child of a fork that `work` makes, the call waits forever instead.)
    #[inline]
    #[track_caller]
    pub fn call_once(&self, work: impl FnOnce()) {
        self.call_once_force(|_| work());
    }

    /// Runs `work` unless a closure has run, and tells it whether the closure that ran last has
    /// panicked (`Poisoned`) or none has run (`New`). Waits while another thread runs one.
    ///
    /// It runs `work` whenever [`call_once`](Self::call_once) does; only what `work` is told
    /// differs.
    ///
    /// # Panics
    /// As [`call_once`](Self::call_once).
    ///
    /// ```
    /// use leeward::raw::Once;
    /// static TABLE: Once = Once::new();
    /// let first = std::thread::spawn(|| TABLE.call_once(|| panic!("half of it is made")));
    /// assert!(first.join().is_err());
    /// TABLE.call_once_force(|before| {
    ///     if before.is_poisoned() { /* begin with an empty one */ }
    /// });
    /// assert!(TABLE.is_completed());
    /// ```
    #[inline]
    #[track_caller]
    pub fn call_once_force(&self, work: impl FnOnce(OnceState)) {
        self.call(true, work);
    }

    /// Runs `work` as [`call_once_force`](Self::call_once_force) does; panics instead if the closure
    /// that ran last has panicked, unless the caller `forces` it.
    #[inline]
    #[track_caller]
    pub(crate) fn call(&self, forces: bool, work: impl FnOnce(OnceState)) {
        if !self.is_completed() {
            let mut work = Some(work);
            let run = &mut |before| {
                if let Some(work) = work.take() {
                    work(before);
                }
            };
            self.call_slow(forces, Some(run));
        }
    }

    /// Waits until a closure has run, and runs none.
    ///
    /// # Panics
    /// If it is called from within the closure, as [`call_once`](Self::call_once).
    #[track_caller]
    pub fn wait(&self) {
        self.wait_for_run(true);
    }

    /// Waits as [`wait`](Self::wait) does; panics instead if the closure that ran last has panicked,
    /// unless the caller `forces` it.
    #[inline]
    #[track_caller]
    pub(crate) fn wait_for_run(&self, forces: bool) {
        if !self.is_completed() {
            self.call_slow(forces, None);
        }
    }

    /// Runs `work`, or waits until a closure has run. Without `work` it only waits.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn call_slow(&self, forces: bool, work: Option<&mut dyn FnMut(OnceState)>) {
        match (self.begin_or_wait(forces, work.is_some()), work) {
            (Some(Begun::Mine(before)), Some(work)) => {
                let mut run = Run { once: self, is_done: false };
                work(before);
                run.is_done = true;
            }
            (Some(Begun::WouldDeadlock), _) => {
                panic!("leeward: what a Once runs asks for it again: it would wait for itself forever")
            }
            (None, _) => panic!("leeward: a Once instance has previously been poisoned: what it ran has panicked"),
            _ => {}
        }
    }

    /// Begins a run, which [`end`](Self::end) ends, or waits until a closure has run. If the caller
    /// `has_work` is false, it begins none. Returns `None`, with nothing begun, if the closure that ran
    /// last has panicked and the caller `forces` nothing.
    pub(super) fn begin_or_wait(&self, forces: bool, has_work: bool) -> Option<Begun> {
        let current = F::thread_number();
        let mut budget = SpinBudget::for_event(Timeout::Never);
        loop {
            // Acquire: as in `is_completed`.
            let word = self.word.load(Ordering::Acquire);
            match word {
                DONE => return Some(Begun::Done),
                PANICKED | PANICKED_WANTED if check!(poison_once, !forces) => return None,
                NEW | WANTED | PANICKED | PANICKED_WANTED if has_work => {
                    if self.begin(word, current) {
                        return Some(Begun::Mine(OnceState::of(word)));
                    }
                }
                _ if check!(once_itself, current != 0 && runner(word) == current) => return Some(Begun::WouldDeadlock),
                _ if budget.pause::<F>() => {}
                _ => self.sleep(word),
            }
        }
    }

    /// Begins a run by the thread `current` if the word is still `word`; returns true if it did.
    fn begin(&self, word: u32, current: u32) -> bool {
        let state = if matches!(word, NEW | PANICKED) { RUNNING } else { AWAITED };
        let running = state | current << THREAD_SHIFT;
        // Acquire: what a run that panicked did is seen. Relaxed on failure: the caller rechecks.
        self.word.compare_exchange(word, running, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Ends the run that the caller has begun; `is_done`: the work has been done, and if not, the
    /// next caller begins it.
    pub(super) fn end(&self, is_done: bool) {
        // Release: partner of the acquires in `is_completed`, `begin_or_wait` and `begin`.
        let before = self.word.swap(if is_done { DONE } else { PANICKED }, Ordering::Release);
        if check!(once_wake, before & STATES == AWAITED) {
            F::wake(&self.word, ALL);
        }
    }

    /// Marks the word as contended and sleeps on it, if it is still `word`.
    fn sleep(&self, word: u32) {
        let marked = match word {
            NEW | WANTED => WANTED,
            PANICKED | PANICKED_WANTED => PANICKED_WANTED,
            _ => word & !STATES | AWAITED,
        };
        // Relaxed: the mark is all that is published.
        if word == marked || self.word.compare_exchange(word, marked, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            F::wait(&self.word, marked, Timeout::Never);
        }
    }
}

impl<F: Futex> core::fmt::Debug for Once<F> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Once").field("state", &self.state()).finish()
    }
}
