//! Mutants: one fence, check or step taken out at a time, to show that some model or test notices.
//!
//! In an ordinary build [`mutated!`] is the constant `false`. With `--cfg leeward_mutants` the
//! environment variable `LEEWARD_ENGINE_MUTANT` names the one that is active; `ci/model` demands
//! that each one dies.

/// The names, in one place: `name: what is taken out`.
#[cfg(leeward_mutants)]
pub(crate) const ALL: &[(&str, &str)] = &[
    ("wait_fence", "the waiter's fence between its filter bit and its check of the word (pair W)"),
    ("wake_fence", "the waker's fence between the word and the filter (pair W)"),
    ("check_outside", "the check of the word under the bucket's lock"),
    ("leave_recheck", "asking again for the waiter's bucket, when its lock is held"),
    ("leave_decision", "who leaves asking whether it was woken before"),
    ("unlink_left", "who left taking itself out of the list"),
    ("migrated_recheck", "asking again whether the bucket has migrated, when its lock is held"),
    ("migrated_bit", "the bit in the lock word of a bucket that has migrated, as a wake without a lock sees it"),
    ("global_user_hold", "holding a space in the global table as long as a waiter is there"),
    ("pass_on", "passing on the wake of a dropped future"),
    ("new_waker", "telling the context that polled last"),
    ("compare_inside", "the comparison of a requeue under the locks"),
    ("lock_acquire", "the acquire of a bucket's lock"),
    ("lock_release", "the release of a bucket's lock"),
    ("wake_release", "the release of the decision to wake"),
    ("group_flag", "telling the flag of a group that one of it is woken"),
    ("entry_mask", "masking the low bit of a robust list's pointers"),
    ("cap_off_by_one", "the cap of a robust list, by one"),
    ("next_after_death", "reading the next entry before a lock is given up"),
    ("death_owner", "asking whether the dying thread owns a lock"),
    ("death_waiters", "keeping the waiters bit of a dead owner's lock"),
    ("group_settle", "waiting for the decision of the waker that told the group's flag"),
    ("chain_check", "following a chain of owners to find a circle"),
    ("boost_undone", "telling the host that a thread is lent nothing any more"),
    ("hand_off_waiters", "the waiters bit of a lock that is handed off"),
    ("unlock_owner", "asking whether the word names who unlocks"),
    ("pi_leave_decision", "who leaves asking whether it was handed the lock before"),
    ("find_inside", "asking whether an owner exits under the lock under which its exit looks for claims"),
    ("pi_unsettled", "remembering that a lock's word does not name yet the waiter that it is assigned to"),
    ("requeue_target", "asking whether a waiter named the lock that it is moved to"),
    ("barrier_before", "membarrier's barrier before its interrupts (1)"),
    ("barrier_after", "membarrier's barrier after its acknowledgments (6)"),
    ("barrier_wait", "membarrier waiting for acknowledgments"),
    ("barrier_singly_wait", "the same where it has no memory for the mask"),
    ("table_pin", "using in the whole call the table that it pinned"),
    ("group_count", "counting a group's node before it is queued"),
    ("leave_resumed", "going on with leaving where the host panicked"),
    ("handle_late", "taking a waiter's handle before the decision to wake it, with which it may be gone"),
    ("unpark_inside", "unparking behind the bucket's lock"),
    ("requeue_bitset", "keeping a waiter's bitset when it is moved"),
    (
        "requeue_filter_bit",
        "the filter bit of the waiters that a requeue moved, in the lock word of the bucket where they are",
    ),
    ("requeue_fence", "the fence of a requeue between the filter and whatever its caller reads next (pair W)"),
    ("adopt_filter_bit", "the filter bit of waiters that came with a larger table"),
    ("cutoff_table", "asking whether a wake's sequence numbers are still those of the table that it began in"),
    ("cutoff", "the sequence number below which waiters are a call's"),
    ("wake_queue_rest", "unparking the rest where the host panicked"),
    ("migrate_rest", "migrating the rest of a bucket where the host panicked"),
    ("woken_acquire", "the acquire with which a future finds that it was woken"),
    ("waiting_acquire", "the acquire with which a host finds that there is no more reason to wait"),
    ("leave_acquire", "the acquire with which who leaves finds that it was woken"),
    ("put_release", "the release of the bucket that a waiter was moved to"),
    ("taken_release", "the release of a waiter that was taken out though it had left"),
    ("first_release", "the release of a space's first table"),
    ("sequence_moves", "going on with a bucket's sequence numbers in the larger table"),
    ("urgent_first", "queueing the urgent ones first"),
    ("urgency_moves", "giving a claim whose urgency changes another place among those to its lock"),
    ("rebuild_filter", "looking at those who wait when a bucket's filter is rebuilt"),
    ("claim_engine", "asking whether a waiter with priority inheritance waits by this engine"),
    ("top_waiter_bucket", "asking whether a lock's top waiter is in the bucket that is locked"),
    ("walk_rest", "waking those whose locks were marked when the host panicked"),
    ("exit_rest", "handing the rest of a thread's locks over when the host panicked"),
    ("gathered_rest", "waking those that were gathered when an executor panicked"),
    ("spin_back", "who ends a spin asking whether it was woken meanwhile"),
    ("spin_unpark", "unparking who does not spin"),
    ("recheck", "comparing a word again before the sleep where a handler may have run"),
    ("recheck_moved", "leaving a moved waiter alone, whose first word changed"),
    ("spin_recheck", "asking for the word to be compared again after a spin in vain, where interruptions are not told"),
    ("park_recheck", "sleeping only if nothing interrupted the thread since the word was compared"),
    ("spin_long", "ending a spin whose yields take long"),
    ("spin_near", "not yielding where the deadline is near"),
    ("spin_busy", "telling new threads that yields take long"),
    ("spin_real_time", "not yielding in real time"),
    ("defer_wake", "putting a handler's wake off where its thread holds a lock"),
    ("defer_made", "making the wakes that were put off"),
    ("deferred_rest", "making the rest of them when an executor panicked"),
    ("short_named", "putting a handler's wake off where its thread holds a lock of the host's own"),
    ("exit_over", "owning nothing when the exit was told"),
    ("exit_wake", "waking who waits for an exit"),
    ("exit_number", "finding out whose the number of a dead thread is"),
    ("exit_fork", "forgetting in the child of a fork who told its exit in the parent"),
    ("plain_priority", "the priority of a waiting thread in the parking lot"),
    ("schedule_fresh", "asking again how a thread is scheduled"),
    ("holder_boost", "lending a lock's holder the urgency of a real-time thread that wants it"),
    ("holder_time", "waiting for one holder for a short time only"),
    ("spin_nap", "sleeping where the holder is not to be found"),
    ("wake_fence_own", "the waker's fence where it looks at its space's own table (pair W)"),
];

