//! Callbacks around forks: none is running when a child is made that adopts what it inherits.

use core::ptr;
use core::time::Duration;

use super::super::head::Head;
use super::Queue;
use super::reclaim::in_order;
use crate::atomic::{AtomicU32, Ordering};
use crate::futex::{self, Deadline, Private, Timeout};
use crate::mutant::{check, step};

/// How long a fork waits until no callback is running, so that none is lost to a child that adopts them.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
const NAP: Duration = Duration::from_micros(50);

impl Queue {
    /// Waits until no fork is under way; for some time, since the parent's handler is not sure to come.
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

    /// Has children run what they inherit.
    pub(in super::super) fn set_child_adopts(&self, adopts: bool) {
        // Relaxed: read by the thread that forks, which was told, or comes before.
        self.child_adopts.store(u32::from(adopts), Ordering::Relaxed);
    }

    fn child_adopts(&self) -> bool {
        // Relaxed: as above.
        self.child_adopts.load(Ordering::Relaxed) != 0
    }

    /// Before a fork: sees to it, for some time, that no callback runs. `heavy` is the domain's heavy fence.
    pub(in super::super) fn pause(&self, heavy: impl FnOnce()) {
        if !self.child_adopts() {
            return;
        }
        // Relaxed: ordered by the fence.
        self.pausing.fetch_add(1, Ordering::Relaxed);
        if self.stats().callbacks_queued == 0 || self.runs_here() {
            return;
        }
        // Pair L, heavy half: the request is before the look at what runs. Partner: the light fence in `begin`.
        step!(pause_heavy, heavy());
        let end = Deadline::after::<Private>(LONGEST_PAUSE);
        // Acquire: partner of the release in `end`.
        while !self.current.load(Ordering::Acquire).is_null() && !end.has_passed::<Private>() {
            let napping = AtomicU32::new(0);
            futex::wait(&napping, 0, Timeout::after::<Private>(NAP));
        }
    }

    /// After the fork, in the parent: callbacks go on.
    pub(in super::super) fn go_on(&self) {
        // Relaxed, both: a count; the wake is a system call. (There is none to be taken away where the child does not
        // adopt, or was only said to between the handlers.)
        let counted = self.pausing.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| count.checked_sub(1));
        if counted.is_ok() {
            futex::wake(&self.pausing, futex::ALL);
        }
    }

    /// In the child of a fork: what was queued is the parent's, and the copy here is forgotten or adopted. How many
    /// were being run by a thread that is not here, and are lost to a child that adopts the others.
    pub(in super::super) fn after_fork(&self) -> u64 {
        // Relaxed, all: the child has one thread.
        let current = self.current.swap(ptr::null_mut(), Ordering::Relaxed);
        let batch = self.batch.load(Ordering::Relaxed);
        let last = self.incoming.last.swap(ptr::null_mut(), Ordering::Relaxed);
        let runs_here = self.runs_here();
        self.reclaiming.reset();
        self.worker.after_fork();
        for word in [&self.pausing, &self.waiting] {
            word.store(0, Ordering::Relaxed);
        }
        self.runner.store(0, Ordering::Relaxed);
        self.incoming.held.reset();
        let adopted = if check!(fork_adopts, self.child_adopts()) {
            // SAFETY: whole at any instruction but within `TAKING`, where what is taken is in neither list; and this
            // thread's alone now.
            let queued = unsafe { in_order(last, ptr::null_mut()) };
            // SAFETY: as above.
            unsafe { append(batch, queued) }
        } else {
            ptr::null_mut()
        };
        self.batch.store(adopted, Ordering::Relaxed);
        // SAFETY: as above.
        self.inherited.store(unsafe { length(adopted) }, Ordering::Relaxed);
        let taken = self.finished.load(Ordering::Relaxed) + u64::from(!adopted.is_null());
        self.taken.store(taken, Ordering::Relaxed);
        // One that was told and is in the batch still was not begun.
        let is_lost = !current.is_null() && !ptr::eq(current, batch) && !runs_here;
        u64::from(is_lost && self.child_adopts())
    }

    /// Returns true if the child has adopted callbacks.
    pub(in super::super) fn has_inherited(&self) -> bool {
        // Relaxed: the child has one thread.
        self.inherited.load(Ordering::Relaxed) != 0
    }
}

/// Two lists in order, one after the other.
///
/// # Safety
/// They are the caller's alone.
unsafe fn append(first: *mut Head, second: *mut Head) -> *mut Head {
    let mut end = first;
    // SAFETY: the caller's promise.
    while let Some(this) = unsafe { end.as_ref() } {
        end = this.next();
        if end.is_null() {
            this.set_next(second);
        }
    }
    if first.is_null() { second } else { first }
}

/// # Safety
/// They are the caller's alone.
unsafe fn length(first: *mut Head) -> u64 {
    let (mut count, mut head) = (0, first);
    // SAFETY: the caller's promise.
    while let Some(this) = unsafe { head.as_ref() } {
        (count, head) = (count + 1, this.next());
    }
    count
}
