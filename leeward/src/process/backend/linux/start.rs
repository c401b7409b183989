//! Starting a thread of this library's own: with the C library, not the standard one.
//!
//! A thread of the standard library's takes a lock of its own as it begins and as it ends (the list of guard pages,
//! for the report of a stack that overflows). A fork beside such a thread leaves that lock taken in the child for
//! ever, and a worker of that kind would never begin there. The C library mends its own locks in children.

use core::ffi::{CStr, c_void};
use core::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::mutant::mutated;

/// The thread's name, as the system's tools show it.
const NAME: &CStr = c"leeward-rcu";
/// What the standard library gives its threads.
const STACK: usize = 2 << 20;

/// Runs `work` on a new detached thread that runs none of the program's signal handlers. Returns false if no thread can
/// be had.
pub(crate) fn start(work: fn()) -> bool {
    let _blocked = BlockedSignals::new();
    if mutated!(worker_of_std) {
        return std::thread::Builder::new().spawn(work).is_ok();
    }
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: room for them.
    if unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: initialised just now.
    let mut attributes = unsafe { attributes.assume_init() };
    let is_started = start_with(&mut attributes, work);
    // SAFETY: initialised above, and not used again.
    unsafe { libc::pthread_attr_destroy(&mut attributes) };
    is_started
}

fn start_with(attributes: &mut libc::pthread_attr_t, work: fn()) -> bool {
    // SAFETY: initialised attributes. A size that the system does not take is refused, and its own stays.
    let _ = unsafe { libc::pthread_attr_setstacksize(attributes, STACK) };
    // SAFETY: initialised attributes, and a state that there is.
    let detached = unsafe { libc::pthread_attr_setdetachstate(attributes, libc::PTHREAD_CREATE_DETACHED) };
    let mut thread = MaybeUninit::uninit();
    // SAFETY: initialised attributes, room for the thread's name, and what `begin` asks for.
    detached == 0 && unsafe { libc::pthread_create(thread.as_mut_ptr(), attributes, begin, work as *mut c_void) } == 0
}

/// `work`: a `fn()`.
extern "C" fn begin(work: *mut c_void) -> *mut c_void {
    // SAFETY: `start_with` passes nothing else.
    let work = unsafe { core::mem::transmute::<*mut c_void, fn()>(work) };
    // SAFETY: a string that ends.
    unsafe { libc::prctl(libc::PR_SET_NAME, NAME.as_ptr()) };
    // A panic has been told, and goes no further. What it was made with is forgotten: dropping that may panic again.
    let _ = catch_unwind(AssertUnwindSafe(work)).map_err(core::mem::forget);
    core::ptr::null_mut()
}

/// Blocks the calling thread's asynchronous signals until dropped, so that a thread started meanwhile never runs the
/// program's handlers. `SIGURG` and the real-time ones stay: a heavy fence may be one.
struct BlockedSignals(libc::sigset_t);

impl BlockedSignals {
    fn new() -> BlockedSignals {
        const SYNCHRONOUS: [libc::c_int; 6] =
            [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];
        let stays = |signal| SYNCHRONOUS.contains(&signal) || signal == libc::SIGURG;
        let mut blocked = core::mem::MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: initialises the set.
        unsafe { libc::sigemptyset(blocked.as_mut_ptr()) };
        // SAFETY: initialised just now.
        let mut blocked = unsafe { blocked.assume_init() };
        for signal in (1..32).filter(|&signal| !stays(signal)) {
            // SAFETY: a set of ours and a number that exists.
            unsafe { libc::sigaddset(&mut blocked, signal) };
        }
        let mut before = blocked;
        // SAFETY: two sets of ours.
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
