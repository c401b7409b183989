//! A thread that waits as a task does: it polls a future, and sleeps until the future's waker is woken.
//! So wait the `blocking_` calls of the locks.
//!
//! The wakers point to a word on the thread's stack, which counts them: the call ends when none is left.
//! So nothing is allocated, and a waker that was taken out of the queue, to be woken after the queue's
//! lock was let go, finds the word there. As a rule the thread has nothing to wait for at the end: the
//! wake that ended its sleep was by the only waker.

use core::future::Future;
use core::mem::ManuallyDrop;
use core::pin::pin;
use core::ptr;
use core::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use crate::atomic::{AtomicU32, Ordering};
use crate::futex::{self, Private, Timeout};
use crate::mutant::step;
use crate::raw::spin_budget::SpinBudget;

/// The future is to be polled again.
const WOKEN: u32 = 1;
/// One waker, in the count of them.
const WAKER: u32 = 2;

/// A thread that polls a future: [`WOKEN`], and how many wakers point to it.
struct Sleeper(AtomicU32);

impl Sleeper {
    /// Returns the waker that does not count: the thread's own, which is not dropped.
    fn waker(&self) -> ManuallyDrop<Waker> {
        let data = ptr::from_ref(self).cast();
        // SAFETY: the functions are made for it, and may be called on any thread. Each clone is counted,
        // and the sleeper stays until all are gone.
        ManuallyDrop::new(unsafe { Waker::from_raw(RawWaker::new(data, &TABLE)) })
    }

    /// Sleeps until `is_time` of the word.
    fn sleep_until(&self, is_time: impl Fn(u32) -> bool) {
        let mut budget = SpinBudget::for_lock(Timeout::Never);
        loop {
            // Acquire: partner of the release in `change`: the waker's use of the word happens before its end.
            let word = self.0.load(Ordering::Acquire);
            if is_time(word) {
                return;
            }
            if !budget.pause::<Private>() {
                futex::wait(&self.0, word, Timeout::Never);
            }
        }
    }

    /// Changes the word, for the thread to see. If a waker ends by that, the sleeper may be gone afterwards.
    fn change(&self, change: impl Fn(u32) -> u32) {
        // Relaxed: the exchange decides.
        let mut word = self.0.load(Ordering::Relaxed);
        // Release: partner of the acquire in `sleep_until`.
        while let Err(now) = self.0.compare_exchange_weak(word, change(word), Ordering::Release, Ordering::Relaxed) {
            word = now;
        }
        step!(task_blocking_wake, futex::wake(&self.0, 1));
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        self.sleep_until(|word| word < WAKER);
    }
}

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// Returns the sleeper that a waker points to.
///
/// # Safety
/// The waker is the thread's own or was counted, and it is not gone while the reference is used.
unsafe fn sleeper<'a>(data: *const ()) -> &'a Sleeper {
    // SAFETY: each waker is made of a sleeper, which stays until all are gone.
    unsafe { &*data.cast::<Sleeper>() }
}

fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the waker that is cloned is there.
    let sleeper = unsafe { sleeper(data) };
    // Relaxed: the thread sees it before the waker ends, since that is a change of the same word.
    sleeper.0.fetch_add(WAKER, Ordering::Relaxed);
    RawWaker::new(data, &TABLE)
}

fn wake(data: *const ()) {
    // SAFETY: the waker ends by the change, after which the address alone is used.
    unsafe { sleeper(data) }.change(|word| (word | WOKEN) - WAKER);
}

fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker is there.
    unsafe { sleeper(data) }.change(|word| word | WOKEN);
}

fn drop_waker(data: *const ()) {
    // SAFETY: as in `wake`.
    unsafe { sleeper(data) }.change(|word| word - WAKER);
}

/// Runs a future of a lock on the calling thread.
#[cold]
#[inline(never)]
pub(super) fn wait<F: Future>(future: F) -> F::Output {
    let sleeper = Sleeper(AtomicU32::new(0));
    // (Dropped before the sleeper, and its waker with it.)
    let mut future = pin!(future);
    let waker = sleeper.waker();
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        sleeper.sleep_until(|word| word & WOKEN != 0);
        // Relaxed: what was done before the wake is told by the queue's lock.
        sleeper.0.fetch_and(!WOKEN, Ordering::Relaxed);
    }
}
