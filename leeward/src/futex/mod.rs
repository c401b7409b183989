//! Futexes: 32-bit words on which one thread sleeps until another wakes it, as a trait over which
//! every lock is written.
//!
//! Every lock of this library is written over the trait [`Futex`]. [`Private`] words belong to one
//! process, and the kernel finds them by their address alone; [`Shared`] words may lie in memory
//! that several processes map, and are found by what is mapped there, which costs the kernel a
//! look-up and a reference. The choice is a type: there is no test at run time.
//!
//! These are the primitives that locks are made of; programs want [`sync`](crate::sync).

#[cfg(all(target_os = "linux", not(any(leeward_symmetric, miri)), not(leeward_loom)))]
#[path = "backend/linux.rs"]
mod backend;
#[cfg(leeward_loom)]
#[path = "backend/model.rs"]
mod backend;
#[cfg(all(any(not(target_os = "linux"), leeward_symmetric, miri), not(leeward_loom)))]
#[path = "backend/none.rs"]
mod backend;
#[cfg_attr(any(leeward_symmetric, miri), allow(dead_code))]
#[cfg(all(target_os = "linux", not(leeward_loom)))]
pub(crate) mod calls;
mod deadline;
#[cfg(all(feature = "engine", not(leeward_loom)))]
mod hosted;
mod outcome;
#[cfg(all(feature = "engine", feature = "std", target_os = "linux", not(leeward_loom)))]
mod parking;
mod wait_any;
mod wake_op;

pub use deadline::{Deadline, Timeout};
#[cfg(all(feature = "engine", not(leeward_loom)))]
pub use hosted::{Embedding, Hosted};
pub use outcome::{Changed, MOST as WAIT_ANY_MOST, Wait, WaitAny};
#[cfg(all(feature = "engine", feature = "std", target_os = "linux", not(leeward_loom)))]
pub use parking::Parking;
pub use wait_any::{WrongCount, wait_any};
pub use wake_op::{Argument, Comparison, Operation, OutOfRange, WakeOp};

use crate::atomic::AtomicU32;

/// The count for [`Futex::wake`] that means all sleepers of a word.
///
/// ```
/// use leeward::futex::{ALL, Futex, Private};
/// let word = std::sync::atomic::AtomicU32::new(0);
/// assert_eq!(Private::wake(&word, ALL), 0); // no thread sleeps there
/// ```
pub const ALL: u32 = i32::MAX as u32;

