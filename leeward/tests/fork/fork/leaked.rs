//! Guards that were leaked before a fork: what they protect stays protected in the child, too.

use super::*;

/// A guard is leaked in a thread-local destructor that runs after the domain's own.
#[test]
fn what_a_guard_protects_that_was_leaked_late() {
    leeward::rcu_domain! { struct D; }
    struct LeaksLate;
    impl Drop for LeaksLate {
        fn drop(&mut self) {
            std::mem::forget(D::read());
        }
    }
    thread_local! { static LATE: LeaksLate = const { LeaksLate }; }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("what_a_guard_protects_that_was_leaked_late");
    thread::spawn(|| {
        // Registered first, so that it ends last.
        LATE.with(|_| ());
        drop(D::read());
    })
    .join()
    .unwrap();
    stays_protected::<D>();
}

/// A guard is leaked together with its handle.
#[test]
fn what_a_guard_protects_whose_handle_was_leaked() {
    leeward::rcu_domain! { struct D; struct Online; }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("what_a_guard_protects_whose_handle_was_leaked");
    thread::spawn(|| {
        let reader: &'static Reader<D> = Box::leak(Box::new(Reader::register_in()));
        std::mem::forget(reader.read());
        std::mem::forget(qsbr::Reader::<Online>::register_in());
    })
    .join()
    .unwrap();
    stays_protected::<D>();
    stays_protected::<Online>();
}

/// Asserts that in this process, in its child and in the child's child no grace period ends.
fn stays_protected<D: Domain>() {
    fn check<D: Domain>() -> bool {
        let cookie = D::start_poll();
        never("a grace period ended under a guard that was leaked", || D::poll_state(&cookie));
        D::stats().readers >= 1
    }
    assert!(check::<D>());
    in_child(|| {
        in_child(check::<D>);
        check::<D>()
    });
}
