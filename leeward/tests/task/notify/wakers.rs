//! Wakers that panic or come back while many are told: within the call futures are made, polled and
//! dropped, and others are told.

use std::sync::Mutex;

use super::*;

static NOTIFY: Notify = Notify::const_new();

/// One at a time has the `Notify`, on which no task waits.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    common::alone(&ONE)
}

type Slot = Arc<Mutex<Vec<Option<Task<'static, ()>>>>>;

/// Returns that many tasks that wait, of which the first calls `act` with all others when it is woken.
fn tasks(
    many: usize,
    act: impl Fn(&mut Vec<Option<Task<'static, ()>>>) + Send + Sync + 'static,
) -> (Slot, Queued<'static>) {
    let others = Slot::default();
    let slot = Held(others.clone());
    let mut first = Box::pin(NOTIFY.notified());
    assert!(poll_by(first.as_mut(), &call(move || act(&mut slot.get().lock().unwrap()))).is_none());
    *others.lock().unwrap() = (0..many).map(|_| Some(Task::waiting(NOTIFY.notified()))).collect();
    (others, first)
}

/// What a waker on this thread uses: its tasks are of this thread alone.
struct Held(Slot);

// SAFETY: the wakers of these tests are woken, and dropped, on the thread that made them.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

impl Held {
    fn get(&self) -> &Slot {
        &self.0
    }
}

/// A waker makes a future and polls it, while many others are being told.
#[test]
fn those_that_come_within_the_call_are_not_told() {
    let _alone = alone();
    let (others, mut first) = tasks(40, |others| others.push(Some(Task::waiting(NOTIFY.notified()))));
    NOTIFY.notify_waiters();
    assert!(is_ready(&mut first));
    let mut others = others.lock().unwrap();
    let mut newcomer = others.pop().unwrap().unwrap();
    assert!(others.iter_mut().all(|task| task.as_mut().unwrap().poll().is_some()));
    assert!(newcomer.wakes() == 0 && newcomer.poll().is_none());
    NOTIFY.notify_one();
    assert!(newcomer.poll().is_some());
}

/// A waker tells one more: the one that has come meanwhile, and none of those that are told anyway.
#[test]
fn one_that_is_told_within_the_call() {
    let _alone = alone();
    for by_last in [false, true] {
        let (others, _first) = tasks(40, move |others| {
            others.push(Some(Task::waiting(NOTIFY.notified())));
            if by_last { NOTIFY.notify_last() } else { NOTIFY.notify_one() }
        });
        NOTIFY.notify_waiters();
        let mut others = others.lock().unwrap();
        assert!(others.iter_mut().all(|task| task.as_mut().unwrap().wakes() == 1));
        assert!(others.iter_mut().all(|task| task.as_mut().unwrap().poll().is_some()));
        // With nobody there, it is kept.
        let (others, _first) = tasks(40, |_| NOTIFY.notify_one());
        NOTIFY.notify_waiters();
        assert!(Task::new(NOTIFY.notified()).poll().is_some());
        drop(others);
    }
}

/// A waker drops and polls futures that are queued to be told by the same call, and tells all again.
#[test]
fn those_that_are_to_be_told_are_dropped_and_polled() {
    let _alone = alone();
    let (others, _first) = tasks(40, |others| {
        for at in [0, 20, 30, 39] {
            others[at] = None;
        }
        assert!(others[25].as_mut().unwrap().poll().is_some(), "it was told by the call");
        NOTIFY.notify_waiters();
        assert!(others.iter_mut().flatten().all(|task| task.wakes() == 1 || task.poll().is_some()));
    });
    NOTIFY.notify_waiters();
    let mut others = others.lock().unwrap();
    assert!(others.iter_mut().flatten().all(|task| task.poll().is_some()));
    drop(Task::waiting(NOTIFY.notified()));
}

/// Several wakers panic: the caller gets the first panic, and all are told.
#[test]
fn wakers_that_panic_cost_nobody_a_wake() {
    for panic_in in [vec![0], vec![0, 39], vec![15, 16, 17], (0..40).collect()] {
        let notify = Notify::new();
        let mut tasks: Vec<_> = (0..40).map(|_| Task::new(notify.notified())).collect();
        wait_by_panicking_wakers(&mut tasks, &panic_in);
        assert_eq!(panic_of(|| notify.notify_waiters()), format!("expected of {}", panic_in[0]));
        assert!(tasks.iter_mut().all(|task| task.wakes() == 1 && task.poll().is_some()), "{panic_in:?}");
        drop(Task::waiting(notify.notified()));
    }
}

/// The waker of the first of many tasks that are refused polls one that is queued behind: it is refused
/// at once.
#[test]
fn a_closed_semaphore_refuses_at_a_poll() {
    static PERMITS: Semaphore = Semaphore::const_new(0);
    let mut first = Box::pin(PERMITS.acquire());
    let last = Arc::new(Mutex::new(Some(Box::pin(PERMITS.acquire()))));
    let polls = last.clone();
    let waker = call(move || {
        let mut last = polls.lock().unwrap().take().unwrap();
        let polled = last.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(polled, Poll::Ready(Err(_))));
    });
    assert!(poll_by(first.as_mut(), &waker).is_none());
    let mut tasks: Vec<_> = (0..20).map(|_| Task::waiting(PERMITS.acquire())).collect();
    assert!(poll_by(last.lock().unwrap().as_mut().unwrap().as_mut(), Waker::noop()).is_none());
    PERMITS.close();
    assert!(last.lock().unwrap().is_none());
    assert!(tasks.iter_mut().all(|task| task.wakes() == 1 && task.poll().unwrap().is_err()));
}

/// A waker whose clone tells, and whose drop panics, when the poll has taken what was told: the future is
/// dropped when another notification is kept.
#[test]
fn a_waker_that_panics_late_has_one_at_most_kept() {
    use std::task::{RawWaker, RawWakerVTable};
    static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, |_| (), |_| (), |_| panic!("expected"));
    fn clone(_: *const ()) -> RawWaker {
        NOTIFY.notify_one();
        RawWaker::new(std::ptr::null(), &VTABLE)
    }
    let _alone = alone();
    for is_dropped in [false, true] {
        // SAFETY: the functions use no data.
        let waker = std::mem::ManuallyDrop::new(unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &VTABLE)) });
        let mut future = Box::pin(NOTIFY.notified());
        assert_eq!(panic_of(|| assert!(poll_by(future.as_mut(), &waker).is_none())), "expected");
        NOTIFY.notify_one();
        if is_dropped {
            drop(future);
        } else {
            assert!(is_ready(&mut future), "it has what it took");
        }
        assert!(Task::new(NOTIFY.notified()).poll().is_some());
        drop(Task::waiting(NOTIFY.notified()));
    }
}