/// Whether the named mutant is the active one.
#[cfg(leeward_mutants)]
fn is(name: &str) -> bool {
    static ACTIVE: std::sync::OnceLock<std::string::String> = std::sync::OnceLock::new();
    let active = ACTIVE.get_or_init(|| {
        let active = std::env::var("LEEWARD_ENGINE_MUTANT").unwrap_or_default();
        let known = active.is_empty() || ALL.iter().any(|(name, _)| *name == active);
        assert!(known, "LEEWARD_ENGINE_MUTANT={active}: there is no such mutant");
        active
    });
    debug_assert!(ALL.iter().any(|(known, _)| *known == name), "{name} is not listed");
    active == name
}

/// What a place has found out: whether its mutant is the active one. Asked once, so that tests that
/// go through a call step by step do not go through this each time.
#[cfg(leeward_mutants)]
pub(crate) struct Known(core::sync::atomic::AtomicU8);

#[cfg(leeward_mutants)]
impl Known {
    pub(crate) const fn not_yet() -> Known {
        Known(core::sync::atomic::AtomicU8::new(0))
    }

    #[inline]
    pub(crate) fn is(&self, name: &str) -> bool {
        use core::sync::atomic::Ordering::Relaxed;
        // Relaxed: a number, the same whoever finds it out.
        match self.0.load(Relaxed) {
            0 => {
                let active = is(name);
                self.0.store(1 + u8::from(active), Relaxed);
                active
            }
            known => known == 2,
        }
    }
}

#[cfg(leeward_mutants)]
macro_rules! mutated {
    ($name:ident) => {{
        static KNOWN: $crate::mutant::Known = $crate::mutant::Known::not_yet();
        KNOWN.is(stringify!($name))
    }};
}
#[cfg(not(leeward_mutants))]
macro_rules! mutated {
    ($name:ident) => {
        false
    };
}

/// The ordering `$order`, which the mutant `$name` weakens: to relaxed, or to the ordering after the arrow.
macro_rules! order {
    ($order:ident, $name:ident) => {
        $crate::mutant::order!($order, $name => Relaxed)
    };
    ($order:ident, $name:ident => $weaker:ident) => {
        if $crate::mutant::mutated!($name) {
            core::sync::atomic::Ordering::$weaker
        } else {
            core::sync::atomic::Ordering::$order
        }
    };
}

/// Does `$step`, which the mutant `$name` leaves out.
macro_rules! step {
    ($name:ident, $step:expr) => {
        if !$crate::mutant::mutated!($name) {
            $step;
        }
    };
}

/// Evaluates `$condition`, in any case, and returns it; the mutant `$name` takes it for false.
macro_rules! check {
    ($name:ident, $condition:expr) => {
        $condition && !$crate::mutant::mutated!($name)
    };
}

pub(crate) use {check, mutated, order, step};
