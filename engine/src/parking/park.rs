//! A thread's sleep on its waiter's flag, and the end of it. Hosts call it from `Host::park`,
//! `Host::task` and `Host::unpark`; it spins (`spin_before_sleep`), asks whether the thread was
//! interrupted (`unbroken`), and calls the kernel's futex.

use core::cell::Cell;

use super::unbroken::{Unbroken, are_calls_told};
use super::{NANOS, futex, now, spin, spin_before_sleep};
use crate::mutant::{check, mutated};
use crate::{Clock, Deadline, Flag, ParkEnd};

/// The kernel's operation that sleeps, until a time and for wakes of any bitset, among the threads
/// of one process.
const WAIT: i32 = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
/// The kernel's operation that wakes, among the threads of one process.
const WAKE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;

/// A thread that parks, or did: the address of its waiter's flag, which may be gone. It is the
/// [`Host::Task`](crate::Host::Task) of hosts whose threads are Linux's,
/// [`Process`](super::Process) among them.
///
/// A host with memory of its own, whose threads are Linux's:
///
/// ```
/// use leeward_engine::parking::{Gathering, Parked, now, park, spin};
/// use leeward_engine::{
///     Access, Address, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, ParkEnd,
///     Part, SharedKey, Space, Wait, Word,
/// };
/// use std::sync::atomic::AtomicU32;
/// use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
///
/// /// 16 words, whose addresses are their offsets.
/// struct Arena {
///     words: [AtomicU32; 16],
///     space: Space<Arena>,
///     gathering: Gathering,
/// }
///
/// impl Arena {
///     fn word(&self, address: Address) -> Result<&AtomicU32, Fault> {
///         self.words.get(address as usize / 4).ok_or(Fault)
///     }
/// }
///
/// impl Host for Arena {
///     type Task = Parked;
///     type Memory = Heap;
///     type Preemption<'a> = ();
///
///     fn space(&self) -> &Space<Arena> {
///         &self.space
///     }
///     fn threads(&self) -> u32 {
///         2
///     }
///     fn in_range(&self, address: Address) -> bool {
///         address < 64
///     }
///     fn load(&self, address: Address) -> Result<u32, Fault> {
///         Ok(self.word(address)?.load(Relaxed))
///     }
///     fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
///         let done = self.word(address)?.compare_exchange(old, new, SeqCst, SeqCst);
///         Ok(done.unwrap_or_else(|was| was))
///     }
///     fn read(&self, _: Address, _: &mut [u8]) -> Result<(), Fault> {
///         Err(Fault)
///     }
///     fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
///         Err(Errno::EFAULT)
///     }
///     fn resolve_shared(&self, _: Address, _: Access) -> Result<SharedKey, Errno> {
///         Ok(SharedKey::Anonymous)
///     }
///     fn task(&self, flag: &Flag) -> Parked {
///         Parked::with(flag)
///     }
///     fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd {
///         park(flag, until)
///     }
///     fn unpark(&self, task: Parked) {
///         task.unpark();
///     }
///     fn unpark_all(&self, tasks: impl Iterator<Item = Parked>, part: Part) {
///         self.gathering.unpark_all(tasks, part);
///     }
///     fn now(&self, clock: Clock) -> u64 {
///         now(clock)
///     }
///     fn preempt_off(&self) {}
///     fn spin(&self, tries: u32) {
///         spin(tries);
///     }
/// }
///
/// let engine = Engine::new(Config::small(0), Heap).unwrap();
/// let space = Space::new(1, 0, Heap);
/// let arena = Arena { words: Default::default(), space, gathering: Gathering::default() };
/// let word = Word::private(8);
/// std::thread::scope(|threads| {
///     threads.spawn(|| {
///         arena.words[2].store(1, Release);
///         engine.wake(&arena, word, u32::MAX, u32::MAX).unwrap();
///     });
///     while arena.words[2].load(Acquire) == 0 {
///         engine.wait(&arena, word, 0, u32::MAX, None).unwrap();
///     }
/// });
/// assert_eq!(engine.wait(&arena, word, 0, u32::MAX, None), Ok(Wait::Changed));
/// ```
///
/// # Signals, forks, panics
/// It is copied and used by handlers that wake. In the child of a fork it names a thread that is
/// not there, and unparking it does nothing. None of its functions panics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parked(pub(super) usize);

