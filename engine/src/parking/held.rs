//! The locks of the engine that the calling thread holds, noted for two others that may be in its
//! way: a signal handler on the same thread, whose wake is put off until the lock is given up
//! (`deferred`), and a real-time thread on the same processor, which lends the holder its own
//! urgency until then. `Process::preempt_off` and its guard note buckets' locks, `short` its
//! own; `spin` calls [`await_holder`].
//!
//! Lending is the kernel's own priority inheritance: in a process with real-time threads a thread
//! that takes its first lock puts its number into a *holder place*, a word that FUTEX_LOCK_PI
//! understands, and takes it out after the last. A real-time thread that finds a lock taken asks
//! the kernel for the places in which numbers stand: so it sleeps until the holder is out, which
//! meanwhile runs as urgently as itself. Which of the holders has the lock it does not know, and
//! need not: each is out soon. Before the first real-time thread was seen, places are left empty,
//! which spares every thread two locked instructions a lock.

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, compiler_fence};

use super::{NANOS, futex, now, thread};
use crate::Clock;
use crate::linux::abi::{FUTEX_LOCK_PI2, FUTEX_TID_MASK};
use crate::mutant::{mutated, step};

/// The kernel's operation that waits for a place's holder, with a time on the real-time clock.
const LOCK_PI: i32 = libc::FUTEX_LOCK_PI | libc::FUTEX_PRIVATE_FLAG;
/// The kernel's operation that waits for a place's holder, with a time on the monotonic clock:
/// Linux 5.14.
const LOCK_PI2: i32 = FUTEX_LOCK_PI2 as i32 | libc::FUTEX_PRIVATE_FLAG;
/// The kernel's operation that gives a place up for which threads wait.
const UNLOCK_PI: i32 = libc::FUTEX_UNLOCK_PI | libc::FUTEX_PRIVATE_FLAG;
/// The number of hosts that a thread notes beside the first: a call holds three locks at most, and
/// a handler that interrupts it, by another host, three more.
const MOST_OTHERS: usize = 23;
/// The number of holder places.
const PLACES: usize = 64;
/// The number of places that a thread tries, the first by its number.
const PLACES_TRIED: usize = 4;
/// Nanoseconds to sleep where no holder's number is found.
const NAP: libc::c_long = 50_000;
/// The most nanoseconds for which a real-time thread waits for one of the holders: the lock that it
/// wants may be another's, and this one's handler of a signal may run for long.
const ONE_HOLDER: u64 = 1_000_000;

/// A holder place, on a line of its own: 0, or the number of the thread that holds locks, with the
/// kernel's bits.
#[repr(align(64))]
struct Place(AtomicU32);

/// The places of all threads, of any host.
static HOLDERS: [Place; PLACES] = [const { Place(AtomicU32::new(0)) }; PLACES];
/// True if this process has a real-time thread, had one, or expects one.
static REAL_TIME: AtomicBool = AtomicBool::new(false);

/// A thread's note of the locks that it holds. The thread changes it, and handlers on the thread
/// do, which leave it as they found it.
struct Own {
    /// The number of locks that the thread holds, or is about to take.
    depth: Cell<usize>,
    /// The host of the outermost lock. Null: it is not taken yet, or given up already, or no
    /// handler waits for such a lock.
    first: Cell<*const ()>,
    /// The hosts of the other locks, as far as there is room.
    others: [Cell<*const ()>; MOST_OTHERS],
    /// The place that holds the thread's number.
    place: Cell<Option<&'static AtomicU32>>,
    /// What the place holds while no thread waits.
    number: Cell<u32>,
    /// The number of wakes that were put off, by any host.
    deferred: AtomicUsize,
}

std::thread_local! {
    static OWN: Own = const {
        Own {
            depth: Cell::new(0),
            first: Cell::new(core::ptr::null()),
            others: [const { Cell::new(core::ptr::null()) }; MOST_OTHERS],
            place: Cell::new(None),
            number: Cell::new(0),
            deferred: AtomicUsize::new(0),
        }
    };
}

