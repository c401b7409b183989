//! A heavy fence made of signals: every thread of the process runs a handler that executes a full fence and answers.
//!
//! Works wherever a process may signal itself. The threads are listed from `/proc/self/task` and interrupted in
//! batches; then they are listed again, until a listing shows nobody new: a thread that was started meanwhile by one
//! that had not answered yet may have been missed, and one started by a thread that *had* answered begins behind its
//! starter's fence.
//!
//! The signal is `SIGURG`, whose default action is to do nothing. A signal that is pending for a
//! thread which calls `execve` stays pending in the new program, and that has no handler: a
//! real-time signal would end it. A program that handles `SIGURG` itself is given a real-time
//! signal all the same: the first whose disposition is the default, counted down from `SIGRTMAX -
//! 2`.
//!
//! The handler finds by its thread's number what answer is awaited of it. So one signal serves any
//! number of fences: a thread whose `SIGURG` is pending is sent no second one, and answers the
//! fence that waits when it runs. A thread that blocks a real-time signal collects one for each
//! fence, until it unblocks the signal, or until the user's limit of pending signals
//! (`RLIMIT_SIGPENDING`) is reached and the processors are visited at once.

use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use core::time::Duration;

use rustix::fs::{Mode, OFlags, RawDir};
use rustix::io::Errno;
use rustix::thread::Pid;

use super::counts::{VISITS, count};
use super::visit;
use crate::atomic::{Ordering, fence};
use crate::futex::{self, Private, Timeout};
use crate::mutant::{check, mutated, step};
use crate::process::fork::{self, Hook, Mend};
use crate::raw::Mutex;

/// Threads that are interrupted at a time: the places in `AWAITED` and `ANSWERED`.
const BATCH: usize = 256;
/// How long a batch may take before the processors are visited instead: a thread that blocks the signal never
/// answers.
const ANSWER_LIMIT: Duration = Duration::from_millis(10);

/// One signal fence at a time.
static LOCK: Mutex = <Mutex>::new();
/// The signal in use; 0 = none chosen yet.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// By place: the thread of which an answer is awaited, or was in an earlier round.
static AWAITED: [AtomicI32; BATCH] = [const { AtomicI32::new(0) }; BATCH];
/// By place: the last [`answer_of`] a thread that found itself there.
static ANSWERED: [AtomicU64; BATCH] = [const { AtomicU64::new(0) }; BATCH];
/// Changes with every answer; where the caller sleeps.
static ANSWERS: AtomicU32 = AtomicU32::new(0);
/// The round that runs.
static ROUND: AtomicU32 = AtomicU32::new(0);

/// The lock, in the child of a fork: a thread that the child does not have may have taken it.
struct LockInChild(Hook);

static LOCK_IN_CHILD: LockInChild = LockInChild(Hook::new());

impl Mend for LockInChild {
    fn hook(&self) -> &Hook {
        &self.0
    }

    fn in_child(&'static self) {
        step!(signal_fork, LOCK.reset());
    }
}

/// Whether the own threads can be listed and signalled, or the processors be visited.
pub(super) fn is_allowed() -> bool {
    let errno = crate::process::Errno::save();
    let may_signal = queue_signal(rustix::thread::gettid().as_raw_nonzero().get(), 0).is_ok();
    let is_allowed = may_signal && each_thread(&mut |_| ()) || visit::is_allowed();
    errno.restore();
    is_allowed
}

/// Interrupts every other thread of the process and returns when each has executed a full fence.
pub(super) fn interrupt_all() -> Result<(), Errno> {
    let errno = crate::process::Errno::save();
    fork::watch(&LOCK_IN_CHILD);
    LOCK.lock();
    // No signal is left, or a sandbox refuses to have one handled: the other cure.
    let outcome = number().map_or_else(|_| visit_all(), interrupt_until_nobody_is_new);
    // SAFETY: locked above.
    unsafe { LOCK.unlock() };
    errno.restore();
    outcome
}

