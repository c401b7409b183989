//! Futexes of an embedded engine: [`Hosted`], for locks where the kernel's futex is missing or not
//! wanted.
//!
//! The locks of [`raw`](crate::raw) run on it as they are. [`Parking`](super::Parking) is a ready
//! embedding: the engine on this process's threads.

use core::marker::PhantomData;
use core::time::Duration;

use leeward_engine::abi::FUTEX_BITSET_MATCH_ANY as ANY;
use leeward_engine::{Clock, Engine, Host, Word};

use super::{Changed, Deadline, Futex, Timeout, Wait, WakeOp};
use crate::atomic::AtomicU32;

/// A place where an engine is embedded: which engine serves, and which host calls it.
///
/// It is implemented for a marker type `E`, which then names a place to sleep:
/// [`Hosted<E>`](Hosted).
///
/// ```
/// use leeward::futex::{Embedding, Hosted, Parking};
/// use leeward::raw::Mutex;
/// use leeward_engine::Engine;
///
/// /// The engine of some subsystem: here, the engine of the process's parking lot.
/// enum Own {}
/// // SAFETY: `Parking` keeps the promise.
/// unsafe impl Embedding for Own {
///     type Host = <Parking as Embedding>::Host;
///     unsafe fn with<R>(work: impl FnOnce(&Engine<Self::Host>, &Self::Host) -> R) -> R {
///         // SAFETY: the caller's promise.
///         unsafe { Parking::with(work) }
///     }
/// }
///
/// static LOCK: Mutex<Hosted<Own>> = Mutex::new_in();
/// assert!(LOCK.try_lock());
/// Own::yield_now();                       // lets another thread run
/// ```
///
/// # Safety
/// - The host takes an address of this program for what it is: its [`load`](Host::load),
///   [`compare_exchange`](Host::compare_exchange) and [`fetch_op`](Host::fetch_op) do to the word
///   there what they say, in one step, and its other methods do nothing to it.
/// - All threads that use one word get the same engine, and hosts of one space (or, where it is
///   [`SHARED`](Self::SHARED), hosts that look up the same thing): else they would not find each
///   other.
pub unsafe trait Embedding: Send + Sync + 'static {
    /// The system that the engine is built into.
    type Host: Host;

    /// True if words are looked up as shared ([`Scope::Shared`](leeward_engine::Scope)), so that
    /// several spaces may use them.
    const SHARED: bool = false;

    /// Calls `work` with the engine and the calling thread's host. `work` may sleep.
    ///
    /// ```compile_fail
    /// use leeward::futex::{Embedding, Parking};
    /// use leeward_engine::Host;
    /// // A load from any address is not safe code.
    /// Parking::with(|_, host| host.load(64));
    /// ```
    ///
    /// # Safety
    /// Each address that `work` gives to the engine or to the host is that of an aligned word that
    /// lives as long as the call does, and that is accessed atomically meanwhile. (A word that is
    /// only woken is not accessed, and need not live.)
    unsafe fn with<R>(work: impl FnOnce(&Engine<Self::Host>, &Self::Host) -> R) -> R;

    /// Lets another thread run.
    fn yield_now() {
        // A host yields its processor once it has spun often enough.
        // SAFETY: no word is named.
        unsafe { Self::with(|_, host| host.spin(u32::MAX)) };
    }
}

/// The futex of an embedded engine, as a place to sleep.
///
/// ```
/// use leeward::futex::{Hosted, Parking};
/// type Mutex<T> = lock_api::Mutex<leeward::raw::Mutex<Hosted<Parking>>, T>;
/// static TOTAL: Mutex<u64> = Mutex::new(0);
/// std::thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| *TOTAL.lock() += 1);
///     }
/// });
/// assert_eq!(*TOTAL.lock(), 4);
/// ```
///
/// # Differences from [`Private`](super::Private)
/// - No system call is made but those of the host; where the host refuses a call, a waiter yields
///   and rechecks.
/// - A wake that finds no waiter takes no lock.
/// - There are no [thread numbers](Futex::thread_number).
///
/// # Cost
/// The engine's cost and the host's. An uncontended lock calls neither.
///
/// # Signals
/// The host says what a signal handler may do. Unlike the kernel's futex, a wake takes a lock where
/// threads wait: with a host that neither blocks signals meanwhile nor defers such wakes
/// ([`Host::defer_wake`]), a handler that releases a lock or a semaphore may wait for its own
/// thread. [`Parking`](super::Parking) defers them.
///
/// # Fork
/// The host's matter: the waiters of the parent's other threads are not in the child.
/// [`Parking`](super::Parking) makes a new engine there.
pub struct Hosted<E: Embedding>(PhantomData<fn() -> E>);

