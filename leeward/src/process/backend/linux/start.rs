//! The start of a thread of this library's own: by the C library, not the standard library.
//!
//! A thread of the standard library takes a lock of that library as it begins and as it ends (the
//! list of guard pages, for the report of a stack that overflows). A fork beside such a thread
//! leaves that lock taken in the child forever, and a worker of that kind would never begin there.
//! The C library repairs its own locks in children.

use core::ffi::{CStr, c_void};
use core::mem::MaybeUninit;

use super::super::{Work, runtime};
use super::Errno;
use crate::mutant::mutated;

/// The thread's name, as the system's tools show it.
const NAME: &CStr = c"leeward-rcu";
/// The size of the thread's stack: that which the standard library gives its threads.
const STACK: usize = 2 << 20;

/// Does the work of `of` on a new detached thread that runs none of the program's signal handlers.
/// Returns false if no thread can be started. errno is left as it was.
pub(crate) fn start<T: Work>(of: &'static T) -> bool {
    let errno = Errno::save();
    let is_started = try_start(of);
    errno.restore();
    is_started
}

/// Does what `start` does, and may change errno.
fn try_start<T: Work>(of: &'static T) -> bool {
    let _blocked = BlockedSignals::new();
    if mutated!(worker_of_std) {
        return runtime::start(|| of.work());
    }
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: initialises a local variable.
    if unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: initialised just now.
    let mut attributes = unsafe { attributes.assume_init() };
    let is_started = start_with(&mut attributes, of);
    // SAFETY: initialised above, and not used again.
    unsafe { libc::pthread_attr_destroy(&mut attributes) };
    is_started
}

/// Starts the thread with initialised attributes.
fn start_with<T: Work>(attributes: &mut libc::pthread_attr_t, of: &'static T) -> bool {
    // SAFETY: initialised attributes. If the system refuses the size, its own default stays.
    let _ = unsafe { libc::pthread_attr_setstacksize(attributes, STACK) };
    // SAFETY: initialised attributes, and a state that exists.
    let detached = unsafe { libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED) };
    let mut thread = MaybeUninit::uninit();
    let of = core::ptr::from_ref(of).cast_mut().cast();
    // SAFETY: initialised attributes, a local variable for the thread's id, and a `&'static T` for
    // `begin::<T>`.
    detached == 0 && unsafe { libc::pthread_create(thread.as_mut_ptr(), attributes, begin::<T>, of) } == 0
}

/// Does the work of `of`, a `&'static T`, on the new thread.
extern "C" fn begin<T: Work>(of: *mut c_void) -> *mut c_void {
    // SAFETY: `start_with` passes nothing else.
    let of = unsafe { &*of.cast::<T>().cast_const() };
    // SAFETY: a string that ends with 0.
    unsafe { libc::prctl(libc::PR_SET_NAME, NAME.as_ptr()) };
    // A panic goes no further. Without std, it ends the process.
    let _ = runtime::panics(|| of.work());
    core::ptr::null_mut()
}

/// A guard that blocks the calling thread's asynchronous signals until it is dropped, so that a
/// thread started meanwhile never runs the program's handlers. `SIGURG` and the real-time signals
/// stay: a heavy fence may use one.
struct BlockedSignals(libc::sigset_t);

impl BlockedSignals {
    /// Blocks the signals.
    fn new() -> BlockedSignals {
        const SYNCHRONOUS: [libc::c_int; 6] =
            [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];
        let stays = |signal| SYNCHRONOUS.contains(&signal) || signal == libc::SIGURG;
        let mut blocked = core::mem::MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: initialises a local set.
        unsafe { libc::sigemptyset(blocked.as_mut_ptr()) };
        // SAFETY: initialised just now.
        let mut blocked = unsafe { blocked.assume_init() };
        for signal in (1..32).filter(|&signal| !stays(signal)) {
            // SAFETY: a local set, and a number that exists.
            unsafe { libc::sigaddset(&mut blocked, signal) };
        }
        let mut before = blocked;
        // SAFETY: two local sets.
        unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &blocked, &mut before) };
        BlockedSignals(before)
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        // SAFETY: the set that was in force before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, core::ptr::null_mut()) };
    }
}