/// Announces that this process has real-time threads, or will have: from now on a thread that holds
/// a lock of the engine's runs as urgently as a real-time one that waits for it, and has the lock
/// for two locked instructions more.
///
/// A process finds that out by itself when a real-time thread waits, or meets a lock that is taken;
/// but then the holders of that time are not found, and are waited for by naps. Not for handlers of
/// signals; it may install a handler of forks (`pthread_atfork`), and so allocate. It does not
/// panic.
pub fn expect_real_time() {
    thread::await_forks();
    note_real_time();
}

/// Notes that the process has a real-time thread. Unlike [`expect_real_time`] it may be called with
/// locks held, and by a signal handler.
pub(super) fn note_real_time() {
    // Relaxed: holders that have not seen it yet are waited for by naps.
    if !REAL_TIME.load(Ordering::Relaxed) {
        REAL_TIME.store(true, Ordering::Relaxed);
    }
}

/// Notes that the calling thread is about to take a lock of `host`'s.
#[inline(always)]
pub(super) fn enter(host: *const ()) {
    OWN.with(|own| {
        let depth = own.depth.get();
        // Relaxed: see `note_real_time`.
        if depth != 0 || REAL_TIME.load(Ordering::Relaxed) {
            enter_slow(own, host);
        } else {
            own.depth.set(1);
            // SeqCst: for handlers on this thread: a host is named when its place counts, and
            // before the lock is taken.
            compiler_fence(Ordering::SeqCst);
            own.first.set(host);
        }
        compiler_fence(Ordering::SeqCst);
    });
}

/// Notes that the calling thread has given up a lock of `host`'s; returns true if that was the last
/// one of `host`'s, and wakes were put off meanwhile.
#[inline(always)]
pub(super) fn leave(host: *const ()) -> bool {
    OWN.with(|own| {
        let last = if own.depth.get() != 1 || own.place.get().is_some() {
            leave_slow(own, host)
        } else {
            // SeqCst: as in `enter`.
            compiler_fence(Ordering::SeqCst);
            own.first.set(core::ptr::null());
            compiler_fence(Ordering::SeqCst);
            own.depth.set(0);
            compiler_fence(Ordering::SeqCst);
            true
        };
        // Relaxed: of this thread, and after the stores that make handlers put off no more.
        own.deferred.load(Ordering::Relaxed) != 0 && last
    })
}

/// Counts a wake that was put off, or one that was made. One instruction each, since handlers count
/// too.
pub(super) fn count_deferred(more: bool) {
    // Relaxed, both: of this thread.
    OWN.with(|own| match more {
        true => own.deferred.fetch_add(1, Ordering::Relaxed),
        false => own.deferred.fetch_sub(1, Ordering::Relaxed),
    });
}

/// Notes an inner lock, or the first one of a process with real-time threads.
#[inline(never)]
fn enter_slow(own: &Own, host: *const ()) {
    let depth = own.depth.get();
    own.depth.set(depth + 1);
    // SeqCst: as in `enter`.
    compiler_fence(Ordering::SeqCst);
    if let Some(at) = own.host(depth) {
        at.set(host);
    }
    if depth == 0 {
        appear(own);
    }
}

/// Undoes [`enter_slow`]; returns true if no lock of `host`'s is held any more.
#[inline(never)]
fn leave_slow(own: &Own, host: *const ()) -> bool {
    let depth = own.depth.get() - 1;
    if depth == 0 {
        disappear(own);
    }
    // SeqCst: as in `enter`.
    compiler_fence(Ordering::SeqCst);
    if let Some(at) = own.host(depth) {
        at.set(core::ptr::null());
    }
    compiler_fence(Ordering::SeqCst);
    own.depth.set(depth);
    compiler_fence(Ordering::SeqCst);
    !is_among(own, host)
}

impl Own {
    /// Returns where the host of the lock is noted that is taken with `depth` others held.
    fn host(&self, depth: usize) -> Option<&Cell<*const ()>> {
        if depth == 0 { Some(&self.first) } else { self.others.get(depth - 1) }
    }
}

/// Returns true if one of the locks that the calling thread holds is `host`'s.
fn is_among(own: &Own, host: *const ()) -> bool {
    (0..own.depth.get()).map_while(|depth| own.host(depth)).any(|at| core::ptr::eq(at.get(), host))
}

