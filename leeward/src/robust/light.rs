//! The robust mutex whose unlock is a store, by name.

use super::Mutex;
use super::unlock::ByStore;

/// A robust [`Mutex`] whose unlock is a store while no thread sleeps.
///
/// ```
/// use leeward::robust::LightMutex;
/// static COUNTER: LightMutex<u64> = LightMutex::with_unlock(0);
/// COUNTER.lock().or_else(|error| error.repair(|_| ()))?.with(|count| *count += 1);
/// # Ok::<(), leeward::robust::LockError<u64, leeward::robust::ByStore>>(())
/// ```
///
/// Everything that the page of [`Mutex`] says holds, and the layout is the same, with the sleepers'
/// words at 8. Processes that share a lock must agree which of the two it is: where one is wrong,
/// sleepers are woken late, by up to 30 seconds.
///
/// # Cost
/// - Free: a compare-exchange to lock; a few plain stores and a look to unlock.
/// - The first thread that goes to sleep issues a heavy fence that reaches every process that uses
///   such locks (`membarrier(GLOBAL_EXPEDITED)`, Linux 4.16): some microseconds, and an interrupt
///   to each processor that runs one of their threads. From then on unlocking is an exchange, until
///   511 unlocks in a row have found no sleeper; the next thread that goes to sleep issues a fence
///   again.
///
/// # What it asks for
/// - **Registration.** A process unlocks by an exchange until it has registered to be reached, at
///   its first unlock; forever, if the kernel or a sandbox refuses. Registering may take
///   milliseconds where threads run already. From then on, heavy fences that *any* process of the
///   machine issues interrupt its threads.
/// - **Naps.** A sleeper in a process that may not issue the fence naps, for 50 µs to 51 ms at a
///   time, and may wake that much later than the unlock.
/// - **Killed sleepers.** A sleeper that is killed stays counted, so unlocking stays an exchange
///   from then on: slower, and correct.
/// - **Checkpoints.** A process that was checkpointed and restored has lost its registration
///   without notice. Its unlocks may leave sleepers asleep until they recheck, after 30 seconds.
///   Use `Mutex` there.
pub type LightMutex<T> = Mutex<T, ByStore>;
