//! Wakers that do what safe code can do: one of their functions panics, or comes back, which polls or
//! drops the future that they are to wake, or calls the same lock. [`tries`] has each function of a
//! waker do each of these, at each of its calls in turn, beside another task that waits for the same.

#![allow(dead_code)]

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use crate::common::eventually;
use crate::polled::{Count, waker as counting};

/// What a future that is ready has. As long as it is there, those behind it may have to wait; its drop
/// lets the next one on.
pub type Held = Box<dyn Any + Send>;
/// A future of a row.
pub type Waiting = Pin<Box<dyn Future<Output = Held> + Send>>;

/// Which of its futures' outcomes a poll that panicked leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterPanic {
    /// The future goes on.
    GoesOn,
    /// It goes on unless that was its first poll.
    GoesOnAfterTheFirst,
    /// It has ended: it may be dropped.
    Ended,
}

/// A type of futures.
pub struct Row {
    /// Where the sources declare it: the crate, the file and the name.
    pub declared: &'static str,
    pub name: &'static str,
    /// Makes a future, which waits as long as what `hold` returned is there.
    pub future: fn() -> Waiting,
    pub hold: fn() -> Held,
    /// Calls the same lock, queue or domain.
    pub call: fn(),
    /// Returns true if all is as before: nothing waits, and nothing is held.
    pub is_free: fn() -> bool,
    pub after_panic: AfterPanic,
}

/// A future whose output is turned into what it has.
struct Mapped<F: Future> {
    future: Pin<Box<F>>,
    map: fn(F::Output) -> Held,
}

impl<F: Future> Future for Mapped<F> {
    type Output = Held;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Held> {
        let map = self.map;
        self.future.as_mut().poll(context).map(map)
    }
}

/// Returns a future for a row.
pub fn waiting<F: Future + Send + 'static>(future: F, map: fn(F::Output) -> Held) -> Waiting {
    Box::pin(Mapped { future: Box::pin(future), map })
}

/// Polls a future once, by a waker that does nothing, and drops it with what it has.
pub fn poll_and_drop(mut future: Waiting) {
    drop(future.as_mut().poll(&mut Context::from_waker(Waker::noop())));
}

/// A function of a waker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Function {
    Clone,
    Wake,
    WakeByRef,
    Drop,
}

/// What a function does once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Panic,
    /// Polls the future that it is to wake, unless that is being polled.
    Poll,
    /// Drops that future, unless it is being polled.
    Drop,
    /// Calls the same lock.
    Call,
}

/// The panic of a waker.
struct Hostility;

/// One try: which function does what, at which of its calls.
struct Plan {
    function: Function,
    act: Act,
    /// The number of calls until then.
    left: AtomicUsize,
    acted: AtomicBool,
    call: fn(),
    /// The future that the wakers are to wake.
    future: Mutex<Option<Waiting>>,
}

