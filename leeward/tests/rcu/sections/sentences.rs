//! What is refused within a section, in one sentence that says why.

use super::*;

#[test]
fn synchronize_in_a_section() {
    domain!();
    let _dog = Watchdog::new("synchronize_in_a_section");
    let guard = D::read();
    assert_eq!(panic_of(D::synchronize), SYNCHRONIZE_INSIDE);
    drop(guard);
    D::synchronize();

    let reader = Reader::<D>::register_in();
    let guard = reader.read();
    assert_eq!(panic_of(D::synchronize), SYNCHRONIZE_INSIDE);
    drop(guard);
    D::synchronize();
    drop(reader);

    let mut online = qsbr::Reader::<D>::register_in();
    assert_eq!(panic_of(D::synchronize), SYNCHRONIZE_INSIDE);
    online.synchronize();
    let guard = D::read();
    assert_eq!(panic_of(|| online.synchronize()), SYNCHRONIZE_INSIDE);
    drop(guard);
    online.synchronize();
    drop(online);
    D::synchronize();
}

/// Another thread leads, and waits for the caller's own section.
#[test]
fn synchronize_in_a_section_while_another_leads() {
    domain!();
    let _dog = Watchdog::new("synchronize_in_a_section_while_another_leads");
    let reader = Reader::<D>::register_in();
    let guard = reader.read();
    let waiting = asleep::<D>();
    assert_eq!(panic_of(D::synchronize), SYNCHRONIZE_INSIDE);
    never("the other caller was served", || waiting.is_finished());
    drop(guard);
    waiting.join().unwrap();
    D::synchronize();
}

/// A caller that panics gives the lead away: others go on.
#[test]
fn a_caller_that_panics_leaves_the_domain_usable() {
    domain!();
    let _dog = Watchdog::new("a_caller_that_panics_leaves_the_domain_usable");
    for _ in 0..20 {
        let reader = Reader::<D>::register_in();
        let guard = reader.read();
        let others: Vec<_> = (0..3).map(|_| synchronizing::<D>()).collect();
        assert_eq!(panic_of(D::synchronize), SYNCHRONIZE_INSIDE);
        drop(guard);
        others.into_iter().for_each(|other| other.join().unwrap());
    }
}

#[test]
fn retired_in_a_section() {
    domain!();
    let _dog = Watchdog::new("retired_in_a_section");
    let cell = RcuCell::<_, D>::new_in(1);
    let guard = D::read();
    assert_eq!(panic_of(|| drop(cell.replace(2).synchronize())), SYNCHRONIZE_INSIDE);
    drop(guard);
    assert_eq!(*cell.replace(3).synchronize(), 2);
}

#[test]
fn quiescent_in_a_section() {
    domain!();
    let _dog = Watchdog::new("quiescent_in_a_section");
    let mut online = qsbr::Reader::<D>::register_in();
    let guard = D::read();
    assert_eq!(panic_of(|| online.quiescent()), QUIESCENT_INSIDE);
    drop(guard);
    // The reader can still be used.
    let cookie = D::start_poll();
    while !D::poll_state(&cookie) {
        online.quiescent();
    }
}

#[test]
fn barrier_in_a_section() {
    domain!();
    let _dog = Watchdog::new("barrier_in_a_section");
    let guard = D::read();
    assert_eq!(panic_of(D::barrier), BARRIER_INSIDE);
    drop(guard);
    let reader = Reader::<D>::register_in();
    let guard = reader.read();
    assert_eq!(panic_of(D::barrier), BARRIER_INSIDE);
    drop(guard);
    D::barrier();
}

#[test]
fn barrier_in_a_callback() {
    domain!();
    static TEXT: Mutex<String> = Mutex::new(String::new());
    let _dog = Watchdog::new("barrier_in_a_callback");
    D::defer(|| *TEXT.lock().unwrap() = panic_of(D::barrier));
    D::barrier();
    assert_eq!(*TEXT.lock().unwrap(), BARRIER_IN_CALLBACK);
    // A panic that is not caught is counted, and the queue goes on.
    D::defer(D::barrier);
    D::barrier();
    assert_eq!(D::stats().callback_panics, 1);
    D::defer(|| {});
    D::barrier();
    assert_eq!(D::stats().callbacks_run, 3);
}

/// A callback may wait for a grace period, and a barrier of another domain.
#[test]
fn what_a_callback_may_do() {
    leeward::rcu_domain! { struct D; struct Other; }
    let _dog = Watchdog::new("what_a_callback_may_do");
    D::defer(|| {
        D::synchronize();
        drop(D::read());
        Other::defer(|| {});
        Other::barrier();
        D::defer(|| {});
    });
    D::barrier();
    D::barrier();
    assert_eq!((D::stats().callbacks_run, D::stats().callback_panics), (2, 0));
}

/// A panic that is the caller's fault names the caller's place.
#[test]
fn the_callers_place() {
    use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
    use std::sync::Arc;
    domain!();
    let _dog = Watchdog::new("the_callers_place");
    let files = Arc::new(Mutex::new(Vec::new()));
    let (told, me) = (Arc::clone(&files), thread::current().id());
    let before = Arc::new(take_hook());
    let others = Arc::clone(&before);
    set_hook(Box::new(move |panic| {
        if thread::current().id() == me {
            told.lock().unwrap().push(panic.location().unwrap().file().to_owned());
        } else {
            others(panic);
        }
    }));
    let mut online = qsbr::Reader::<D>::register_in();
    let guard = D::read();
    let cell = RcuCell::<_, D>::new_in(1);
    let refused = [
        catch_unwind(|| D::synchronize()).is_err(),
        catch_unwind(|| D::barrier()).is_err(),
        catch_unwind(AssertUnwindSafe(|| online.synchronize())).is_err(),
        catch_unwind(AssertUnwindSafe(|| drop(cell.replace(2).synchronize()))).is_err(),
    ];
    drop(guard);
    let _ = take_hook();
    set_hook(Box::new(move |panic| before(panic)));
    assert_eq!(refused, [true; 4]);
    let files = files.lock().unwrap();
    assert!(files.len() == 4 && files.iter().all(|file| file.ends_with("sentences.rs")), "{files:?}");
}
