//! The mutants: what each takes out, and what must notice.
//!
//! Each line in a mutant's braces is a test of which `ci/mutants` or another script demands that it
//! notices, as `program: test`; with `if` behind it, where not every machine can run it.
//!
//! | program | notices how | script |
//! |---|---|---|
//! | `loom` | a model of the crate's own code under loom, by its path, fails | `ci/model` |
//! | a test program | the test fails or hangs, on each run and every processor | `ci/mutants` |
//!
//! Conditions: `x86_64` (tests that step by the processor's trap flag), `real_time` (threads may be
//! `SCHED_FIFO`), `chosen_thread_ids` (`/proc/sys/kernel/ns_last_pid` can be written).
//!
//! The scripts read this file as text: a line an entry.

// Without a feature, what it brings has no mutants.
#![cfg_attr(not(feature = "std"), allow(dead_code))]

use core::ffi::CStr;

/// The environment variable that names the active mutant.
pub(super) const VARIABLE: &CStr = c"LEEWARD_ENGINE_MUTANT";

mutants! {
    /// The waiter's fence between its filter bit and its check of the word (pair W).
    wait_fence {
        loom: loom::waits::a_wait_and_a_wake,
    }
    /// The waker's fence between the word and the filter (pair W).
    wake_fence {
        loom: loom::waits::a_wait_and_a_wake,
        loom: loom::waits::a_wait_and_a_wake_of_each_of_several_keys,
    }
    /// The check of the word under the bucket's lock.
    check_outside {
        loom: loom::waits::a_wait_and_a_wake,
    }
    /// The check under the lock that a leaving waiter is still in that bucket.
    leave_recheck {
        loom: loom::waits::leaving_while_being_requeued_and_woken,
        loom: loom::resize::leaving_while_the_table_grows,
    }
    /// The leaving waiter's check that it was not woken before.
    leave_decision {
        loom: loom::waits::a_wait_that_times_out_eats_no_wake,
    }
    /// The unlinking of a waiter that has left.
    unlink_left {
        loom: loom::waits::a_wait_that_times_out_eats_no_wake,
    }
    /// The check under the lock that the bucket has not migrated.
    migrated_recheck {
        loom: loom::resize::a_wait_and_a_wake_while_the_table_grows,
    }
    /// The migrated bit of a bucket lock word, as a wake that takes no lock sees it.
    migrated_bit {
        loom: loom::resize::a_wait_and_a_wake_while_the_table_grows,
    }
    /// The count of a space's waiters in the global table, which keeps the space there.
    global_user_hold {
        loom: loom::resize::a_wait_and_a_wake_while_the_space_gets_its_table,
    }
    /// The passing on of a dropped future's wake.
    pass_on {
        loom: loom::several::a_future_that_is_dropped_passes_its_wake_on,
    }
    /// The exchange of a future's waker for that of the last poll's context.
    new_waker {
        loom: loom::several::a_future_polled_anew_tells_the_last_context,
    }
    /// The comparison of a requeue under the locks.
    compare_inside {
        loom: loom::waits::a_requeue_that_compares_moves_no_waiter_of_another_value,
    }
    /// The comparison of a word's whole width: all words are read as ones of 32 bits.
    load_size {
        sizes: the_upper_half_of_a_long_word_is_compared,
        sizes: a_byte_is_compared_without_its_neighbours,
    }
    /// The refusal of sizes that the host does not serve.
    size_served {
        sizes: a_size_that_the_host_does_not_serve_is_refused,
    }
    /// The refusal of an expected value that the word cannot hold.
    size_holds {
        sizes: a_value_that_the_word_cannot_hold_is_refused,
    }
    /// The refusal of words of other sizes by operations that change 32 bits.
    one_size {
        sizes: operations_that_change_a_word_take_words_of_32_bits_alone,
    }
    /// The refusal of a node beside a word of another size than 32 bits.
    node_beside_size {
        sizes: a_node_is_beside_words_of_32_bits_alone,
    }
    /// The acquire of a bucket's lock.
    lock_acquire {
        loom: loom::waits::a_wait_and_a_wake,
    }
    /// The release of a bucket's lock.
    lock_release {
        loom: loom::waits::a_wait_and_a_wake,
    }
    /// The release of the decision to wake.
    wake_release {
        loom: loom::several::a_future_that_is_dropped_passes_its_wake_on,
    }
    /// The store to a group's flag when one of its waiters is chosen.
    group_flag {
        loom: loom::several::a_wait_on_two_words_and_a_wake_of_one,
    }
    /// The masking of the low bit of a robust list's pointers.
    entry_mask {
        robust: gvisor_the_bit_of_a_lock_that_inherits_is_no_part_of_the_pointer_and_leaves_the_wake_out,
    }
    /// The exact cap of a robust list's walk, which goes one entry further.
    cap_off_by_one {
        robust: a_long_list_is_cut_at_the_cap_and_the_pending_lock_marked_all_the_same,
    }
    /// The order in which a walk reads the next entry before it marks a lock.
    next_after_death {
        robust: the_next_entry_is_read_before_the_lock_is_given_up,
    }
    /// The check that the dying thread owns the lock.
    death_owner {
        robust: starryos_494_a_lock_that_another_owns_is_left_alone,
    }
    /// The waiters bit of a lock that is unlocked while other threads wait.
    keep_waiters {
        robust_unlock: a_waiter_that_is_killed_strands_no_other_where_the_waiters_bit_is_kept,
        loom: loom::waits::a_waiter_beyond_the_one_that_an_unlock_wakes_is_told_by_the_word,
    }
    /// The order of an unlock in one call: the word first, then the pending entry.
    pending_after_word {
        robust_unlock: a_word_that_cannot_be_freed_leaves_the_pending_entry,
        robust_unlock_pi: unlock_pi_hands_over_and_then_clears_the_pending_entry,
    }
    /// The wake of an unlock in one call whose write to the pending entry panicked.
    freed_wakes {
        robust_unlock: a_panic_in_the_write_to_the_pending_entry_wakes_the_waiters,
    }
    /// The waiters bit of a dead owner's lock.
    death_waiters {
        robust: the_pending_lock_by_its_word,
    }
    /// The wait for the decision of the waker that stored to the group's flag.
    group_settle {
        loom: loom::several::a_wait_on_two_words_and_a_wake_of_one,
    }
    /// The walk along a chain of owners that finds a circle.
    chain_check {
        inheritance: who_would_wait_for_itself_is_told,
    }
    /// The host's call with which a thread is lent nothing any more.
    boost_undone {
        inheritance: an_owner_is_lent_what_its_most_urgent_waiter_has_as_long_as_it_waits,
    }
    /// The waiters bit of a lock that is handed off.
    hand_off_waiters {
        inheritance: the_most_urgent_gets_the_lock_and_of_equals_the_first,
    }
    /// The check that the word names the unlocking thread.
    unlock_owner {
        inheritance: a_strangers_unlock_and_words_that_contradict,
    }
    /// The leaving waiter's check that it was not handed the lock before.
    pi_leave_decision {
        loom: loom::pi::a_hand_off_and_a_time_that_is_up,
        inheritance: who_timed_out_when_it_had_been_handed_the_lock_owns_it,
    }
    /// The look-up of an owner under the lock under which its exit looks for claims.
    find_inside {
        loom: loom::pi::an_owner_that_exits_and_a_time_that_is_up,
    }
    /// The note that a lock's word does not name yet the waiter that it is assigned to.
    pi_unsettled {
        inheritance: a_lock_whose_owner_exited_waits_for_its_new_owner_to_run,
    }
    /// The check that a waiter named the lock that it is moved to.
    requeue_target {
        inheritance_requeue: a_requeue_to_a_free_lock_wakes_one_as_its_owner_and_moves_the_rest,
    }
    /// The barrier of membarrier before its interrupts (1).
    barrier_before {
        barriers: private_with_all_barriers_holds,
    }
    /// The barrier of membarrier after its acknowledgments (6).
    barrier_after {
        barriers: private_with_all_barriers_holds_in_the_weakest_model,
    }
    /// The wait of membarrier for acknowledgments.
    barrier_wait {
        barriers: private_with_all_barriers_holds,
    }
    /// The wait of membarrier for each acknowledgment where it has no memory for the mask.
    barrier_singly_wait {
        barriers: private_with_all_barriers_holds_where_there_is_no_memory_for_the_mask,
    }
    /// The use of the pinned table during the whole call.
    table_pin {
        loom: loom::unruly_hosts::spaces_with_one_number_keep_their_waiters_apart,
    }
    /// The count of a group's node before it is queued.
    group_count {
        panics: a_wait_on_several_words,
    }
    /// The resumption of leaving after a panic of the host.
    leave_resumed {
        panics: a_wait_that_times_out,
    }
    /// The order in which a waker takes a waiter's handle before its decision, after which the
    /// waiter may be gone.
    handle_late {
        loom: loom::several::a_wait_on_two_words_and_a_wake_of_one,
    }
    /// The order in which a bucket's lock is given up before threads are unparked.
    unpark_inside {
        faults: no_lock_is_held_when_waiters_are_told,
    }
    /// The bitset of a waiter that is moved.
    requeue_bitset {
        published_bugs: asterinas_1642_a_requeue_keeps_the_bitset,
    }
    /// The filter bit of moved waiters, in the lock word of the bucket where they are.
    requeue_filter_bit {
        loom: loom::waits::a_requeue_and_its_wake,
    }
    /// The fence of a requeue between the filter and whatever its caller reads next (pair W).
    requeue_fence {
        loom: loom::resize::a_requeue_and_then_a_check_of_the_word,
    }
    /// The filter bit of waiters that migrated to a larger table.
    adopt_filter_bit {
        loom: loom::resize::a_wait_and_a_wake_while_the_table_grows,
        loom: loom::resize::a_wait_and_a_wake_while_the_global_table_grows,
    }
    /// The check that a wake's sequence numbers are still those of the table in which it began.
    cutoff_table {
        bounds: a_wake_of_one_word,
    }
    /// The sequence number below which waiters are a call's.
    cutoff {
        bounds: a_wake_of_one_word,
    }
    /// The unparking of the rest of a wake queue after a panic of the host.
    wake_queue_rest {
        panics: those_behind_one_whose_waker_panics_are_told,
    }
    /// The migration of the rest of a bucket after a panic of the host.
    migrate_rest {
        panics: a_table_that_stopped_growing,
        panics: a_global_table_that_stopped_growing,
    }
    /// The acquire with which a future finds that it was woken.
    woken_acquire {
        loom: loom::unruly_hosts::a_future_that_is_polled_without_being_told,
    }
    /// The acquire with which a host finds that there is no more reason to wait.
    waiting_acquire {
        loom: loom::unruly_hosts::a_wait_by_reading_the_flag,
    }
    /// The acquire with which a leaving waiter finds that it was woken.
    leave_acquire {
        loom: loom::unruly_hosts::a_wait_whose_time_is_up_just_as_it_is_woken,
    }
    /// The release of the bucket that a waiter was moved to.
    put_release {
        loom: loom::resize::leaving_while_the_table_grows,
    }
    /// The release of a waiter that was taken out though it had left.
    taken_release {
        loom: loom::waits::a_wait_that_times_out_eats_no_wake,
    }
    /// The release of a space's first table.
    first_release {
        loom: loom::resize::a_wait_and_a_wake_while_the_space_gets_its_table,
    }
    /// The continuation of a bucket's sequence numbers in the larger table.
    sequence_moves {
        bounds: a_wake_of_one_word,
    }
    /// The order of a wait list by urgency.
    urgent_first {
        order: moved_waiters_are_behind_those_that_are_as_urgent,
        threads: threads_get_the_kernels_wakes if real_time,
    }
    /// The new place of a claim whose urgency changes among the claims to its lock.
    urgency_moves {
        inheritance: a_lent_priority_counts_for_the_place_among_waiters,
    }
    /// The look at the remaining waiters when a bucket's filter is rebuilt.
    rebuild_filter {
        loom: loom::resize::a_wake_of_other_bits_hides_nobody,
    }
    /// The check that a waiter with priority inheritance waits by this engine.
    claim_engine {
        inheritance_hosts: one_space_with_two_engines,
    }
    /// The check that a lock's top waiter is in the locked bucket.
    top_waiter_bucket {
        inheritance_hosts: two_spaces_with_one_number,
    }
    /// The wakes for locks that a walk had marked when the host panicked.
    walk_rest {
        robust_panics: who_waits_for_a_lock_that_was_marked_is_woken,
    }
    /// The handing off of the rest of a thread's locks after a panic of the host.
    exit_rest {
        inheritance_hosts: a_callback_panics_at_a_threads_exit,
    }
    /// The wake of the gathered threads after a panic of an executor.
    gathered_rest {
        parking: threads_before_an_executor_that_panics_are_woken,
    }
    /// The check at the end of a spin that the thread was not woken meanwhile.
    spin_back {
        loom: loom::waits::a_wait_that_spins_and_a_wake,
    }
    /// The unparking of a thread that does not spin.
    spin_unpark {
        loom: loom::waits::a_wait_that_spins_and_a_wake,
    }
    /// The second comparison of a word before a sleep where a handler may have run.
    recheck {
        spinning: a_word_that_a_handler_changed_ends_the_wait,
    }
    /// The exemption of a moved waiter, whose first word changed, from the second comparison.
    recheck_moved {
        spinning: a_waiter_that_was_moved_does_not_recheck_its_first_word,
        inheritance_requeue: a_word_that_a_handler_changed_ends_the_wait_of_one_that_was_not_moved,
    }
    /// The request for a second comparison after a spin in vain, where interruptions are not
    /// reported.
    spin_recheck {
        interrupted: the_same_where_interruptions_are_not_told if x86_64,
    }
    /// The check before a sleep that nothing interrupted the thread since the comparison of the
    /// word.
    park_recheck {
        interrupted: a_handler_that_changes_the_word_ends_the_wait if x86_64,
    }
    /// The second comparison before each sleep, where the kernel does not tell of handlers that begin
    /// at the end of a call.
    unbroken_calls {
        interrupted_in_calls: a_handler_at_the_end_of_a_call_before_the_sleep_ends_the_wait if x86_64,
    }
    /// The end, with each call, of what was begun.
    unbroken_once {
        interrupted_in_calls: a_handler_beside_a_strangers_wake_ends_the_wait if x86_64,
    }
    /// The time of sleeps without a deadline, where the kernel does not tell of handlers that begin at
    /// the end of a call.
    unbroken_restart {
        interrupted_in_calls: a_handler_in_a_sleep_that_is_begun_anew_ends_the_wait if x86_64,
    }
    /// The order in which the times without preemption of two locks end: the last one first.
    preemption_order {
        panics: wakes_and_moves,
        inheritance: the_most_urgent_gets_the_lock_and_of_equals_the_first,
    }
    /// The end of a spin whose yields take long.
    spin_long {
        busy: a_spin_ends_when_its_yields_took_long,
    }
    /// The exemption of waits with a near deadline from yields.
    spin_near {
        busy: a_spin_ends_when_its_yields_took_long,
    }
    /// The note for new threads that yields take long.
    spin_busy {
        busy: a_spin_ends_when_its_yields_took_long,
    }
    /// The exemption of real-time threads from yields.
    spin_real_time {
        busy: a_spin_ends_when_its_yields_took_long if real_time,
    }
    /// The deferral of a handler's wake where its thread holds a lock.
    defer_wake {
        interrupted: a_handlers_wake_is_made_whatever_it_interrupts if x86_64,
    }
    /// The making of deferred wakes.
    defer_made {
        interrupted: a_handlers_wake_is_made_whatever_it_interrupts if x86_64,
    }
    /// The making of the remaining deferred wakes after a panic of an executor.
    deferred_rest {
        interrupted: the_wakes_beside_one_whose_executor_panics_are_made if x86_64,
    }
    /// The deferral of a handler's wake where its thread holds a lock of the host's own.
    short_named {
        parking_stepped: who_comes_at_any_moment_of_an_exit_does_not_wait_for_ever if x86_64,
    }
    /// The state of an exited thread in which it owns nothing.
    exit_over {
        parking_exits: a_thread_that_told_its_exit_owns_nothing_as_long_as_it_runs_on,
    }
    /// The handing off of locks with priority inheritance after a panic in the walk of a robust list.
    exit_pi_rest {
        parking_robust: a_waker_that_panics_in_the_walk_keeps_no_lock_from_its_waiter,
    }
    /// The check, in the child of a fork, that a head that only the thread remembers is its own.
    head_fork {
        parking_memory: a_head_that_there_was_no_room_for_is_not_the_childs,
    }
    /// The wake of threads that wait for an exit.
    exit_wake {
        parking_stepped: who_comes_at_any_moment_of_an_exit_does_not_wait_for_ever if x86_64,
    }
    /// The look-up of the thread that now has a dead thread's number.
    exit_number {
        parking_exits: another_thread_with_the_number_owns_its_locks if chosen_thread_ids,
    }
    /// The forgetting, in the child of a fork, of threads that exited in the parent.
    exit_fork {
        parking_exits: an_exit_that_was_told_before_a_fork_is_none_in_the_child if chosen_thread_ids,
    }
    /// The priority of a waiting thread in the parking lot.
    plain_priority {
        parking_realtime: real_time_threads_are_woken_by_their_priority_and_before_all_others if real_time,
    }
    /// The renewed question to the kernel how a thread is scheduled.
    schedule_fresh {
        parking_realtime: a_thread_that_has_waited_before_it_became_real_time_is_one if real_time,
    }
    /// The lending of a real-time waiter's urgency to a lock's holder.
    holder_boost {
        parking_stepped: the_holder_of_a_buckets_lock_runs_as_urgently_as_who_wants_it if real_time && x86_64,
    }
    /// The limit of the time for which one holder is waited for.
    holder_time {
        parking_stepped: a_holder_in_a_long_handler_keeps_nobody_from_other_locks if real_time && x86_64,
    }
    /// The sleep of a waiter that cannot find the lock's holder.
    spin_nap {
        parking_realtime: a_real_time_thread_that_spins_lets_an_ordinary_one_run if real_time,
    }
    /// The check that a signal at an access to user memory is a fault and was not sent.
    recover_sent {
        user_memory_handlers: a_signal_that_is_sent_at_any_instruction_of_an_access_is_no_fault if x86_64,
    }
    /// The mask of a handler to which a signal is handed on.
    chain_mask {
        user_memory_handlers: a_handler_that_was_there_repairs_its_faults_as_before if x86_64,
    }
    /// The mask of the handler of faults, by which no other signal nests on its stack.
    fault_mask {
        user_memory_handlers: no_other_signal_nests_in_the_handler_of_a_fault if x86_64,
    }
    /// The interrupted thread's mask, for a handler to which a signal is handed on.
    chain_unblock {
        user_memory_handlers: a_handler_that_blocks_nothing_is_called_so if x86_64,
    }
    /// The second sending of a signal that was sent, where it is to end the process.
    chain_sent {
        user_memory_handlers: a_signal_that_was_sent_kills_where_the_default_was if x86_64,
    }
    /// The waker's fence where it looks at its space's private table (pair W).
    wake_fence_own {
        loom: loom::resize::a_wait_and_a_wake_while_the_table_grows,
    }
}