impl<E: Embedding> Hosted<E> {
    /// Returns the word as the engine knows it.
    fn word(word: *const AtomicU32) -> Word {
        let address = word.expose_provenance() as u64;
        if E::SHARED { Word::shared(address) } else { Word::private(address) }
    }

    /// Yields instead of sleeping, where the host refused a wait: nothing is lost but the sleep.
    #[cold]
    fn refused(timeout: Timeout) -> Wait {
        E::yield_now();
        if timeout.has_passed::<Self>() { Wait::TimedOut } else { Wait::Woken }
    }
}

// SAFETY: the engine compares under the lock of the bucket in which it queues (pair W); it reads
// `from`'s word and changes `on`'s through the host, whose implementer promised to do no more.
unsafe impl<E: Embedding> Futex for Hosted<E> {
    const SHARED: bool = E::SHARED;

    fn wait(word: &AtomicU32, expected: u32, timeout: Timeout) -> Wait {
        let until = timeout.deadline().map(in_nanos);
        // SAFETY: the word is borrowed.
        let end = unsafe { E::with(|engine, host| engine.wait(host, Self::word(word), expected.into(), ANY, until)) };
        match end {
            Ok(leeward_engine::Wait::Woken | leeward_engine::Wait::Interrupted) => Wait::Woken,
            Ok(leeward_engine::Wait::Changed) => Wait::Changed,
            Ok(leeward_engine::Wait::TimedOut) => Wait::TimedOut,
            Err(_) => Self::refused(timeout),
        }
    }

    fn wake(word: *const AtomicU32, count: u32) -> u32 {
        // SAFETY: the word is only woken.
        let woken = unsafe { E::with(|engine, host| engine.wake(host, Self::word(word), count, ANY)) };
        // Refused where nothing can be looked up, and so no thread sleeps.
        woken.unwrap_or(0)
    }

    unsafe fn requeue(
        from: *const AtomicU32,
        expected: u32,
        wake: u32,
        to: *const AtomicU32,
        requeue: u32,
    ) -> Result<u32, Changed> {
        let (first, second) = (Self::word(from), Self::word(to));
        // SAFETY: the caller's promise.
        let done = unsafe {
            E::with(|engine, host| engine.requeue(host, first, second, wake, requeue, Some(expected.into())))
        };
        match done {
            Ok(leeward_engine::Requeue::Done(count)) => Ok(count),
            Ok(leeward_engine::Requeue::Changed) => Err(Changed),
            // Refused: a waiter that is woken need not be moved.
            Err(_) => Ok(Self::wake(from, wake.saturating_add(requeue))),
        }
    }

    unsafe fn wake_op(word: *const AtomicU32, wake: u32, on: *const AtomicU32, op: WakeOp, wake_on: u32) -> u32 {
        let (first, second) = (Self::word(word), Self::word(on));
        let answer = leeward_engine::WakeOp::decode(op.encoded())
            // SAFETY: the caller's promise.
            .and_then(|op| unsafe { E::with(|engine, host| engine.wake_op(host, first, wake, second, op, wake_on)) });
        answer.unwrap_or_else(|_| {
            // Refused, and nothing has happened: in three steps.
            // SAFETY: the caller's promise.
            let old = op.apply_to(unsafe { &*on });
            let woken = Self::wake(word, wake);
            woken + if op.holds(old) { Self::wake(on, wake_on) } else { 0 }
        })
    }

    fn yield_now() {
        E::yield_now();
    }

    fn now() -> Deadline {
        // SAFETY: no word is named.
        Deadline::at(Duration::from_nanos(unsafe { E::with(|_, host| host.now(Clock::Monotonic)) }))
    }
}

impl<E: Embedding> core::fmt::Debug for Hosted<E> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Hosted")
    }
}

/// Converts a deadline to the engine's nanoseconds; one that the engine cannot count never comes.
fn in_nanos(deadline: Deadline) -> leeward_engine::Deadline {
    let at = u64::try_from(deadline.since_beginning().as_nanos()).unwrap_or(u64::MAX);
    leeward_engine::Deadline { clock: Clock::Monotonic, at }
}
