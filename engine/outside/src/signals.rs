//! The program's signals. Two things are kept from it: that SIGSYS is never blocked, since the
//! kernel kills a thread that is trapped with it blocked; and that its handlers do not run within
//! the engine. `trap` and `futexes` call it.
//!
//! In place of each handler the kernel has [`relay`], which calls the handler unless the thread is
//! in a wait. There it sends the signal to the thread again, blocks it until the trap is left, and
//! has the sleep end. So the handler runs where it runs with the kernel's own futexes: at the
//! system call, which has returned or is about to be restarted. It may leave by `siglongjmp`, or
//! cancel the thread; no waiter of the engine's is on the stack then. A signal that comes shortly
//! before the sleep must end it as well: from the first signal on a timer interrupts the thread
//! until the wait is over.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::counts::add;
use crate::native::{self, SET};
use crate::state::{Arrived, Own, Place, counts, own};

/// The signal by which sleeps are ended.
pub const KICK: c_int = 61;
/// The nanoseconds between kicks.
const PAUSE: libc::c_long = 100_000;
/// The number of signals.
const SIGNALS: usize = 64;

/// The flag of a handler that serves one signal.
const ONCE: u64 = libc::SA_RESETHAND as u32 as u64;

/// Returns the set with one signal.
const fn set(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// The signals that are never blocked.
const OURS: u64 = set(libc::SIGSYS) | set(KICK);
/// The signals that instructions raise, which are not put off.
const RAISED: u64 = set(libc::SIGSEGV) | set(libc::SIGBUS) | set(libc::SIGFPE) | set(libc::SIGILL) | set(libc::SIGTRAP);
/// The signals that are blocked within the trap.
pub const WITHIN: u64 = !(OURS | RAISED);

/// The kernel's `struct sigaction`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Action {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

/// A handler of the program's: its address, flags and mask.
struct Handler {
    address: AtomicUsize,
    flags: AtomicU64,
    mask: AtomicU64,
}

/// The program's handlers. A child of `vfork` shares them with its parent, but not what the kernel
/// has: so nothing is taken out where a signal has no handler any more.
static HANDLERS: [Handler; SIGNALS + 1] =
    [const { Handler { address: AtomicUsize::new(0), flags: AtomicU64::new(0), mask: AtomicU64::new(0) } };
        SIGNALS + 1];

impl Handler {
    /// Returns the handler of a signal.
    fn of(signal: usize) -> &'static Handler {
        &HANDLERS[signal]
    }

    /// Notes what the program says. Relaxed, here and below: signals that arrive meanwhile may find
    /// either.
    fn note(&self, action: Action) {
        self.mask.store(action.mask, Ordering::Relaxed);
        self.flags.store(action.flags, Ordering::Relaxed);
        self.address.store(action.handler, Ordering::Relaxed);
    }

    /// Puts what the program said in place of what the kernel was told.
    fn restore(&self, action: &mut Action) {
        action.mask = self.mask.load(Ordering::Relaxed);
        action.flags = self.flags.load(Ordering::Relaxed);
        action.handler = self.address.load(Ordering::Relaxed);
    }
}

/// Serves `rt_sigprocmask` by the mask that is in force again when the trap is left.
pub fn change_mask(mask: &mut u64, [how, new, old, size, ..]: [u64; 6]) -> i64 {
    if size != SET as u64 {
        return -i64::from(libc::EINVAL);
    }
    let before = *mask;
    if new != 0 {
        let [from, to] = [new as usize, new as usize + SET - 1];
        if !native::is_readable(from) || !native::is_readable(to) {
            return -i64::from(libc::EFAULT);
        }
        // SAFETY: it can be read.
        let new = unsafe { core::ptr::with_exposed_provenance::<u64>(from).read_unaligned() };
        let kept = set(libc::SIGKILL) | set(libc::SIGSTOP) | OURS;
        *mask = !kept
            & match how as c_int {
                libc::SIG_BLOCK => before | new,
                libc::SIG_UNBLOCK => before & !new,
                libc::SIG_SETMASK => new,
                _ => return -i64::from(libc::EINVAL),
            };
    }
    if old != 0 {
        // SAFETY: the kernel writes the trap's own mask there, if it can be written.
        let answer = unsafe { native::call(libc::SYS_rt_sigprocmask, [0, 0, old as usize, SET, 0, 0]) };
        if answer < 0 {
            return answer;
        }
        // SAFETY: it could be written.
        unsafe { core::ptr::with_exposed_provenance_mut::<u64>(old as usize).write_unaligned(before) };
    }
    0
}