/// How often to list before the processors are visited instead: threads may come and go faster than they can be
/// listed.
const LISTINGS: u32 = 32;

/// Lists and interrupts until a listing that is known to be whole holds only threads that were interrupted already.
fn interrupt_until_nobody_is_new(signal: c_int) -> Result<(), Errno> {
    let mut known = Known::new();
    for _ in 0..LISTINGS {
        let before = count_threads();
        let Some(pass) = Pass::run(signal, &mut known)? else { return visit_all() };
        // A listing skips threads when others exit meanwhile: it is whole if as many were there before and after.
        let whole = before == Some(pass.listed) && count_threads() == before;
        if (whole && !pass.anybody_new) || mutated!(signal_second_listing) {
            return Ok(());
        }
    }
    visit_all()
}

/// One listing, and what it found.
struct Pass {
    listed: u64,
    anybody_new: bool,
}

impl Pass {
    /// Interrupts whoever is new and waits for the answers. None if this cannot be done with signals: nobody can be
    /// listed, a signal was refused, or there are more threads than `Known` can tell apart.
    fn run(signal: c_int, known: &mut Known) -> Result<Option<Pass>, Errno> {
        let mut pass = Pass { listed: 0, anybody_new: false };
        let mut batch = Batch::begin(signal);
        let mut outcome = Ok(());
        let listed = each_thread(&mut |thread| {
            pass.listed += 1;
            if outcome.is_ok() && known.insert(thread) {
                pass.anybody_new = true;
                if batch.is_full() {
                    outcome = batch.finish();
                    batch = Batch::begin(signal);
                }
                outcome = outcome.and_then(|()| batch.send(thread));
            }
        });
        if !listed || outcome.is_err() || known.overflowed {
            return Ok(None);
        }
        batch.finish()?;
        Ok(Some(pass))
    }
}

/// How many threads the process has, by the links of its folder of threads.
fn count_threads() -> Option<u64> {
    let folder = rustix::fs::stat(c"/proc/self/task").ok()?;
    (folder.st_nlink as u64).checked_sub(2)
}

/// The other cure, which needs nobody's answer.
fn visit_all() -> Result<(), Errno> {
    count(&VISITS);
    if visit::every_processor(|see| each_thread(see)) { Ok(()) } else { Err(Errno::PERM) }
}

/// The threads that were interrupted during this fence: a small open hash table on the stack.
struct Known {
    threads: [i32; Known::ROOM],
    count: usize,
    overflowed: bool,
}

impl Known {
    const ROOM: usize = 4096;

    fn new() -> Known {
        // Oneself is fenced by the caller of this module.
        let mut known = Known { threads: [0; Self::ROOM], count: 0, overflowed: false };
        known.insert(rustix::thread::gettid());
        known
    }

    /// Whether the thread is new.
    fn insert(&mut self, thread: Pid) -> bool {
        let thread = thread.as_raw_nonzero().get();
        if self.count == Self::ROOM - 1 {
            self.overflowed = true;
            return false;
        }
        let mut at = thread as usize % Self::ROOM;
        while self.threads[at] != 0 {
            if self.threads[at] == thread {
                return false;
            }
            at = (at + 1) % Self::ROOM;
        }
        self.threads[at] = thread;
        self.count += 1;
        true
    }
}

/// Some threads, each with a place of its own for the answer.
struct Batch {
    signal: c_int,
    round: u32,
    threads: [i32; BATCH],
    len: usize,
}

/// What `thread` leaves at its place once it has executed a fence that came after the beginning of
/// `round`. Never 0.
const fn answer_of(thread: i32, round: u32) -> u64 {
    (round as u64) << 32 | thread as u64
}

impl Batch {
    fn begin(signal: c_int) -> Batch {
        // Relaxed: only the holder of the lock counts rounds.
        let round = ROUND.load(Ordering::Relaxed).wrapping_add(1);
        // Release: partner of the acquire in `answer`. A thread that sees this round executes its
        // fence after the one that the caller of this module has executed.
        ROUND.store(round, Ordering::Release);
        Batch { signal, round, threads: [0; BATCH], len: 0 }
    }

