//! Wakers that panic, in each of their functions, and wakers that call the lock: nothing is lost.

use super::*;

/// The first of many wakers panics, and one in the middle.
#[test]
fn a_waker_that_panics_costs_nobody_a_wake() {
    for panics in [0, 7, 15, 16, 39] {
        let permits = Semaphore::new(0);
        let mut tasks: Vec<_> = (0..40).map(|_| Task::new(permits.acquire())).collect();
        for (at, task) in tasks.iter_mut().enumerate() {
            let polled = if at == panics { task.poll_by(&call(|| panic!("expected"))) } else { task.poll() };
            assert!(polled.is_none());
        }
        assert_eq!(panic_of(AssertUnwindSafe(|| permits.add_permits(40))), "expected");
        assert!(tasks.iter().enumerate().all(|(at, task)| task.wakes() == usize::from(at != panics)), "{panics}");
        tasks.iter_mut().for_each(|task| drop(task.poll().unwrap()));
        assert_eq!(permits.available_permits(), 40);
    }
}

/// Several wakers of one call panic: the caller gets the first panic, and all are woken.
#[test]
fn wakers_that_panic_cost_nobody_a_wake() {
    for panic_in in [vec![0, 1], vec![0, 39], vec![15, 16, 17], vec![7, 8, 30, 31, 32], (0..40).collect()] {
        for is_closed in [false, true] {
            let permits = Semaphore::new(0);
            let mut tasks: Vec<_> = (0..40).map(|_| Task::new(permits.acquire())).collect();
            wait_by_panicking_wakers(&mut tasks, &panic_in);
            let wakes = AssertUnwindSafe(|| if is_closed { permits.close() } else { permits.add_permits(40) });
            assert_eq!(panic_of(wakes), format!("expected of {}", panic_in[0]));
            assert!(tasks.iter().all(|task| task.wakes() == 1), "{panic_in:?}");
            tasks.iter_mut().for_each(|task| assert_eq!(task.poll().unwrap().is_err(), is_closed));
            assert_eq!(permits.available_permits(), if is_closed { 0 } else { 40 });
        }
    }
}

/// A waker whose clone, or whose drop, panics: the lock goes on.
#[test]
fn a_waker_that_panics_elsewhere() {
    use std::task::{RawWaker, RawWakerVTable};
    fn panics(_: *const ()) {
        panic!("expected");
    }
    static NO_CLONE: RawWakerVTable = RawWakerVTable::new(|_| panic!("expected"), drop, drop, drop);
    static NO_DROP: RawWakerVTable =
        RawWakerVTable::new(|_| RawWaker::new(std::ptr::null(), &NO_DROP), drop, drop, panics);
    // SAFETY: the functions use no data.
    let no_clone = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &NO_CLONE)) };
    // SAFETY: as above.
    let no_drop = std::mem::ManuallyDrop::new(unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &NO_DROP)) });
    let mutex = Mutex::new(());
    let guard = mutex.try_lock().unwrap();
    let mut task = Task::new(mutex.lock());
    assert_eq!(panic_of(AssertUnwindSafe(|| drop(task.poll_by(&no_clone)))), "expected");
    // Queued by another waker, then polled by that one again, then dropped.
    assert!(task.poll().is_none());
    assert_eq!(panic_of(AssertUnwindSafe(|| drop(task.poll_by(&no_clone)))), "expected");
    assert!(task.poll_by(&no_drop).is_none());
    assert_eq!(panic_of(AssertUnwindSafe(|| drop(task.poll()))), "expected", "the replaced one");
    let mut last = Task::new(mutex.lock());
    assert!(last.poll_by(&no_drop).is_none());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(last))).is_err());
    drop(guard);
    assert_eq!(task.wakes(), 1);
    assert!(task.poll().is_some());
    assert!(mutex.try_lock().is_ok());
}

/// A waker whose clone unlocks, and whose drop panics, when the poll has the lock already.
#[test]
fn a_waker_that_panics_late_costs_no_lock() {
    use std::task::{RawWaker, RawWakerVTable};
    static MUTEX: Mutex<()> = Mutex::const_new(());
    static HELD: StdMutex<Option<MutexGuard<'static, ()>>> = StdMutex::new(None);
    static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, |_| (), |_| (), |_| panic!("expected"));
    fn clone(_: *const ()) -> RawWaker {
        drop(HELD.lock().unwrap().take());
        RawWaker::new(std::ptr::null(), &VTABLE)
    }
    // SAFETY: the functions use no data.
    let waker = std::mem::ManuallyDrop::new(unsafe { Waker::from_raw(clone(std::ptr::null())) });
    // Free before the task is queued; and handed to the task that another waker queued.
    for is_queued in [false, true] {
        *HELD.lock().unwrap() = Some(MUTEX.try_lock().unwrap());
        let mut task = Task::new(MUTEX.lock());
        assert!(!is_queued || task.poll().is_none());
        assert_eq!(panic_of(|| assert!(task.poll_by(&waker).is_none())), "expected");
        assert!(MUTEX.try_lock().is_err());
        drop(task);
        assert!(MUTEX.try_lock().is_ok());
    }
}

/// A waker may lock, poll and drop what it is about.
#[test]
fn a_waker_that_calls_back() {
    static MUTEX: Mutex<u32> = Mutex::const_new(0);
    static NEXT: StdMutex<Option<Pin<Box<Lock<'static, u32>>>>> = StdMutex::new(None);
    let guard = MUTEX.try_lock().unwrap();
    *NEXT.lock().unwrap() = Some(Box::pin(MUTEX.lock()));
    // The task runs within the wake, and is dropped there.
    let waker = call(|| {
        let mut next = NEXT.lock().unwrap().take().unwrap();
        assert!(MUTEX.try_lock().is_err());
        let Poll::Ready(mut guard) = next.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
            panic!("it was handed over");
        };
        *guard += 1;
    });
    let polled = NEXT.lock().unwrap().as_mut().unwrap().as_mut().poll(&mut Context::from_waker(&waker)).is_pending();
    assert!(polled);
    drop(guard);
    assert_eq!(*MUTEX.try_lock().unwrap(), 1);
}
