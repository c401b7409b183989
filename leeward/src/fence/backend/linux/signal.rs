//! A heavy fence made of signals: every thread of the process runs a handler that executes a full
//! fence and answers.
//!
//! It works wherever a process may signal itself. The [`threads`](super::threads) are listed and
//! interrupted in batches; then they are listed again, until a listing shows no new thread. A
//! thread that was started meanwhile by one that had not answered yet may have been missed; one
//! started by a thread that *had* answered begins after its starter's fence.
//!
//! The signal is `SIGURG`, whose default action is to do nothing. A signal that is pending for a
//! thread which calls `execve` stays pending in the new program, which has no handler for it: a
//! real-time signal would end that program. A program that handles `SIGURG` itself gets a real-time
//! signal all the same: the first whose disposition is the default, counted down from
//! `SIGRTMAX - 2`.
//!
//! The handler finds by its thread's number which answer is awaited from it. So one signal serves
//! any number of fences: a thread whose `SIGURG` is pending is sent no second one, and answers the
//! fence that waits when it runs. A thread that blocks a real-time signal collects one for each
//! fence, until it unblocks the signal, or until the user's limit of pending signals
//! (`RLIMIT_SIGPENDING`) is reached and the processors are visited at once.

use core::cell::UnsafeCell;
use core::ffi::c_int;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64};
use core::time::Duration;

use rustix::io::Errno;
use rustix::thread::Pid;

use super::counts::{VISITS, count};
use super::threads::{count_threads, each_thread, queue_signal};
use super::visit;
use crate::atomic::{Ordering, fence};
use crate::futex::{self, Private, Timeout};
use crate::mutant::{mutated, step};
use crate::process::fork::{self, Hook, Watched};
use crate::raw::Mutex;

/// The number of threads that are interrupted at a time, and of places in `AWAITED` and `ANSWERED`.
const BATCH: usize = 256;
/// The time that a batch may take before the processors are visited instead: a thread that blocks
/// the signal never answers.
const ANSWER_LIMIT: Duration = Duration::from_millis(10);

/// The lock under which one signal fence runs at a time.
static LOCK: Mutex = <Mutex>::new();
/// The signal in use; 0 = none chosen yet.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The thread whose answer is awaited at each place, or was in an earlier round.
static AWAITED: [AtomicI32; BATCH] = [const { AtomicI32::new(0) }; BATCH];
/// The last answer ([`answer_of`]) at each place, of a thread that found itself there.
static ANSWERED: [AtomicU64; BATCH] = [const { AtomicU64::new(0) }; BATCH];
/// The number of answers, which changes with each; the word on which the caller sleeps.
static ANSWERS: AtomicU32 = AtomicU32::new(0);
/// The number of the round that runs.
static ROUND: AtomicU32 = AtomicU32::new(0);

/// The item that resets the lock in the child of a fork: a thread that is not in the child may have
/// taken it.
struct LockInChild(Hook);

static LOCK_IN_CHILD: LockInChild = LockInChild(Hook::new());

impl Watched for LockInChild {
    fn hook(&self) -> &Hook {
        &self.0
    }

    fn in_child(&'static self) {
        step!(signal_fork, LOCK.reset());
    }
}

/// Returns true if the threads of this process can be listed and signalled, or the processors
/// visited.
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
    // Where no signal is left, or a sandbox refuses to have one handled, the processors are
    // visited.
    // SAFETY: this thread holds the lock until after the call.
    let known = unsafe { &mut *KNOWN.0.get() };
    let outcome = number().map_or_else(|_| visit_all(), |signal| interrupt_until_none_is_new(signal, known));
    // SAFETY: this thread locked it above.
    unsafe { LOCK.unlock() };
    errno.restore();
    outcome
}

/// The number of listings before the processors are visited instead: threads may come and go faster
/// than they can be listed.
const LISTINGS: u32 = 32;

/// Lists and interrupts threads until a listing that is known to be whole holds only threads that
/// were interrupted already.
#[cold]
#[inline(never)]
fn interrupt_until_none_is_new(signal: c_int, known: &mut Known) -> Result<(), Errno> {
    known.clear();
    // The calling thread is known: the caller of this module executes its fences.
    known.insert(rustix::thread::gettid());
    for _ in 0..LISTINGS {
        let before = count_threads();
        let Some(pass) = Pass::run(signal, known)? else { return visit_all() };
        // A listing skips threads when others exit meanwhile. It is whole if as many threads as it
        // holds were there before and after.
        let whole = before == Some(pass.listed) && count_threads() == before;
        if (whole && !pass.found_new) || mutated!(signal_second_listing) {
            return Ok(());
        }
    }
    visit_all()
}