impl Plan {
    fn future(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.future.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the future unless it is being polled.
    fn unpolled(&self) -> Option<MutexGuard<'_, Option<Waiting>>> {
        match self.future.try_lock() {
            Ok(future) => Some(future),
            Err(TryLockError::Poisoned(future)) => Some(future.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Polls the future, and drops it if it is ready. Returns what it has then.
    fn poll(&self, waker: &Waker) -> Option<Held> {
        let mut future = self.unpolled()?;
        let Poll::Ready(held) = future.as_mut()?.as_mut().poll(&mut Context::from_waker(waker)) else { return None };
        let ended = future.take();
        drop(future);
        drop(ended);
        Some(held)
    }

    /// A function of a task's waker is called.
    fn called(&self, function: Function, task: &Arc<Task>) {
        if function != self.function || self.left.fetch_sub(1, Ordering::SeqCst) != 1 {
            return;
        }
        self.acted.store(true, Ordering::SeqCst);
        match self.act {
            Act::Panic => resume_unwind(Box::new(Hostility)),
            Act::Poll => drop(self.poll(&waker(task))),
            Act::Drop => {
                let future = self.unpolled().and_then(|mut future| future.take());
                drop(future);
            }
            Act::Call => (self.call)(),
        }
    }
}

/// What a hostile waker wakes.
struct Task {
    plan: Arc<Plan>,
}

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_task);

/// Returns a waker of a task.
fn waker(task: &Arc<Task>) -> Waker {
    // SAFETY: the functions of the table are made for it, and may be called on any thread.
    unsafe { Waker::from_raw(RawWaker::new(Arc::into_raw(task.clone()).cast(), &TABLE)) }
}

/// Returns the task of a waker that stays.
fn task(data: *const ()) -> Arc<Task> {
    // SAFETY: `waker` and `clone` make each waker of a task's `Arc`, one count of which is the waker's.
    unsafe { Arc::increment_strong_count(data.cast::<Task>()) };
    // SAFETY: as above; the count that was added just now.
    unsafe { Arc::from_raw(data.cast()) }
}

fn clone(data: *const ()) -> RawWaker {
    let task = task(data);
    task.plan.called(Function::Clone, &task);
    RawWaker::new(Arc::into_raw(task).cast(), &TABLE)
}

fn wake(data: *const ()) {
    // SAFETY: the waker's count, which ends here, also by a panic.
    let task = unsafe { Arc::<Task>::from_raw(data.cast()) };
    task.plan.called(Function::Wake, &task);
}

fn wake_by_ref(data: *const ()) {
    let task = task(data);
    task.plan.called(Function::WakeByRef, &task);
}

fn drop_task(data: *const ()) {
    // SAFETY: as in `wake`.
    let task = unsafe { Arc::<Task>::from_raw(data.cast()) };
    task.plan.called(Function::Drop, &task);
}

/// Does a step that a waker may end by its panic; returns `None` then.
fn attempt<T>(step: impl FnOnce() -> T) -> Option<T> {
    match catch_unwind(AssertUnwindSafe(step)) {
        Ok(answer) => Some(answer),
        Err(panic) if panic.is::<Hostility>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

/// A future of the hostile task beside that of the plan.
struct Beside<'a> {
    row: &'a Row,
    future: Option<Waiting>,
    polls: usize,
}

impl Beside<'_> {
    /// Polls it; what it has is given up at once.
    fn poll(&mut self, waker: &Waker) {
        let Some(future) = &mut self.future else { return };
        self.polls += 1;
        let polled = attempt(|| future.as_mut().poll(&mut Context::from_waker(waker)));
        let goes_on = goes_on(self.row, polled.is_some(), self.polls);
        if !goes_on || polled.as_ref().is_some_and(Poll::is_ready) {
            let ended = self.future.take();
            attempt(|| drop(ended));
        }
        attempt(|| drop(polled));
    }
}

/// Returns true if a future may be polled again after a poll that returned or panicked.
fn goes_on(row: &Row, returned: bool, polls: usize) -> bool {
    returned
        || match row.after_panic {
            AfterPanic::GoesOn => true,
            AfterPanic::GoesOnAfterTheFirst => polls > 1,
            AfterPanic::Ended => false,
        }
}

/// Polls the plan's future.
fn poll_first(row: &Row, plan: &Plan, waker: &Waker, polls: &mut usize) {
    *polls += 1;
    let polled = attempt(|| plan.poll(waker));
    if !goes_on(row, polled.is_some(), *polls) {
        let ended = plan.future().take();
        attempt(|| drop(ended));
    }
    attempt(|| drop(polled));
}

/// Makes one try, with two futures of one task whose wakers are hostile, and one of another task, which
/// is served at the end. Returns true if the waker acted.
fn try_one(row: &Row, function: Function, act: Act, call: usize) -> bool {
    let what = format!("{}: {act:?} in call {call} of {function:?}", row.name);
    let held = (row.hold)();
    let plan = Arc::new(Plan {
        function,
        act,
        left: AtomicUsize::new(call),
        acted: AtomicBool::new(false),
        call: row.call,
        future: Mutex::new(Some((row.future)())),
    });
    let tasks = [(); 2].map(|()| Arc::new(Task { plan: plan.clone() }));
    let [own, other] = tasks.each_ref().map(waker);
    let (count, mut last, mut polls) = (Arc::new(Count::default()), (row.future)(), 0);
    let mut beside = Beside { row, future: Some((row.future)()), polls: 0 };
    poll_first(row, &plan, &own, &mut polls);
    beside.poll(&own);
    let neutral = counting(&count);
    let mut poll_last = || last.as_mut().poll(&mut Context::from_waker(&neutral));
    let mut served = poll_last();
    // Another waker, whose coming has the first one dropped.
    poll_first(row, &plan, &other, &mut polls);
    attempt(|| drop(held));
    beside.poll(&other);
    poll_first(row, &plan, &own, &mut polls);
    let first = plan.future().take();
    attempt(|| drop(first));
    let second = beside.future.take();
    attempt(|| drop(second));
    attempt(|| drop(own));
    attempt(|| drop(other));
    // Nothing is lost.
    let mut wakes = 0;
    while served.is_pending() {
        eventually(&format!("the other task is woken: {what}"), || count.0.load(Ordering::SeqCst) != wakes);
        wakes = count.0.load(Ordering::SeqCst);
        served = poll_last();
    }
    drop(served);
    drop(last);
    drop(neutral);
    eventually(&format!("all is free again: {what}"), row.is_free);
    // No waker is kept, and none was dropped twice.
    eventually(&format!("all wakers are dropped: {what}"), || {
        tasks.iter().all(|task| Arc::strong_count(task) == 1) && Arc::strong_count(&count) == 1
    });
    assert!(plan.future().is_none(), "{what}");
    plan.acted.load(Ordering::SeqCst)
}

/// Has each function of a waker do each of the acts, at each of its calls. Returns how many acts there
/// were of `clone`, `wake`, `wake_by_ref` and the drop.
pub fn tries(row: &Row) -> [usize; 4] {
    [Function::Clone, Function::Wake, Function::WakeByRef, Function::Drop].map(|function| {
        let acts = [Act::Panic, Act::Poll, Act::Drop, Act::Call];
        acts.map(|act| (1..).take_while(|call| try_one(row, function, act, *call)).count()).iter().sum()
    })
}
