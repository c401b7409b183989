//! What works on whatever is left: grace periods, callbacks and polling.

use super::*;
use harness::{Handle, Quiescent};

/// Tries every flavour of reader, a grace period that sleeps, callbacks and polling.
pub fn suite() {
    if let Some(on) = two_processors() {
        one_writer::<Automatic<D>, D>(on, duration(0.2)).must_be_sound("automatic");
        one_writer::<Handle<D>, D>(on, duration(0.1)).must_be_sound("handle");
        one_writer::<Quiescent<D>, D>(on, duration(0.1)).must_be_sound("quiescent");
        one_writer::<Automatic<Fenced>, Fenced>(on, duration(0.1)).must_be_sound("full");
    }
    rcu_suite::<D>();
    rcu_suite::<Fenced>();
}

pub fn rcu_suite<D: Domain>() {
    let cell = RcuCell::<_, D>::new_in(1);
    thread::scope(|scope| {
        let (entered, inside) = std::sync::mpsc::channel();
        let (leave, told) = std::sync::mpsc::channel::<()>();
        let reader = scope.spawn(move || {
            let guard = D::read();
            entered.send(()).unwrap();
            told.recv().unwrap();
            drop(guard);
        });
        inside.recv().unwrap();
        let sleeps = D::stats().sleeps;
        let writer = scope.spawn(|| *cell.replace(2).synchronize());
        eventually("the grace period sleeps", || D::stats().sleeps > sleeps);
        assert!(!writer.is_finished());
        leave.send(()).unwrap();
        reader.join().unwrap();
        assert_eq!(writer.join().unwrap(), 1);
    });
    let ran = std::sync::Arc::new(AtomicU64::new(0));
    for _ in 0..10 {
        let ran = std::sync::Arc::clone(&ran);
        D::defer(move || {
            ran.fetch_add(1, Ordering::SeqCst);
        });
    }
    D::barrier();
    assert_eq!(ran.load(Ordering::SeqCst), 10);
    let cookie = D::start_poll();
    eventually("the cookie is ready", || D::poll_state(&cookie));
    let guard = D::read();
    assert!(panic_of(D::synchronize).contains("inside a read section"));
    drop(guard);
}
