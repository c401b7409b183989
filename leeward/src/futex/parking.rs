//! The ready embedding: one parking lot for this process, made when a thread first sleeps or wakes.

use core::sync::atomic::{AtomicPtr, Ordering};

use leeward_engine::Engine;
use leeward_engine::parking::{ParkingLot, Process};

use super::Embedding;
use crate::process::fork::{self, Hook, Watched};

/// This process's parking lot as a place to sleep: `Hosted<Parking>`.
///
/// Threads sleep on the kernel's futex, each on a word of its own; which thread waits for which
/// word is the engine's business. [`leeward_engine::parking`] describes the lot.
///
/// ```
/// use leeward::futex::{Hosted, Parking};
/// static PERMITS: leeward::raw::Semaphore<Hosted<Parking>> = leeward::raw::Semaphore::new_in(1);
/// PERMITS.acquire();
/// PERMITS.release(1);
/// ```
///
/// # Cost
/// The lot is made, and memory allocated, when a thread first sleeps or wakes by it, or in
/// [`lot`](Self::lot). It is never freed.
///
/// # Signals
/// A signal handler may wake, as with the kernel's futex, once the lot is there (call
/// [`lot`](Self::lot) before): that is, call those releases of locks that only wake, such as a
/// semaphore's. It must not wait, move waiters or wake by an operation on another word
/// ([`leeward_engine::parking`], "Signals").
///
/// # Fork
/// In the child of a fork the lot is a new and empty one: the threads that slept in the old one are
/// not there.
#[derive(Debug)]
pub enum Parking {}

/// The address of the lot; null: none yet in this process. A lot is never freed.
static LOT: AtomicPtr<ParkingLot> = AtomicPtr::new(core::ptr::null_mut());

impl Parking {
    /// Returns the lot itself: for futures that wait beside threads ([`ParkingLot::wait_async`]),
    /// and for what it counts. Makes the lot if there is none yet.
    ///
    /// ```
    /// let lot = leeward::futex::Parking::lot();
    /// println!("{} waits were queued", lot.stats().queued);
    /// ```
    ///
    /// # Aborts
    /// Without memory for the lot, the process ends as it does where other allocations fail. Call
    /// `lot` early, so that this cannot happen when a thread goes to sleep.
    #[inline]
    pub fn lot() -> &'static ParkingLot {
        // Acquire: the lot's contents; partner: the exchange in `make`.
        let lot = LOT.load(Ordering::Acquire);
        if lot.is_null() {
            return make();
        }
        // SAFETY: not null, so from `make`, and never freed.
        unsafe { &*lot }
    }
}

#[cold]
#[inline(never)]
fn make() -> &'static ParkingLot {
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get() as u32);
    let Ok(lot) = ParkingLot::new(threads) else {
        alloc::alloc::handle_alloc_error(core::alloc::Layout::new::<ParkingLot>());
    };
    let new = alloc::boxed::Box::into_raw(alloc::boxed::Box::new(lot));
    // Before a thread can sleep there.
    fork::watch(&IN_CHILD);
    // Release: the lot's contents; partner: the load in `lot`. Acquire on failure: the contents of
    // the lot that another thread made.
    match LOT.compare_exchange(core::ptr::null_mut(), new, Ordering::Release, Ordering::Acquire) {
        // SAFETY: made above, and never freed from now on.
        Ok(_) => unsafe { &*new },
        Err(other) => {
            // SAFETY: made above, and no other thread has seen it.
            drop(unsafe { alloc::boxed::Box::from_raw(new) });
            // SAFETY: as in `lot`.
            unsafe { &*other }
        }
    }
}

/// The item that drops the lot in the child of a fork. The lot may have locks that are held by
/// threads that are not there, and lists that lead to their stacks: it is left alone.
struct InChild(Hook);

static IN_CHILD: InChild = InChild(Hook::new());

impl Watched for InChild {
    fn hook(&self) -> &Hook {
        &self.0
    }

    fn in_child(&'static self) {
        // Relaxed: the child has one thread.
        LOT.store(core::ptr::null_mut(), Ordering::Relaxed);
    }
}

// SAFETY: the host's accesses are atomic ones to the words themselves, and there is one lot.
unsafe impl Embedding for Parking {
    type Host = Process;

    unsafe fn with<R>(work: impl FnOnce(&Engine<Process>, &Process) -> R) -> R {
        // SAFETY: the caller's promise.
        let (engine, process) = unsafe { Parking::lot().parts() };
        work(engine, process)
    }

    fn yield_now() {
        // The host's spin may sleep for a real-time thread, where it waits for a lock of the
        // engine. No such lock is waited for here.
        std::thread::yield_now();
    }
}