/// Serves `rt_sigaction`: puts the relay in the place of a handler.
pub fn change_handler([signal, new, old, size, ..]: [u64; 6]) -> i64 {
    let arguments = [signal as usize, new as usize, old as usize, size as usize, 0, 0];
    let is_known = (1..=SIGNALS as u64).contains(&signal) && size == SET as u64;
    let last = size_of::<Action>() - 1;
    let can_be_read = new == 0 || [0, 8, 16, 24, last].iter().all(|at| native::is_readable(new as usize + at));
    if !is_known || !can_be_read {
        // SAFETY: the program's own call, which the kernel refuses.
        return unsafe { native::call(libc::SYS_rt_sigaction, arguments) };
    }
    if old != 0 {
        // SAFETY: the kernel writes the handler that is there, if it can be written.
        let answer = unsafe { native::call(libc::SYS_rt_sigaction, [signal as usize, 0, old as usize, SET, 0, 0]) };
        if answer < 0 {
            return answer;
        }
    }
    let old = core::ptr::with_exposed_provenance_mut::<Action>(old as usize);
    // SAFETY: it can be read.
    let new =
        (new != 0).then(|| unsafe { core::ptr::with_exposed_provenance::<Action>(new as usize).read_unaligned() });
    let mut before = Action::default();
    let answer = exchange(signal as usize, new, &mut before);
    if answer == 0 && !old.is_null() {
        // SAFETY: it could be written.
        unsafe { old.write_unaligned(before) };
    }
    answer
}

/// Changes the handler of a signal; tells what the program had set before.
fn exchange(signal: usize, new: Option<Action>, before: &mut Action) -> i64 {
    let handler = Handler::of(signal);
    let mut said = Action::default();
    handler.restore(&mut said);
    if OURS & set(signal as c_int) != 0 {
        *before = said;
        new.inspect(|new| handler.note(*new));
        return 0;
    }
    let is_function = |action: &Action| action.handler != libc::SIG_DFL && action.handler != libc::SIG_IGN;
    let told = new.map(|mut new| {
        if is_function(&new) {
            handler.note(new);
            new.handler = relay as *const () as usize;
            new.flags |= libc::SA_SIGINFO as u64;
            // A signal that is put off comes twice.
            new.flags &= !ONCE;
        }
        new.mask &= !OURS;
        new
    });
    let at = told.as_ref().map_or(0, |told| core::ptr::from_ref(told).expose_provenance());
    let to = core::ptr::from_mut(before).expose_provenance();
    // SAFETY: actions of this frame; the handler serves any signal.
    let answer = unsafe { native::call(libc::SYS_rt_sigaction, [signal, at, to, SET, 0, 0]) };
    if before.handler == relay as *const () as usize {
        *before = Action { restorer: before.restorer, ..said };
    }
    answer
}

/// Puts the relay before the handlers that there are already.
pub fn wrap_all() {
    for signal in 1..=SIGNALS {
        let mut action = Action::default();
        let is_there = exchange(signal, None, &mut action) == 0;
        if is_there && action.handler > 1 && OURS & set(signal as c_int) == 0 {
            exchange(signal, Some(action), &mut Action::default());
        }
    }
}

/// Lets the program's signals in while `wait` runs, which sleeps; notes in `own.arrived` which kind
/// came.
pub fn let_in<T>(own: &Own, mask: u64, wait: impl FnOnce() -> T) -> T {
    own.arrived.set(Arrived::None);
    own.go(Place::Wait);
    native::set_mask(mask & !OURS);
    let end = wait();
    native::set_mask(WITHIN);
    own.go(Place::Trap);
    if own.arrived.get() != Arrived::None {
        kick(own, 0);
        add(&counts().events[0], 1);
    }
    end
}

/// The handler in place of each handler of the program's. Unwinds where that does.
pub extern "C-unwind" fn relay(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's.
    let code = unsafe { (*info).si_code };
    let is_raised = RAISED & set(signal) != 0 && code > 0;
    if own(|own| own.place.get() == Place::Wait) && !is_raised {
        own(|own| put_off(own, signal, info, context));
        return;
    }
    // A call that waits for signals by another mask may have blocked it.
    native::unblock(OURS);
    let handler = Handler::of(signal as usize);
    if handler.flags.load(Ordering::Relaxed) & ONCE != 0 {
        exchange(signal as usize, Some(Action::default()), &mut Action::default());
    }
    let address = handler.address.load(Ordering::Relaxed);
    // SAFETY: the program set a handler by that address; one without SA_SIGINFO ignores the rest.
    let handler = unsafe {
        core::mem::transmute::<usize, extern "C-unwind" fn(c_int, *mut libc::siginfo_t, *mut c_void)>(address)
    };
    handler(signal, info, context);
}

