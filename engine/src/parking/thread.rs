//! A thread's number, as the kernel has it, and what else is asked of the kernel about threads. errno stays as it was.

use core::cell::Cell;
use core::ffi::c_long;
use core::sync::atomic::{AtomicU32, Ordering};

std::thread_local! { static NUMBER: Cell<u32> = const { Cell::new(0) }; }

const UNASKED: u32 = 0;
const INSTALLING: u32 = 1;
const INSTALLED: u32 = 2;
static HANDLER: AtomicU32 = AtomicU32::new(UNASKED);

/// The calling thread's number. In the child of a fork the one thread has another: a handler (`pthread_atfork`) forgets it. Children of `vfork` and of the raw
/// `clone` call run no handler: there the number is the parent's, and such locks are not to be used.
#[inline]
pub(super) fn this() -> u32 {
    match NUMBER.get() {
        0 => ask(),
        number => number,
    }
}

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

/// False where another thread is at it, or it failed: the number is not kept then.
#[cold]
fn install() -> bool {
    // Relaxed: only who installs goes on.
    if HANDLER.compare_exchange(UNASKED, INSTALLING, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return false;
    }
    // SAFETY: a handler without arguments that lives as long as the code does.
    let is_installed = unsafe { libc::pthread_atfork(None, None, Some(forget)) } == 0;
    // Release: whoever keeps a number may fork: the handler is there.
    HANDLER.store(if is_installed { INSTALLED } else { UNASKED }, Ordering::Release);
    is_installed
}

/// Runs in the child, on its only thread.
extern "C" fn forget() {
    NUMBER.set(0);
}

/// Whether this process has a thread with that number.
pub(super) fn is_there(number: u32) -> bool {
    let process = std::process::id();
    // Signal 0 asks whether there is such a thread.
    call(libc::SYS_tgkill, [process as usize, number as usize, 0, 0]).is_ok()
}

/// How a thread is scheduled: its policy, with the flag that its children do not get it, and its level, 1 to 99 where it runs in real time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Schedule {
    pub(super) policy: i32,
    pub(super) level: i32,
}

/// The kernel's `sched_attr`, in its first form.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
}

/// Of its flags: the thread's children do not get it.
const RESET_ON_FORK: u64 = 1;

impl Schedule {
    /// `None`: there is no such thread, or a sandbox does not tell.
    pub(super) fn of(number: u32) -> Option<Schedule> {
        let mut attributes = Attributes::default();
        let place = (&raw mut attributes).expose_provenance();
        call(libc::SYS_sched_getattr, [number as usize, place, size_of::<Attributes>(), 0]).ok()?;
        let reset = if attributes.flags & RESET_ON_FORK != 0 { libc::SCHED_RESET_ON_FORK } else { 0 };
        Some(Schedule { policy: attributes.policy as i32 | reset, level: attributes.priority as i32 })
    }

    /// Whether the kernel did it.
    pub(super) fn give(self, number: u32) -> bool {
        let level = (&raw const self.level).expose_provenance();
        call(libc::SYS_sched_setscheduler, [number as usize, self.policy as usize, level, 0]).is_ok()
    }

    /// The policy alone.
    pub(super) fn kind(self) -> i32 {
        self.policy & !libc::SCHED_RESET_ON_FORK
    }
}

/// A system call whose pointers are to what the caller has borrowed.
fn call(number: c_long, [a, b, c, d]: [usize; 4]) -> Result<c_long, i32> {
    // SAFETY: the calling thread's, valid as long as it lives.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as above.
    let before = unsafe { errno.read() };
    // SAFETY: calls that ask about threads, or set how they are scheduled; the pointer, where there is one, is to a level, or to attributes of the size that is said.
    let answer = unsafe { libc::syscall(number, a, b, c, d) };
    // SAFETY: as above.
    let why = unsafe { errno.read() };
    // SAFETY: as above.
    unsafe { errno.write(before) };
    if answer < 0 { Err(why) } else { Ok(answer) }
}