    fn is_full(&self) -> bool {
        self.len == BATCH
    }

    fn send(&mut self, thread: Pid) -> Result<(), Errno> {
        let thread = thread.as_raw_nonzero().get();
        // Relaxed: this round's answer comes after the signal. The store forgets an answer that the
        // same thread gave here 2^32 rounds ago, in a round of the same number.
        ANSWERED[self.len].store(0, Ordering::Relaxed);
        // Release: partner of the acquire in `answer`, whose store comes after the one above.
        AWAITED[self.len].store(thread, Ordering::Release);
        match queue_signal(thread, self.signal) {
            Ok(()) => {
                self.threads[self.len] = thread;
                self.len += 1;
                Ok(())
            }
            // It ended: all its accesses are done.
            Err(Errno::SRCH) => Ok(()),
            Err(other) => Err(other),
        }
    }

    /// Waits for every answer; threads that ended owe none.
    fn finish(&mut self) -> Result<(), Errno> {
        if mutated!(signal_answer) {
            return Ok(());
        }
        let deadline = futex::now() + ANSWER_LIMIT;
        for place in 0..self.len {
            while !self.answered(place) {
                // Acquire: what is counted here was answered before.
                let seen = ANSWERS.load(Ordering::Acquire);
                if self.answered(place) {
                    break;
                }
                // By the clock: signals may cut each sleep short.
                let left = deadline.saturating_sub(futex::now());
                if left.is_zero() {
                    return visit_all();
                }
                futex::wait(&ANSWERS, seen, Timeout::after::<Private>(left));
            }
        }
        Ok(())
    }

    fn answered(&self, place: usize) -> bool {
        let thread = self.threads[place];
        // Acquire: partner of the handler's release; its thread's earlier accesses happen before ours that follow.
        // A thread that is gone answers no more; its number may be another's by now, which the next listing shows.
        ANSWERED[place].load(Ordering::Acquire) == answer_of(thread, self.round)
            || queue_signal(thread, 0) == Err(Errno::SRCH)
    }
}

/// The handler: fence, answer, wake. Touches nothing that is not an atomic of ours, and leaves errno alone.
///
/// It does so whoever sent the signal: a fence that is over, or another process.
extern "C" fn answer(_: c_int) {
    let errno = crate::process::Errno::save();
    // Acquire: partner of the release in `Batch::begin`: the fence below comes after that round's
    // beginning.
    let round = ROUND.load(Ordering::Acquire);
    // SeqCst: the full fence that the caller asked this thread for.
    fence(Ordering::SeqCst);
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    // Acquire: partner of the release in `Batch::send`. The place may be this thread's from an
    // earlier round, and another thread's a moment later: that one's answer bears another number,
    // so this one is not taken for it. (If this one overwrites it, the fence visits the
    // processors.)
    if let Some(place) = AWAITED.iter().position(|awaited| awaited.load(Ordering::Acquire) == thread) {
        // Release: partner of the acquire in `answered`.
        ANSWERED[place].store(answer_of(thread, round), Ordering::Release);
        // Release: as above, for whoever counts answers.
        ANSWERS.fetch_add(1, Ordering::Release);
        futex::wake(&ANSWERS, 1);
    }
    errno.restore();
}

/// The signal; chosen and installed at the first call, and again if somebody has taken it from us since.
fn number() -> Result<c_int, Errno> {
    // Relaxed, both: written by holders of the lock only.
    let chosen = SIGNAL.load(Ordering::Relaxed);
    if chosen != 0 && disposition(chosen).is_some_and(|action| action.sa_sigaction == handler()) {
        return Ok(chosen);
    }
    let chosen = install()?;
    SIGNAL.store(chosen, Ordering::Relaxed);
    Ok(chosen)
}

