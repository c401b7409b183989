//! The engine's host over a [`System`]: time-outs in ticks, words of the one address space, the
//! current task.

use core::ptr;
use core::sync::atomic::{AtomicU8, AtomicU32, Ordering};

use leeward_engine::{
    Access, Address, Clock, Deadline, Errno, Fault, Flag, Heap, Host, Inheritance, ParkEnd, Priority, Processors,
    RobustHost, SharedKey, Space,
};

use crate::{BlockEnd, System};

/// A system and its address space, as the engine sees them: one value stands for whichever task
/// calls, since the system knows which task is current.
///
/// [`Futexes`](crate::Futexes) makes it, and has an example.
pub struct Local<S: System> {
    pub(crate) system: S,
    pub(crate) space: Space<Local<S>>,
}

impl<S: System> Local<S> {
    /// Returns the system.
    pub fn system(&self) -> &S {
        &self.system
    }

    /// Returns true if `len` bytes from `address` on are a program's.
    fn is_user(&self, address: Address, len: u64) -> bool {
        let range = self.system.user_range();
        range.start <= address && address.checked_add(len).is_some_and(|end| end <= range.end)
    }

    pub(crate) fn word(&self, address: Address) -> Result<&AtomicU32, Fault> {
        if address % 4 != 0 || !self.is_user(address, 4) {
            return Err(Fault);
        }
        // SAFETY: in the range, all of which can be accessed so (`System`), and aligned.
        Ok(unsafe { AtomicU32::from_ptr(ptr::with_exposed_provenance_mut(address as usize)) })
    }

    fn bytes(&self, address: Address, len: usize) -> Result<impl Iterator<Item = &AtomicU8>, Fault> {
        if !self.is_user(address, len as u64) {
            return Err(Fault);
        }
        // SAFETY: as in `word`; a byte is always aligned.
        let byte = |at: u64| unsafe { AtomicU8::from_ptr(ptr::with_exposed_provenance_mut(at as usize)) };
        Ok((address..address + len as u64).map(byte))
    }

    /// Returns the first tick at which a deadline has passed; `None` if it never does. Rounded up,
    /// so no time-out is early.
    fn tick_of(&self, until: Deadline) -> Option<u64> {
        let at = match until.clock {
            _ if until.at == u64::MAX => return None,
            Clock::Monotonic => until.at,
            Clock::Realtime => until.at.saturating_sub(self.system.realtime_offset()),
        };
        Some(at.div_ceil(self.system.tick_nanos().get()))
    }
}

/// A time in which the system preempts no task on this processor.
pub struct Undisturbed<'a, S: System>(&'a S);

impl<S: System> Drop for Undisturbed<'_, S> {
    fn drop(&mut self) {
        self.0.enable_preemption();
    }
}

impl<S: System> Host for Local<S> {
    type Task = S::Task;
    type Memory = Heap;
    type Preemption<'a>
        = Undisturbed<'a, S>
    where
        S: 'a;

    fn space(&self) -> &Space<Local<S>> {
        &self.space
    }

    fn threads(&self) -> u32 {
        self.system.threads()
    }

    fn in_range(&self, address: Address) -> bool {
        self.is_user(address, 1)
    }

    fn load(&self, address: Address) -> Result<u32, Fault> {
        // Relaxed: what a wait learns by the word it learns by the wake, or by a load of its own.
        Ok(self.word(address)?.load(Ordering::Relaxed))
    }

    fn compare_exchange(&self, address: Address, old: u32, new: u32) -> Result<u32, Fault> {
        // SeqCst: full ordering is asked for.
        let (Ok(was) | Err(was)) = self.word(address)?.compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
        Ok(was)
    }

    fn read(&self, address: Address, to: &mut [u8]) -> Result<(), Fault> {
        let from = self.bytes(address, to.len())?;
        for (byte, from) in to.iter_mut().zip(from) {
            // Relaxed: a program that changes an argument during its call gets either value.
            *byte = from.load(Ordering::Relaxed);
        }
        Ok(())
    }

    fn fault_in(&self, _: Address, _: Access) -> Result<(), Errno> {
        // All of the range is there: a fault was an address outside of it.
        Err(Errno::EFAULT)
    }

    fn resolve_shared(&self, address: Address, _: Access) -> Result<SharedKey, Errno> {
        // One address space: memory is shared by its address.
        if self.in_range(address) { Ok(SharedKey::Anonymous) } else { Err(Errno::EFAULT) }
    }

    fn priority(&self) -> Priority {
        self.system.priority()
    }

    fn task(&self, _: &Flag) -> S::Task {
        self.system.current()
    }

    fn park(&self, flag: &Flag, until: Option<Deadline>) -> ParkEnd {
        let tick = until.and_then(|until| self.tick_of(until));
        if tick.is_some_and(|tick| self.system.ticks() >= tick) {
            return ParkEnd::TimedOut;
        }
        match self.system.block_current(&|| flag.is_waiting(), tick) {
            // Perhaps early, or because of the tick: the engine looks at the flag and parks again.
            BlockEnd::Ready => ParkEnd::Unparked,
            BlockEnd::Interrupted => ParkEnd::Interrupted,
        }
    }

    fn unpark(&self, task: S::Task) {
        self.system.make_ready(task);
    }

    fn now(&self, clock: Clock) -> u64 {
        match clock {
            Clock::Monotonic => self.system.uptime(),
            Clock::Realtime => self.system.uptime().saturating_add(self.system.realtime_offset()),
        }
    }

    fn preempt_off(&self) -> Undisturbed<'_, S> {
        self.system.disable_preemption();
        Undisturbed(&self.system)
    }

    fn inheritance(&self) -> Option<&dyn Inheritance<Local<S>>> {
        self.system.inheritance()
    }

    fn processors(&self) -> Option<&dyn Processors<Local<S>>> {
        self.system.processors()
    }
}

impl<S: System> RobustHost for Local<S> {
    fn thread_id(&self) -> u32 {
        self.system.thread_id()
    }

    fn robust_head(&self, thread: u32) -> Result<Address, Errno> {
        self.system.robust_head(thread).ok_or(Errno::ESRCH)
    }

    fn set_robust_head(&self, head: Address) {
        self.system.set_robust_head(head);
    }

    fn write(&self, address: Address, from: &[u8]) -> Result<(), Fault> {
        for (to, byte) in self.bytes(address, from.len())?.zip(from) {
            // Relaxed: the program reads it after its call has returned.
            to.store(*byte, Ordering::Relaxed);
        }
        Ok(())
    }
}
