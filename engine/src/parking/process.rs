//! A process as a host: its words by their addresses, and its threads by the parts of this module.
//! Engines call its methods, [`ParkingLot`](super::ParkingLot) among their users; locks with
//! priority inheritance and robust lists are in `inheritance` and `robust`.

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

use super::exits::Exits;
use super::lending::Lending;
use super::{Gathering, Parked, deferred, held, now, park, robust, spin};
use crate::mutant::mutated;
use crate::{
    Access, Address, Arithmetic, Clock, Deadline, Engine, Errno, Fault, Flag, Heap, Host, Inheritance, Memory, ParkEnd,
    Part, Priority, SharedKey, Size, Space, Word,
};

/// A process as a [`Host`]: addresses are its own, and trusted. For engines that are used by
/// address, as by a program that decodes futex calls; [`ParkingLot`](super::ParkingLot) is safe,
/// and has one inside.
///
/// One value serves all threads of the process; each call is the calling thread's. It is also an
/// [`Inheritance`] and a [`RobustHost`](crate::RobustHost). Its words are private to the process: a
/// shared word is known by its address too. It serves words of every [`Size`].
///
/// ```
/// use leeward_engine::{Config, Engine, Heap, Wait, Word, parking::Process};
/// use std::sync::atomic::AtomicU32;
///
/// // SAFETY: the one address below is that of a word that lives long enough; one engine serves.
/// let process = unsafe { Process::new(2, 0) };
/// let engine = Engine::new(Config::small(0).with_private_tables(), Heap).unwrap();
/// let value = AtomicU32::new(7);
/// let word = Word::private((&raw const value).expose_provenance() as u64);
/// assert_eq!(engine.wait(&process, word, 3, u32::MAX, None), Ok(Wait::Changed));
/// assert_eq!(engine.wake(&process, word, 1, u32::MAX), Ok(0));
/// ```
///
/// # Differences from parking_lot_core
/// Those of [`ParkingLot`](super::ParkingLot), and words are named by address, as by the system
/// call.
///
/// # Cost
/// Making one allocates nothing; beside it there is the table of its [`Space`], which the first
/// wait allocates and more waiters enlarge. What an operation costs is said at [`Engine`]'s; what a
/// sleep costs, at [`park`](super::park()).
///
/// # Signals, real-time threads, forks
/// As the [module](super) says: [`Engine::wake`] with this host is async-signal-safe, nothing else
/// is, and the child of a fork makes a host of its own.
///
/// # Panics
/// None of its own methods panics. A panic of an executor's waker passes through the operation that
/// woke its future, as [`Host`] says.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Process<M: Memory + 'static = Heap> {
    /// The space is first, and on a cache line of its own: a wake that finds no waiter reads
    /// nothing else.
    pub(super) space: Space<Process<M>>,
    /// The number of threads that the table is sized by.
    threads: u32,
    gathering: Gathering,
    pub(super) heads: robust::Heads<M>,
    pub(super) exits: Exits<M>,
    pub(super) lending: Lending<M>,
}

impl Process {
    /// Makes a host of this process, whose table is sized for about `threads` threads that wait.
    /// `seed` is a random number that keeps others from choosing the buckets of their words.
    ///
    /// # Safety
    /// Each address given to an operation with this host is that of a word of the size that is
    /// given, aligned to it, that lives as long as the call does, and that is accessed atomically
    /// and in that size meanwhile. (Of a word that is only woken, the address is not used.) A
    /// robust list, by the head that is set, holds such words, and pointers from its head through
    /// its entries back to it, until its thread has walked it. One engine serves the host at a
    /// time: no call with one engine begins before all calls with another have ended. The host's
    /// methods as a [`Host`] and as an [`Inheritance`] are called by that engine only: a wake that
    /// one of them puts off borrows the engine until the call ends that it interrupted.
    pub unsafe fn new(threads: u32, seed: u64) -> Process {
        // SAFETY: the caller's promise.
        unsafe { Process::new_in(threads, seed, Heap) }
    }
}