/// A place where threads sleep, as a type.
///
/// [`Private`] and [`Shared`] implement it; so does `Hosted` (feature `engine`) for any system that
/// `leeward-engine` is built into; callers may bring a futex of their own.
///
/// Words that are only woken are given by pointer: a woken thread may have freed its word already,
/// and a wake must not claim that the word is still there. (If another thread sleeps at that
/// address by then, it is woken without reason, which every waiter has to expect.)
///
/// ```
/// use leeward::futex::{ALL, Futex, Private, Timeout};
/// use std::sync::atomic::{AtomicU32, Ordering::{Acquire, Release}};
/// static READY: AtomicU32 = AtomicU32::new(0);
/// std::thread::scope(|scope| {
///     scope.spawn(|| {
///         READY.store(1, Release);
///         Private::wake(&READY, ALL);
///     });
///     // A return proves nothing: the word is loaded again.
///     while READY.load(Acquire) == 0 {
///         Private::wait(&READY, 0, Timeout::Never);
///     }
/// });
/// ```
///
/// # Differences from the futex call
/// - A time limit is a point in time on the monotonic clock ([`Timeout`]).
/// - Sharing between processes is a type, not a flag.
/// - A count of 0 wakes no thread; the kernel takes it for 1.
/// - No error number reaches the caller. Where a sandbox refuses the call, a wait yields and
///   returns, a requeue wakes instead, and a wake-op is done in three steps. errno is left as it
///   was.
///
/// # Differences from atomic-wait
/// - Waits end at a time limit, and say how they ended ([`Wait`]).
/// - A wake takes a count and returns how many threads it woke.
/// - There are requeue, wake-op and a wait for several words ([`wait_any`]), and words that
///   processes share.
/// - Only Linux's futex is used. On other systems a waiter yields and rechecks the word.
///
/// # Memory ordering
/// A wait and a wake order nothing for their callers: the waiter's acquire load of the word pairs
/// with the release store that came before the wake. Only [`wake_op`](Self::wake_op)'s change of
/// its second word is `SeqCst`.
///
/// # Cost
/// With [`Private`] and [`Shared`], each of `wait`, `wake`, `requeue` and `wake_op` is a system
/// call, also if no thread sleeps. So a lock marks its word before it sleeps, and its unlock wakes
/// only if it finds the mark.
///
/// # Signals
/// A signal handler that runs may end a wait as if the thread were woken. With [`Private`] and
/// [`Shared`] a wake is async-signal-safe; `Hosted` says what its host allows.
///
/// # Fork
/// The threads that slept are not in the child. A [`Private`] word that parent and child both map
/// is a futex of its own in each of them; a [`Shared`] word in such memory is one futex.
///
/// # Safety
/// - `wait` must read `word` and compare it in one step with queueing the caller: a
///   [`wake`](Self::wake) that begins after another thread stored to the word finds the caller, or
///   the caller finds the store.
/// - `wake` and `requeue` must not read or write through the pointers other than by comparing
///   `from`'s word, and `wake_op` must do to `on` exactly what its operation says, in one atomic
///   step with full ordering.
/// - None of them unwinds: locks are given up and taken again under guards that live.
pub unsafe trait Futex: Send + Sync + 'static {
    /// True if several processes may use the words.
    const SHARED: bool;

    /// Sleeps while `word` is `expected`, until woken or until `timeout`, and returns how the wait
    /// ended. It may return at any time.
    fn wait(word: &AtomicU32, expected: u32, timeout: Timeout) -> Wait;

    /// Wakes up to `count` threads that sleep on `word`, the longest waiting first among equals.
    /// Returns how many it woke.
    fn wake(word: *const AtomicU32, count: u32) -> u32;

    /// Wakes up to `wake` of the threads that sleep on `from` and moves up to `requeue` others to
    /// `to`, where they sleep on, if the word `from` is still `expected`. Returns how many were
    /// woken or moved.
    ///
    /// ```
    /// use leeward::futex::{ALL, Changed, Futex, Private};
    /// use std::sync::atomic::AtomicU32;
    /// let (from, to) = (AtomicU32::new(7), AtomicU32::new(0));
    /// // SAFETY: `from` is alive.
    /// let moved = |expected| unsafe { Private::requeue(&from, expected, 1, &to, ALL) };
    /// assert_eq!(moved(7), Ok(0)); // no thread sleeps there
    /// assert_eq!(moved(8), Err(Changed));
    /// ```
    ///
    /// # Errors
    /// [`Changed`] if `from` did not hold `expected`.
    ///
    /// # Safety
    /// `from` is alive: it is read.
    unsafe fn requeue(
        from: *const AtomicU32,
        expected: u32,
        wake: u32,
        to: *const AtomicU32,
        requeue: u32,
    ) -> Result<u32, Changed>;

    /// Does `op` to the word `on`, wakes up to `wake` of the sleepers of `word`, and wakes up to
    /// `wake_on` of those of `on` if `op`'s comparison holds for the old value; all in one step.
    /// Returns how many threads were woken. [`WakeOp`] has an example.
    ///
    /// ```
    /// use leeward::futex::{Argument, Comparison, Futex, Operation, Private, WakeOp};
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// let (changed, lock) = (AtomicU32::new(0), AtomicU32::new(1));
    /// let unlock = WakeOp::new(Operation::Set, Argument::Value(0), Comparison::Greater, 1).unwrap();
    /// // SAFETY: `lock` is alive, and this thread may write it.
    /// let woken = unsafe { Private::wake_op(&changed, 1, &lock, unlock, 1) };
    /// assert_eq!((woken, lock.load(Relaxed)), (0, 0));        // unlocked, and nobody slept
    /// ```
    ///
    /// # Safety
    /// `on` is alive, and may be written so.
    unsafe fn wake_op(word: *const AtomicU32, wake: u32, on: *const AtomicU32, op: WakeOp, wake_on: u32) -> u32;

    /// Lets another thread run.
    fn yield_now();

    /// Returns false if a [yield](Self::yield_now) of the calling thread lets no ordinary thread
    /// run: a real-time thread yields the processor to its equals alone. A lock asks before it
    /// yields a second time.
    ///
    /// ```
    /// use leeward::futex::{Futex, Private};
    /// /// Waits a little for a thread that may have no processor.
    /// fn pause() {
    ///     if Private::yields_to_all() { Private::yield_now() } else { std::hint::spin_loop() }
    /// }
    /// pause();
    /// ```
    fn yields_to_all() -> bool {
        true
    }

    /// Returns the time, on a clock that only goes forward.
    ///
    /// ```
    /// use leeward::futex::{Futex, Private};
    /// let before = Private::now();
    /// assert!(Private::now() >= before);
    /// ```
    fn now() -> Deadline;

    /// Returns a number of the calling thread, below 2^29, that no other thread which may use the
    /// same words has while this one lives; 0 where there is none. By it a lock recognizes a thread
    /// that would wait for itself.
    ///
    /// ```
    /// use leeward::futex::{Futex, Private};
    /// let mine = Private::thread_number();
    /// let other = std::thread::spawn(Private::thread_number).join().unwrap();
    /// assert!(mine == Private::thread_number() && mine != other);
    /// ```
    fn thread_number() -> u32 {
        0
    }
}

