//! Futures that are polled by hand, with wakers that count. All wakers that count have the one table
//! of functions, so that two of one count `will_wake` the same task under an interpreter as well,
//! where `Waker::from` makes tables of its own.

#![allow(dead_code)]

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::thread;

/// Counts how often it was woken.
#[derive(Default)]
pub struct Count(pub AtomicUsize);

static COUNTS: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_count);

/// Returns the count that a waker's data points to: one that the waker keeps.
fn count(data: *const ()) -> ManuallyDrop<Arc<Count>> {
    // SAFETY: `waker` and `clone` make each waker of a count's `Arc`.
    ManuallyDrop::new(unsafe { Arc::from_raw(data.cast()) })
}

fn clone(data: *const ()) -> RawWaker {
    RawWaker::new(Arc::into_raw((*count(data)).clone()).cast(), &COUNTS)
}

fn wake(data: *const ()) {
    wake_by_ref(data);
    drop_count(data);
}

fn wake_by_ref(data: *const ()) {
    count(data).0.fetch_add(1, Ordering::SeqCst);
}

fn drop_count(data: *const ()) {
    drop(ManuallyDrop::into_inner(count(data)));
}

/// Returns a waker that counts there.
pub fn waker(count: &Arc<Count>) -> Waker {
    // SAFETY: the functions of the table are made for it, and may be called on any thread.
    unsafe { Waker::from_raw(RawWaker::new(Arc::into_raw(count.clone()).cast(), &COUNTS)) }
}

/// Polls a future once.
pub fn poll_by<F: Future + ?Sized>(future: Pin<&mut F>, waker: &Waker) -> Option<F::Output> {
    match future.poll(&mut Context::from_waker(waker)) {
        Poll::Ready(output) => Some(output),
        Poll::Pending => None,
    }
}

/// A future that is polled by hand.
pub struct Task<'a, T> {
    pub future: Pin<Box<dyn Future<Output = T> + 'a>>,
    pub count: Arc<Count>,
}

impl<'a, T> Task<'a, T> {
    pub fn new(future: impl Future<Output = T> + 'a) -> Self {
        Self::of(&Arc::default(), future)
    }

    /// One of the futures of the task that counts there.
    pub fn of(count: &Arc<Count>, future: impl Future<Output = T> + 'a) -> Self {
        Task { future: Box::pin(future), count: count.clone() }
    }

    /// A task whose future waits.
    pub fn waiting(future: impl Future<Output = T> + 'a) -> Self {
        Self::waiting_of(&Arc::default(), future)
    }

    /// One of a task's futures, which waits.
    pub fn waiting_of(count: &Arc<Count>, future: impl Future<Output = T> + 'a) -> Self {
        let mut task = Self::of(count, future);
        assert!(task.poll().is_none());
        task
    }

    pub fn poll(&mut self) -> Option<T> {
        self.poll_by(&waker(&self.count))
    }

    pub fn poll_by(&mut self, waker: &Waker) -> Option<T> {
        poll_by(self.future.as_mut(), waker)
    }

    pub fn wakes(&self) -> usize {
        self.count.0.load(Ordering::SeqCst)
    }
}

/// Calls a function when it is woken.
struct Call<F>(F);

impl<F: Fn() + Send + Sync + 'static> Wake for Call<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

/// Returns a waker that calls a function.
pub fn call(function: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(Call(function)))
}

/// Polls the tasks, each by a waker that counts for it, and that panics as "expected of" its number if this
/// is in `panic_in`. All wait.
pub fn wait_by_panicking_wakers<T>(tasks: &mut [Task<'_, T>], panic_in: &[usize]) {
    for (at, task) in tasks.iter_mut().enumerate() {
        let count = task.count.clone();
        let is_panicking = panic_in.contains(&at);
        let waker = call(move || {
            count.0.fetch_add(1, Ordering::SeqCst);
            assert!(!is_panicking, "expected of {at}");
        });
        assert!(task.poll_by(&waker).is_none());
    }
}

/// Runs a future on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let thread = thread::current();
    let waker = call(move || thread.unpark());
    loop {
        if let Some(output) = poll_by(future.as_mut(), &waker) {
            return output;
        }
        thread::park();
    }
}