impl Parked {
    /// Returns the calling thread, which is about to park with `flag` and has not compared its word
    /// yet: for [`Host::task`](crate::Host::task).
    #[inline]
    pub fn with(flag: &Flag) -> Parked {
        // After a spin the thread is asked to compare the word again in any case.
        if let Some(thread) = Unbroken::of_this_thread().filter(|_| spin_before_sleep::is_skipped()) {
            thread.expect(flag.word().addr());
        }
        Parked(flag.word().addr())
    }

    /// Ends the thread's park, by one system call. If the park has ended already and another thread
    /// sleeps on that address by now, that one is woken for no reason, as each sleeper on a futex
    /// has to expect.
    #[inline]
    pub fn unpark(self) {
        self.unpark_some(1);
    }

    /// Wakes up to `count` threads that sleep on the flag's address.
    #[inline]
    pub(super) fn unpark_some(self, count: u32) {
        // The kernel does not touch the word; where the memory is gone it answers so.
        let _ = futex(self.0, WAKE, count, 0, 0);
    }
}

/// Sleeps while `flag` [says](Flag::is_waiting) that there is reason to, until a deadline: for
/// [`Host::park`](crate::Host::park). Before it sleeps it spins: a wake that comes meanwhile spares
/// both threads the futex call. An example is at [`Parked`].
///
/// # Cost
/// Spinning takes up to 8 pauses and 12 yields, some 5 µs; a yield may cost a time slice where
/// others want the processor, so spins end when their yields took 20 µs together, and a wait whose
/// deadline is within 100 ms, and a real-time thread, do not yield. After each spin in vain twice
/// as many of the thread's waits do without, 63 at most.
///
/// # Signals
/// As [`Host::park`](crate::Host::park) demands, it answers [`Recheck`](ParkEnd::Recheck) where a
/// handler may have run on the thread since the engine compared the word: after each spin in vain.
/// On x86-64 with glibc 2.35 or later no handler slips through: the kernel tells, by restartable
/// sequences, whether it interrupted the thread before the system call (so most sleeps begin with
/// one `Recheck`). From Linux 6.19 on the kernel tells less, and each sleep begins with one: there a
/// host makes no system call from its load of the word to this function. Elsewhere a handler that
/// runs in the few instructions between the comparison and the call, changes the word and wakes no
/// thread goes unnoticed.
///
/// # Forks, panics
/// It keeps a thread's experience with spins in thread-local variables, which the child of a fork
/// has too. It does not panic.
#[inline]
pub fn park(flag: &Flag, until: Option<Deadline>) -> ParkEnd {
    match until {
        Some(until) if until.at != u64::MAX => park_until(flag, until),
        _ => park_for_good(flag),
    }
}

/// Parks without a deadline.
#[inline]
fn park_for_good(flag: &Flag) -> ParkEnd {
    let spun = spin_before_sleep::spin(flag, || None);
    if !flag.is_waiting() {
        return ParkEnd::Unparked;
    }
    match Unbroken::of_this_thread() {
        // With a time as well: the kernel would begin the call anew, and say nothing.
        Some(thread) if check!(unbroken_restart, !are_calls_told()) => unless_broken(thread, flag, NEVER, None),
        Some(thread) => match thread.futex(flag.word().addr(), WAIT, Flag::WAITING, 0) {
            Some(slept) => end(slept, None),
            None => broken(flag, None),
        },
        None if check!(spin_recheck, spun) => recheck(),
        // With a time, so that each handler ends the sleep: without one, the kernel begins some
        // sleeps anew by itself.
        None => end(sleep(flag, NEVER), None),
    }
}

/// Parks until a deadline.
#[inline(never)]
fn park_until(flag: &Flag, until: Deadline) -> ParkEnd {
    // Asked for by a park that spins, and by no other: where another park answered `Recheck`, this
    // one makes no call but the sleep, and the clock may be one.
    let left = || Some(until.at.saturating_sub(now(until.clock)));
    let spun = spin_before_sleep::spin(flag, left);
    if !flag.is_waiting() {
        return ParkEnd::Unparked;
    }
    match Unbroken::of_this_thread() {
        Some(thread) => unless_broken(thread, flag, until, Some(until)),
        None if check!(spin_recheck, spun) && !is_up(until) => recheck(),
        None => end(sleep(flag, until), Some(until)),
    }
}

/// Sleeps until a time, unless the thread was interrupted since the word was compared; `until` is
/// the wait's deadline.
fn unless_broken(thread: Unbroken, flag: &Flag, time: Deadline, until: Option<Deadline>) -> ParkEnd {
    let (operation, time) = arguments(time);
    let time = core::ptr::from_ref(&time).expose_provenance();
    match thread.futex(flag.word().addr(), operation, Flag::WAITING, time) {
        Some(slept) => end(slept, until),
        None => broken(flag, until),
    }
}