/// A listing whose new threads were interrupted.
struct Pass {
    /// The number of threads in the listing.
    listed: u64,
    /// True if one of them was new.
    found_new: bool,
}

impl Pass {
    /// Lists the threads, interrupts the new ones and waits for their answers. Returns `None` if
    /// that cannot be done with signals: the threads cannot be listed, a signal was refused, or
    /// there are more threads than `Known` can tell apart.
    fn run(signal: c_int, known: &mut Known) -> Result<Option<Pass>, Errno> {
        let mut pass = Pass { listed: 0, found_new: false };
        let mut batch = Batch::begin(signal);
        let mut outcome = Ok(());
        let listed = each_thread(&mut |thread| {
            pass.listed += 1;
            if outcome.is_ok() && known.insert(thread) {
                pass.found_new = true;
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

/// Visits the processors: the fallback, which needs no thread's answer.
fn visit_all() -> Result<(), Errno> {
    count(&VISITS);
    if visit::every_processor(|see| each_thread(see)) { Ok(()) } else { Err(Errno::PERM) }
}

/// The set of threads that were interrupted during this fence: a small open hash table. It would
/// not fit on the stacks of small threads.
struct Known {
    threads: [i32; Known::ROOM],
    count: usize,
    overflowed: bool,
}

impl Known {
    const ROOM: usize = 4096;

    const fn new() -> Known {
        Known { threads: [0; Known::ROOM], count: 0, overflowed: false }
    }

    fn clear(&mut self) {
        self.threads.fill(0);
        (self.count, self.overflowed) = (0, false);
    }

    /// Adds a thread. Returns true if it is new.
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

/// The set of the thread that holds [`LOCK`]. A forked child finds it in any state: each fence clears
/// it first.
struct OfTheHolder(UnsafeCell<Known>);

// SAFETY: only the thread that holds the lock looks at it.
unsafe impl Sync for OfTheHolder {}

static KNOWN: OfTheHolder = OfTheHolder(UnsafeCell::new(Known::new()));

/// A batch of threads that were signalled, each with a place of its own for the answer.
struct Batch {
    signal: c_int,
    round: u32,
    threads: [i32; BATCH],
    len: usize,
}

/// Returns the answer that `thread` leaves at its place once it has executed a fence after the
/// beginning of `round`. Never 0.
const fn answer_of(thread: i32, round: u32) -> u64 {
    (round as u64) << 32 | thread as u64
}

impl Batch {
    /// Begins a round.
    fn begin(signal: c_int) -> Batch {
        // Relaxed: only the holder of the lock writes the round.
        let round = ROUND.load(Ordering::Relaxed).wrapping_add(1);
        // Release: partner of the acquire in `answer`. A thread that sees this round executes its
        // fence after the one that the caller of this module has executed.
        ROUND.store(round, Ordering::Release);
        Batch { signal, round, threads: [0; BATCH], len: 0 }
    }

    fn is_full(&self) -> bool {
        self.len == BATCH
    }

    /// Gives `thread` a place and signals it, unless it ended.
    fn send(&mut self, thread: Pid) -> Result<(), Errno> {
        let thread = thread.as_raw_nonzero().get();
        // Relaxed: this round's answer comes after the signal. The store clears an answer that the
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
            // The thread ended: all its accesses are done.
            Err(Errno::SRCH) => Ok(()),
            Err(other) => Err(other),
        }
    }

    /// Waits for the answer of every thread that has not ended.
    fn finish(&mut self) -> Result<(), Errno> {
        if mutated!(signal_answer) {
            return Ok(());
        }
        let deadline = futex::now() + ANSWER_LIMIT;
        for place in 0..self.len {
            while !self.answered(place) {
                // Acquire: partner of the release in `answer`. An answer that is counted here is
                // seen below.
                let seen = ANSWERS.load(Ordering::Acquire);
                if self.answered(place) {
                    break;
                }
                // The clock decides, since signals may cut each sleep short.
                let left = deadline.saturating_sub(futex::now());
                if left.is_zero() {
                    return visit_all();
                }
                futex::wait(&ANSWERS, seen, Timeout::after::<Private>(left));
            }
        }
        Ok(())
    }

    /// Returns true if the thread at `place` has answered, or ended.
    fn answered(&self, place: usize) -> bool {
        let thread = self.threads[place];
        // Acquire: partner of the handler's release: its thread's earlier accesses happen before
        // ours that follow. A thread that ended answers no more; another thread may have its number
        // by now, which the next listing shows.
        ANSWERED[place].load(Ordering::Acquire) == answer_of(thread, self.round)
            || queue_signal(thread, 0) == Err(Errno::SRCH)
    }
}

/// Handles the signal: executes a full fence, answers, and wakes the caller of the fence. It
/// accesses only atomics of this file, and leaves errno as it was.
///
/// It does the same for any signal: also that of a fence that is over, or of another process.
extern "C" fn answer(_: c_int) {
    let errno = crate::process::Errno::save();
    // Acquire: partner of the release in `Batch::begin`: the fence below comes after that round's
    // beginning.
    let round = ROUND.load(Ordering::Acquire);
    // SeqCst: the full fence that the caller asked this thread for.
    fence(Ordering::SeqCst);
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    // Acquire: partner of the release in `Batch::send`. The place may be this thread's from an
    // earlier round, and another thread's a moment later. That thread's answer has another number,
    // so this answer is not taken for it. (If this answer overwrites it, the fence visits the
    // processors.)
    if let Some(place) = AWAITED.iter().position(|awaited| awaited.load(Ordering::Acquire) == thread) {
        // Release: partner of the acquire in `answered`.
        ANSWERED[place].store(answer_of(thread, round), Ordering::Release);
        // Release: as above; partner of the acquire in `finish`.
        ANSWERS.fetch_add(1, Ordering::Release);
        futex::wake(&ANSWERS, 1);
    }
    errno.restore();
}

/// Returns the signal. It is chosen, and the handler installed, at the first call, and again if the
/// program has replaced the handler since.
fn number() -> Result<c_int, Errno> {
    // Relaxed, both: only holders of the lock access it.
    let chosen = SIGNAL.load(Ordering::Relaxed);
    if chosen != 0 && disposition(chosen).is_some_and(|action| action.sa_sigaction == handler()) {
        return Ok(chosen);
    }
    let chosen = install()?;
    SIGNAL.store(chosen, Ordering::Relaxed);
    Ok(chosen)
}

/// Returns the handler as `sigaction` takes it.
fn handler() -> libc::sighandler_t {
    let handler: extern "C" fn(c_int) = answer;
    handler as libc::sighandler_t
}

/// Returns what the process does with `signal` now.
fn disposition(signal: c_int) -> Option<libc::sigaction> {
    let mut current = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: a null new action only reads; `current` is a local variable.
    let asked = unsafe { libc::sigaction(signal, core::ptr::null(), current.as_mut_ptr()) };
    // SAFETY: zeroed is a valid sigaction (integers and an optional function), and the call may
    // have filled it.
    let current = unsafe { current.assume_init() };
    (asked == 0).then_some(current)
}

/// Installs the handler for the first signal that the program does not handle: `SIGURG`, then the
/// real-time ones, from above.
fn install() -> Result<c_int, Errno> {
    let urgent = (!mutated!(signal_survives_execve)).then_some(libc::SIGURG);
    for signal in urgent.into_iter().chain((libc::SIGRTMIN()..=libc::SIGRTMAX() - 2).rev()) {
        let Some(mut action) = disposition(signal).filter(|action| action.sa_sigaction == libc::SIG_DFL) else {
            continue;
        };
        action.sa_sigaction = handler();
        action.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        // No other handler interrupts this one: it would run on the alternate stack, too, which may have
        // room for one only.
        // SAFETY: a local variable's field.
        unsafe { libc::sigfillset(&mut action.sa_mask) };
        // SAFETY: `action` is a whole sigaction with a handler that is async-signal-safe.
        let taken = unsafe { libc::sigaction(signal, &action, core::ptr::null_mut()) };
        if taken == 0 {
            return Ok(signal);
        }
    }
    Err(Errno::BUSY)
}
