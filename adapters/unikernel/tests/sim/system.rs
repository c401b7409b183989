//! The simulated machine as a [`System`]: what an author of a kernel writes.

use std::num::NonZeroU64;
use std::ops::Range;

use leeward_engine::{Abilities, Errno, Inheritance, Interrupt, Owner, Priority, Processors, Space, Thread};
use leeward_unikernel::{BlockEnd, Local, System};

use super::{CURRENT, Place, Sim, TICK, WORDS};

// SAFETY: the memory is words of the machine, which lives as long as this; stacks are those of
// threads, which end after their programs.
unsafe impl System for Sim {
    type Task = usize;

    fn current(&self) -> usize {
        self.0.point();
        CURRENT.get()
    }

    fn thread_id(&self) -> u32 {
        CURRENT.get() as u32 + 1
    }

    fn threads(&self) -> u32 {
        self.0.lock().tasks.len() as u32
    }

    fn block_current(&self, still_waiting: &dyn Fn() -> bool, until: Option<u64>) -> BlockEnd {
        // The last point at which the task may be preempted between the comparison and the sleep.
        self.0.point();
        let me = CURRENT.get();
        if !self.0.marks_first {
            if !still_waiting() {
                return BlockEnd::Ready;
            }
            self.0.point();
        }
        let mut state = self.0.lock();
        assert_eq!(state.disabled, 0, "a task blocks with preemption enabled");
        state.tasks[me].place = Place::Blocked(until);
        let is_due = state.tasks[me].signal || until.is_some_and(|tick| tick <= state.time / TICK);
        if is_due || self.0.marks_first && !still_waiting() {
            state.tasks[me].place = Place::Running;
        } else {
            self.0.switch(state);
            state = self.0.lock();
        }
        if core::mem::take(&mut state.tasks[me].signal) || state.stuck {
            return BlockEnd::Interrupted;
        }
        BlockEnd::Ready
    }

    fn make_ready(&self, task: usize) {
        self.0.point();
        self.0.lock().make_ready(task);
        self.0.point();
    }

    fn ticks(&self) -> u64 {
        self.0.lock().time / TICK
    }

    fn tick_nanos(&self) -> NonZeroU64 {
        NonZeroU64::new(TICK).unwrap()
    }

    fn realtime_offset(&self) -> u64 {
        self.0.lock().offset
    }

    fn disable_preemption(&self) {
        self.0.point();
        self.0.lock().disabled += 1;
    }

    fn enable_preemption(&self) {
        self.0.lock().disabled -= 1;
        self.0.point();
    }

    fn user_range(&self) -> Range<u64> {
        self.0.address(0)..self.0.address(0) + 4 * WORDS as u64
    }

    fn robust_head(&self, thread: u32) -> Option<u64> {
        let number = if thread == 0 { CURRENT.get() } else { thread as usize - 1 };
        self.0.lock().tasks.get(number).map(|task| task.robust_head)
    }

    fn set_robust_head(&self, head: u64) {
        self.0.lock().tasks[CURRENT.get()].robust_head = head;
    }

    fn inheritance(&self) -> Option<&dyn Inheritance<Local<Sim>>> {
        Some(self)
    }

    fn processors(&self) -> Option<&dyn Processors<Local<Sim>>> {
        self.0.serves_membarrier.then_some(self)
    }
}

impl Sim {
    /// Sets what the current task's number names.
    pub fn set_owner(&self, owner: Owner) {
        self.0.lock().tasks[CURRENT.get()].owner = owner;
    }

    pub fn is_lent(&self, task: usize) -> bool {
        self.0.lock().tasks[task].lent
    }
}

impl Inheritance<Local<Sim>> for Sim {
    fn current(&self) -> Thread {
        let number = self.thread_id();
        Thread { id: number.into(), number }
    }

    fn find(&self, number: u32) -> Owner {
        let state = self.0.lock();
        number.checked_sub(1).and_then(|at| state.tasks.get(at as usize)).map_or(Owner::Nobody, |task| task.owner)
    }

    fn priority(&self, thread: u64) -> Priority {
        // The second task is urgent, the others are not.
        if thread == 2 { Priority(1) } else { Priority::NORMAL }
    }

    fn lend(&self, thread: u64, priority: Option<Priority>) {
        self.0.lock().tasks[thread as usize - 1].lent = priority.is_some_and(|priority| priority < Priority::NORMAL);
    }
}

/// One processor: each barrier is a barrier of the caller's own.
impl Processors<Local<Sim>> for Sim {
    fn abilities(&self) -> Abilities {
        Abilities { delayed: false, expedited: true, sync_core: false, rseq: false }
    }

    fn count(&self) -> u32 {
        1
    }

    fn online(&self, _: u32) -> u64 {
        1
    }

    fn alone(&self) -> bool {
        true
    }

    fn pin(&self) -> u32 {
        0
    }

    fn unpin(&self) {}

    fn full_barrier(&self) {}

    fn ran_on(&self, _: u32) -> u64 {
        1
    }

    fn inspect(&self, _: u32, _: &mut dyn FnMut(&Space<Local<Sim>>)) {}

    fn send(&self, _: u32, _: Interrupt) {
        unreachable!("there is no other processor");
    }

    fn wait(&self, _: u32) {}

    fn here(&self, _: Interrupt) {}

    fn grace_period(&self) -> Result<(), Errno> {
        Err(Errno::EINVAL)
    }
}
