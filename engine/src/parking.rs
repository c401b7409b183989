//! A host made of a Linux process's own threads: the engine as a portable parking lot.
//!
//! Threads sleep on the real futex, on their waiter's flag; nothing else of the kernel's futexes is used.
//! [`ParkingLot`] is the whole, and safe. [`Process`] is the host alone, for engines that are used by address; [`park`]
//! and [`Parked`] are its sleep, for hosts that have memory of their own.

mod call;
mod inheritance;
mod robust;
mod thread;

use core::sync::atomic::AtomicU32;

use crate::abi::FUTEX_BITSET_MATCH_ANY;
use crate::{
    Access, Address, Arithmetic, Clock, Config, Deadline, Engine, Errno, Fault, Flag, Heap, Host, Inheritance,
    NoEngine, ParkEnd, Part, Requeue, SharedKey, Space, Stats, Wait, WakeOp, Word,
};

const NANOS: u64 = 1_000_000_000;
/// The kernel's operations.
const WAIT: i32 = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
const WAKE: i32 = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
const REQUEUE: i32 = libc::FUTEX_REQUEUE | libc::FUTEX_PRIVATE_FLAG;
/// How often a bucket's lock is looked at before the processor is offered to others.
const SPINS: u32 = 40;

/// A thread that parks, or did: the address of its waiter's flag, which may be gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parked(usize);

impl Parked {
    /// The thread that is about to park with that flag.
    #[inline]
    pub fn with(flag: &Flag) -> Parked {
        Parked(flag.word().addr())
    }

    /// Ends its park. If that has ended already and something else sleeps there by now, that is woken for no reason, as
    /// whoever sleeps on a futex has to expect.
    #[inline]
    pub fn unpark(self) {
        self.unpark_some(1);
    }

    #[inline]
    fn unpark_some(self, count: u32) {
        // The kernel does not touch the word; where the memory is gone it answers so.
        let _ = futex(self.0, WAKE, count, 0, 0);
    }
}

/// Where threads are gathered that one call wakes, so that one system call wakes all of them. A word that is never read; any number of calls use it at a time.
#[derive(Debug, Default)]
pub struct Gathering(AtomicU32);

impl Gathering {
    /// As [`Parked::unpark`] for each, if they are many by one system call for all. For [`Host::unpark_all`].
    ///
    /// A thread that sleeps is moved from its flag to the gathering word, and is woken there with the [`Part::Rest`]. Nobody stays asleep there: whoever moves a thread there wakes
    /// all that are there afterwards. One that was awake already is not moved; if something else sleeps on its flag's address by now, that
    /// is woken for no reason, as whoever sleeps on a futex has to expect.
    pub fn unpark_all(&self, tasks: impl Iterator<Item = Parked>, part: Part) {
        if part == Part::All {
            tasks.for_each(Parked::unpark);
            return;
        }
        tasks.for_each(|task| self.gather(task));
        if part == Part::Rest {
            Parked(self.address()).unpark_some(i32::MAX as u32);
        }
    }

    fn address(&self) -> usize {
        core::ptr::from_ref(&self.0).addr()
    }

    fn gather(&self, task: Parked) {
        if futex(task.0, REQUEUE, 0, 1, self.address()).is_err() {
            task.unpark();
        }
    }
}

/// Sleeps while the flag says that there is reason to, until a deadline.
#[inline]
pub fn park(flag: &Flag, until: Option<Deadline>) -> ParkEnd {
    let end = match until.filter(|until| until.at != u64::MAX) {
        None => futex(flag.word().addr(), WAIT, Flag::WAITING, 0, 0),
        Some(until) => sleep_until(flag, until),
    };
    match end {
        Ok(_) | Err(libc::EAGAIN) => ParkEnd::Unparked,
        Err(why) => ended(why, until),
    }
}

#[inline(never)]
fn sleep_until(flag: &Flag, until: Deadline) -> Result<u32, i32> {
    let time = libc::timespec { tv_sec: (until.at / NANOS) as _, tv_nsec: (until.at % NANOS) as _ };
    let clock = if until.clock == Clock::Realtime { libc::FUTEX_CLOCK_REALTIME } else { 0 };
    futex(flag.word().addr(), WAIT | clock, Flag::WAITING, core::ptr::from_ref(&time).expose_provenance(), 0)
}

/// A sleep that was ended by something else than an unpark.
#[cold]
#[inline(never)]
fn ended(why: i32, until: Option<Deadline>) -> ParkEnd {
    match why {
        libc::ETIMEDOUT => ParkEnd::TimedOut,
        libc::EINTR => ParkEnd::Interrupted,
        _ => {
            // A sandbox that refuses the sleep: look again, having let others run.
            std::thread::yield_now();
            match until {
                Some(until) if now(until.clock) >= until.at => ParkEnd::TimedOut,
                _ => ParkEnd::Unparked,
            }
        }
    }
}

/// The system's futex, for waiters of any bitset. The kernel checks the addresses.
#[inline(always)]
fn futex(word: usize, operation: i32, value: u32, fourth: usize, on: usize) -> Result<u32, i32> {
    call::futex([word, operation as usize, value as usize, fourth, on, FUTEX_BITSET_MATCH_ANY as usize])
}

