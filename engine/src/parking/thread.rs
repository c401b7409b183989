//! A thread's number, as the kernel has it, forks, and calls that ask the kernel about threads.
//! Leaves `errno` as it was. All of `parking` calls it.

use core::cell::Cell;
use core::ffi::c_long;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::{held, unbroken};

std::thread_local! {
    /// The calling thread's number; 0: it is not kept yet.
    static NUMBER: Cell<u32> = const { Cell::new(0) };
}

/// The handler of forks is not installed.
const UNKNOWN: u32 = 0;
/// A thread installs the handler.
const INSTALLING: u32 = 1;
/// The handler is installed.
const INSTALLED: u32 = 2;
/// [`UNKNOWN`], [`INSTALLING`] or [`INSTALLED`].
static HANDLER: AtomicU32 = AtomicU32::new(UNKNOWN);
/// The number of forks since the handler was installed.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// Returns the calling thread's number. In the child of a fork the one thread has another number: a
/// handler (`pthread_atfork`) forgets the old one. Children of `vfork` and of the raw `clone` call
/// run no handler: there the number is the parent's, and locks with priority inheritance are not to
/// be used. Not for signal handlers ([`number`] is).
#[inline]
pub(super) fn current() -> u32 {
    match NUMBER.get() {
        0 => ask(),
        number => number,
    }
}

/// Asks the kernel for the number, and keeps it if the handler of forks is installed.
#[cold]
#[inline(never)]
fn ask() -> u32 {
    // SAFETY: no arguments.
    let number = unsafe { libc::gettid() as u32 };
    // Acquire: partner of the release in `install`.
    if HANDLER.load(Ordering::Acquire) == INSTALLED || install() {
        NUMBER.set(number);
    }
    number
}

/// Installs the handler of forks. Returns false where another thread is at it, or it failed: the
/// number is not kept then.
#[cold]
fn install() -> bool {
    // Relaxed: only the thread that installs goes on.
    if HANDLER.compare_exchange(UNKNOWN, INSTALLING, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return false;
    }
    // SAFETY: a handler without arguments that lives as long as the code does.
    let is_installed = unsafe { libc::pthread_atfork(None, None, Some(forget)) } == 0;
    // Release: a thread that keeps a number may fork, and the handler is there; partner: the
    // acquire in `ask`.
    HANDLER.store(if is_installed { INSTALLED } else { UNKNOWN }, Ordering::Release);
    is_installed
}

/// Forgets what belongs to the parent's threads. Runs in the child, on its only thread.
extern "C" fn forget() {
    NUMBER.set(0);
    held::forget();
    // Relaxed: one thread.
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// Sees to it that the child of a fork forgets what only threads of its parent are in. Not for
/// signal handlers.
#[cold]
pub(super) fn await_forks() {
    ask();
}

/// Returns the calling thread's number, also to signal handlers: where it is not kept the
/// kernel is asked, and no handler of forks is installed.
#[inline]
pub(super) fn number() -> u32 {
    match NUMBER.get() {
        0 => {
            unbroken::forget();
            // SAFETY: no arguments.
            unsafe { libc::gettid() as u32 }
        }
        number => number,
    }
}

/// Returns a number that it has not returned before in this process, and not 0.
pub(super) fn serial() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    // Relaxed: a number, and no more.
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Returns the number of forks between this process and the one that installed the handler: another
/// number in each process.
pub(super) fn forks() -> u32 {
    // Relaxed: it changes on the only thread of a new process.
    FORKS.load(Ordering::Relaxed)
}

/// Returns true if this process has a thread with that number.
pub(super) fn is_there(number: u32) -> bool {
    let process = std::process::id();
    // Signal 0 asks whether there is such a thread.
    call(libc::SYS_tgkill, [process as usize, number as usize, 0, 0, 0, 0]).is_ok()
}

/// Makes a system call whose pointers are to what the caller has borrowed. Returns its answer, or
/// the errno.
pub(super) fn call(number: c_long, [a, b, c, d, e, f]: [usize; 6]) -> Result<c_long, i32> {
    // SAFETY: the calling thread's, valid as long as it lives.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { errno.read() };
    unbroken::forget();
    // SAFETY: calls that ask about threads, set how they are scheduled, sleep, or write a line; the
    // pointer, where there is one, is to a level, to a time, to a line, or to attributes of the
    // size that is said.
    let answer = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    // SAFETY: as above.
    let why = unsafe { errno.read() };
    // SAFETY: as above.
    unsafe { errno.write(before) };
    if answer < 0 { Err(why) } else { Ok(answer) }
}

/// Returns new memory of the kernel's, zeroed; also to signal handlers. `None`: there is none.
#[cold]
pub(super) fn map(len: usize) -> Option<*mut u8> {
    let (access, how) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the calling thread's, valid as long as it lives.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { errno.read() };
    unbroken::forget();
    // SAFETY: a new mapping, where there was none.
    let memory = unsafe { libc::mmap(core::ptr::null_mut(), len, access, how, -1, 0) };
    // SAFETY: as above.
    unsafe { errno.write(before) };
    (memory != libc::MAP_FAILED).then_some(memory.cast())
}
