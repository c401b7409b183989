//! Which locks of the engine the calling thread holds, for two others that may be in its way: a handler of a signal on the same thread, whose wake is put off until the
//! lock is given up (`deferred`), and a real-time thread on the same processor, which lends the holder its own urgency until then.
//!
//! The latter is the kernel's own priority inheritance: in a process with real-time threads a thread that takes its first lock puts its number into a *place*, a word that
//! FUTEX_LOCK_PI understands, and takes it out after the last. A real-time thread that finds a lock taken asks the kernel for the places in which numbers stand: so it sleeps
//! until the holder is out, which meanwhile runs as urgently as itself. Which of the holders has the lock it does not know, and need not: each is out soon. Before the
//! first real-time thread was seen, places are left empty, which spares everybody two locked instructions a lock.

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence};

use super::{Process, futex, thread};
use crate::abi::FUTEX_TID_MASK;
use crate::mutant::mutated;

/// The kernel's operations.
const LOCK_PI: i32 = libc::FUTEX_LOCK_PI | libc::FUTEX_PRIVATE_FLAG;
const UNLOCK_PI: i32 = libc::FUTEX_UNLOCK_PI | libc::FUTEX_PRIVATE_FLAG;
/// A call holds three locks at most; a handler that interrupts it between preparing and taking one, three more.
const MOST_HELD: usize = 24;
const PLACES: usize = 64;
/// How many places a thread tries, the first by its number.
const PLACES_TRIED: usize = 4;
/// Nanoseconds to sleep where no holder's number is to be found.
const NAP: libc::c_long = 50_000;

/// A word on a line of its own: 0, or the number of the thread that holds locks, with the kernel's bits.
#[repr(align(64))]
struct Place(AtomicU32);

static HOLDERS: [Place; PLACES] = [const { Place(AtomicU32::new(0)) }; PLACES];
/// This process has a real-time thread, or had one.
static REAL_TIME: AtomicBool = AtomicBool::new(false);

/// Of a thread, changed by itself and by handlers on it, which leave it as they found it.
struct Own {
    depth: Cell<usize>,
    /// The hosts whose locks are held, as many as `depth` says. Null: none is held yet, or not any more, or none by which a handler might wake.
    hosts: [Cell<*const Process>; MOST_HELD],
    place: Cell<Option<&'static AtomicU32>>,
    /// What the place holds, if no one waits.
    number: Cell<u32>,
}

std::thread_local! {
    static OWN: Own = const {
        Own {
            depth: Cell::new(0),
            hosts: [const { Cell::new(core::ptr::null()) }; MOST_HELD],
            place: Cell::new(None),
            number: Cell::new(0),
        }
    };
}

/// A real-time thread is there: from now on holders can be found.
pub(super) fn expect_real_time() {
    // Relaxed: holders that have not seen it yet are waited for by naps.
    if !REAL_TIME.load(Ordering::Relaxed) {
        REAL_TIME.store(true, Ordering::Relaxed);
    }
}

/// The calling thread is about to take a lock.
#[inline]
pub(super) fn enter(host: *const Process) {
    OWN.with(|own| {
        let depth = own.depth.get();
        own.depth.set(depth + 1);
        // SeqCst: for handlers on this thread: no host is named before its place counts, and then before the lock is taken.
        compiler_fence(Ordering::SeqCst);
        if let Some(place) = own.hosts.get(depth) {
            place.set(host);
        }
        // Relaxed: see `expect_real_time`.
        if depth == 0 && REAL_TIME.load(Ordering::Relaxed) {
            appear(own);
        }
        compiler_fence(Ordering::SeqCst);
    });
}

/// The calling thread has given a lock up; returns true if that was the last one of `host`'s.
#[inline]
pub(super) fn leave(host: *const Process) -> bool {
    OWN.with(|own| {
        let depth = own.depth.get() - 1;
        if depth == 0 && own.place.get().is_some() {
            disappear(own);
        }
        // SeqCst: as in `enter`.
        compiler_fence(Ordering::SeqCst);
        if let Some(place) = own.hosts.get(depth) {
            place.set(core::ptr::null());
        }
        compiler_fence(Ordering::SeqCst);
        own.depth.set(depth);
        compiler_fence(Ordering::SeqCst);
        depth == 0 || !is_among(own, host)
    })
}

fn is_among(own: &Own, host: *const Process) -> bool {
    let depth = own.depth.get().min(MOST_HELD);
    own.hosts[..depth].iter().any(|place| core::ptr::eq(place.get(), host))
}

/// Whether the calling thread holds a lock of that host's: then it is a handler's caller, and must not wait for one.
#[inline]
pub(super) fn is_held(host: &Process) -> bool {
    OWN.with(|own| own.depth.get() != 0 && is_among(own, host))
}

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

#[cold]
#[inline(never)]
fn disappear(own: &Own) {
    let Some(place) = own.place.take() else { return };
    // Release: the lock was given up before; partner: the kernel's look at the word. Relaxed on failure: somebody waits.
    if place.compare_exchange(own.number.get(), 0, Ordering::Release, Ordering::Relaxed).is_err() {
        // An error: in the child of a fork, where the number is not this thread's.
        let _ = futex(core::ptr::from_ref(place).addr(), UNLOCK_PI, 0, 0, 0);
    }
}

/// For a real-time thread that found a lock taken: sleeps until one that holds locks is out, which runs as urgently meanwhile; where none is to be found, for a moment. `turn`
/// is another one each time.
#[cold]
#[inline(never)]
pub(super) fn await_holder(turn: u32) {
    let me = thread::number();
    let in_turn = HOLDERS.iter().cycle().skip(turn as usize % PLACES).take(PLACES);
    // Relaxed: a guess, which the kernel looks at.
    let other = |place: &&Place| !matches!(place.0.load(Ordering::Relaxed) & FUTEX_TID_MASK, owner if owner == 0 || owner == me);
    for place in in_turn.filter(other) {
        let word = core::ptr::from_ref(&place.0).addr();
        // An error: it would wait for itself, by way of locks that the other waits for; or the other is gone.
        if !mutated!(holder_boost) && futex(word, LOCK_PI, 0, 0, 0).is_ok() {
            // Relaxed: nothing was done.
            if place.0.compare_exchange(me, 0, Ordering::Relaxed, Ordering::Relaxed).is_err() {
                let _ = futex(word, UNLOCK_PI, 0, 0, 0);
            }
            return;
        }
    }
    nap();
}

/// Sleeps for a moment: also an ordinary thread gets the processor.
#[cold]
pub(super) fn nap() {
    if !mutated!(spin_nap) {
        let time = libc::timespec { tv_sec: 0, tv_nsec: NAP };
        // Its signals' handlers may end it early.
        let _ = thread::call(libc::SYS_nanosleep, [core::ptr::from_ref(&time).expose_provenance(), 0, 0, 0, 0, 0]);
    }
}

/// In the child of a fork, on its only thread: the others are not there to take their numbers out.
pub(super) fn forget() {
    // Relaxed: one thread.
    HOLDERS.iter().for_each(|place| place.0.store(0, Ordering::Relaxed));
}
