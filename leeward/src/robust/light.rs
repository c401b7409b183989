//! The robust mutex whose unlock is a store, by name.

use super::Mutex;
use super::unlock::ByStore;

/// A robust [`Mutex`] whose unlock is a store.
///
/// ```
/// use leeward::robust::LightMutex;
/// static COUNTER: LightMutex<u64> = LightMutex::with_unlock(0);
/// COUNTER.lock().or_else(|error| error.repair(|_| ()))?.with(|count| *count += 1);
/// # Ok::<(), leeward::robust::LockError<u64, leeward::robust::ByStore>>(())
/// ```
///
/// Everything that is said of `Mutex` holds, and its layout is the same, with the sleepers at 8; but processes that share one must agree
/// which of the two it is: where one is wrong, sleepers are woken late, by up to 30 seconds.
///
/// # Cost
/// Free: a compare-exchange to lock, a few plain stores and a look to unlock. The first that goes to sleep since 511 unlocks found nobody
/// asleep issues a heavy fence that reaches every process that uses such locks (`membarrier(GLOBAL_EXPEDITED)`, Linux 4.16: some microseconds, and an interrupt
/// to each processor that runs one of their threads); meanwhile unlocking is an exchange.
///
/// # What it asks for
/// - A process unlocks by an exchange until it has registered to be reached, at its first unlock; for ever, if the kernel or a sandbox refuses that. Registering
///   may take milliseconds where threads run already. From then on, heavy fences that *any* process of the machine issues interrupt its threads.
/// - A sleeper in a process that may not issue the fence naps, for 50 microseconds to 51 ms a time, and so may be woken that much later than the unlock.
/// - A sleeper that is *killed* leaves the lock as if it slept still: unlocking stays an exchange. It is slower from then on, and right.
/// - A process that was checkpointed and restored is registered no more, and nobody tells it: its unlocks may leave sleepers asleep until they look by themselves,
///   after 30 seconds. Use `Mutex` there.
pub type LightMutex<T> = Mutex<T, ByStore>;
