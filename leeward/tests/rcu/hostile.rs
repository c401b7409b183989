//! What a hostile reading of the `unsafe` code once broke, a test each. All of it is safe code, and
//! none of it may free memory under a reference, or hang.
#![allow(missing_docs)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use leeward::rcu::{Domain, Guard, RcuCell, Reader};

/// Notes that it was dropped.
struct Tracked(&'static AtomicBool);

impl Drop for Tracked {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Long enough for a wrong grace period to end: that takes microseconds.
const WHILE: Duration = Duration::from_millis(200);

/// Returns true if `done` does so before a time that only a hang needs.
fn soon(done: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !done() {
        if start.elapsed() > Duration::from_secs(20) {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
    true
}

#[test]
fn a_callback_that_leaks_a_guard_frees_nothing_under_others() {
    leeward::rcu_domain! { struct Own; }
    static DROPPED: AtomicBool = AtomicBool::new(false);
    static SECOND: AtomicBool = AtomicBool::new(false);
    let cell: &'static RcuCell<Tracked, Own> = Box::leak(Box::new(RcuCell::new_in(Tracked(&DROPPED))));
    Own::defer(|| std::mem::forget(Own::read()));
    Own::barrier();
    let guard = Own::read();
    let _held = cell.load(&guard);
    cell.replace(Tracked(&SECOND)).defer();
    thread::sleep(WHILE);
    assert!(!DROPPED.load(Ordering::SeqCst), "freed inside our section");
}

#[test]
fn a_leaked_handle_outlives_its_thread_whoever_comes_next() {
    leeward::rcu_domain! { struct Own; }
    static DROPPED: AtomicBool = AtomicBool::new(false);
    static SECOND: AtomicBool = AtomicBool::new(false);
    let cell: &'static RcuCell<Tracked, Own> = Box::leak(Box::new(RcuCell::new_in(Tracked(&DROPPED))));
    let held: &'static Tracked = thread::spawn(move || {
        let reader: &'static Reader<Own> = Box::leak(Box::new(Reader::register_in()));
        let guard: &'static Guard<'static, Own> = Box::leak(Box::new(reader.read()));
        cell.load(guard)
    })
    .join()
    .unwrap();
    // The worker is started now, as likely as not on the stack of the thread that is gone.
    cell.replace(Tracked(&SECOND)).defer();
    thread::sleep(WHILE);
    assert!(!held.0.load(Ordering::SeqCst), "freed under a leaked guard's reference");
}

#[test]
fn a_follower_that_is_in_its_own_way_panics() {
    leeward::rcu_domain! { struct Own; }
    let (inside, is_inside) = mpsc::channel();
    let (go, may_go) = mpsc::channel::<()>();
    let follower = thread::spawn(move || {
        let reader = Reader::<Own>::register_in();
        let _guard = reader.read();
        inside.send(()).unwrap();
        may_go.recv().unwrap();
        // The other thread leads by now, and sleeps until this one leaves.
        assert!(soon(|| Own::stats().sleeps > 0));
        Own::synchronize();
    });
    is_inside.recv().unwrap();
    let leader = thread::spawn(Own::synchronize);
    go.send(()).unwrap();
    assert!(soon(|| follower.is_finished()), "neither panicked nor returned");
    let panic = follower.join().unwrap_err();
    let said = panic.downcast_ref::<&str>().unwrap();
    assert!(said.contains("inside a read section of the same domain"), "{said}");
    leader.join().unwrap();
}

#[test]
fn a_stall_handler_that_panics_gives_the_lead_up() {
    leeward::rcu_domain! { struct Own; }
    Own::set_stall_limit(Some(Duration::from_millis(20)), Some(|_| panic!("from the handler")));
    let (leave, may_leave) = mpsc::channel::<()>();
    let (inside, is_inside) = mpsc::channel();
    let reader = thread::spawn(move || {
        let _guard = Own::read();
        inside.send(()).unwrap();
        may_leave.recv().unwrap();
    });
    is_inside.recv().unwrap();
    assert!(thread::spawn(Own::synchronize).join().is_err(), "the handler's panic reaches whoever waits");
    leave.send(()).unwrap();
    reader.join().unwrap();
    let next = thread::spawn(Own::synchronize);
    assert!(soon(|| next.is_finished()), "the lead was lost");
}

#[test]
fn a_poll_turns_ready_inside_and_beside_a_callback() {
    leeward::rcu_domain! { struct Own; }
    let (ready, was_ready) = mpsc::channel();
    Own::defer(move || {
        let cookie = Own::start_poll();
        ready.send(soon(|| Own::poll_state(&cookie))).unwrap();
    });
    assert!(was_ready.recv().unwrap(), "in a callback");

    let (end, may_end) = mpsc::channel::<()>();
    let (started, has_started) = mpsc::channel();
    Own::defer(move || {
        started.send(()).unwrap();
        may_end.recv().unwrap();
    });
    has_started.recv().unwrap();
    let cookie = Own::start_poll();
    assert!(soon(|| Own::poll_state(&cookie)), "beside a callback that takes its time");
    end.send(()).unwrap();
}

#[test]
fn registering_while_the_thread_exits_keeps_no_slot() {
    leeward::rcu_domain! { struct Own; }
    struct Late;
    impl Drop for Late {
        fn drop(&mut self) {
            Own::register().unwrap();
        }
    }
    thread_local! { static LATE: Late = const { Late }; }
    for late_first in [true, false] {
        for _ in 0..200 {
            thread::spawn(move || {
                if late_first {
                    LATE.with(|_| ());
                }
                drop(Own::read());
                LATE.with(|_| ());
            })
            .join()
            .unwrap();
        }
    }
    assert_eq!(Own::stats().readers, 0);
}

#[test]
fn threads_that_exit_while_others_register_share_no_slot() {
    leeward::rcu_domain! { struct Own; }
    static READS: AtomicU64 = AtomicU64::new(0);
    let cell: &'static RcuCell<u64, Own> = Box::leak(Box::new(RcuCell::new_in(0)));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    thread::spawn(|| {
                        for _ in 0..20 {
                            let guard = Own::read();
                            READS.fetch_add(1 + cell.load(&guard) / u64::MAX, Ordering::Relaxed);
                        }
                    })
                    .join()
                    .unwrap();
                }
            });
        }
        let (mut round, start) = (0, Instant::now());
        // A fence takes milliseconds where only the slowest strategy works.
        while round < 2000 && start.elapsed() < Duration::from_secs(2) || READS.load(Ordering::Relaxed) < 1000 {
            drop(cell.replace(round).synchronize());
            round += 1;
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(Own::stats().readers, 0, "each slot was given back once");
}
