//! Readers whose sections were inlined from liburcu's headers: what such code does with its words is
//! written here from the binary interface (`rcu/section/inlined.rs`), so that nothing of liburcu is needed.
//! `inlined_qsbr.rs` has readers that are online, `capi/tests/inlined` some that were compiled with its
//! headers.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "inlined/flavours.rs"]
mod flavours;
#[path = "inlined/priorities.rs"]
mod priorities;
#[path = "inlined/words.rs"]
mod words;

use common::*;
use flavours::*;
use words::{ALONE, ends};

use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use leeward::rcu::c::{self, Bp, Mb, Memb, Refused};
use leeward::rcu::{Domain, Limit, Policy, RcuCell};

#[test]
fn grace_periods_wait_for_inlined_sections() {
    fn waits<F: Flavour>() {
        for depth in [1, 3] {
            let leave = holder::<F>(depth);
            let waiting = waiting::<F>();
            let is_over = grace_period::<F>();
            never("a grace period ended beside an inlined section", || waiting.is_finished() || is_over());
            leave();
            ends(waiting);
            eventually("the other ends, too", is_over);
        }
    }
    in_each_flavour("waits", [waits::<Memb>, waits::<Mb>, waits::<Bp>]);
}

/// Sections that begin after a grace period has are not waited for.
#[test]
fn newcomers_are_not_waited_for() {
    fn passes<F: Flavour>() {
        let first = holder::<F>(1);
        let before = F::gp().copied.load(Ordering::SeqCst);
        let waiting = waiting::<F>();
        eventually("it has begun", || F::gp().copied.load(Ordering::SeqCst) != before);
        let second = holder::<F>(1);
        first();
        ends(waiting);
        second();
    }
    in_each_flavour("newcomers", [passes::<Memb>, passes::<Mb>, passes::<Bp>]);
}

/// Both kinds of sections on one thread, one within the other, and beside each other.
#[test]
fn sections_of_both_kinds() {
    fn both<F: Flavour>() {
        F::enroll();
        for ours_is_outer in [true, false] {
            let (outer, inner): ([fn(); 2], [fn(); 2]) = if ours_is_outer {
                ([|| F::raw().enter(), || assert!(F::raw().leave())], [F::lock, F::unlock])
            } else {
                ([F::lock, F::unlock], [|| F::raw().enter(), || assert!(F::raw().leave())])
            };
            outer[0]();
            inner[0]();
            let is_over = grace_period::<F>();
            inner[1]();
            never("a grace period ended beside the outer section", &is_over);
            inner[0]();
            let is_next_over = grace_period::<F>();
            outer[1]();
            never("a grace period ended beside the inner section", &is_next_over);
            assert!(F::raw().is_inside());
            inner[1]();
            assert!(!F::raw().is_inside());
            eventually("both end", || is_over() && is_next_over());
        }
    }
    in_each_flavour("both kinds", [both::<Memb>, both::<Mb>, both::<Bp>]);
}

/// A caller that is inside an inlined section would wait for itself.
#[test]
fn waits_inside_are_refused() {
    fn refused<F: Flavour>() {
        F::enroll();
        F::lock();
        assert_eq!(F::raw().synchronize(), Err(Refused::Inside));
        assert_eq!(F::raw().barrier(), Err(Refused::Inside));
        F::unlock();
        assert_eq!(F::raw().synchronize(), Ok(()));
        assert_eq!(F::raw().barrier(), Ok(()));
    }
    in_each_flavour("refused", [refused::<Memb>, refused::<Mb>, refused::<Bp>]);
}

/// A reader that shows the very era that the next grace period would have: it loaded that 2^32 grace
/// periods ago.
#[test]
fn a_reader_with_the_era_to_come() {
    fn waits<F: Flavour>() {
        F::enroll();
        for depth in [1, 2] {
            F::lock();
            let era = F::gp().copied.load(Ordering::SeqCst) >> 32;
            F::count().store((era + 1) << 32 | depth, Ordering::SeqCst);
            let waiting = waiting::<F>();
            let is_over = grace_period::<F>();
            never("a grace period took an old reader for a new one", || waiting.is_finished() || is_over());
            (0..depth).for_each(|_| F::unlock());
            ends(waiting);
            eventually("the other ends, too", is_over);
        }
    }
    in_each_flavour("the era to come", [waits::<Memb>, waits::<Mb>, waits::<Bp>]);
}

/// The epoch grows beyond 32 bits, and eras begin anew, beside readers of every age.
#[test]
fn eras_begin_anew() {
    fn begin_anew<F: Flavour>() {
        F::enroll();
        // SAFETY: a domain begins with its epoch, which is a part of the interface to C.
        let epoch: &AtomicU64 = unsafe { &*ptr::from_ref(F::raw()).cast() };
        assert_eq!(F::raw().synchronize(), Ok(()));
        epoch.store((1 << 32) - 4, Ordering::SeqCst);
        let mut eras = Vec::new();
        for _ in 0..8 {
            F::lock();
            let is_over = grace_period::<F>();
            never("a grace period ended beside a section", &is_over);
            F::unlock();
            eventually("it ends", is_over);
            // Another, which nothing is in the way of.
            assert_eq!(F::raw().synchronize(), Ok(()));
            eras.push(F::gp().copied.load(Ordering::SeqCst) >> 32);
        }
        assert!(epoch.load(Ordering::SeqCst) > 1 << 32);
        assert!(eras.windows(2).any(|pair| pair[0] > pair[1]), "{eras:?}");
    }
    in_each_flavour("eras", [begin_anew::<Memb>, begin_anew::<Mb>, begin_anew::<Bp>]);
}

