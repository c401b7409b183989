//! The domains that C programs share, from Rust: guards and sections of C on one slot, nested both
//! ways; what ends with a thread (`c_domains/exits.rs`); QSBR; misuse; callbacks of both languages.
//!
//! Sections of C are opened here as the C face opens them out of line ([`RawDomain`]);
//! `capi/tests/mixed` has readers that C compiles.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "c_domains/exits.rs"]
mod exits;

use common::*;

use std::cell::RefCell;
use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use leeward::rcu::c::{self, Bp, Head, Mb, Memb, Qsbr, RawDomain, Refused};
use leeward::rcu::{Domain, Guard, RcuCell, Reader, qsbr};

/// Held by each test, since the domains are the process's.
static ALONE: Mutex<()> = Mutex::new(());

/// A domain of C with its type.
trait OfC: Domain {
    fn raw() -> &'static RawDomain;
}

impl OfC for Memb {
    fn raw() -> &'static RawDomain {
        &c::lee_memb
    }
}

impl OfC for Mb {
    fn raw() -> &'static RawDomain {
        &c::lee_mb
    }
}

impl OfC for Bp {
    fn raw() -> &'static RawDomain {
        &c::lee_bp
    }
}

impl OfC for Qsbr {
    fn raw() -> &'static RawDomain {
        &c::lee_qsbr
    }
}

/// Starts a thread that waits for a grace period of the domain.
fn waiting<D: OfC>() -> thread::JoinHandle<()> {
    thread::spawn(|| assert_eq!(D::raw().synchronize(), Ok(())))
}

/// Waits until the domain has so many readers. The thread of the test before may still run its
/// destructors, and is counted until then.
#[track_caller]
fn has_readers<D: OfC>(readers: u64) {
    eventually("threads that have ended are forgotten", || D::stats().readers == readers);
}

/// Asserts that grace periods wait for the calling thread.
fn is_protected<D: OfC>() {
    let cookie = D::start_poll();
    never("a grace period ended beside a section", || D::poll_state(&cookie));
    assert!(D::raw().is_inside());
}

/// Asserts that they do not.
fn is_outside<D: OfC>() {
    assert!(!D::raw().is_inside());
    let waiting = waiting::<D>();
    eventually("a grace period ends", || waiting.is_finished());
    waiting.join().unwrap();
}

fn nested<D: OfC>() {
    let raw = D::raw();
    // A section of C in a guard, which ends first, or last.
    let guard = D::read();
    raw.enter();
    raw.leave();
    is_protected::<D>();
    raw.enter();
    drop(guard);
    is_protected::<D>();
    raw.leave();
    is_outside::<D>();
    // A guard in a section of C, which ends last, or first.
    raw.enter();
    drop(D::read());
    is_protected::<D>();
    let guard = D::read();
    raw.leave();
    is_protected::<D>();
    drop(guard);
    is_outside::<D>();
    // Many of both.
    let mut guards = Vec::new();
    for _ in 0..10 {
        raw.enter();
        guards.push(D::read());
    }
    for guard in guards {
        is_protected::<D>();
        drop(guard);
        raw.leave();
    }
    is_outside::<D>();
}

#[test]
fn guards_and_sections_of_c_nest_both_ways() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("nested");
    for work in [nested::<Memb>, nested::<Mb>] {
        thread::spawn(work).join().unwrap();
    }
}

/// A guard that is refreshed beside a section of C announces nothing: what C holds stays protected.
#[test]
fn a_refreshed_guard_beside_a_section_of_c() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("refreshed");
    for is_first in [true, false] {
        let mut guard = None;
        if is_first {
            c::lee_memb.enter();
        }
        let guard = guard.insert(Memb::read());
        if !is_first {
            c::lee_memb.enter();
        }
        let cookie = Memb::start_poll();
        for _ in 0..10 {
            guard.refresh();
            never("a refreshed guard ended a section of C", || Memb::poll_state(&cookie));
        }
        c::lee_memb.leave();
        guard.refresh();
        eventually("a guard alone lets grace periods pass", || Memb::poll_state(&cookie));
    }
}

