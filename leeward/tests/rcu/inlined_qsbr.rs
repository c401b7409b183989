//! Readers of QSBR that were inlined from liburcu's headers: they are online and offline by their own
//! words (`inlined.rs` has the flavours with sections).

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "inlined/words.rs"]
mod words;

use common::*;
use words::{ALONE, Gp, ends, ends_by};

use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::mpsc::channel;
use std::thread;

use leeward::rcu::Domain;
use leeward::rcu::c::{self, Qsbr, RawDomain, Served};

static QSBR_GP: Gp = Gp::new();
thread_local! { static QSBR_COUNT: AtomicU64 = const { AtomicU64::new(0) }; }
static QSBR: Served = Served {
    common: (&raw const QSBR_GP).cast(),
    reader: {
        extern "C" fn reader() -> *mut c_void {
            QSBR_COUNT.with(|count| count.as_ptr().cast())
        }
        reader
    },
    wakes: 2,
};

/// The domain of QSBR, with inlined readers.
fn qsbr() -> &'static RawDomain {
    // SAFETY: statics, and counts that their threads have until their end.
    unsafe { c::lee_qsbr.serve_inlined(&QSBR) };
    &c::lee_qsbr
}

/// What inlined code does to be online, and in a quiescent state.
fn announce() {
    fence(Ordering::SeqCst);
    QSBR_COUNT.with(|count| count.store(QSBR_GP.copied.load(Ordering::Relaxed), Ordering::Release));
    fence(Ordering::SeqCst);
}

fn withdraw() {
    fence(Ordering::SeqCst);
    QSBR_COUNT.with(|count| count.store(0, Ordering::Release));
    fence(Ordering::SeqCst);
}

fn count_of_qsbr() -> u64 {
    QSBR_COUNT.with(|count| count.load(Ordering::Relaxed))
}

/// Starts a thread that waits for a grace period of the domain of QSBR.
fn waiting_for_qsbr() -> thread::JoinHandle<()> {
    thread::spawn(|| assert_eq!(qsbr().synchronize(), Ok(())))
}

/// Runs `work` on a thread that is registered as an inlined reader, and online.
fn while_online(work: fn()) {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("online");
    thread::spawn(move || {
        assert_eq!(qsbr().register_inlined(), Ok(true));
        announce();
        work();
    })
    .join()
    .unwrap();
    // The thread's exit took it offline.
    ends(waiting_for_qsbr());
}

#[test]
fn grace_periods_wait_for_quiescent_states() {
    while_online(|| {
        for is_offline in [false, true] {
            let waiting = waiting_for_qsbr();
            never("a grace period ended beside a thread that is online", || waiting.is_finished());
            ends_by(waiting, if is_offline { withdraw } else { announce });
        }
        ends(waiting_for_qsbr());
        announce();
        // The era that is to come.
        let next = (QSBR_GP.copied.load(Ordering::SeqCst) >> 32) + 1;
        QSBR_COUNT.with(|count| count.store(next << 32 | 1, Ordering::SeqCst));
        let waiting = waiting_for_qsbr();
        never("a grace period took an old reader for a new one", || waiting.is_finished());
        ends_by(waiting, announce);
    });
}

/// A quiescent state by our functions is one of the thread, and so is being offline.
#[test]
fn our_quiescent_states_count_for_inlined_code() {
    while_online(|| {
        for is_ours_online in [false, true] {
            if is_ours_online {
                qsbr().go_online();
            }
            let waiting = waiting_for_qsbr();
            never("a grace period ended beside a thread that is online", || waiting.is_finished());
            ends_by(waiting, || qsbr().quiesce());
            assert!(qsbr().is_inside());
            assert_ne!(count_of_qsbr(), 0);
        }
        assert!(qsbr().go_offline());
        assert_eq!(count_of_qsbr(), 0);
        assert!(!qsbr().is_inside() && !qsbr().go_offline());
        ends(waiting_for_qsbr());
    });
}

/// Neither word alone lets a grace period pass where the other says that the thread is online.
#[test]
fn threads_that_are_online_twice() {
    while_online(|| {
        qsbr().go_online();
        let waiting = waiting_for_qsbr();
        never("a grace period ended beside a thread that is online", || waiting.is_finished());
        withdraw();
        never("a grace period ended beside a thread that is online by ours", || waiting.is_finished());
        ends_by(waiting, || qsbr().quiesce());
        assert!(qsbr().go_offline());
    });
}

/// In the child of a fork the forking thread is online as it was, and no other thread is.
#[test]
fn quiescent_states_in_the_child_of_a_fork() {
    while_online(|| {
        let (online, is_online) = channel();
        let (leave, leaves) = channel::<()>();
        let other = thread::spawn(move || {
            assert_eq!(qsbr().register_inlined(), Ok(true));
            announce();
            online.send(()).unwrap();
            let _ = leaves.recv();
        });
        is_online.recv().unwrap();
        // SAFETY: the child uses this library and atomics alone.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: ends a child that hangs.
            unsafe { libc::alarm(30) };
            let is_inside = qsbr().is_inside() && count_of_qsbr() != 0;
            withdraw();
            let ends = qsbr().synchronize() == Ok(());
            // SAFETY: ends the child without running what belongs to the parent.
            unsafe { libc::_exit(i32::from(!(is_inside && ends))) };
        }
        let mut status = 0;
        // SAFETY: `status` is ours to write.
        while unsafe { libc::waitpid(child, &mut status, 0) } != child {}
        assert_eq!(status, 0);
        drop(leave);
        other.join().unwrap();
    });
}

/// A thread that is online is offline while it waits, and then online as it was.
#[test]
fn threads_that_wait_are_offline() {
    while_online(|| {
        assert_eq!(qsbr().synchronize(), Ok(()));
        assert_ne!(count_of_qsbr(), 0);
        Qsbr::defer(|| assert_ne!(count_of_qsbr(), 0, "a callback runs online"));
        assert_eq!(qsbr().barrier(), Ok(()));
        assert_ne!(count_of_qsbr(), 0);
        let waiting = waiting_for_qsbr();
        never("a grace period ended beside a thread that is online", || waiting.is_finished());
        qsbr().leave_inlined();
        assert_eq!(count_of_qsbr(), 0);
        ends(waiting);
    });
}