/// Nanoseconds since a clock's beginning.
pub fn now(clock: Clock) -> u64 {
    let clock = match clock {
        Clock::Monotonic => libc::CLOCK_MONOTONIC,
        Clock::Realtime => libc::CLOCK_REALTIME,
    };
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: fills ours.
    unsafe { libc::clock_gettime(clock, &mut time) };
    (time.tv_sec as u64).saturating_mul(NANOS).saturating_add(time.tv_nsec as u64)
}

/// Waits a moment for a bucket's lock.
pub fn spin(tries: u32) {
    if tries < SPINS {
        core::hint::spin_loop();
    } else {
        // Its holder may have lost its processor.
        std::thread::yield_now();
    }
}

/// This process as a host: addresses are its own, and trusted.
#[derive(Debug)]
pub struct Process {
    space: Space<Process>,
    threads: u32,
    gathering: Gathering,
    heads: robust::Heads,
    own_threads: inheritance::Threads,
}

impl Process {
    /// This process, with about so many threads that wait.
    ///
    /// # Safety
    /// Each address given to an operation with this host is that of an aligned word that lives as long as the call does, and that is
    /// accessed atomically meanwhile. (Of a word that is only woken, the address is not used.) A robust list, by the head that is set, holds such words, and pointers
    /// from its head through its entries back to it, until its thread has walked it.
    pub unsafe fn new(threads: u32, seed: u64) -> Process {
        Process {
            space: Space::new(1, seed, Heap),
            threads,
            gathering: Gathering::default(),
            heads: robust::Heads::default(),
            own_threads: inheritance::Threads::default(),
        }
    }

    /// The word at an address.
    #[inline]
    fn word(&self, address: Address) -> &AtomicU32 {
        let word = core::ptr::with_exposed_provenance_mut::<u32>(address as usize);
        // SAFETY: the promise of whoever made the host.
        unsafe { AtomicU32::from_ptr(word) }
    }
}

impl Host for Process {
    type Task = Parked;
    type Memory = Heap;

    #[inline]
    fn space(&self) -> &Space<Process> {
        &self.space
    }

    #[inline]
    fn threads(&self) -> u32 {
        self.threads
    }

    #[inline]
    fn in_range(&self, _: Address) -> bool {
        true
    }

    #[inline]
    fn load(&self, address: Address) -> Result<u32, Fault> {
        // Relaxed: the engine's fences and locks order it.
        Ok(self.word(address).load(core::sync::atomic::Ordering::Relaxed))
    }

    #[inline]
    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        use core::sync::atomic::Ordering;
        // SeqCst, both: full ordering is what the trait promises.
        let (Ok(was) | Err(was)) = self.word(address).compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
        Ok(was)
    }

    fn fetch_op(&self, address: Address, op: Arithmetic, argument: u32) -> Result<Option<u32>, Fault> {
        let word = self.word(address);
        // SeqCst: as above.
        let order = core::sync::atomic::Ordering::SeqCst;
        Ok(Some(match op {
            Arithmetic::Set => word.swap(argument, order),
            Arithmetic::Add => word.fetch_add(argument, order),
            Arithmetic::Or => word.fetch_or(argument, order),
            Arithmetic::AndNot => word.fetch_and(!argument, order),
            Arithmetic::Xor => word.fetch_xor(argument, order),
        }))
    }

    #[inline]
    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault> {
        let from = core::ptr::with_exposed_provenance::<u8>(address as usize);
        // SAFETY: the promise of whoever made the host.
        unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
        // Its accesses do not fault.
        Err(Errno::EFAULT)
    }

    #[inline]
    fn resolve_shared(&self, _: Address, _: Access) -> Result<SharedKey, Errno> {
        // Shared by this process's threads and nobody else.
        Ok(SharedKey::Anonymous)
    }

    #[inline]
    fn task(&self, flag: &Flag) -> Parked {
        Parked::with(flag)
    }

    #[inline]
    fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd {
        park(flag, until)
    }

    #[inline]
    fn unpark(&self, task: Parked) {
        task.unpark();
    }

    fn unpark_all(&self, tasks: impl Iterator<Item = Parked>, part: Part) {
        self.gathering.unpark_all(tasks, part);
    }

    fn now(&self, clock: Clock) -> u64 {
        now(clock)
    }

    fn spin(&self, tries: u32) {
        spin(tries);
    }

    #[inline]
    fn inheritance(&self) -> Option<&dyn Inheritance<Process>> {
        Some(self)
    }
}

/// Futexes of one process, without the kernel's.
///
/// ```
/// use leeward_engine::{Wait, parking::ParkingLot};
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let lot = ParkingLot::new(4).unwrap();
/// let word = AtomicU32::new(0);
/// std::thread::scope(|threads| {
///     threads.spawn(|| {
///         word.store(1, Ordering::Release);
///         lot.wake(&word, 1);
///     });
///     while word.load(Ordering::Acquire) == 0 {
///         lot.wait(&word, 0, None);
///     }
/// });
/// assert_eq!(lot.wait(&word, 0, None), Wait::Changed);
/// ```
#[derive(Debug)]
pub struct ParkingLot {
    process: Process,
    engine: Engine<Process>,
}