/// Returns true if the calling thread holds any lock: then it is in a handler, which must not wait
/// for one that it holds.
#[inline(always)]
pub(super) fn is_any_held() -> bool {
    OWN.with(|own| own.depth.get() != 0)
}

/// Returns true if one of the locks that the calling thread holds is `host`'s.
pub(super) fn is_held(host: *const ()) -> bool {
    OWN.with(|own| is_among(own, host))
}

/// Puts the calling thread's number into a holder place, if one of those tried is free.
#[cold]
#[inline(never)]
fn appear(own: &Own) {
    let number = thread::number();
    for i in 0..PLACES_TRIED {
        let place = &HOLDERS[(number as usize + i) % PLACES].0;
        // Relaxed, both: what the number says is the kernel's to order, by its own lock.
        if place.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            own.number.set(number);
            own.place.set(Some(place));
            return;
        }
    }
}

/// Takes the calling thread's number out of its place, and hands the place to a thread that waits.
#[cold]
#[inline(never)]
fn disappear(own: &Own) {
    let Some(place) = own.place.take() else { return };
    // Release: the lock was given up before; partner: the kernel's look at the word. Relaxed on
    // failure: a thread waits.
    if place.compare_exchange(own.number.get(), 0, Ordering::Release, Ordering::Relaxed).is_err() {
        // An error is ignored: in the child of a fork the number is not this thread's.
        let _ = futex(core::ptr::from_ref(place).addr(), UNLOCK_PI, 0, 0, 0);
    }
}

/// Sleeps until a thread that holds locks is out, which runs as urgently meanwhile, but not for
/// long; where none is found, for a moment. For a real-time thread that found a lock taken. `round`
/// is another number each time, and so is the place that it begins with.
#[cold]
#[inline(never)]
pub(super) fn await_holder(round: u32) {
    let me = thread::number();
    let in_order = HOLDERS.iter().cycle().skip(round as usize % PLACES).take(PLACES);
    // Relaxed: a guess, which the kernel looks at.
    let owner = |place: &&Place| place.0.load(Ordering::Relaxed) & FUTEX_TID_MASK;
    let other = |place: &&Place| !matches!(owner(place), owner if owner == 0 || owner == me);
    for place in in_order.filter(other) {
        let word = core::ptr::from_ref(&place.0).addr();
        match if mutated!(holder_boost) { Err(libc::ENOSYS) } else { lock_place(word) } {
            Ok(_) => {
                // Relaxed: nothing was done.
                if place.0.compare_exchange(me, 0, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                    let _ = futex(word, UNLOCK_PI, 0, 0, 0);
                }
                return;
            }
            // The lock that is wanted may be free by now.
            Err(libc::ETIMEDOUT) => return,
            // The thread would wait for itself, by way of locks that the holder waits for; or the
            // holder is gone.
            Err(_) => {}
        }
    }
    nap();
}

/// Waits for the thread whose number is in a place, but not for long.
fn lock_place(word: usize) -> Result<u32, i32> {
    let lock = |operation, clock| {
        let at = now(clock) + ONE_HOLDER;
        let time = libc::timespec { tv_sec: (at / NANOS) as _, tv_nsec: (at % NANOS) as _ };
        let time = if mutated!(holder_time) { 0 } else { core::ptr::from_ref(&time).expose_provenance() };
        futex(word, operation, 0, time, 0)
    };
    match lock(LOCK_PI2, Clock::Monotonic) {
        // A kernel before Linux 5.14 has no such call.
        Err(libc::ENOSYS) => lock(LOCK_PI, Clock::Realtime),
        end => end,
    }
}

/// Sleeps for a moment, in which an ordinary thread gets the processor too.
#[cold]
pub(super) fn nap() {
    let time = libc::timespec { tv_sec: 0, tv_nsec: NAP };
    let at = core::ptr::from_ref(&time).expose_provenance();
    // An error is ignored: signal handlers may end it early.
    step!(spin_nap, _ = thread::call(libc::SYS_nanosleep, [at, 0, 0, 0, 0, 0]));
}

/// Empties all places. In the child of a fork, on its only thread: the other threads are not there
/// to take their numbers out.
pub(super) fn forget() {
    // Relaxed: one thread.
    HOLDERS.iter().for_each(|place| place.0.store(0, Ordering::Relaxed));
}