/// One futex serves all readers: a leader that another reader woke is woken again.
#[test]
fn wakes_by_other_readers() {
    fn woken_again<F: Flavour>() {
        let leave = holder::<F>(1);
        let waiting = waiting::<F>();
        F::enroll();
        for _ in 0..20 {
            eventually("the leader sleeps", || F::gp().is_raised());
            F::lock();
            F::unlock();
        }
        eventually("the leader sleeps", || F::gp().is_raised());
        never("a grace period ended beside a section", || waiting.is_finished());
        leave();
        ends(waiting);
        assert!(!F::gp().is_raised());
    }
    in_each_flavour("other wakes", [woken_again::<Memb>, woken_again::<Mb>, || ()]);
}

/// A thread exits inside an inlined section, without unregistering: that ends it, and nothing looks at
/// its count any more.
#[test]
fn an_exit_inside_a_section() {
    fn exits<F: Flavour>() {
        let (tell, told) = channel();
        thread::spawn(move || {
            F::enroll();
            F::lock();
            F::lock();
            tell.send(()).unwrap();
        })
        .join()
        .unwrap();
        told.recv().unwrap();
        ends(waiting::<F>());
        // Sections end where the thread unregisters, too.
        F::enroll();
        F::lock();
        if F::WAKES {
            F::raw().leave_inlined();
            ends(waiting::<F>());
        }
    }
    in_each_flavour("exits", [exits::<Memb>, exits::<Mb>, exits::<Bp>]);
}

/// A destructor of the program's reads after the library's exit has run.
#[test]
fn sections_after_the_exit() {
    extern "C" fn reads(_: *mut c_void) {
        IS_LATE.set(true);
        Bp::lock();
        let is_over = grace_period::<Bp>();
        never("a grace period ended beside a late section", &is_over);
        Bp::unlock();
        eventually("it ends", is_over);
        let registered = Bp::stats().readers;
        Bp::raw().leave_inlined();
        assert_eq!(Bp::stats().readers, registered - 1);
        assert!(BP_READER.with(|reader| reader.load(Ordering::Relaxed)).is_null());
    }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("late sections");
    let mut key = 0;
    // SAFETY: a local variable, and a function that lives as long as the program.
    assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(reads)) }, 0);
    thread::spawn(move || {
        Bp::lock();
        // SAFETY: a key that is not deleted.
        assert_eq!(unsafe { libc::pthread_setspecific(key, ptr::without_provenance(1)) }, 0);
        Bp::unlock();
    })
    .join()
    .unwrap();
    ends(waiting::<Bp>());
}

/// The child of a fork has the sections of the forking thread, and of no other.
#[test]
fn sections_in_the_child_of_a_fork() {
    fn forks<F: Flavour>() {
        let leave = holder::<F>(1);
        F::enroll();
        F::lock();
        // SAFETY: the child uses this library and atomics alone.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: ends a child that hangs.
            unsafe { libc::alarm(30) };
            let own = F::raw().synchronize() == Err(Refused::Inside);
            F::unlock();
            let others = F::raw().synchronize() == Ok(());
            // SAFETY: ends the child without running what belongs to the parent.
            unsafe { libc::_exit(i32::from(!(own && others))) };
        }
        F::unlock();
        let mut status = 0;
        // SAFETY: `status` is ours to write.
        while unsafe { libc::waitpid(child, &mut status, 0) } != child {}
        assert_eq!(status, 0);
        let waiting = waiting::<F>();
        never("a grace period ended beside a section", || waiting.is_finished());
        leave();
        ends(waiting);
    }
    in_each_flavour("forks", [forks::<Memb>, forks::<Mb>, forks::<Bp>]);
}

/// Callbacks run on a thread whose inlined sections count, though it has registered nothing.
#[test]
fn sections_of_callbacks() {
    fn calls<F: Flavour>() {
        static INSIDE: AtomicBool = AtomicBool::new(false);
        static LEAVES: AtomicBool = AtomicBool::new(false);
        INSIDE.store(false, Ordering::SeqCst);
        LEAVES.store(false, Ordering::SeqCst);
        F::raw();
        F::defer(|| {
            F::lock();
            INSIDE.store(true, Ordering::SeqCst);
            eventually("the callback is let go", || LEAVES.load(Ordering::SeqCst));
            F::unlock();
        });
        eventually("the callback runs", || INSIDE.load(Ordering::SeqCst));
        let waiting = waiting::<F>();
        never("a grace period ended beside a callback's section", || waiting.is_finished());
        LEAVES.store(true, Ordering::SeqCst);
        ends(waiting);
        F::barrier();
    }
    in_each_flavour("callbacks", [calls::<Memb>, calls::<Mb>, calls::<Bp>]);
}

