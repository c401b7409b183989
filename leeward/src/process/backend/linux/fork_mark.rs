//! The fork mark: a number by which a process finds out that it was forked from the one that looked
//! before, by whichever call.
//!
//! The number lies in a page that the kernel wipes in every child with memory of its own
//! (`MADV_WIPEONFORK`, Linux 4.14), so that children of `_Fork` and raw `clone` notice as well. A
//! fork handler wipes it too, for older kernels, and for emulators that accept the call and do
//! nothing. No process has the number of one that it was forked from. It serves what is kept across
//! calls and means nothing in a child: which thread holds a robust lock, and where a condition
//! variable's waiters have their mutex.

use super::Errno;
use super::fork::{self, Hook, Watched};
use crate::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The number of a process in which [`now`] was not called yet.
const WIPED: u32 = 0;

/// The address of the number: at first, of a word that stays `WIPED`.
static PLACE: AtomicPtr<AtomicU32> = AtomicPtr::new(core::ptr::from_ref(&NOWHERE).cast_mut());
/// The word that stays `WIPED`.
static NOWHERE: AtomicU32 = AtomicU32::new(WIPED);
/// The number's word on kernels that wipe nothing.
static HANDLED: AtomicU32 = AtomicU32::new(WIPED);
/// The number of a process that forks.
static FORKING: AtomicU32 = AtomicU32::new(WIPED);
/// The last number given, in this process or in those that it was forked from.
static LAST: AtomicU32 = AtomicU32::new(WIPED);
/// The number of the first process that called [`now`]; its children inherit the word.
static FIRST: AtomicU32 = AtomicU32::new(WIPED);

/// Returns the word that holds the number.
#[inline]
fn place() -> &'static AtomicU32 {
    // Acquire: partner of the release in `now`, before which the page was made.
    let place = PLACE.load(Ordering::Acquire);
    // SAFETY: a static, or a page that is never given back.
    unsafe { &*place }
}

/// Returns true if this process is the one in which [`now`] returned `number`, and not a child of
/// it. It costs the load of a pointer, and one of what it points to.
#[inline]
pub(crate) fn is_still(number: u32) -> bool {
    // Relaxed: the process's own number, which changes only where there is one thread.
    place().load(Ordering::Relaxed) == number
}

/// Returns this process's number; never 0.
pub(crate) fn now() -> u32 {
    if core::ptr::eq(place(), &NOWHERE) {
        // Before another thread can find the place and fork.
        fork::watch(&MARK);
        let place = wiped_page().unwrap_or(core::ptr::from_ref(&HANDLED).cast_mut());
        // AcqRel: partner of the acquire in `place`. Relaxed on failure: another thread was faster,
        // and one page is lost, once.
        let nowhere = core::ptr::from_ref(&NOWHERE).cast_mut();
        let _ = PLACE.compare_exchange(nowhere, place, Ordering::AcqRel, Ordering::Relaxed);
    }
    // Relaxed, all: the numbers stand for nothing but themselves.
    let known = place().load(Ordering::Relaxed);
    if known != WIPED {
        return known;
    }
    let fresh = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    let number = match place().compare_exchange(WIPED, fresh, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => fresh,
        Err(number) => number,
    };
    let _ = FIRST.compare_exchange(WIPED, number, Ordering::Relaxed, Ordering::Relaxed);
    number
}

/// Returns true if this process was forked from one in which `now` had been called: its number is
/// not the first one's, or it has none yet.
pub(crate) fn is_child() -> bool {
    // Relaxed, both: the numbers stand for nothing but themselves, and change where there is one
    // thread.
    let first = FIRST.load(Ordering::Relaxed);
    first != WIPED && place().load(Ordering::Relaxed) != first
}

/// Maps a page that children find wiped; `None` if the kernel wipes nothing.
fn wiped_page() -> Option<*mut AtomicU32> {
    const PAGE: usize = 4096;
    let page = super::map(PAGE)?;
    let errno = Errno::save();
    // SAFETY: the page that was mapped above.
    let wiped = unsafe { libc::madvise(page.as_ptr().cast(), PAGE, libc::MADV_WIPEONFORK) } == 0;
    errno.restore();
    wiped.then_some(page.as_ptr().cast())
}

/// The item that wipes the number in the child of a fork, on kernels that wipe nothing.
struct Mark(Hook);

static MARK: Mark = Mark(Hook::new());

impl Watched for Mark {
    fn hook(&self) -> &Hook {
        &self.0
    }

    fn before(&'static self) {
        // Relaxed, both: all threads that fork store the same.
        FORKING.store(place().load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// Wipes the number if it is still the parent's: if the page was wiped, an earlier handler may
    /// have given the child a number of its own.
    fn in_child(&'static self) {
        // Relaxed, all: the child has one thread.
        let forked = FORKING.load(Ordering::Relaxed);
        let _ = place().compare_exchange(forked, WIPED, Ordering::Relaxed, Ordering::Relaxed);
    }
}
