//! An executor of one thread: a queue of tasks that are ready, and timers. Its time is its own, so
//! that runs are the same each time; a real one sleeps for the next timer or for a device. Called
//! by `async_only` and its tests.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

type Queue = Arc<Mutex<VecDeque<Arc<Task>>>>;

/// A task's number, and where it is put when it is woken.
struct Task {
    number: usize,
    queue: Queue,
    is_ready: AtomicBool,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        // AcqRel: what the waker did before happens before the poll; partner: the swap in `run`.
        if !self.is_ready.swap(true, Ordering::AcqRel) {
            let queue = Arc::clone(&self.queue);
            queue.lock().expect("no poll runs under it").push_back(self);
        }
    }
}

/// The tasks that are left when none can go on: each waits for a wake that does not come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stuck(pub usize);

type Boxed<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// The executor. Tasks borrow what outlives it.
#[derive(Default)]
pub struct Executor<'a> {
    tasks: RefCell<Vec<Option<Boxed<'a>>>>,
    queue: Queue,
}

impl<'a> Executor<'a> {
    pub fn spawn(&self, future: impl Future<Output = ()> + 'a) {
        let mut tasks = self.tasks.borrow_mut();
        let task = Task { number: tasks.len(), queue: Arc::clone(&self.queue), is_ready: AtomicBool::new(false) };
        tasks.push(Some(Box::pin(future)));
        Arc::new(task).wake();
    }

    /// Polls tasks until all have ended. No thread is parked: if no task is ready, the time goes on
    /// to the next timer.
    ///
    /// # Errors
    /// [`Stuck`] if tasks are left, none is ready, and there is no timer.
    pub fn run(&self, timers: &Timers) -> Result<(), Stuck> {
        loop {
            let next = self.queue.lock().expect("no poll runs under it").pop_front();
            let Some(task) = next else {
                if timers.advance() {
                    continue;
                }
                let left = self.tasks.borrow().iter().flatten().count();
                return if left == 0 { Ok(()) } else { Err(Stuck(left)) };
            };
            // AcqRel: partner of `wake`; a wake from here on puts the task into the queue again.
            task.is_ready.swap(false, Ordering::AcqRel);
            let number = task.number;
            // Taken out for the poll, which may spawn.
            let Some(mut future) = self.tasks.borrow_mut()[number].take() else { continue };
            let waker = Waker::from(task);
            if future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                self.tasks.borrow_mut()[number] = Some(future);
            }
        }
    }
}

/// The timers: who is woken when, in ticks.
#[derive(Default)]
pub struct Timers {
    now: Cell<u64>,
    serial: Cell<u64>,
    wakers: RefCell<BTreeMap<(u64, u64), Waker>>,
}

impl Timers {
    pub fn now(&self) -> u64 {
        self.now.get()
    }

    /// Goes on to the next timer's time, and wakes the tasks of that time; returns false if there
    /// is no timer.
    fn advance(&self) -> bool {
        let Some((at, _)) = self.wakers.borrow().keys().next().copied() else { return false };
        self.now.set(at);
        let later = self.wakers.borrow_mut().split_off(&(at + 1, 0));
        for waker in self.wakers.replace(later).into_values() {
            waker.wake();
        }
        true
    }

    /// Sleeps until a time has come.
    pub async fn sleep_until(&self, at: u64) {
        let serial = self.serial.replace(self.serial.get() + 1);
        let entry = Entry { timers: self, key: (at, serial) };
        poll_fn(|context| {
            if self.now() >= at {
                return Poll::Ready(());
            }
            self.wakers.borrow_mut().insert(entry.key, context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// Polls a future until it ends or a time has come: the answer is `None` then, and the future
    /// is dropped. A future that ends at that time is asked first, so no result is lost.
    pub async fn until<F: Future>(&self, at: u64, future: F) -> Option<F::Output> {
        let (mut future, mut timer) = (pin!(future), pin!(self.sleep_until(at)));
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => timer.as_mut().poll(context).map(|()| None),
        })
        .await
    }
}

/// A timer's entry, which is taken out when its sleep ends or is dropped.
struct Entry<'a> {
    timers: &'a Timers,
    key: (u64, u64),
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.timers.wakers.borrow_mut().remove(&self.key);
    }
}

/// Lets the other tasks that are ready run first.
pub async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if core::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