/// Writers of either language wait for readers of either.
#[test]
fn each_language_waits_for_the_other() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("both languages");
    let cell: &'static RcuCell<u64, Memb> = Box::leak(Box::new(RcuCell::new_in(0)));
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = Raise(&stop);
        for is_c in [false, true] {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    if is_c {
                        c::lee_memb.enter();
                    }
                    let guard = Memb::read();
                    let first = cell.load(&guard);
                    compute(50);
                    assert!(*first < u64::MAX);
                    drop(guard);
                    if is_c {
                        c::lee_memb.leave();
                    }
                }
            });
        }
        for round in 0..2000 {
            let mut old = cell.replace(round).synchronize();
            *old = u64::MAX;
            let (old, is_c) = (cell.replace(round + 1), round % 2 == 0);
            if is_c {
                assert_eq!(c::lee_memb.synchronize(), Ok(()));
            }
            old.defer();
        }
        stop.store(true, Ordering::Relaxed);
    });
    Memb::barrier();
}

/// A guard protects at a quiescent state, and while the thread is offline, and the thread is online
/// behind it.
fn a_guard_protects(raw: &'static RawDomain, is_online_first: bool) {
    let first = (!is_online_first).then(Qsbr::read);
    raw.go_online();
    let guard = first.unwrap_or_else(Qsbr::read);
    raw.quiesce();
    is_protected::<Qsbr>();
    assert!(raw.go_offline());
    is_protected::<Qsbr>();
    assert!(!raw.go_offline());
    raw.quiesce();
    is_protected::<Qsbr>();
    raw.go_online();
    raw.go_online();
    drop(guard);
    is_protected::<Qsbr>();
    let cookie = Qsbr::start_poll();
    eventually("a reader that is online announces a quiescent state", || {
        raw.quiesce();
        Qsbr::poll_state(&cookie)
    });
    assert!(raw.go_offline());
    is_outside::<Qsbr>();
}

#[test]
fn a_guard_beside_a_reader_that_is_online() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("online");
    let raw = Qsbr::raw();
    thread::spawn(move || {
        a_guard_protects(raw, true);
        a_guard_protects(raw, false);
        // It is refused inside a guard, and everything is as before.
        raw.go_online();
        let guard = Qsbr::read();
        assert_eq!(raw.synchronize(), Err(Refused::Inside));
        assert_eq!(raw.barrier(), Err(Refused::Inside));
        is_protected::<Qsbr>();
        drop(guard);
        is_protected::<Qsbr>();
        assert_eq!(raw.synchronize(), Ok(()));
        // Unregistered, the thread is offline, and the guard goes on.
        let guard = Qsbr::read();
        raw.unregister();
        is_protected::<Qsbr>();
        drop(guard);
        is_outside::<Qsbr>();
        // The end of a thread that is online.
        raw.register().unwrap();
        std::mem::drop(Qsbr::read());
    })
    .join()
    .unwrap();
    assert_eq!(Qsbr::stats().leaked, 0);
    is_outside::<Qsbr>();
    // A handle beside it has a slot of its own.
    let mut reader = qsbr::Reader::<Qsbr>::register_in();
    let cookie = Qsbr::start_poll();
    raw.go_online();
    assert!(raw.go_offline());
    never("a handle's reader was taken offline", || Qsbr::poll_state(&cookie));
    reader.quiescent();
    drop(reader);
    raw.unregister();
    is_outside::<Qsbr>();
}

#[test]
fn misuse_across_the_languages() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("misuse");
    let guard = Memb::read();
    assert_eq!(c::lee_memb.synchronize(), Err(Refused::Inside));
    assert_eq!(c::lee_memb.barrier(), Err(Refused::Inside));
    drop(guard);
    c::lee_memb.enter();
    assert!(panic_of(Memb::synchronize).contains("inside a read section"));
    assert!(panic_of(Memb::barrier).contains("inside a read section"));
    c::lee_memb.leave();
    // A handle's section is one as well.
    let reader = Reader::<Memb>::register_in();
    let guard = reader.read();
    assert!(!c::lee_memb.is_inside());
    assert_eq!(c::lee_memb.barrier(), Err(Refused::Inside));
    drop(guard);
    assert_eq!(c::lee_memb.barrier(), Ok(()));
    // An end too much changes nothing.
    assert!(!c::lee_memb.leave());
    is_outside::<Memb>();
}

