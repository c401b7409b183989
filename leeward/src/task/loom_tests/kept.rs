//! A task that keeps a future which it has polled, and awaits another one of the same lock: beside
//! the release, a task between the two, a thread that drops the kept future, and one that polls it.

use core::pin::Pin;
use std::boxed::Box;

use super::*;

/// Adds if a future is ready at its first poll; else keeps it over `then`.
fn keep<F: Future>(waker: &Waker, value: &Value, future: F, then: impl FnOnce()) {
    let mut kept = pin!(future);
    match kept.as_mut().poll(&mut Context::from_waker(waker)) {
        Poll::Ready(_guard) => value.add(),
        Poll::Pending => then(),
    }
}

fn kept(mutex: &Mutex<()>, value: &Value) {
    let (parker, waker) = parker();
    keep(&waker, value, mutex.lock(), || {
        let _guard = block_on_as(&parker, &waker, mutex.lock());
        value.add();
    });
}

/// The second future is awaited beside the release: it is made before the hand-over, or after.
#[test]
fn a_kept_future() {
    explore(3, || assert_eq!(beside(Mutex::new(()), &[locked, kept]), 2));
}

/// The wake of the hand-over is used up when the second future is made.
#[test]
fn a_kept_future_whose_wake_is_used_up() {
    fn kept_after(mutex: &Mutex<()>, value: &Value) {
        let (parker, waker) = parker();
        keep(&waker, value, mutex.lock(), || {
            parker.0.wait();
            parker.0.clear();
            let _guard = block_on_as(&parker, &waker, mutex.lock());
            value.add();
        });
    }
    explore(3, || assert_eq!(beside(Mutex::new(()), &[locked, kept_after]), 2));
}

#[test]
fn a_kept_future_and_a_stranger() {
    explore(2, || assert_eq!(beside(Mutex::new(()), &[locked, kept, locked]), 3));
}

/// The kept future has its turn after the other one.
#[test]
fn a_kept_future_that_is_awaited() {
    fn both(mutex: &Mutex<()>, value: &Value) {
        let (parker, waker) = parker();
        let mut kept = pin!(mutex.lock());
        if let Poll::Ready(_guard) = kept.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value.add();
        }
        drop(block_on_as(&parker, &waker, mutex.lock()));
        let _guard = block_on_as(&parker, &waker, kept);
        value.add();
    }
    explore(3, || assert_eq!(beside(Mutex::new(()), &[locked, both]), 2));
}

/// The kept one reads and the other one writes, and the other way round.
#[test]
fn a_kept_reader_and_a_kept_writer() {
    fn kept_reader(lock: &RwLock<()>, value: &Value) {
        let (parker, waker) = parker();
        let mut kept = pin!(lock.read());
        let _is_ready = kept.as_mut().poll(&mut Context::from_waker(&waker)).map(drop).is_ready();
        let _guard = block_on_as(&parker, &waker, lock.write());
        value.add();
    }
    fn kept_writer(lock: &RwLock<()>, value: &Value) {
        let (parker, waker) = parker();
        let mut kept = pin!(lock.write());
        let _is_ready = kept.as_mut().poll(&mut Context::from_waker(&waker)).map(drop).is_ready();
        let _guard = block_on_as(&parker, &waker, lock.read());
        assert!(value.get() < 3);
    }
    explore(3, || assert_eq!(beside(RwLock::new(()), &[written, kept_reader]), 2));
    explore(3, || assert_eq!(beside(RwLock::new(()), &[written, kept_writer]), 1));
}

/// Two permits of which the kept one has one: the other one wants both.
#[test]
fn a_kept_future_and_one_that_wants_more() {
    fn more(permits: &Semaphore, value: &Value) {
        let (parker, waker) = parker();
        let mut kept = pin!(permits.acquire());
        let _is_ready = kept.as_mut().poll(&mut Context::from_waker(&waker)).map(drop).is_ready();
        let _both = block_on_as(&parker, &waker, permits.acquire_many(2)).unwrap();
        value.add();
    }
    explore(3, || assert_eq!(beside(Semaphore::new(2), &[two, more]), 2));
    explore(2, || assert_eq!(beside(Semaphore::new(2), &[one, two, more]), 2));
}

type Whole = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A future that locks and adds, and owns what it needs.
fn whole(both: &Arc<(Mutex<()>, Value)>) -> Whole {
    let both = both.clone();
    Box::pin(async move {
        let _guard = both.0.lock().await;
        both.1.add();
    })
}

/// Has a task keep a future that is another thread's from then on, which does `work`, beside the
/// release and the task's poll of another one. Returns how often something was added.
fn kept_by_another(work: fn(Whole)) -> u32 {
    let both = Arc::new((Mutex::new(()), Value::new()));
    let guard = both.0.try_lock().unwrap();
    let (parker, waker) = parker();
    let (mut kept, mut other) = (whole(&both), whole(&both));
    let mut context = Context::from_waker(&waker);
    assert!(kept.as_mut().poll(&mut context).is_pending());
    assert!(other.as_mut().poll(&mut context).is_pending());
    let thread = thread::spawn(move || work(kept));
    drop(guard);
    block_on_as(&parker, &waker, other);
    thread.join().unwrap();
    both.1.get()
}

#[test]
fn a_kept_future_that_is_dropped() {
    explore(3, || assert_eq!(kept_by_another(drop), 1));
}

#[test]
fn a_kept_future_that_is_polled() {
    explore(3, || assert_eq!(kept_by_another(|kept| block_on(kept)), 2));
}

/// The awaited one is polled twice beside the release, and dropped: it has added, or hands on.
#[test]
fn a_kept_future_whose_successor_gives_up() {
    fn given_up(mutex: &Mutex<()>, value: &Value) {
        let (parker, waker) = parker();
        let mut kept = pin!(mutex.lock());
        if let Poll::Ready(_guard) = kept.as_mut().poll(&mut Context::from_waker(&waker)) {
            return value.add();
        }
        {
            let mut other = pin!(mutex.lock());
            for _ in 0..2 {
                if let Poll::Ready(_guard) = other.as_mut().poll(&mut Context::from_waker(&waker)) {
                    value.add();
                    break;
                }
                thread::yield_now();
            }
        }
        let _guard = block_on_as(&parker, &waker, kept);
        value.add();
    }
    explore(3, || assert!((2..=3).contains(&beside(Mutex::new(()), &[locked, given_up]))));
}
