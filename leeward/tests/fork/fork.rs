//! fork: each case in a child with an alarm, whose exit code says how it went.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/bare.rs"]
mod bare;
#[path = "fork/callbacks.rs"]
mod callbacks;
#[path = "../common/mod.rs"]
mod common;
#[path = "fork/consumers.rs"]
mod consumers;
#[path = "fork/leaked.rs"]
mod leaked;

use bare::with_bare_threads;
use common::*;

use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use leeward::fence::{self, Strategy};
use leeward::rcu::{Domain, Guard, RcuCell, Reader, qsbr};

/// Held by each test, for one fork at a time: a child copies what the other tests' threads hold,
/// and the strategy is the process's.
static ALONE: Mutex<()> = Mutex::new(());

const FINE: i32 = 0;
const WRONG: i32 = 1;
const PANICKED: i32 = 2;

/// Forks; `in_child` says in the child whether all is well. Returns the child's number.
fn spawn_child(in_child: impl FnOnce() -> bool) -> libc::pid_t {
    // SAFETY: the child uses nothing but this library, atomics, and what glibc repairs in children.
    match unsafe { libc::fork() } {
        -1 => panic!("fork failed"),
        0 => {
            // SAFETY: ends a child that hangs.
            unsafe { libc::alarm(30) };
            let code = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(in_child)) {
                Ok(true) => FINE,
                Ok(false) => WRONG,
                Err(_) => PANICKED,
            };
            // SAFETY: ends the child without running what belongs to the parent.
            unsafe { libc::_exit(code) }
        }
        child => child,
    }
}

#[track_caller]
fn must_end_well(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: `status` is ours to write.
    while unsafe { libc::waitpid(child, &mut status, 0) } != child {}
    assert!(!libc::WIFSIGNALED(status), "the child was killed by signal {}: it hung, or worse", libc::WTERMSIG(status));
    match libc::WEXITSTATUS(status) {
        FINE => {}
        WRONG => panic!("the child found something wrong"),
        PANICKED => panic!("the child panicked"),
        other => panic!("the child ended with {other}"),
    }
}

#[track_caller]
fn in_child(work: impl FnOnce() -> bool) {
    must_end_well(spawn_child(work));
}

/// Starts a thread that is inside a section until it gets a message.
fn inside<D: Domain>() -> (std::sync::mpsc::Sender<()>, thread::JoinHandle<()>) {
    let (leave, told) = channel();
    let (entered, is_inside) = channel();
    let thread = thread::spawn(move || {
        let guard = D::read();
        entered.send(()).unwrap();
        told.recv().unwrap();
        drop(guard);
    });
    is_inside.recv().unwrap();
    (leave, thread)
}

/// Tries everything that a domain offers, in a child.
fn works<D: Domain>() -> bool {
    static RAN: AtomicU64 = AtomicU64::new(0);
    D::synchronize();
    let cell = RcuCell::<_, D>::new_in(1);
    let guard = D::read();
    let seen = cell.load(&guard);
    let retired = cell.replace(2);
    let cookie = D::start_poll();
    let early = D::poll_state(&cookie);
    let alive = *seen == 1;
    drop(guard);
    let value = *retired.synchronize();
    let before = RAN.load(Ordering::SeqCst);
    D::defer(|| {
        RAN.fetch_add(1, Ordering::SeqCst);
    });
    D::barrier();
    let ran = RAN.load(Ordering::SeqCst) - before;
    let other = || {
        drop(D::read());
        D::synchronize();
    };
    let threads = with_bare_threads(1, other, || ());
    !early && alive && value == 1 && ran == 1 && threads
}

#[test]
fn while_another_thread_is_inside() {
    leeward::rcu_domain! { struct D; }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("while_another_thread_is_inside");
    let (leave, thread) = inside::<D>();
    in_child(works::<D>);
    // Tries a child of the child, too.
    in_child(|| {
        in_child(works::<D>);
        works::<D>()
    });
    leave.send(()).unwrap();
    thread.join().unwrap();
    assert!(works::<D>());
}

#[test]
fn while_another_thread_holds_handles() {
    leeward::rcu_domain! { struct D; }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("while_another_thread_holds_handles");
    let (leave, told) = channel::<()>();
    let (entered, is_inside) = channel();
    let thread = thread::spawn(move || {
        let reader = Reader::<D>::register_in();
        let guard = reader.read();
        let online = qsbr::Reader::<D>::register_in();
        entered.send(()).unwrap();
        told.recv().unwrap();
        drop((guard, online));
    });
    is_inside.recv().unwrap();
    in_child(works::<D>);
    leave.send(()).unwrap();
    thread.join().unwrap();
    assert!(works::<D>());
}

