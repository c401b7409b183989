//! What is made once: `OnceLock`, `LazyLock`, and an initialiser that asks for the value that it
//! makes.

#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use common::*;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use leeward::sync::{LazyLock, Once, OnceLock, OnceState};

#[test]
fn once_locks() {
    static CELL: OnceLock<String> = OnceLock::new();
    assert_eq!((CELL.get(), format!("{CELL:?}")), (None, "OnceLock(<uninit>)".to_owned()));
    assert!(panic_of(|| _ = CELL.get_or_init(|| panic!("not yet"))).contains("not yet"));
    assert_eq!(CELL.get_or_init(|| "one".to_owned()), "one");
    assert_eq!(CELL.set("two".to_owned()), Err("two".to_owned()));
    assert_eq!((CELL.wait().as_str(), CELL.clone()), ("one", OnceLock::from("one".to_owned())));
    let counted = Arc::new(());
    let mut own = OnceLock::from(Arc::clone(&counted));
    assert_eq!(Arc::strong_count(own.get_mut().unwrap()), 2);
    drop(own.take());
    assert!(own.get().is_none() && Arc::strong_count(&counted) == 1);
    own.set(Arc::clone(&counted)).unwrap();
    drop(own);
    assert_eq!(Arc::strong_count(&counted), 1);
}

/// A closure that panicked is told to the next one; `call_once` and `call_once_force` both try again.
#[test]
fn states_of_a_once() {
    static ONCE: Once = Once::new();
    assert_eq!(ONCE.state(), OnceState::New);
    for call in [|| ONCE.call_once(|| panic!("early")), || ONCE.call_once_force(|_| panic!("early"))] {
        assert_eq!(panic_of(call), "early");
        assert!(ONCE.state().is_poisoned() && ONCE.state().poisoned() && !ONCE.state().done());
    }
    ONCE.call_once_force(|before| {
        assert_eq!((before, ONCE.state()), (OnceState::Poisoned, OnceState::InProgress));
    });
    assert_eq!((ONCE.state(), ONCE.is_completed()), (OnceState::Done, true));
    ONCE.call_once_force(|_| unreachable!("it has run"));
    assert_eq!(format!("{ONCE:?}"), "Once { state: Done }");
    let fresh = Once::new();
    fresh.call_once_force(|before| assert_eq!(before, OnceState::New));
    assert!(fresh.state().done());
}

/// A thread that only waits sleeps through runs that panic.
#[test]
fn waiting_beside_runs_that_panic() {
    let _dog = Watchdog::new("waiting_beside_runs_that_panic");
    let once = Once::new();
    thread::scope(|scope| {
        let waiters: Vec<_> = (0..2).map(|_| scope.spawn(|| once.wait())).collect();
        for _ in 0..3 {
            assert_eq!(panic_of(|| once.call_once(|| panic!("early"))), "early");
            thread::sleep(GLANCE);
            assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
        }
        once.call_once(|| {});
    });
}

#[test]
fn lazy_locks() {
    static RUNS: AtomicU32 = AtomicU32::new(0);
    static LAZY: LazyLock<u32> = LazyLock::new(|| RUNS.fetch_add(1, Ordering::Relaxed) + 41);
    thread::scope(|scope| (0..4).for_each(|_| _ = scope.spawn(|| assert_eq!(*LAZY, 41))));
    assert_eq!((*LAZY, RUNS.load(Ordering::Relaxed)), (41, 1));
    let mut poisoned: LazyLock<u32> = LazyLock::new(|| panic!("at first"));
    assert_eq!(panic_of(|| _ = *poisoned), "at first");
    assert!(panic_of(|| _ = *poisoned).contains("poisoned"));
    assert!(LazyLock::get(&poisoned).is_none() && LazyLock::get_mut(&mut poisoned).is_none());
    assert!(panic_of(|| *poisoned = 1).contains("poisoned"));
    let mut mine = LazyLock::new(|| vec![1]);
    assert_eq!(LazyLock::get_mut(&mut mine), None);
    mine.push(2);
    LazyLock::force_mut(&mut mine).push(3);
    assert_eq!(LazyLock::get_mut(&mut mine), Some(&mut vec![1, 2, 3]));
}