fn handler() -> libc::sighandler_t {
    let handler: extern "C" fn(c_int) = answer;
    handler as libc::sighandler_t
}

fn disposition(signal: c_int) -> Option<libc::sigaction> {
    let mut current = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only reads; `current` is ours to write.
    let asked = unsafe { libc::sigaction(signal, core::ptr::null(), current.as_mut_ptr()) };
    // SAFETY: zeroed is a valid sigaction (integers and an optional function), and the call may have filled it.
    let current = unsafe { current.assume_init() };
    (asked == 0).then_some(current)
}

/// Takes the first signal that the program does not handle: `SIGURG`, then the real-time ones, from
/// above.
fn install() -> Result<c_int, Errno> {
    let urgent = (!mutated!(signal_survives_execve)).then_some(libc::SIGURG);
    for signal in urgent.into_iter().chain((libc::SIGRTMIN()..=libc::SIGRTMAX() - 2).rev()) {
        let Some(mut action) = disposition(signal).filter(|action| action.sa_sigaction == libc::SIG_DFL) else {
            continue;
        };
        action.sa_sigaction = handler();
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        // SAFETY: `action` is a whole sigaction with a handler that is async-signal-safe.
        let taken = unsafe { libc::sigaction(signal, &action, core::ptr::null_mut()) };
        if taken == 0 {
            return Ok(signal);
        }
    }
    Err(Errno::BUSY)
}

/// Whether `/proc` knows this process by the number that it has here. In a pid namespace of its own under the outer one's `/proc` (`unshare --pid`)
/// it does not, nor its threads.
fn numbers_are_ours() -> bool {
    let mut room = [MaybeUninit::<u8>::uninit(); 16];
    let Ok((digits, _)) = rustix::fs::readlinkat_raw(rustix::fs::CWD, c"/proc/self", &mut room) else { return false };
    let number = core::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
    number == Some(rustix::process::getpid().as_raw_nonzero().get())
}

/// Calls `see` with every thread of the process. False if they cannot be listed by the numbers that they have here.
fn each_thread(see: &mut dyn FnMut(Pid)) -> bool {
    if check!(signal_numbers, !numbers_are_ours()) {
        return false;
    }
    let Ok(folder) =
        rustix::fs::open(c"/proc/self/task", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    else {
        return false;
    };
    let mut room = [MaybeUninit::<u8>::uninit(); 4096];
    let mut entries = RawDir::new(&folder, &mut room);
    while let Some(entry) = entries.next() {
        let Ok(entry) = entry else { return false };
        let number = entry.file_name().to_str().ok().and_then(|name| name.parse().ok());
        if let Some(thread) = number.and_then(Pid::from_raw) {
            see(thread);
        }
    }
    true
}

/// The head of a `siginfo_t` as `rt_tgsigqueueinfo` takes it, padded to its whole size.
#[repr(C)]
struct QueuedInfo {
    signo: c_int,
    errno: c_int,
    code: c_int,
    queued: Queued,
    rest: [u64; 12],
}

#[repr(C)]
struct Queued {
    pid: libc::pid_t,
    uid: libc::uid_t,
    value: usize,
}

const _: () = assert!(size_of::<QueuedInfo>() >= size_of::<libc::siginfo_t>());

/// Queues `signal` to one thread of this process; signal 0 only asks whether it is there.
fn queue_signal(thread: i32, signal: c_int) -> Result<(), Errno> {
    let pid = rustix::process::getpid().as_raw_nonzero().get();
    let queued = Queued { pid, uid: rustix::process::getuid().as_raw(), value: 0 };
    let info = QueuedInfo { signo: signal, errno: 0, code: libc::SI_QUEUE, queued, rest: [0; 12] };
    // SAFETY: `info` is as large as the kernel's siginfo_t and outlives the call, which only reads it.
    let sent = unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, thread, signal, &raw const info) };
    match sent {
        0 => Ok(()),
        _ => Err(Errno::from_raw_os_error(crate::process::Errno::save().number())),
    }
}