/// Returns true if a deadline has passed.
fn is_up(until: Deadline) -> bool {
    now(until.clock) >= until.at
}

std::thread_local! {
    /// The number of times in a row that the thread was interrupted before it slept.
    static BROKEN: Cell<u32> = const { Cell::new(0) };
}

/// From here on interruptions of the calling thread count, for a sleep on that flag.
#[inline]
fn begin(flag: &Flag) {
    if let Some(thread) = Unbroken::of_this_thread() {
        thread.begin(flag.word().addr());
    }
}

/// A time that does not come: the kernel's clock ends there.
const NEVER: Deadline = Deadline { clock: Clock::Monotonic, at: i64::MAX as u64 };

/// The number of times in a row that a thread may be interrupted just before it sleeps. It happens
/// more often only where a debugger goes through the thread step by step.
const MOST_BROKEN: u32 = 2;
/// The nanoseconds of one sleep of a thread that is interrupted so often.
const MOMENT: u64 = 1_000_000;

/// Answers that the word has to be compared again; the next park goes on with the same wait.
fn recheck() -> ParkEnd {
    spin_before_sleep::goes_on();
    ParkEnd::Recheck
}

/// Ends a park before its sleep: the thread was interrupted since the word was compared, or it is
/// not known that it was not.
#[inline(never)]
fn broken(flag: &Flag, until: Option<Deadline>) -> ParkEnd {
    let times = BROKEN.get();
    // A time that is up leaves nothing to compare.
    if mutated!(park_recheck) || until.is_some_and(is_up) {
        return end(sleep(flag, until.unwrap_or(NEVER)), until);
    }
    if times == MOST_BROKEN {
        return sleep_a_moment(flag, until);
    }
    BROKEN.set(times + 1);
    begin(flag);
    recheck()
}

/// Sleeps, but only so long that an unnoticed handler's change is soon seen.
#[cold]
#[inline(never)]
fn sleep_a_moment(flag: &Flag, until: Option<Deadline>) -> ParkEnd {
    BROKEN.set(0);
    let at = now(Clock::Monotonic).saturating_add(MOMENT);
    let moment = Deadline { clock: Clock::Monotonic, at };
    match end(sleep(flag, moment), Some(moment)) {
        ParkEnd::TimedOut if until.is_some_and(is_up) => ParkEnd::TimedOut,
        ParkEnd::TimedOut => {
            begin(flag);
            recheck()
        }
        end => end,
    }
}

/// Returns the futex operation for a sleep with a deadline, and the time.
fn arguments(until: Deadline) -> (i32, libc::timespec) {
    let time = libc::timespec { tv_sec: (until.at / NANOS) as _, tv_nsec: (until.at % NANOS) as _ };
    let clock = if until.clock == Clock::Realtime { libc::FUTEX_CLOCK_REALTIME } else { 0 };
    (WAIT | clock, time)
}

/// Sleeps until a deadline, whatever interrupted the thread before.
fn sleep(flag: &Flag, until: Deadline) -> Result<u32, i32> {
    let (operation, time) = arguments(until);
    let time = core::ptr::from_ref(&time).expose_provenance();
    futex(flag.word().addr(), operation, Flag::WAITING, time, 0)
}

/// Returns how a park ended, by the futex call's answer.
#[inline]
fn end(slept: Result<u32, i32>, until: Option<Deadline>) -> ParkEnd {
    BROKEN.set(0);
    match slept {
        Ok(_) | Err(libc::EAGAIN) => ParkEnd::Unparked,
        Err(why) => ended(why, until),
    }
}

/// Returns how a park ended whose sleep was ended by something else than an unpark.
#[cold]
#[inline(never)]
fn ended(why: i32, until: Option<Deadline>) -> ParkEnd {
    match why {
        libc::ETIMEDOUT => ParkEnd::TimedOut,
        libc::EINTR => ParkEnd::Interrupted,
        _ => {
            // A sandbox refuses the sleep. The park ends early, after it has let others run: by
            // more than a yield, with which a real-time thread lets no ordinary one run.
            spin(u32::MAX);
            match until {
                Some(until) if is_up(until) => ParkEnd::TimedOut,
                _ => ParkEnd::Unparked,
            }
        }
    }
}