/// The futex of the operating system; `SHARED` says whether several processes may use its words.
///
/// Programs name it [`Private`] or [`Shared`]; generic code may name it by its parameter.
/// [`Futex`] has its cost and what holds in signal handlers and after a fork.
///
/// ```
/// use leeward::futex::{Futex, System, Timeout, Wait};
/// fn is_unchanged<const SHARED: bool>(word: &std::sync::atomic::AtomicU32, value: u32) -> bool {
///     System::<SHARED>::wait(word, value, Timeout::Now) != Wait::Changed
/// }
/// assert!(!is_unchanged::<true>(&std::sync::atomic::AtomicU32::new(1), 0));
/// ```
#[derive(Debug)]
pub enum System<const SHARED: bool> {}

/// The futex for words of one process, which the kernel finds by their address alone.
///
/// It is the default of every lock of [`raw`](crate::raw). [`Futex`] has an example.
///
/// ```
/// use leeward::futex::{Futex, Private, Timeout, Wait};
/// let word = std::sync::atomic::AtomicU32::new(1);
/// assert_eq!(Private::wait(&word, 0, Timeout::Never), Wait::Changed);
/// assert_eq!(Private::wake(&word, 1), 0);
/// ```
///
/// # Cost
/// The cheaper of the two: the kernel looks up no mapping and counts no reference.
pub type Private = System<false>;

/// The futex for words in memory that several processes may map, each at an address of its own.
///
/// ```
/// use leeward::futex::Shared;
/// // One word in shared memory, for the threads of all processes that map it.
/// static LOCK: leeward::raw::Mutex<Shared> = leeward::raw::Mutex::new_in();
/// assert!(LOCK.try_lock());
/// ```
///
/// # Cost
/// As [`Private`], and in each call the kernel looks up what is mapped at the address and holds a
/// reference to it.
pub type Shared = System<true>;

// SAFETY: the kernel's futex keeps the promise, and so do the model's and the portable one, each of
// which says how.
unsafe impl<const SHARED: bool> Futex for System<SHARED> {
    const SHARED: bool = SHARED;

    fn wait(word: &AtomicU32, expected: u32, timeout: Timeout) -> Wait {
        backend::wait::<SHARED>(word, expected, timeout)
    }

    fn wake(word: *const AtomicU32, count: u32) -> u32 {
        backend::wake::<SHARED>(word, count)
    }

    unsafe fn requeue(
        from: *const AtomicU32,
        expected: u32,
        wake: u32,
        to: *const AtomicU32,
        requeue: u32,
    ) -> Result<u32, Changed> {
        // SAFETY: the caller's promise.
        unsafe { backend::requeue::<SHARED>(from, expected, wake, to, requeue) }
    }

    unsafe fn wake_op(word: *const AtomicU32, wake: u32, on: *const AtomicU32, op: WakeOp, wake_on: u32) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { backend::wake_op::<SHARED>(word, wake, on, op, wake_on) }
    }

    fn yield_now() {
        backend::yield_now();
    }

    fn yields_to_all() -> bool {
        backend::yields_to_all()
    }

    fn now() -> Deadline {
        Deadline::at(backend::now())
    }

    fn thread_number() -> u32 {
        // Processes that share memory may be of several pid namespaces.
        if SHARED { 0 } else { backend::thread_number() }
    }
}

/// Sleeps on a private word as [`Futex::wait`] does, for this crate's rare paths.
pub(crate) fn wait(word: &AtomicU32, expected: u32, timeout: Timeout) -> Wait {
    backend::wait::<false>(word, expected, timeout)
}

/// Wakes sleepers of a private word as [`Futex::wake`] does, for this crate's rare paths.
pub(crate) fn wake(word: &AtomicU32, count: u32) {
    backend::wake::<false>(word, count);
}

pub(crate) use backend::{now, yield_now};