impl<M: Memory + 'static> Process<M> {
    /// Makes a host of this process, as [`new`](Process::new) does, whose tables are in `memory`:
    /// that of its space, and those of what it notes of threads. For a process whose heap must not
    /// be used where the engine is called, as where the heap's own futex calls come to the engine.
    /// Where there is no memory, each table stays as large as it is, and what there is no room for
    /// is said at [`Exits`], [`Lending`] and [`set_robust_head`](crate::RobustHost).
    ///
    /// # Safety
    /// As for [`new`](Process::new).
    pub unsafe fn new_in(threads: u32, seed: u64, memory: M) -> Process<M> {
        Process {
            space: Space::new(1, seed, memory.clone()),
            threads,
            gathering: Gathering::default(),
            heads: robust::Heads::new(memory.clone()),
            exits: Exits::new(memory.clone()),
            lending: Lending::new(memory),
        }
    }

    /// Returns the exits that this host's threads have told: to make room for them beforehand
    /// ([`Exits::reserve`]), or to ask whether all were noted ([`Exits::unrecorded`]).
    pub fn exits(&self) -> &Exits<M> {
        &self.exits
    }

    /// Returns the word at an address.
    #[inline]
    fn word(&self, address: Address) -> &AtomicU32 {
        let word = core::ptr::with_exposed_provenance_mut::<u32>(address as usize);
        // SAFETY: the promise of the caller of `Process::new`.
        unsafe { AtomicU32::from_ptr(word) }
    }
}

/// A time in which the calling thread holds a lock of a [`Process`]'s, or is about to take it: its
/// signal handlers' wakes by that host are put off until the last of these is dropped, which makes
/// them. The host makes it, for the engine.
#[derive(Debug)]
pub struct Deferral<'a, M: Memory + 'static>(&'a Process<M>);

impl<M: Memory + 'static> Drop for Deferral<'_, M> {
    #[inline(always)]
    fn drop(&mut self) {
        deferred::leave(self.0);
    }
}

impl<M: Memory + 'static> Host for Process<M> {
    type Task = Parked;
    type Memory = M;
    type Preemption<'a> = Deferral<'a, M>;

    #[inline]
    fn space(&self) -> &Space<Process<M>> {
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
        Ok(self.word(address).load(Ordering::Relaxed))
    }

    #[inline]
    fn serves(&self, _: Size) -> bool {
        true
    }

    #[cold]
    fn load_sized(&self, address: Address, size: Size) -> Result<u64, Fault> {
        let word = core::ptr::with_exposed_provenance_mut::<()>(address as usize);
        // Relaxed, each: as in `load`.
        let order = Ordering::Relaxed;
        Ok(match size {
            // SAFETY: the promise of the caller of `Process::new`.
            Size::U8 => unsafe { AtomicU8::from_ptr(word.cast()) }.load(order).into(),
            // SAFETY: as above.
            Size::U16 => unsafe { AtomicU16::from_ptr(word.cast()) }.load(order).into(),
            Size::U32 => self.word(address).load(order).into(),
            // SAFETY: as above.
            Size::U64 => unsafe { AtomicU64::from_ptr(word.cast()) }.load(order),
        })
    }

    #[inline]
    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        // SeqCst, both: full ordering is what the trait promises.
        let (Ok(was) | Err(was)) = self.word(address).compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
        Ok(was)
    }

    fn fetch_op(&self, address: Address, op: Arithmetic, argument: u32) -> Result<Option<u32>, Fault> {
        let word = self.word(address);
        // SeqCst: as above.
        let order = Ordering::SeqCst;
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
        // SAFETY: the promise of the caller of `Process::new`.
        unsafe { from.copy_to_nonoverlapping(to.as_mut_ptr(), to.len()) };
        Ok(())
    }

    fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
        // The process's own accesses do not fault here, so there is nothing to bring in.
        Err(Errno::EFAULT)
    }

    #[inline]
    fn resolve_shared(&self, _: Address, _: Access) -> Result<SharedKey, Errno> {
        // The word is shared by this process's threads and no other's.
        Ok(SharedKey::Anonymous)
    }

    #[inline]
    fn priority(&self) -> Priority {
        if mutated!(plain_priority) {
            return Priority::NORMAL;
        }
        self.lending.own_priority(self)
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

    #[inline(always)]
    fn preempt_off(&self) -> Deferral<'_, M> {
        held::enter(core::ptr::from_ref(self).cast());
        Deferral(self)
    }

    fn spin(&self, tries: u32) {
        spin(tries);
    }

    #[inline(always)]
    fn defer_wake(&self, engine: &Engine<Process<M>>, word: Word, count: u32, bits: u32) -> bool {
        held::is_any_held() && deferred::put(self, engine, word, count, bits)
    }

    #[inline]
    fn inheritance(&self) -> Option<&dyn Inheritance<Process<M>>> {
        Some(self)
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;

    #[test]
    fn waiters_are_as_large_as_is_said() {
        assert_eq!(size_of::<crate::waiter::Waiter<Process>>(), 112);
        assert_eq!(size_of::<crate::pi::claim::Claimant<Process>>(), 344);
    }
}