/// A thread that runs callbacks is a reader for their time only: when a barrier returns, it is none.
#[test]
fn callbacks_leave_no_reader_behind() {
    fn leaves<F: Flavour>() {
        const ROUNDS: u32 = 2000;
        F::raw();
        F::defer(|| ());
        F::barrier();
        let before = F::stats().readers;
        for round in 0..ROUNDS {
            F::defer(|| ());
            F::barrier();
            assert_eq!(F::stats().readers, before, "round {round}");
        }
    }
    in_each_flavour("callbacks that leave", [leaves::<Memb>, leaves::<Mb>, leaves::<Bp>]);
}

/// A reader that stays inside for long is reported.
#[test]
fn stalls_are_reported() {
    fn stalls<F: Flavour>() {
        F::raw().set_stall_limit(Some(Duration::from_millis(1)), Some(quiet));
        let before = F::stats().stalls;
        let leave = holder::<F>(1);
        let waiting = waiting::<F>();
        eventually("the reader is reported", || F::stats().stalls > before);
        leave();
        ends(waiting);
        F::raw().set_stall_limit(None, None);
    }
    extern "C-unwind" fn quiet(_: *const c::CStall) {}
    in_each_flavour("stalls", [stalls::<Memb>, stalls::<Mb>, stalls::<Bp>]);
}

/// A caller that goes on beyond the domain's limit reports the reader that is in the way.
#[test]
fn callers_beyond_the_limit_report_readers() {
    static REPORTED: AtomicU32 = AtomicU32::new(0);
    extern "C-unwind" fn note(stall: *const c::CStall) {
        // SAFETY: the library's, for the time of the call.
        let stall = unsafe { &*stall };
        if stall.is_beyond_limit != 0 {
            REPORTED.store(stall.thread, Ordering::SeqCst);
        }
    }
    fn reports<F: Flavour>() {
        let wait = Duration::from_millis(1);
        F::raw().set_stall_limit(Some(wait), Some(note));
        let before = F::limit();
        for policy in [Policy::Wait(wait), Policy::Expedite(wait)] {
            F::set_limit(Limit { callbacks: 1, policy, ..Limit::default() });
            let leave = holder::<F>(1);
            REPORTED.store(0, Ordering::SeqCst);
            eventually("a caller reports", || {
                F::defer(|| ());
                REPORTED.load(Ordering::SeqCst) != 0
            });
            assert_eq!(REPORTED.load(Ordering::SeqCst), HOLDER.load(Ordering::SeqCst));
            leave();
            F::barrier();
        }
        F::set_limit(before);
        F::raw().set_stall_limit(None, None);
    }
    in_each_flavour("callers beyond the limit", [reports::<Memb>, reports::<Mb>, reports::<Bp>]);
}

/// Readers of both kinds, old and new threads of each, beside writers who free what they replaced.
#[test]
fn readers_of_both_kinds_that_come_and_go() {
    fn torture<F: Flavour>() {
        const READERS: usize = 4;
        let cell: &'static RcuCell<AtomicU64, F> = Box::leak(Box::new(RcuCell::new_in(AtomicU64::new(1))));
        let published: &'static AtomicPtr<AtomicU64> = Box::leak(Box::new(AtomicPtr::default()));
        published.store(Box::into_raw(Box::new(AtomicU64::new(1))), Ordering::SeqCst);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let _stop = Raise(&stop);
            for reader in 0..READERS {
                let stop = &stop;
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let short_lived = move || {
                            F::enroll();
                            for _ in 0..100 {
                                F::lock();
                                let seen = published.load(Ordering::Acquire);
                                // SAFETY: a section protects it, if the library keeps its promise.
                                assert_eq!(unsafe { &*seen }.load(Ordering::Relaxed), 1);
                                compute(20);
                                // SAFETY: as above.
                                assert_eq!(unsafe { &*seen }.load(Ordering::Relaxed), 1);
                                F::unlock();
                                let guard = F::read();
                                assert_eq!(cell.load(&guard).load(Ordering::Relaxed), 1);
                            }
                        };
                        if reader % 2 == 0 {
                            thread::spawn(short_lived).join().unwrap();
                        } else {
                            short_lived();
                        }
                    }
                });
            }
            for _ in 0..300 {
                let new = Box::into_raw(Box::new(AtomicU64::new(1)));
                let old = published.swap(new, Ordering::AcqRel);
                let before = cell.replace(AtomicU64::new(1));
                assert_eq!(F::raw().synchronize(), Ok(()));
                // SAFETY: no reader has it after a grace period.
                let old = unsafe { Box::from_raw(old) };
                old.store(0, Ordering::Relaxed);
                drop(old);
                before.defer();
            }
        });
    }
    in_each_flavour("torture", [torture::<Memb>, torture::<Mb>, torture::<Bp>]);
}