/// The error of an initialiser that asks for the value that it makes. It used to wait forever.
#[cfg(all(target_os = "linux", not(leeward_symmetric)))]
mod itself {
    use super::*;

    use std::sync::mpsc::channel;

    const SENTENCE: &str = "asks for it again: it would wait for itself forever";

    #[test]
    fn a_once_within_itself() {
        let _dog = Watchdog::new("a_once_within_itself");
        let (once, runs) = (Once::new(), AtomicU32::new(0));
        once.call_once(|| {
            assert!(panic_of(|| once.call_once(|| unreachable!("it runs already"))).contains(SENTENCE));
            assert!(panic_of(|| once.wait()).contains(SENTENCE));
            assert!(!once.is_completed());
            runs.fetch_add(1, Ordering::Relaxed);
        });
        assert!(once.is_completed());
        once.call_once(|| unreachable!("it has run"));
        assert_eq!(runs.into_inner(), 1);
    }

    /// A panic that is not caught leaves the value as any other panic does.
    #[test]
    fn an_initialiser_that_asks_for_its_value() {
        let _dog = Watchdog::new("an_initialiser_that_asks_for_its_value");
        static CELL: OnceLock<u32> = OnceLock::new();
        let asking: [fn() -> u32; 3] =
            [|| *CELL.get_or_init(|| 1) + 1, || *CELL.wait() + 1, || CELL.set(1).map_or(2, |()| 3)];
        for make in asking {
            assert!(panic_of(|| _ = CELL.get_or_init(make)).contains(SENTENCE));
            assert_eq!(CELL.get(), None);
        }
        assert_eq!(CELL.get_or_init(|| 7), &7);
    }

    #[test]
    fn a_lazy_value_made_of_itself() {
        let _dog = Watchdog::new("a_lazy_value_made_of_itself");
        static FIRST: LazyLock<u32> = LazyLock::new(|| *SECOND + 1);
        static SECOND: LazyLock<u32> = LazyLock::new(|| *FIRST + 1);
        let location = panic_location_of(|| _ = *FIRST);
        assert!(location.ends_with("once.rs"), "the caller is told, not the library: {location}");
        for _ in 0..2 {
            assert!(panic_of(|| _ = *FIRST).contains("poisoned"));
            assert!(panic_of(|| _ = *SECOND).contains("poisoned"));
        }
    }

    /// Returns the file in which `work` panics with the sentence.
    fn panic_location_of(work: impl FnOnce()) -> String {
        let (tell, told) = channel();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if info.payload().downcast_ref::<&str>().is_some_and(|said| said.contains(SENTENCE)) {
                let _ = tell.send(info.location().unwrap().file().to_owned());
            }
        }));
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        std::panic::set_hook(before);
        assert!(panic.is_err());
        told.recv().unwrap()
    }

    /// Other threads wait for the initialiser, which asked for the value and caught the panic.
    #[test]
    fn beside_others_that_wait() {
        let _dog = Watchdog::new("beside_others_that_wait");
        let cell = OnceLock::new();
        let (begun, has_begun) = channel();
        thread::scope(|scope| {
            let cell = &cell;
            let maker = scope.spawn(move || {
                *cell.get_or_init(|| {
                    begun.send(()).unwrap();
                    thread::sleep(GLANCE);
                    assert!(panic_of(|| _ = cell.wait()).contains(SENTENCE));
                    5
                })
            });
            has_begun.recv().unwrap();
            let others: Vec<_> = (0..3).map(|_| scope.spawn(|| *cell.get_or_init(|| 6))).collect();
            assert_eq!(*cell.wait(), 5);
            assert!(others.into_iter().all(|other| other.join().unwrap() == 5));
            assert_eq!(maker.join().unwrap(), 5);
        });
    }
}
