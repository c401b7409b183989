//! Readers whose sections were inlined from liburcu's headers: what such code does with its words is
//! written here from the binary interface (`rcu/section/inlined.rs`), so that nothing of liburcu is needed.
//! `capi/tests/inlined` has readers that were compiled with its headers.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "inlined/priorities.rs"]
mod priorities;

use common::*;

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, compiler_fence, fence};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use leeward::rcu::c::{self, Bp, Mb, Memb, Qsbr, RawDomain, Refused, Served};
use leeward::rcu::{Domain, Limit, Policy, RcuCell};

/// Held by each test, since the domains are the process's.
static ALONE: Mutex<()> = Mutex::new(());

/// The words that readers share: `urcu_memb_gp`.
#[repr(C, align(128))]
struct Gp {
    copied: AtomicU64,
    futex: AtomicU32,
}

impl Gp {
    const fn new() -> Gp {
        Gp { copied: AtomicU64::new(1 << 32 | 1), futex: AtomicU32::new(0) }
    }

    fn is_raised(&self) -> bool {
        self.futex.load(Ordering::SeqCst) == u32::MAX
    }
}

/// What inlined code does in a flavour, and its words.
trait Flavour: Domain {
    fn raw() -> &'static RawDomain;
    fn gp() -> &'static Gp;
    /// Returns the calling thread's count.
    fn count() -> &'static AtomicU64;
    /// The barrier between a section and its announcements.
    fn light();
    const WAKES: bool;

    fn enroll() {
        assert_eq!(Self::raw().register_inlined(), Ok(true));
    }

    fn lock() {
        let own = Self::count().load(Ordering::Relaxed);
        if own as u32 == 0 {
            Self::count().store(Self::gp().copied.load(Ordering::Relaxed), Ordering::Release);
            Self::light();
        } else {
            Self::count().store(own + 1, Ordering::Relaxed);
        }
    }

    fn unlock() {
        let own = Self::count().load(Ordering::Relaxed);
        if own as u32 != 1 {
            Self::count().store(own - 1, Ordering::Relaxed);
            return;
        }
        Self::light();
        Self::count().store(own - 1, Ordering::Release);
        Self::light();
        let gp = Self::gp();
        if Self::WAKES && gp.futex.load(Ordering::Relaxed) == u32::MAX {
            gp.futex.store(0, Ordering::Relaxed);
            // SAFETY: a wake, of the kind that processes share, which reads nothing.
            unsafe { libc::syscall(libc::SYS_futex, &gp.futex, libc::FUTEX_WAKE, 1) };
        }
    }
}

/// Implements a flavour whose count is thread-local.
macro_rules! with_counts {
    ($name:ident, $domain:ident, $gp:ident, $count:ident, $served:ident, $fence:expr) => {
        static $gp: Gp = Gp::new();
        thread_local! { static $count: AtomicU64 = const { AtomicU64::new(0) }; }
        static $served: Served = Served {
            common: (&raw const $gp).cast(),
            reader: {
                extern "C" fn reader() -> *mut c_void {
                    $count.with(|count| count.as_ptr().cast())
                }
                reader
            },
            wakes: 0,
        };

        impl Flavour for $name {
            const WAKES: bool = true;
            fn raw() -> &'static RawDomain {
                // SAFETY: statics, and counts that their threads have until their end.
                unsafe { c::$domain.serve_inlined(&$served) };
                &c::$domain
            }
            fn gp() -> &'static Gp {
                &$gp
            }
            fn count() -> &'static AtomicU64 {
                // SAFETY: used by the thread itself, while it lives.
                $count.with(|count| unsafe { &*ptr::from_ref(count) })
            }
            fn light() {
                $fence(Ordering::SeqCst);
            }
        }
    };
}

with_counts!(Memb, lee_memb, MEMB_GP, MEMB_COUNT, MEMB, compiler_fence);
with_counts!(Mb, lee_mb, MB_GP, MB_COUNT, MB, fence);

static BP_GP: Gp = Gp::new();
thread_local! { static BP_READER: AtomicPtr<AtomicU64> = const { AtomicPtr::new(ptr::null_mut()) }; }
static BP: Served = Served {
    common: (&raw const BP_GP).cast(),
    reader: {
        extern "C" fn reader() -> *mut c_void {
            BP_READER.with(|reader| reader.as_ptr().cast())
        }
        reader
    },
    wakes: 1,
};

impl Flavour for Bp {
    const WAKES: bool = false;
    fn raw() -> &'static RawDomain {
        // SAFETY: statics, and pointers that their threads have until their end.
        unsafe { c::lee_bp.serve_inlined(&BP) };
        &c::lee_bp
    }
    fn gp() -> &'static Gp {
        &BP_GP
    }
    fn count() -> &'static AtomicU64 {
        let pointer = || BP_READER.with(|reader| reader.load(Ordering::Relaxed));
        if pointer().is_null() {
            let watched = Bp::raw().register_inlined();
            assert_eq!(watched, Ok(!IS_LATE.get()));
        }
        // SAFETY: the library's, which sets the pointer to null before the count goes.
        unsafe { &*pointer() }
    }
    fn light() {
        compiler_fence(Ordering::SeqCst);
    }
    fn enroll() {}
}

thread_local! {
    /// True on a thread on which the library's exit has run.
    static IS_LATE: Cell<bool> = const { Cell::new(false) };
}

/// Returns a closure that says if a grace period is over which begins now.
fn grace_period<F: Flavour>() -> impl Fn() -> bool {
    let cookie = F::start_poll();
    move || F::poll_state(&cookie)
}

/// Starts a thread that waits for a grace period.
fn waiting<F: Flavour>() -> thread::JoinHandle<()> {
    thread::spawn(|| assert_eq!(F::raw().synchronize(), Ok(())))
}

fn ends(waiting: thread::JoinHandle<()>) {
    eventually("a grace period ends", || waiting.is_finished());
    waiting.join().unwrap();
}

/// Ends a grace period by quiescent states: one that comes before the grace period has begun does not
/// end it, and on a busy machine the thread that waits may be late.
fn ends_by(waiting: thread::JoinHandle<()>, announce: impl Fn()) {
    eventually("a grace period ends by quiescent states", || {
        announce();
        waiting.is_finished()
    });
    waiting.join().unwrap();
}

/// The number of the thread that was started last by [`holder`].
static HOLDER: AtomicU32 = AtomicU32::new(0);

/// Starts a thread that is inside `depth` sections, until something is sent to it.
fn holder<F: Flavour>(depth: u32) -> impl FnOnce() {
    let (inside, is_inside) = channel();
    let (leave, leaves) = channel();
    let thread = thread::spawn(move || {
        F::enroll();
        (0..depth).for_each(|_| F::lock());
        // SAFETY: takes no pointer.
        HOLDER.store(unsafe { libc::gettid() } as u32, Ordering::SeqCst);
        inside.send(()).unwrap();
        leaves.recv().unwrap();
        (0..depth).for_each(|_| F::unlock());
    });
    is_inside.recv().unwrap();
    move || {
        leave.send(()).unwrap();
        thread.join().unwrap();
    }
}

fn in_each_flavour(what: &'static str, works: [fn(); 3]) {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new(what);
    for work in works {
        thread::spawn(work).join().unwrap();
    }
}

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