/// Callbacks of both languages are in one queue, in order.
#[test]
fn callbacks_of_both_languages() {
    static RAN: AtomicU64 = AtomicU64::new(0);
    unsafe extern "C-unwind" fn count(head: NonNull<Head>) {
        // The head is the callback's now: a box that the test made.
        // SAFETY: as above.
        drop(unsafe { Box::from_raw(head.cast::<[usize; 2]>().as_ptr()) });
        assert_eq!(RAN.fetch_add(1, Ordering::SeqCst) % 2, 1);
    }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("callbacks");
    assert_eq!(Memb::limit().callbacks, usize::MAX);
    let guard = Memb::read();
    for _ in 0..50 {
        Memb::defer(|| assert_eq!(RAN.fetch_add(1, Ordering::SeqCst) % 2, 0));
        let head = NonNull::from(Box::leak(Box::new([0_usize; 2]))).cast::<Head>();
        // SAFETY: two words that nothing else uses until the callback frees them.
        unsafe { c::lee_memb.defer(head, count) };
    }
    assert_eq!((RAN.load(Ordering::SeqCst), Memb::stats().callbacks_queued), (0, 100));
    drop(guard);
    assert_eq!(c::lee_memb.barrier(), Ok(()));
    assert_eq!(RAN.load(Ordering::SeqCst), 100);
    assert_eq!(Memb::stats().callback_panics, 0);
    // In a callback of Rust, a barrier of C is refused.
    let (send, answer) = channel();
    Memb::defer(move || send.send(c::lee_memb.barrier()).unwrap());
    assert_eq!(answer.recv().unwrap(), Err(Refused::InCallback));
}

/// In the child of a fork, a section of C of another thread that was exiting is over; what a guard
/// protects that was leaked, or that a destructor is about to drop, is not.
#[test]
fn forks_beside_a_thread_that_exits() {
    static STATE: AtomicU64 = AtomicU64::new(0);
    extern "C" fn stays(is_guard: *mut libc::c_void) {
        let guard = (is_guard.addr() == 2).then(Mb::read);
        if guard.is_none() {
            c::lee_mb.enter();
        }
        STATE.store(1, Ordering::SeqCst);
        while STATE.load(Ordering::SeqCst) == 1 {
            thread::yield_now();
        }
        if guard.is_none() {
            c::lee_mb.leave();
        }
    }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("forks");
    let mut key = 0;
    // SAFETY: a local variable, and a function that lives as long as the program.
    assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(stays)) }, 0);
    for is_guard in [false, true] {
        STATE.store(0, Ordering::SeqCst);
        let exits = thread::spawn(move || {
            c::lee_mb.register().unwrap();
            let value = std::ptr::without_provenance(1 + usize::from(is_guard));
            // SAFETY: a key that is not deleted.
            assert_eq!(unsafe { libc::pthread_setspecific(key, value) }, 0);
        });
        eventually("the thread exits, inside", || STATE.load(Ordering::SeqCst) == 1);
        // SAFETY: the child makes no call that another thread's lock could keep it from.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let ticket = c::lee_mb.start_poll();
            let start = std::time::Instant::now();
            let mut has_passed = false;
            while !has_passed && start.elapsed() < (if is_guard { 10 * GLANCE } else { patience() }) {
                has_passed = c::lee_mb.poll(ticket);
            }
            // SAFETY: ends the child.
            unsafe { libc::_exit(i32::from(has_passed == is_guard)) };
        }
        let mut status = 0;
        // SAFETY: a child of ours, and a local variable.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "a guard: {is_guard}");
        STATE.store(2, Ordering::SeqCst);
        exits.join().unwrap();
        is_outside::<Mb>();
    }
}