/// Sends a signal again that came during a wait, so that it comes after the trap is left, and sees
/// to it that the wait ends.
fn put_off(own: &Own, signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    if own.arrived.get() == Arrived::None {
        let restarts = Handler::of(signal as usize).flags.load(Ordering::Relaxed) & libc::SA_RESTART as u64 != 0;
        own.arrived.set(if restarts { Arrived::Restarts } else { Arrived::Ends });
    }
    // SAFETY: the kernel's set has 64 bits.
    unsafe { mask_after(context).write(WITHIN) };
    let (process, thread) = (native::process(), native::thread());
    let info = info.expose_provenance();
    // SAFETY: what the kernel said of the signal, to this thread.
    if unsafe { native::call(libc::SYS_rt_tgsigqueueinfo, [process, thread, signal as usize, info, 0, 0]) } != 0 {
        // SAFETY: takes numbers only.
        unsafe { native::call(libc::SYS_tgkill, [process, thread, signal as usize, 0, 0, 0]) };
    }
    kick(own, PAUSE);
}

/// Installs a handler of this library's, with all signals blocked that can be put off. The C
/// library leaves its own signals out of each mask, so the kernel is told.
pub fn install(signal: c_int, handler: usize) {
    // SAFETY: zeroes are an action.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    action.sa_sigaction = handler;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER;
    // SAFETY: a handler for that signal.
    let installed = unsafe { libc::sigaction(signal, &action, core::ptr::null_mut()) };
    let mut action = Action::default();
    let at = (&raw mut action).expose_provenance();
    // SAFETY: a variable of this frame.
    unsafe { native::call(libc::SYS_rt_sigaction, [signal as usize, 0, at, SET, 0, 0]) };
    let masked = Action { mask: WITHIN, ..action };
    let at = (&raw const masked).expose_provenance();
    // SAFETY: the same handler.
    let masked = unsafe { native::call(libc::SYS_rt_sigaction, [signal as usize, at, 0, SET, 0, 0]) };
    if installed != 0 || masked != 0 {
        native::die("a handler cannot be installed");
    }
}

/// Returns where the kernel has the mask that is in force when a handler has returned.
pub fn mask_after(context: *mut c_void) -> *mut u64 {
    let context = context.cast::<libc::ucontext_t>();
    // SAFETY: the kernel's context of a handler; a place in it, which is not read.
    unsafe { &raw mut (*context).uc_sigmask }.cast()
}

/// Has a timer kick the calling thread with those pauses; 0: no more.
fn kick(own: &Own, pause: libc::c_long) {
    if own.timer.get() == 0 {
        // SAFETY: zeroes are an event.
        let mut event: libc::sigevent = unsafe { core::mem::zeroed() };
        event.sigev_signo = KICK;
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_notify_thread_id = native::thread() as c_int;
        let mut timer: c_int = 0;
        let (event, at) = ((&raw const event).expose_provenance(), (&raw mut timer).expose_provenance());
        // SAFETY: variables of this frame.
        let made =
            unsafe { native::call(libc::SYS_timer_create, [libc::CLOCK_MONOTONIC as usize, event, at, 0, 0, 0]) };
        if made != 0 {
            native::die("no timer");
        }
        own.timer.set(timer + 1);
    }
    let every = libc::timespec { tv_sec: 0, tv_nsec: pause };
    let time = libc::itimerspec { it_interval: every, it_value: every };
    let timer = (own.timer.get() - 1) as usize;
    // SAFETY: a variable of this frame.
    unsafe { native::call(libc::SYS_timer_settime, [timer, 0, (&raw const time).expose_provenance(), 0, 0, 0]) };
}

/// Forgets the calling thread's timer, which ends. In the child of a fork there is none.
pub fn forget_timer(own: &Own, is_there: bool) {
    let timer = own.timer.replace(0);
    if timer != 0 && is_there {
        // SAFETY: ours, and not used any more.
        unsafe { native::call(libc::SYS_timer_delete, [(timer - 1) as usize, 0, 0, 0, 0, 0]) };
    }
}

/// The handler of the kicks, which does nothing: that it ran has ended the sleep.
pub extern "C" fn kicked(_: c_int) {}
