//! Callbacks around forks: where the child adopts what it inherits, the fork waits, for a bounded
//! time, until no callback is running.

use core::ptr;
use core::time::Duration;

use super::super::head::Head;
use super::Queue;
use super::reclaim::in_order;
use super::twice::deferred_twice;
use crate::atomic::{AtomicU32, Ordering};
use crate::futex::{self, Deadline, Private, Timeout};
use crate::mutant::{check, step};
use crate::rcu::backing::State;

/// How long a fork waits at most for a callback to end, so that it is not lost to a child that
/// adopts callbacks; and how long callbacks wait for a fork.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// How long a fork sleeps between two looks.
const NAP: Duration = Duration::from_micros(50);

impl Queue {
    /// Waits until no fork is under way, for `LONGEST_PAUSE` at most, since the parent's handler
    /// may never run.
    #[cold]
    pub(super) fn wait_for_forks(&self) {
        let end = Deadline::after::<Private>(LONGEST_PAUSE);
        loop {
            // Relaxed, both: a count.
            let pausing = self.pausing.load(Ordering::Relaxed);
            if pausing == 0 {
                return;
            }
            if end.has_passed::<Private>() {
                let _ = self.pausing.compare_exchange(pausing, 0, Ordering::Relaxed, Ordering::Relaxed);
                return;
            }
            futex::wait(&self.pausing, pausing, Timeout::At(end));
        }
    }

    /// Sets whether the children of forks run the callbacks that they inherit.
    pub(in crate::rcu) fn set_child_adopts(&self, adopts: bool) {
        // Relaxed: read by the thread that forks. If that is another thread, the program has
        // ordered the two, or does not care which comes first.
        self.child_forgets.store(u32::from(!adopts), Ordering::Relaxed);
    }

    fn child_adopts(&self) -> bool {
        // Relaxed: as in `set_child_adopts`.
        self.child_forgets.load(Ordering::Relaxed) == 0
    }

    /// Keeps callbacks from beginning, and waits until none runs, for `LONGEST_PAUSE` at most.
    /// Called before a fork; `heavy` is the domain's heavy fence.
    pub(in crate::rcu) fn pause(&self, heavy: impl FnOnce()) {
        if !self.child_adopts() {
            return;
        }
        // Relaxed: ordered by the fence. If nothing seems to be queued, nothing orders it: a callback
        // that is queued and begun at this very moment may be lost to the child, which counts it.
        self.pausing.fetch_add(1, Ordering::Relaxed);
        if self.stats().callbacks_queued == 0 || self.runs_here() {
            return;
        }
        // Pair L, heavy half. Partner: the light fence in `begin`.
        // - If the worker's store comes first, we see that a callback runs and wait for its end.
        // - If this fence comes first, the worker sees the fork and does not begin the callback.
        step!(pause_heavy, heavy());
        let end = Deadline::after::<Private>(LONGEST_PAUSE);
        // Acquire: partner of the release in `end`.
        while !self.current.load(Ordering::Acquire).is_null() && !end.has_passed::<Private>() {
            let napping = AtomicU32::new(0);
            futex::wait(&napping, 0, Timeout::after::<Private>(NAP));
        }
    }

    /// Lets callbacks go on. Called after a fork, in the parent.
    pub(in crate::rcu) fn go_on(&self) {
        // Relaxed, both: a count; the wake is a system call. (`pause` counted nothing where the
        // child does not adopt, or was made to adopt between the two handlers.)
        let counted = self.pausing.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
        if counted.is_ok() {
            futex::wake(&self.pausing, futex::ALL);
        }
    }

    /// Repairs the queue in the child of a fork: what was queued belongs to the parent, and the
    /// copy is forgotten or adopted.
    ///
    /// Returns the number of callbacks that are lost to a child that adopts the others, since a
    /// thread that does not exist in the child was running them.
    pub(in crate::rcu) fn after_fork(&self, domain: &'static State) -> u64 {
        // Relaxed, all: the child has one thread.
        let current = self.current.swap(ptr::null_mut(), Ordering::Relaxed);
        let batch = self.batch.load(Ordering::Relaxed);
        let last = self.incoming.last.swap(ptr::null_mut(), Ordering::Relaxed);
        let runs_here = self.runs_here();
        self.reclaiming.reset();
        self.worker.after_fork();
        self.pausing.store(0, Ordering::Relaxed);
        // `waiting` stays: this thread may have forked in a signal handler while it waited, and will
        // take itself off. For the others, the worker makes a needless system call a batch.
        self.runner.store(0, Ordering::Relaxed);
        self.incoming.held.reset();
        let adopted = if check!(fork_adopts, self.child_adopts()) {
            // SAFETY: the stack is whole at any instruction (within `TAKING`, what is taken is in
            // neither list), and now it is this thread's alone.
            let queued = unsafe { in_order(last) }.unwrap_or_else(|head| deferred_twice(domain, head));
            // SAFETY: as above; the batch is whole and this thread's alone, too.
            unsafe { append(batch, queued) }
        } else {
            ptr::null_mut()
        };
        self.batch.store(adopted, Ordering::Relaxed);
        // SAFETY: as above.
        self.inherited.store(unsafe { length(adopted) }, Ordering::Relaxed);
        let taken = self.finished.load(Ordering::Relaxed) + u64::from(!adopted.is_null());
        self.taken.store(taken, Ordering::Relaxed);
        // A head that was announced in `current` and is still in the batch was not begun.
        let is_lost = !current.is_null() && !ptr::eq(current, batch) && !runs_here;
        u64::from(is_lost && self.child_adopts())
    }

    /// Returns true if the child has adopted callbacks.
    pub(in crate::rcu) fn has_inherited(&self) -> bool {
        // Relaxed: the child has one thread.
        self.inherited.load(Ordering::Relaxed) != 0
    }
}

/// Appends a list of heads that were taken to another, and returns the first head.
///
/// # Safety
/// Both lists are the caller's alone.
unsafe fn append(first: *mut Head, second: *mut Head) -> *mut Head {
    let mut end = first;
    // SAFETY: the caller's promise.
    while let Some(this) = unsafe { end.as_ref() } {
        end = this.next_unmarked();
        if end.is_null() {
            this.set_taken_next(second);
        }
    }
    if first.is_null() { second } else { first }
}

/// Returns the number of heads in a list of heads that were taken.
///
/// # Safety
/// The list is the caller's alone.
unsafe fn length(first: *mut Head) -> u64 {
    let (mut count, mut head) = (0, first);
    // SAFETY: the caller's promise.
    while let Some(this) = unsafe { head.as_ref() } {
        (count, head) = (count + 1, this.next_unmarked());
    }
    count
}
