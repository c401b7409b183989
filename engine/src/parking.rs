//! A host made of a Linux process's own threads: the engine as a portable parking lot.
//!
//! Threads sleep on the real futex, on their waiter's flag; nothing else of the kernel's futexes is used. They look for some microseconds first, as long as that
//! is of use to them.
//! [`ParkingLot`] is the whole, and safe. [`Process`] is the host alone, for engines that are used by address; [`park`]
//! and [`Parked`] are its sleep, for hosts that have memory of their own.

mod call;
mod inheritance;
mod look;
mod lot;
mod robust;
mod thread;

use core::sync::atomic::AtomicU32;

pub use lot::ParkingLot;

use crate::abi::FUTEX_BITSET_MATCH_ANY;
use crate::mutant::mutated;
use crate::{
    Access, Address, Arithmetic, Clock, Deadline, Errno, Fault, Flag, Heap, Host, Inheritance, ParkEnd, Part,
    SharedKey, Space,
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

/// Those that were gathered are woken when this goes, also where an executor panicked meanwhile.
struct Gathered<'a>(&'a Gathering);

impl Drop for Gathered<'_> {
    fn drop(&mut self) {
        if !(mutated!(gathered_rest) && std::thread::panicking()) {
            Parked(self.0.address()).unpark_some(i32::MAX as u32);
        }
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
        let _wake = (part == Part::Rest).then(|| Gathered(self));
        tasks.for_each(|task| self.gather(task));
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

/// Sleeps while the flag says that there is reason to, until a deadline. Before that it looks: a wake that comes meanwhile spares both threads the futex call.
///
/// # Cost
/// Looking takes up to 8 pauses and 12 yields, some 5 µs. After each look in vain twice as many of the thread's parks sleep at once, 63 at most.
#[inline]
pub fn park(flag: &Flag, until: Option<Deadline>) -> ParkEnd {
    let until = until.filter(|until| until.at != u64::MAX);
    let left = until.map(|until| until.at.saturating_sub(now(until.clock)));
    // A time that is up leaves none to look.
    if left != Some(0) {
        let looked = look::at(flag, left);
        if !flag.is_waiting() {
            return ParkEnd::Unparked;
        }
        if looked && !mutated!(look_recheck) {
            return ParkEnd::Recheck;
        }
    }
    let end = match until {
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