/// The lead is taken, followers sleep, the worker is in the middle of a grace period: none of them
/// exists in the child.
#[test]
fn while_grace_periods_are_blocked() {
    leeward::rcu_domain! { struct D; }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("while_grace_periods_are_blocked");
    let (leave, thread) = inside::<D>();
    let sleeps = D::stats().sleeps;
    let callers: Vec<_> = (0..4).map(|_| thread::spawn(D::synchronize)).collect();
    D::defer(|| {});
    eventually("the grace period sleeps", || D::stats().sleeps > sleeps);
    thread::sleep(GLANCE);
    in_child(works::<D>);
    leave.send(()).unwrap();
    thread.join().unwrap();
    callers.into_iter().for_each(|caller| caller.join().unwrap());
    D::barrier();
    assert!(works::<D>());
}

/// Forks come at any moment of a domain that is hard at work.
#[test]
fn at_any_moment() {
    leeward::rcu_domain! { struct D; }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("at_any_moment");
    let stop = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Raise(&stop);
        for _ in 0..2 {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    drop(D::read());
                    D::synchronize();
                    D::defer(|| {});
                }
            });
        }
        for _ in 0..60 {
            in_child(works::<D>);
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(works::<D>());
}

/// The forking thread's own sections go on in the child.
#[test]
fn by_a_thread_that_is_inside() {
    leeward::rcu_domain! { struct D; }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("by_a_thread_that_is_inside");

    fn check(guards: Vec<Guard<'_, D>>) {
        in_child(move || {
            let mut guards = guards;
            while guards.len() > 1 {
                guards.pop();
            }
            let cell = RcuCell::<_, D>::new_in(1);
            let seen = cell.load(&guards[0]);
            let retired = cell.replace(2);
            let cookie = D::start_poll();
            never("a grace period ended in the child under the guard that it inherited", || D::poll_state(&cookie));
            let refused = panic_of(D::synchronize).contains("inside a read section");
            let alive = *seen == 1;
            guards.clear();
            eventually("the grace period ends", || D::poll_state(&cookie));
            alive && refused && *retired.synchronize() == 1 && works::<D>()
        });
    }
    check(vec![D::read()]);
    check(vec![D::read(), D::read(), D::read()]);
    let reader = Reader::<D>::register_in();
    check(vec![reader.read()]);
    drop(reader);
    let mut online = qsbr::Reader::<D>::register_in();
    in_child(|| {
        let cookie = D::start_poll();
        never("a grace period ended in the child under the online reader that it inherited", || D::poll_state(&cookie));
        while !D::poll_state(&cookie) {
            online.quiescent();
        }
        online.synchronize();
        online.offline(works::<D>)
    });
    drop(online);
    assert!(works::<D>());
}

#[test]
fn with_every_strategy() {
    leeward::rcu_domain! { struct D; }
    let _alone = alone(&ALONE);
    // On a busy machine membarrier-global may wait for seconds each time.
    let _dog = Watchdog::within("with_every_strategy", 6 * patience());
    for &strategy in Strategy::ALL {
        if let Err(error) = fence::force(strategy) {
            println!("skipped: {error}");
            continue;
        }
        let (leave, thread) = inside::<D>();
        // Another thread is in the middle of a fence, for whose lock the child must not wait.
        let stop = std::sync::atomic::AtomicBool::new(false);
        thread::scope(|scope| {
            let _stop = Raise(&stop);
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    fence::heavy();
                }
            });
            for _ in 0..if strategy == Strategy::MembarrierGlobal { 2 } else { 10 } {
                in_child(|| works::<D>() && fence::strategy() == Some(strategy));
            }
            stop.store(true, Ordering::Relaxed);
        });
        leave.send(()).unwrap();
        thread.join().unwrap();
    }
    fence::force(Strategy::ALL[0]).unwrap();
}

/// What the child counts is its own.
#[test]
fn the_child_has_one_reader() {
    leeward::rcu_domain! { struct D; }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("the_child_has_one_reader");
    let others: Vec<_> = (0..5).map(|_| inside::<D>()).collect();
    D::register().unwrap();
    in_child(|| D::stats().readers == 1 && D::stats().leaked == 0);
    for (leave, thread) in others {
        leave.send(()).unwrap();
        thread.join().unwrap();
    }
}

/// The reports of a child name its one thread by the number that it has there, whatever was
/// registered first.
#[test]
fn a_child_names_its_own_thread() {
    leeward::rcu_domain! { struct First; struct Second; }
    static TOLD: AtomicI32 = AtomicI32::new(0);
    fn check<D: Domain>(guard: Guard<'_, D>) -> bool {
        // SAFETY: has no precondition.
        let me = unsafe { libc::gettid() };
        TOLD.store(0, Ordering::SeqCst);
        D::set_stall_limit(
            Some(std::time::Duration::from_millis(1)),
            Some(|stall| TOLD.store(stall.thread as i32, Ordering::SeqCst)),
        );
        D::defer(|| ());
        eventually("the stall is reported", || TOLD.load(Ordering::SeqCst) != 0);
        drop(guard);
        D::barrier();
        TOLD.load(Ordering::SeqCst) == me
    }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_child_names_its_own_thread");
    let guards = (First::read(), Second::read());
    in_child(|| check(guards.0) && check(guards.1));
}
