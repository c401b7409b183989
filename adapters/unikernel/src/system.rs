//! What the adapter asks of a unikernel: its tasks, its run queues, its ticks, the range of its
//! memory.

use core::num::NonZeroU64;
use core::ops::Range;

use leeward_engine::{Inheritance, Priority, Processors};

use crate::Local;

/// The reason why [`System::block_current`] returned.
///
/// [`System`] is shown by the example of [`Futexes`](crate::Futexes).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockEnd {
    /// The task was made ready, its tick came, or it did not block at all.
    Ready,
    /// A signal is to be handled, or the task is to exit.
    Interrupted,
}

/// A unikernel or library OS: one address space, tasks on run queues, timers that count ticks.
///
/// Only [`block_current`](Self::block_current) may switch to another task. The others must not
/// sleep, and none may call the engine.
///
/// # Safety
/// - Each byte of [`user_range`](Self::user_range) can be read and written, at any time as long as
///   this value lives; addresses in it have exposed provenance; programs change futex words by
///   atomic operations; no reference of Rust is to any of it but to atomics.
/// - The stack of a task that is inside `block_current` stays, with what lies on it, until
///   `block_current` has returned or unwound: the task's waiter lies there. A task is killed by
///   [`BlockEnd::Interrupted`], and its stack is freed after it has returned through the engine.
pub unsafe trait System: Sync + Sized {
    /// A handle of a task: a counted reference, or a number that is not used again. It may be made
    /// ready long after its wait, and after the task's end.
    type Task: Send + 'static;

    /// Returns a handle of the current task.
    fn current(&self) -> Self::Task;

    /// Returns the current task's thread id, by which programs name lock owners.
    fn thread_id(&self) -> u32;

    /// Returns an estimate of how many threads there are. A table is sized by it.
    fn threads(&self) -> u32;

    /// Blocks the current task until it is made ready, or the tick `until` has come (`None`: no
    /// tick), or a signal is pending. It may return early. In this order:
    ///
    /// 1. Disable preemption, take the run queue's lock, mark the task as blocked. From here on
    ///    [`make_ready`](Self::make_ready) has an effect on it.
    /// 2. Call `still_waiting`. If it answers false, or a signal is pending, or the tick has come:
    ///    mark the task as running again, and return.
    /// 3. Put `until` into the timer list, switch to another task, and on return take it out.
    ///
    /// A waker changes what `still_waiting` reads, and then calls `make_ready`:
    ///
    /// - If the change comes before step 2, the answer is false, and the task does not block.
    /// - If it comes after, so does `make_ready`, and finds a task that is marked as blocked.
    ///
    /// With the first two steps exchanged, a wake between them finds a running task, does nothing,
    /// and is lost. On several processors, `make_ready` must also wait until the registers of the
    /// task are saved, or leave the switch to the processor that saves them.
    fn block_current(&self, still_waiting: &dyn Fn() -> bool, until: Option<u64>) -> BlockEnd;

    /// Makes a task ready if it is marked as blocked; does nothing otherwise. No lock of the
    /// engine's is held.
    fn make_ready(&self, task: Self::Task);

    /// Returns how many ticks there have been. Tick `t` comes when `t` times
    /// [`tick_nanos`](Self::tick_nanos) have passed since the first.
    fn ticks(&self) -> u64;

    /// Returns the time from one tick to the next, in nanoseconds.
    fn tick_nanos(&self) -> NonZeroU64;

    /// Returns the monotonic time in nanoseconds, which is never behind the true one: relative
    /// time-outs begin here. By default the end of the current tick. A system with a finer clock
    /// than its ticks reads that, and time-outs are nearer by up to a tick.
    fn uptime(&self) -> u64 {
        self.ticks().saturating_add(1).saturating_mul(self.tick_nanos().get())
    }

    /// Returns what is added to the monotonic time to have the time of day. A system that sets its
    /// clock makes all tasks ready that are blocked with a tick: they compute it anew.
    fn realtime_offset(&self) -> u64 {
        0
    }

    /// Disables preemption on this processor, and interrupts too if their handlers wake. Calls
    /// nest. Called before a bucket's lock is taken.
    fn disable_preemption(&self);

    /// Undoes one [`disable_preemption`](Self::disable_preemption).
    fn enable_preemption(&self);

    /// Returns the addresses at which a program's memory can be. Others are `EFAULT`.
    fn user_range(&self) -> Range<u64>;

    /// Returns where the robust list of a thread begins, 0 for none; `None` if there is no such
    /// thread. Thread 0 is the current one.
    fn robust_head(&self, thread: u32) -> Option<u64>;

    /// Sets where the current thread's robust list begins.
    fn set_robust_head(&self, head: u64);

    /// Returns the current task's urgency, if it is a real-time one: lower numbers are woken first.
    fn priority(&self) -> Priority {
        Priority::NORMAL
    }

    /// Returns the threads and their priorities. Without them locks with priority inheritance are
    /// `ENOSYS`.
    fn inheritance(&self) -> Option<&dyn Inheritance<Local<Self>>> {
        None
    }

    /// Returns the processors, for membarrier. Without them it is `ENOSYS`.
    fn processors(&self) -> Option<&dyn Processors<Local<Self>>> {
        None
    }
}
