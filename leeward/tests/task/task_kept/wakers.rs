//! Wakers of tasks that keep a future: some are not their clones, some panic, and some call the lock.

use super::*;

/// A waker whose clones have another table than it has itself: they are compared with each other.
#[test]
fn a_waker_that_is_not_its_clone() {
    static CLONES: RawWakerVTable = RawWakerVTable::new(|data| RawWaker::new(data, &CLONES), drop, drop, drop);
    static FIRST: RawWakerVTable = RawWakerVTable::new(|data| RawWaker::new(data, &CLONES), drop, drop, drop);
    let mutex = Mutex::new(());
    let _watch = Watchdog::new("a waker that is not its clone");
    // SAFETY: the functions use no data.
    let waker = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &FIRST)) };
    let guard = mutex.try_lock().unwrap();
    let (mut kept, mut other) = (Task::new(mutex.lock()), Task::new(mutex.lock()));
    assert!(kept.poll_by(&waker).is_none() && other.poll_by(&waker).is_none());
    drop(guard);
    assert!(other.poll_by(&waker).is_some());
    assert!(kept.poll_by(&waker).is_some());
}

/// A waker that panics in each of its functions, while places are changed: nothing is lost.
#[test]
fn wakers_that_panic() {
    // What panics: the waker of a stranger that is handed the rest; the task's own.
    let (permits, count) = (Semaphore::new(0), Arc::default());
    let mut kept = Task::waiting_of(&count, permits.acquire_many(2));
    let mut stranger = Task::new(permits.acquire());
    assert!(stranger.poll_by(&call(|| panic!("expected"))).is_none());
    let mut next = Task::waiting(permits.acquire_many(2));
    let mut other = Task::waiting_of(&count, permits.acquire());
    permits.add_permits(2);
    assert_eq!(panic_of(AssertUnwindSafe(|| drop(other.poll()))), "expected");
    // It has its permit: polled again, or dropped.
    let one = other.poll().unwrap().unwrap();
    drop(stranger.poll().unwrap().unwrap());
    drop(one);
    drop(next.poll().unwrap().unwrap());
    drop(kept.poll().unwrap().unwrap());
    assert_eq!(permits.available_permits(), 2);
}

/// A waker whose drop panics, in a call that wakes one that panics: the caller gets the first panic.
#[test]
fn a_waker_that_panics_in_its_drop_beside_another() {
    static VTABLE: RawWakerVTable =
        RawWakerVTable::new(|data| RawWaker::new(data, &VTABLE), drop, drop, |_| panic!("its drop"));
    for is_dropped in [true, false] {
        // SAFETY: the functions use no data.
        let own = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &VTABLE)) };
        let own = std::mem::ManuallyDrop::new(own);
        let permits = Semaphore::new(1);
        let mut kept = Task::new(permits.acquire_many(2));
        assert!(kept.poll_by(&own).is_none());
        let mut stranger = Task::new(permits.acquire());
        assert!(stranger.poll_by(&call(|| panic!("expected"))).is_none());
        let mut other = Task::new(permits.acquire());
        assert!(other.poll_by(&own).is_none());
        if is_dropped {
            assert_eq!(panic_of(AssertUnwindSafe(|| drop(kept))), "expected");
            drop(stranger.poll().unwrap());
        } else {
            permits.add_permits(1);
            assert_eq!(panic_of(AssertUnwindSafe(|| drop(other.poll_by(&own)))), "expected");
            drop((other.poll(), stranger.poll().unwrap()));
            assert!(kept.poll_by(&own).is_some());
        }
        assert!(other.poll_by(&own).is_some());
        drop(other);
        assert_eq!(permits.available_permits(), 2 - u32::from(is_dropped) as usize);
    }
}

/// The same for a task's own waker: in its clone, in its wake and in its drop.
#[test]
fn own_wakers_that_panic() {
    use std::sync::atomic::AtomicUsize;
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    fn in_turn(at: usize) {
        assert_ne!(PANICS.load(Ordering::SeqCst), at, "expected");
    }
    static OWN: RawWakerVTable = RawWakerVTable::new(
        |data| {
            in_turn(1);
            RawWaker::new(data, &OWN)
        },
        |_| in_turn(2),
        |_| in_turn(3),
        |_| in_turn(4),
    );
    for at in 1..=4 {
        for is_new in [true, false] {
            PANICS.store(0, Ordering::SeqCst);
            // SAFETY: the functions use no data.
            let waker = unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &OWN)) };
            let mutex = Mutex::new(());
            let guard = mutex.try_lock().unwrap();
            let (mut kept, mut other) = (Task::new(mutex.lock()), Task::new(mutex.lock()));
            assert!(kept.poll_by(&waker).is_none());
            if !is_new {
                assert!(other.poll_by(&waker).is_none());
            }
            drop(guard);
            PANICS.store(at, Ordering::SeqCst);
            let polls = AssertUnwindSafe(|| drop(other.poll_by(&waker).unwrap()));
            let is_panic = std::panic::catch_unwind(polls).is_err();
            // A new one is not ready; the other's drop wakes the kept one.
            assert_eq!(is_panic, is_new || at != 3, "{at}");
            PANICS.store(0, Ordering::SeqCst);
            // What it has, or waits for, it gets, or hands on.
            let _ = other.poll_by(&waker);
            let _ = other.poll_by(&waker);
            drop(other);
            assert!(kept.poll_by(&waker).is_some(), "{at} {is_new}");
            assert!(mutex.try_lock().is_ok(), "{at} {is_new}");
        }
    }
}

/// A waker that drops what is kept, or polls it, when the task is woken for the other one.
#[test]
fn a_waker_that_calls_back() {
    use std::sync::Mutex as StdMutex;
    static MUTEX: Mutex<()> = Mutex::const_new(());
    type Kept = std::pin::Pin<Box<leeward::task::Lock<'static, ()>>>;
    static KEPT: StdMutex<Option<Kept>> = StdMutex::new(None);
    for polls in [false, true] {
        let guard = MUTEX.try_lock().unwrap();
        let waker = call(move || {
            // (None: the task is woken for the first time, or for the other one.)
            let kept = KEPT.lock().unwrap().take();
            if let Some(mut kept) = kept {
                assert!(!polls || poll_by(kept.as_mut(), Waker::noop()).is_some());
            }
        });
        let mut kept = Box::pin(MUTEX.lock());
        assert!(poll_by(kept.as_mut(), &waker).is_none());
        drop(guard);
        *KEPT.lock().unwrap() = Some(kept);
        let mut other = pin!(MUTEX.lock());
        // The wake for the new future is where the kept one goes.
        assert!(poll_by(other.as_mut(), &waker).is_none());
        assert!(KEPT.lock().unwrap().is_none());
        assert!(poll_by(other.as_mut(), &waker).is_some());
        assert!(MUTEX.try_lock().is_ok());
    }
}
