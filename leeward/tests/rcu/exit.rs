//! Threads that end: with guards leaked, with destructors that read, by the thousand; and handles
//! that outlive them or travel.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;

use common::*;

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use leeward::rcu::{Domain, Guard, RcuCell, Reader, qsbr};

const ALIVE: u64 = 0xA11E;

/// A value that notes its drop in a word elsewhere, so that reading the word is no access to freed
/// memory.
struct Canary(&'static AtomicU64);

impl Canary {
    fn new() -> Canary {
        Canary(Box::leak(Box::new(AtomicU64::new(ALIVE))))
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.0.store(0xDEAD, Ordering::SeqCst);
    }
}

/// Leaks a guard of a cell that lives forever, and so the reference too.
fn leak_a_reference<D: Domain>(cell: &'static RcuCell<Canary, D>) -> &'static Canary {
    let guard: &'static Guard<'static, D> = Box::leak(Box::new(D::read()));
    cell.load(guard)
}

fn forever<D: Domain>() -> &'static RcuCell<Canary, D> {
    Box::leak(Box::new(RcuCell::new_in(Canary::new())))
}

/// The first thread leaks its guard, sends the reference away and ends; the reference stays valid.
#[test]
fn a_leaked_guard_protects_for_ever() {
    leeward::rcu_domain! { struct D; }
    let _dog = Watchdog::new("a_leaked_guard_protects_for_ever");
    let cell = forever::<D>();
    let seen = thread::spawn(move || leak_a_reference(cell)).join().unwrap();
    assert_eq!(D::stats().leaked, 1);
    let word = seen.0;
    cell.replace(Canary::new()).defer();
    let cookie = D::start_poll();
    never("a value was dropped under a reference that a leaked guard protects", || {
        D::poll_state(&cookie) || word.load(Ordering::SeqCst) != ALIVE
    });
    assert_eq!(D::stats().leaked, 1);
    // Other threads go on reading.
    assert_eq!(cell.read(|now| now.0.load(Ordering::SeqCst)), ALIVE);
}

/// Guards are leaked with further sections open, or with some that have come and gone.
#[test]
fn forgotten_guards() {
    leeward::rcu_domain! { struct D; }
    let _dog = Watchdog::new("forgotten_guards");
    thread::spawn(|| {
        let outer = D::read();
        std::mem::forget(D::read());
        drop(outer);
        drop(D::read());
    })
    .join()
    .unwrap();
    assert_eq!(D::stats().leaked, 1);
    let cookie = D::start_poll();
    never("a grace period ended in spite of a forgotten guard", || D::poll_state(&cookie));
    // A new thread in the place of the old one is not taken for it: it reads and leaves, and may
    // not end the other's section.
    for _ in 0..5 {
        thread::spawn(|| drop(D::read())).join().unwrap();
    }
    never("a grace period ended in spite of a forgotten guard", || D::poll_state(&cookie));
    assert_eq!(D::stats().leaked, 1);
}

/// The worker itself may run where the leaking thread ran (its control block is used again). It
/// must not take the other's section for its own, nor go on without a grace period.
#[test]
fn a_leaked_handle_protects_from_a_worker_in_its_threads_place() {
    leeward::rcu_domain! { struct D; }
    let _dog = Watchdog::new("a_leaked_handle_protects_from_a_worker_in_its_threads_place");
    let cell = forever::<D>();
    let seen = thread::spawn(move || {
        let reader: &'static Reader<D> = Box::leak(Box::new(Reader::register_in()));
        let guard: &'static Guard<'static, D> = Box::leak(Box::new(reader.read()));
        cell.load(guard)
    })
    .join()
    .unwrap();
    let word = seen.0;
    // The first of the domain's deferrals, which starts the worker.
    cell.replace(Canary::new()).defer();
    never("a value was dropped under a reference that a leaked handle protects", || {
        word.load(Ordering::SeqCst) != ALIVE
    });
}

/// A reader that is forgotten while it is online protects what it loaded.
#[test]
fn a_forgotten_online_reader_protects() {
    leeward::rcu_domain! { struct D; }
    let _dog = Watchdog::new("a_forgotten_online_reader_protects");
    let cell = forever::<D>();
    let seen = thread::spawn(move || {
        let reader: &'static qsbr::Reader<D> = Box::leak(Box::new(qsbr::Reader::register_in()));
        cell.load(reader)
    })
    .join()
    .unwrap();
    let word = seen.0;
    cell.replace(Canary::new()).defer();
    never("a value was dropped under a forgotten online reader", || word.load(Ordering::SeqCst) != ALIVE);
}

/// A callback is any program's code: it may leak a guard as well, on the worker.
#[test]
fn a_guard_leaked_by_a_callback_protects() {
    leeward::rcu_domain! { struct D; }
    let _dog = Watchdog::new("a_guard_leaked_by_a_callback_protects");
    let cell = forever::<D>();
    let (send, receive) = std::sync::mpsc::channel();
    D::defer(move || send.send(leak_a_reference(cell)).unwrap());
    let seen: &'static Canary = receive.recv().unwrap();
    let word = seen.0;
    D::barrier();
    cell.replace(Canary::new()).defer();
    let cookie = D::start_poll();
    never("a value was dropped under a reference that a callback's guard protects", || {
        D::poll_state(&cookie) || word.load(Ordering::SeqCst) != ALIVE
    });
}

#[path = "exit/destructors.rs"]
mod destructors;

#[test]
fn ten_thousand_threads_come_and_go() {
    leeward::rcu_domain! { struct D; }
    let _dog = Watchdog::within("ten_thousand_threads_come_and_go", 4 * patience());
    let cell = RcuCell::<_, D>::new_in(0);
    let stop = AtomicBool::new(false);
    let most = AtomicU64::new(0);
    thread::scope(|scope| {
        let _stop = Raise(&stop);
        scope.spawn(|| {
            let mut n = 0;
            while !stop.load(Ordering::Relaxed) {
                n += 1;
                cell.replace(n).defer();
                D::synchronize();
            }
        });
        // As many as do not fit in the slots of the domain itself.
        for _ in 0..500 {
            thread::scope(|few| {
                let read = || {
                    cell.read(|n| assert!(*n >= 0));
                    most.fetch_max(D::stats().readers, Ordering::Relaxed);
                };
                // Joined one by one: the scope's own end does not wait for the destructors, which give the slots
                // back.
                let threads: Vec<_> = (0..20).map(|_| few.spawn(read)).collect();
                threads.into_iter().for_each(|thread| thread.join().unwrap());
            });
        }
        stop.store(true, Ordering::Relaxed);
    });
    D::barrier();
    let most = most.load(Ordering::Relaxed);
    assert!(most <= 32, "{most} slots for 20 threads at a time");
    // The scope of the writer is one of those that do not wait for destructors.
    eventually("all slots are back", || D::stats().readers == 0);
    assert_eq!(D::stats().leaked, 0);
}

/// More readers at once than any first block holds, then none, then as many again in the same
/// slots.
#[test]
fn slots_are_used_again() {
    leeward::rcu_domain! { struct D; }
    let _dog = Watchdog::new("slots_are_used_again");
    for _ in 0..10 {
        let readers: Vec<_> = (0..1_000).map(|_| Reader::<D>::register_in()).collect();
        assert_eq!(D::stats().readers, 1_000);
        let guards: Vec<_> = readers.iter().map(|reader| reader.read()).collect();
        let cookie = D::start_poll();
        drop(guards);
        eventually("the grace period ends", || D::poll_state(&cookie));
        drop(readers);
        assert_eq!(D::stats().readers, 0);
    }
}

mod handles {
    use super::*;

    #[test]
    fn dropping_one_ends_what_was_forgotten() {
        leeward::rcu_domain! { struct D; }
        let _dog = Watchdog::new("dropping_one_ends_what_was_forgotten");
        let reader = Reader::<D>::register_in();
        for _ in 0..3 {
            std::mem::forget(reader.read());
        }
        let cookie = D::start_poll();
        never("a grace period ended under forgotten guards", || D::poll_state(&cookie));
        drop(reader);
        eventually("the grace period ends", || D::poll_state(&cookie));
        assert_eq!((D::stats().readers, D::stats().leaked), (0, 0));
        // The slot is as good as new.
        let reader = Reader::<D>::register_in();
        let guard = reader.read();
        let cookie = D::start_poll();
        never("a grace period ended under a guard", || D::poll_state(&cookie));
        drop(guard);
        eventually("the grace period ends", || D::poll_state(&cookie));
    }

    #[test]
    fn travel() {
        leeward::rcu_domain! { struct D; }
        let _dog = Watchdog::new("travel");
        let mut travelling = Reader::<D>::register_in().detach();
        for _ in 0..20 {
            travelling = thread::spawn(move || {
                let reader = travelling.attach();
                let guard = reader.read();
                let cookie = D::start_poll();
                never("a grace period ended under a guard of a handle that travelled", || D::poll_state(&cookie));
                // The handle is this thread's now.
                assert!(panic_of(D::synchronize).contains("inside a read section"));
                drop(guard);
                eventually("the grace period ends", || D::poll_state(&cookie));
                reader.detach()
            })
            .join()
            .unwrap();
        }
        D::synchronize();
        assert_eq!(D::stats().readers, 1);
        drop(travelling);
        assert_eq!(D::stats().readers, 0);
    }

    /// Detaching ends forgotten sections: the handle's borrow says that no reference is left.
    #[test]
    fn detaching_ends_what_was_forgotten() {
        leeward::rcu_domain! { struct D; }
        let _dog = Watchdog::new("detaching_ends_what_was_forgotten");
        let reader = Reader::<D>::register_in();
        std::mem::forget(reader.read());
        let travelling = reader.detach();
        D::synchronize();
        drop(travelling);
        assert_eq!(D::stats().readers, 0);
    }

    /// A handle and the thread's own slot are independent of each other.
    #[test]
    fn beside_the_threads_own() {
        leeward::rcu_domain! { struct D; }
        let _dog = Watchdog::new("beside_the_threads_own");
        let reader = Reader::<D>::register_in();
        let by_handle = reader.read();
        let by_thread = D::read();
        let cookie = D::start_poll();
        drop(by_thread);
        never("a grace period ended under the handle's guard", || D::poll_state(&cookie));
        // One that begins after the next section would wait for that as well.
        eventually("the grace period sleeps", || D::stats().sleeps > 0);
        let by_thread = D::read();
        drop(by_handle);
        drop(reader);
        eventually("a later section of the thread is not in the way", || D::poll_state(&cookie));
        drop(by_thread);
    }
}

/// The last thing that a thread does is leaving a section that another thread's grace period sleeps
/// on.
#[test]
fn the_last_section_wakes_whoever_waits() {
    leeward::rcu_domain! { struct D; }
    struct Last(Cell<Option<Guard<'static, D>>>);
    thread_local! {
        static LAST: Last = const { Last(Cell::new(None)) };
    }
    let _dog = Watchdog::new("the_last_section_wakes_whoever_waits");
    for _ in 0..10 {
        let sleeps = D::stats().sleeps;
        let (tell, told) = std::sync::mpsc::channel();
        let (entered, inside) = std::sync::mpsc::channel();
        let reader = thread::spawn(move || {
            LAST.with(|last| last.0.set(Some(D::read())));
            entered.send(()).unwrap();
            told.recv().unwrap();
        });
        inside.recv().unwrap();
        let waiting = thread::spawn(D::synchronize);
        eventually("the grace period sleeps", || D::stats().sleeps > sleeps);
        tell.send(()).unwrap();
        reader.join().unwrap();
        waiting.join().unwrap();
        assert_eq!((D::stats().leaked, D::stats().readers), (0, 0));
    }
    // Dropped by its destructor, which only runs if the type needs one.
    assert!(std::mem::needs_drop::<Last>());
}