/// Any waiter.
const ANY: u32 = FUTEX_BITSET_MATCH_ANY;
/// A word that a thread borrows is a word that this process has.
const THERE: &str = "a borrowed word is aligned and there";

impl ParkingLot {
    /// A lot for about so many threads; it grows if there are more.
    ///
    /// # Errors
    /// No memory.
    pub fn new(threads: u32) -> Result<ParkingLot, NoEngine> {
        use std::hash::{BuildHasher, Hasher};
        let seed = std::hash::RandomState::new().build_hasher().finish();
        // SAFETY: the methods take words that are borrowed, or whose life their callers promise.
        let process = unsafe { Process::new(threads.max(2), seed) };
        Ok(ParkingLot { process, engine: Engine::new(Config::small(seed).with_private_tables(), Heap)? })
    }

    fn word(word: *const AtomicU32) -> Word {
        Word::private(word.expose_provenance() as u64)
    }

    /// Sleeps while `word` is `expected`, until woken, until a deadline or a signal.
    pub fn wait(&self, word: &AtomicU32, expected: u32, until: Option<Deadline>) -> Wait {
        self.engine.wait(&self.process, Self::word(word), expected, ANY, until).expect(THERE)
    }

    /// [`wait`](Self::wait) as a future, without a deadline: drop it to give up.
    pub async fn wait_async(&self, word: &AtomicU32, expected: u32) -> Wait {
        self.engine.wait_async(&self.process, Self::word(word), expected, ANY).await.expect(THERE)
    }

    /// Wakes up to `count` waiters of `word`, which may be gone; how many.
    ///
    /// # Panics
    /// If `word` is misaligned.
    pub fn wake(&self, word: *const AtomicU32, count: u32) -> u32 {
        self.engine.wake(&self.process, Self::word(word), count, ANY).expect("a futex word is aligned to 4 bytes")
    }

    /// If `from` is `expected`: wakes up to `wake` of its waiters, and moves up to `requeue` others to `to`.
    ///
    /// # Panics
    /// If `to` is misaligned.
    pub fn requeue(&self, from: &AtomicU32, expected: u32, wake: u32, to: *const AtomicU32, requeue: u32) -> Requeue {
        let (from, to) = (Self::word(from), Self::word(to));
        self.engine
            .requeue(&self.process, from, to, wake, requeue, Some(expected))
            .expect("a futex word is aligned to 4 bytes")
    }

    /// Does `op` to `on`, wakes up to `wake` waiters of `word`, and up to `wake_on` of `on`'s if the old value says so.
    ///
    /// # Panics
    /// If `word` is misaligned, or `op` has no comparison.
    pub fn wake_op(&self, word: *const AtomicU32, wake: u32, on: &AtomicU32, op: WakeOp, wake_on: u32) -> u32 {
        let (word, on) = (Self::word(word), Self::word(on));
        self.engine.wake_op(&self.process, word, wake, on, op, wake_on).expect("words aligned, and a comparison")
    }

    /// What the lot's own table did.
    pub fn stats(&self) -> Stats {
        self.process.space.stats(&self.process)
    }

    /// What the engine's global table did: it serves as long as the lot has no table of its own.
    pub fn global_stats(&self) -> Stats {
        self.engine.stats(&self.process)
    }

    /// The engine and the host, for what is not here.
    ///
    /// # Safety
    /// As for [`Process::new`].
    pub unsafe fn parts(&self) -> (&Engine<Process>, &Process) {
        (&self.engine, &self.process)
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;

    #[test]
    fn waiters_are_as_large_as_is_said() {
        assert_eq!(size_of::<crate::waiter::Waiter<Process>>(), 112);
        assert_eq!(size_of::<crate::pi_graph::Claimant<Process>>(), 344);
    }

    #[test]
    fn a_stranger_who_sleeps_where_a_flag_was_is_woken_with_the_rest() {
        use core::sync::atomic::Ordering::Relaxed;
        let (word, ended) = (AtomicU32::new(1), AtomicU32::new(0));
        let stranger = Parked(core::ptr::from_ref(&word).addr());
        let gathering = Gathering::default();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while word.load(Relaxed) == 1 {
                    let _ = futex(stranger.0, WAIT, 1, 0, 0);
                }
                ended.store(1, Relaxed);
            });
            let move_there = || futex(stranger.0, REQUEUE, 0, 1, gathering.address());
            while move_there() != Ok(1) {
                std::thread::yield_now();
            }
            // Its own waker does not find it there, as if it had been woken for no reason just before.
            word.store(0, Relaxed);
            stranger.unpark();
            std::thread::sleep(std::time::Duration::from_millis(1));
            assert_eq!(ended.load(Relaxed), 0);
            gathering.unpark_all([Parked(8)].into_iter(), Part::Rest);
        });
        assert_eq!(ended.load(Relaxed), 1);
    }
}
