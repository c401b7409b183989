//! The mutants: what each takes out, and what must notice.
//!
//! Each line in a mutant's braces is a test of which `ci/mutants` or another script demands that it
//! notices, as `program: test`; with `if` behind it, where not every machine can run it.
//!
//! | program | notices how | script |
//! |---|---|---|
//! | `loom` | a model of the crate's own code under loom, by its path, fails | `ci/model` |
//! | `sanitizer` | ThreadSanitizer reports a race in the test program | `ci/sanitize` |
//! | `model`, `robust_model` | the test asserts that the model of the algorithm without it is violated | `ci/test` |
//! | a test program | the test fails or hangs, on each run and every processor | `ci/mutants` |
//!
//! The scripts read this file as text: a line an entry.

// Without a feature, what it brings has no mutants.
#![cfg_attr(not(feature = "hashbrown"), allow(dead_code))]

use core::ffi::CStr;

/// The environment variable that names the active mutant.
pub(super) const VARIABLE: &CStr = c"LEEWARD_MUTANT";

mutants! {
    /// The heavy fence between the caller's unlink and the scan of the slots (pairs A and B).
    heavy_before_scan {
        model: model::pairing::every_ordering_of_one_reader_is_needed,
        loom: rcu::loom_tests::two_updaters,
    }
    /// The order of the heavy fence and the advance of the global epoch: epoch first (pair A).
    global_before_heavy {
        model: model::pairing::every_ordering_of_one_reader_is_needed,
        loom: rcu::loom_tests::two_updaters,
    }
    /// The scan of inlined readers' counts.
    inlined_scan {
        inlined: grace_periods_wait_for_inlined_sections,
        loom: rcu::loom_tests::inlined::two_sections_and_two_updates,
    }
    /// The choice of an epoch whose era no inlined reader shows.
    inlined_eras {
        model: model::inlined::eras_that_begin_anew,
        inlined: a_reader_with_the_era_to_come,
    }
    /// The heavy fence between the futex that asks inlined readers for a wake and the look at their
    /// counts (pair C).
    inlined_heavy_before_sleep {
        // The look at the counts begins with a full fence, which is enough in loom.
        model: model::inlined::a_leader_that_sleeps_beside_two_readers,
    }
    /// The request for another wake, after an inlined reader that is not waited for has taken it.
    inlined_rearm {
        model: model::inlined::a_leader_that_sleeps_beside_two_readers,
        inlined: wakes_by_other_readers,
    }
    /// The full fence between a leader's announcement that it looks at counts, and the loads of their
    /// addresses (pair S).
    inlined_look_fence {
        model: model::inlined::a_count_that_goes,
        loom: rcu::loom_tests::inlined::a_reader_that_goes,
    }
    /// The full fence between the end of a count's address and the look for a leader (pair S).
    inlined_detach_fence {
        model: model::inlined::a_count_that_goes,
        loom: rcu::loom_tests::inlined::a_reader_that_goes,
    }
    /// The wait of a thread that takes its count away for the end of a leader's look.
    inlined_detach_waits {
        model: model::inlined::a_count_that_goes,
        loom: rcu::loom_tests::inlined::a_reader_that_goes,
    }
    /// The nap of a leader between two looks at inlined readers that wake nobody.
    inlined_naps {
        inlined: priorities::a_real_time_writer_beside_an_ordinary_reader if real_time,
    }
    /// The end of an inlined reader when its thread exits or unregisters.
    inlined_exit {
        inlined: an_exit_inside_a_section,
    }
    /// The announcement to inlined code of a quiescent state by our functions.
    inlined_quiesce {
        inlined_qsbr: our_quiescent_states_count_for_inlined_code,
    }
    /// The end of being online by inlined code, where our functions take a thread offline.
    inlined_offline {
        inlined_qsbr: threads_that_wait_are_offline,
    }
    /// The inlined readers of threads that the child of a fork does not have: they are forgotten.
    fork_keeps_inlined {
        inlined: sections_in_the_child_of_a_fork,
    }
    /// The wake of the task that awaits a grace period.
    future_wake {
        futures: it_is_ready_when_the_sections_have_ended,
    }
    /// The look whether a future is polled inside a callback of its domain.
    future_own_callback {
        own_callback: a_future_of_before_is_awaited_inside_a_callback,
        own_callback: inside_a_callback_on_a_caller,
    }
    /// The grace period that a poll runs where no worker does.
    future_helps {
        no_worker: tasks_wait_for_readers_without_threads,
        no_worker: each_call_ends_without_threads,
    }
    /// The wake of a task by its own poll where no worker would wake it.
    future_wakes_itself {
        no_worker: tasks_wait_for_readers_without_threads,
        loom: rcu::loom_tests::life::tasks_without_a_worker,
    }
    /// The full fence between a task's waker and its look at the worker (pair Q).
    future_fence {
        // An exchange stands before it: x86 has the fence already.
        loom: rcu::loom_tests::life::a_task_and_a_worker_that_ends,
    }
    /// The full fence between a worker's end and its look at the callbacks (pair Q).
    end_fence {
        loom: rcu::loom_tests::life::a_task_and_a_worker_that_ends,
    }
    /// The wake of the tasks that relied on a worker which ends.
    end_wake {
        no_worker: a_task_is_told_that_the_worker_ends,
        loom: rcu::loom_tests::life::a_task_and_a_worker_that_ends,
    }
    /// The look of a worker that begins, or begins anew, before it sleeps.
    worker_begin {
        futures: a_callback_runs_after_the_worker_has_failed,
        loom: rcu::loom_tests::life::a_worker_that_fails_and_stays,
    }
    /// The acquire of the task that takes permits.
    task_take_acquire {
        loom: task::loom_tests::mutexes,
    }
    /// The release of the task that gives permits.
    task_give_release {
        loom: task::loom_tests::mutexes,
    }
    /// The recheck of the permits when a task is queued.
    task_queue_recheck {
        loom: task::loom_tests::mutexes,
    }
    /// The wake of the task that was handed permits.
    task_wake {
        tasks: a_task_is_woken_once,
        loom: task::loom_tests::mutexes,
    }
    /// The waker of the task that polled last.
    task_new_waker {
        tasks: the_last_poller_is_woken,
    }
    /// The leaving behind of those that are queued while others are refused.
    task_refuse_parts {
        notify: wakers::those_that_come_within_the_call_are_not_told,
    }
    /// The look at the process where a waker of those that are refused has forked.
    task_refuse_forked {
        task_forks: a_fork_within_a_call_that_tells_all,
    }
    /// The refusal of a request that is queued beside others that are being refused.
    task_refuse_closed {
        notify: wakers::a_closed_semaphore_refuses_at_a_poll,
    }
    /// The wake of a thread that waits as a task does.
    task_blocking_wake {
        task_blocking: a_thread_is_served_in_turn,
        loom: task::loom_tests::a_thread_that_waits,
    }
    /// The keeping of a notification that no task waits for.
    notify_keeps {
        notify: one_notification_is_kept,
        loom: task::loom_tests::notify::one_is_told,
    }
    /// The release of the notification that is kept.
    notify_release {
        loom: task::loom_tests::notify::one_is_told,
    }
    /// The exchange of a notification that is kept already.
    notify_again {
        loom: task::loom_tests::notify::two_are_kept_as_one,
    }
    /// The limit of one notification that is kept.
    notify_one_at_most {
        notify: one_at_most_is_kept,
    }
    /// The choice of the task that was queued last.
    notify_turns_back {
        notify: the_last_is_told,
    }
    /// The release of the count of the calls that tell all.
    notify_calls_release {
        loom: task::loom_tests::notify::all_are_told,
    }
    /// The acquire of that count when a future is made.
    notify_calls_acquire {
        loom: task::loom_tests::notify::all_are_told,
    }
    /// The look whether all were told since a future was made.
    notify_made {
        notify: a_future_that_was_made_before_is_told,
        notify: a_kept_future_is_told_with_all,
        loom: task::loom_tests::notify::all_are_told,
    }
    /// The handing on of what a dropped future was handed.
    task_pass_on {
        notify: a_future_that_is_dropped_tells_the_next,
        tasks: a_future_that_is_dropped_hands_the_lock_on,
        loom: task::loom_tests::a_task_that_gives_up,
    }
    /// The handing over of what was gathered for a task that has left the queue.
    task_cancel_hands_over {
        tasks: what_was_gathered_for_a_dropped_future_is_handed_on,
        loom: task::loom_tests::a_task_that_gives_up_many,
    }
    /// The waking of the other tasks after a waker has panicked.
    task_wake_the_rest {
        tasks: wakers::a_waker_that_panics_costs_nobody_a_wake,
    }
    /// The catching of a panic of a waker's drop after another waker has panicked.
    task_drop_caught {
        task_kept: wakers::a_waker_that_panics_in_its_drop_beside_another,
    }
    /// The taking of what a future was handed that its task keeps and does not poll.
    task_kept_taken {
        task_kept: the_next_poll_takes_what_the_kept_one_was_handed,
        loom: task::loom_tests::kept::a_kept_future,
    }
    /// The wake of a task whose new future finds what another one was handed.
    task_kept_wakes_first {
        task_kept: a_new_future_has_its_task_woken,
        loom: task::loom_tests::kept::a_kept_future_whose_wake_is_used_up,
    }
    /// The wake of a task whose future found what one that was polled in between was handed.
    task_kept_wakes {
        task_kept: a_future_that_is_polled_keeps_its_turn,
    }
    /// The turn of a future that is polled as often as the other ones of its task.
    task_kept_is_polled {
        task_kept: a_future_that_is_polled_keeps_its_turn,
    }
    /// The place of the future that took the kept one's: the kept one has it now.
    task_kept_place {
        task_kept: strangers_keep_their_turns,
    }
    /// The handing on of what the kept one was handed and the other does not want.
    task_kept_rest {
        task_kept: one_that_wants_less_hands_the_rest_on,
    }
    /// The waker of the kept future, when it waits again.
    task_kept_waker {
        task_kept: strangers_keep_their_turns,
    }
    /// The head of the line for the future that wants more than the kept one was handed.
    task_kept_first {
        task_kept: one_that_wants_more_waits_in_that_place,
    }
    /// What was handed over before a fork, in the child.
    task_forked_handed {
        task_forks: what_was_handed_over_is_free_in_the_child,
    }
    /// The emptying of the queue in the child of a fork.
    task_forked {
        task_forks: the_child_of_a_fork_has_no_tasks_that_wait,
    }
    /// The settling of the permits by a child's call that does not queue.
    task_forked_try {
        task_forks: what_was_gathered_is_free_in_the_child,
        task_forks: a_child_that_only_tries,
    }
    /// The scan of the slots in a grace period that goes on in steps.
    step_scan {
        epochs: an_open_section_holds_back_what_is_deferred_meanwhile,
        loom: rcu::loom_tests::steps,
    }
    /// The full fence between the caller's unlink and its check of the tickets (pair B).
    caller_fence {
        // Needs three processors at once to show on hardware (the reader, the caller and the
        // leader); see litmus, updaters_that_share.
        model: model::sharing::two_pointers,
        loom: rcu::loom_tests::two_updaters,
    }
    /// The heavy fence between raising `waited` and the recheck of the slot (pair C).
    heavy_before_sleep {
        model: model::sleeping::one_reader,
        loom: rcu::loom_tests::two_sections_and_two_updates,
    }
    /// The second raising of `waited`, when a sleep returned and the reader is still inside.
    rearm_after_return {
        stepping: asked_in_a_handler::it_asks_again_and_is_woken,
        loom: rcu::loom_tests::two_sections_and_two_updates,
    }
    /// The heavy fence after the second raising of `waited` (pair C).
    heavy_after_rearm {
        model: model::sleeping::rearming,
    }
    /// The recheck of the slot between the heavy fence and the sleep.
    recheck_before_sleep {
        loom: rcu::loom_tests::two_sections_and_two_updates,
    }
    /// The wait for readers.
    no_wait {
        sections: synchronize_waits_for_a_section_that_was_open,
        loom: rcu::loom_tests::two_sections_and_two_updates,
    }
    /// The exemption from the wait of a reader that entered after the epoch's advance.
    wait_for_zero_only {
        sections: synchronize_does_not_wait_for_a_section_that_began_later,
    }
    /// The leaving reader's wake of a sleeping writer.
    leave_wake {
        sections: waking::by_every_way_of_leaving,
        loom: rcu::loom_tests::two_sections_and_two_updates,
    }
    /// The leaving reader's check of `waited`.
    leave_checks_waited {
        sections: waking::by_every_way_of_leaving,
        loom: rcu::loom_tests::two_sections_and_two_updates,
    }
    /// The light fence between the entering store and the section's loads (pair A).
    enter_light {
        // The reader's half of a domain whose readers execute full fences: elsewhere it is no
        // instruction.
        model: model::pairing::mb_flavour,
        loom: rcu::loom_tests::two_updaters,
    }
    /// The light fence between the leaving store and the check of `waited` (pair C).
    leave_light {
        model: model::sleeping::mb_flavour,
        loom: rcu::loom_tests::two_sections_and_two_updates,
    }
    /// The light fence after the quiescent store (pairs A and C).
    quiesce_light {
        // What x86 does anyway, for loads; and who is woken by a quiescent state only is hard to
        // arrange.
        loom: rcu::loom_tests::scanning_past_a_quiescent_state,
    }
    /// The release of the leaving store (relaxed instead).
    leave_store_release {
        model: model::pairing::every_ordering_of_one_reader_is_needed,
        loom: rcu::loom_tests::two_sections_and_two_updates,
        loom: rcu::loom_tests::polling_past_quiescent_states,
        sanitizer: sections,
    }
    /// The release of the entering store (relaxed instead).
    enter_store_release {
        model: model::pairing::every_ordering_of_one_reader_is_needed,
    }
    /// The acquire of the scan's loads (relaxed instead).
    scan_acquire {
        model: model::pairing::dropping_sees_what_readers_wrote,
        loom: rcu::loom_tests::two_updaters,
        sanitizer: sections,
    }
    /// The count of the sections beyond the first.
    nested_count {
        sections: guards_may_be_dropped_in_any_order,
        loom: rcu::loom_tests::nested_sections,
    }
    /// The check of a guard that is refreshed whether it is the only one.
    refresh_outermost {
        sections: refreshing,
    }
    /// The ticket's + 1: a grace period that already runs is taken for one that starts later.
    ticket_started {
        sections: a_caller_needs_a_grace_period_that_starts_after_it_arrived,
        loom: rcu::loom_tests::two_sections_and_two_updates,
    }
    /// The full fence between a follower's announcement and its recheck (pair D).
    follower_fence {
        // A locked addition stands before it: x86 has the fence already.
        model: model::following::two_callers,
        loom: rcu::loom_tests::three_callers,
    }
    /// A follower's recheck before it sleeps (pair D).
    follower_recheck {
        model: model::following::two_callers,
        loom: rcu::loom_tests::three_callers,
    }
    /// The full fence between handing the lead over and the check for sleepers (pair D).
    hand_over_fence {
        // A few instructions on three processors: too rare to be a test.
        loom: rcu::loom_tests::three_callers,
    }
    /// The full fence between giving the lead away unused and the check for sleepers (pair D).
    step_down_fence {
        loom: rcu::loom_tests::three_callers,
    }
    /// The leader's wake of the callers that it served.
    follower_wake {
        sections: sharing::sixteen_callers,
        loom: rcu::loom_tests::three_callers,
    }
    /// The leader's wake of one caller of the next grace period.
    next_leader_wake {
        sections: sharing::sixteen_callers,
        loom: rcu::loom_tests::three_callers,
    }
    /// The wake of one caller of the next grace period, where the lead is given away unused.
    step_down_wake {
        model: model::following::three_callers,
        loom: rcu::loom_tests::three_callers,
    }
    /// The order of `done` and the hand-over: handed over first.
    done_release {
        model: model::following::done_never_goes_back,
        loom: rcu::loom_tests::two_updaters,
    }
    /// A leader's check whether it is inside a section itself, before it sleeps on a reader.
    own_section_leads {
        sections: sentences::synchronize_in_a_section,
    }
    /// A follower's check whether it is inside a section itself, before it sleeps.
    own_section_follows {
        sections: sentences::synchronize_in_a_section_while_another_leads,
    }
    /// The keeping of the slot of a thread that exits inside a section.
    exit_drops_live_slot {
        exit: a_leaked_guard_protects_for_ever,
    }
    /// The child's repair after a fork.
    fork_hook {
        fork: while_another_thread_is_inside,
    }
    /// The grace period between taking a batch and running it.
    worker_grace {
        defer: callbacks_run_after_a_grace_period,
        loom: rcu::loom_tests::deferring,
    }
    /// The wake of the worker when a callback was queued.
    worker_wake {
        defer: callbacks_run_after_a_grace_period,
        loom: rcu::loom_tests::worker::no_call_is_lost,
    }
    /// The wake after telling the worker that something was queued.
    worker_tell_wake {
        defer: callbacks_run_after_a_grace_period,
        loom: rcu::loom_tests::worker::no_call_is_lost,
    }
    /// The wake after telling the worker that a thread waits.
    worker_call_wake {
        defer: polling::nobody_has_to_ask_twice,
        loom: rcu::loom_tests::worker::polling,
    }
    /// The look whether a head is the one that was queued last, and is queued again.
    twice_at_once {
        defer: twice::a_head_that_was_queued_last,
    }
    /// The look whether a head of the queue was taken already.
    twice_in_queue {
        defer: twice::a_head_that_is_queued,
        defer: twice::a_head_that_two_domains_queue,
    }
    /// The look whether a head of a batch was queued again.
    twice_in_batch {
        defer: twice::a_head_that_is_in_a_batch,
    }
    /// The wake of the worker when a thread wants to poll.
    want_wake {
        defer: polling::nobody_has_to_ask_twice,
        loom: rcu::loom_tests::worker::polling,
    }
    /// The wait in `barrier` for the batch that is running.
    barrier_waits {
        defer: barriers::wait_for_everything_before,
        loom: rcu::loom_tests::deferring,
        loom: rcu::loom_tests::worker::barriers,
    }
    /// The full fence between a waiter's announcement and its recheck (pair E).
    waiting_fence {
        // A locked addition stands before it: x86 has the fence already.
        loom: rcu::loom_tests::worker::barrier_after_barrier,
        loom: rcu::loom_tests::worker::at_the_limit,
    }
    /// A waiter's recheck before it sleeps (pair E).
    waiting_recheck {
        loom: rcu::loom_tests::worker::barrier_after_barrier,
        loom: rcu::loom_tests::worker::at_the_limit,
    }
    /// The full fence between a batch's end and the check for waiters (pair E).
    batch_fence {
        loom: rcu::loom_tests::worker::barrier_after_barrier,
    }
    /// The wake of the callers that wait for a batch.
    batch_wake {
        defer: barriers::wait_for_everything_before,
        loom: rcu::loom_tests::worker::barrier_after_barrier,
        loom: rcu::loom_tests::worker::at_the_limit,
    }
    /// The wait (or help) of a caller that reached the queue's limit.
    limit_waits {
        defer: limits::who_waits_for_ever_is_bounded,
    }
    /// The report of an inlined reader by a caller beyond the limit.
    inlined_reported {
        inlined: callers_beyond_the_limit_report_readers,
    }
    /// The wake of callers at the limit when it is changed.
    set_limit_wake {
        defer: limits::may_be_raised_under_a_caller_that_waits,
        loom: rcu::loom_tests::worker::raising_the_limit,
    }
    /// The release of the quiescent store (relaxed instead).
    qsbr_release {
        model: model::quiescing::quiescent_states,
        loom: rcu::loom_tests::scanning_past_a_quiescent_state,
    }
    /// The full fence between a caller's stores and its look at the number of the fence (pair O).
    combine_caller_fence {
        loom: fence::combine::loom_tests::a_caller_that_another_serves,
    }
    /// The full fence between the beginning of a fence's number and the fence (pair O).
    combine_leader_fence {
        loom: fence::combine::loom_tests::a_caller_that_another_serves,
    }
    /// The rule that a caller waits for a fence that starts later, not for the one that runs.
    combine_ticket {
        loom: fence::combine::loom_tests::two_callers,
    }
    /// The release with which a fence's number is ended (relaxed instead).
    combine_end_release {
        loom: fence::combine::loom_tests::a_caller_that_another_serves,
    }
    /// The full fence of a caller that another caller's fence has served.
    combine_served_fence {
        loom: fence::combine::loom_tests::a_caller_that_another_serves,
    }
    /// The wake of the callers that a fence has served.
    combine_wake_served {
        loom: fence::combine::loom_tests::two_who_sleep_for_one_fence,
    }
    /// The wake of one caller of the next fence.
    combine_wake_next {
        loom: fence::combine::loom_tests::two_callers,
    }
    /// The wake of all callers by a leader whose fence was refused.
    combine_fail_wake {
        loom: fence::combine::loom_tests::a_fence_that_is_refused,
    }
    /// A caller's check whether its own thread leads, below the signal handler that calls.
    combine_own_lead {
        loom: fence::combine::loom_tests::a_handler_within_the_lead,
    }
    /// The wait for the answers to the fence's signals.
    signal_answer {
        refused: signals_blocked,
    }
    /// The second listing of the threads, after the first ones have answered.
    signal_second_listing {
        refused: a_thread_that_starts_meanwhile,
    }
    /// The release of the cell's publishing exchange (relaxed instead).
    publish_release {
        model: model::pairing::every_ordering_of_one_reader_is_needed,
        loom: rcu::loom_tests::publishing,
    }
    /// The end of a spin whose yields took long.
    spin_long {
        yields: a_yield_that_takes_a_time_slice_is_the_last,
    }
    /// The rule that a wait whose deadline is near does not yield.
    spin_near {
        yields: a_wait_whose_deadline_is_near_does_not_yield,
    }
    /// The rule that a real-time thread yields only once.
    spin_real_time {
        yields: a_thread_whose_yields_let_no_other_run_yields_once,
    }
    /// The time in which no wait yields, after yields that took a time slice.
    spin_busy {
        yields: after_a_yield_that_took_a_time_slice_no_wait_for_an_event_yields_for_a_while,
    }
    /// The wake of a contended mutex's unlock.
    mutex_wake {
        loom: raw::loom_tests::mutex::mutex_two_threads_twice,
    }
    /// The mark that other threads may still sleep, when a sleeper takes the mutex.
    mutex_contended {
        loom: raw::loom_tests::mutex::mutex_three_threads,
    }
    /// The reservation of a mutex for a starving waiter that asked for it.
    mutex_reserve {
        mutex_fairness: a_waiter_is_passed_over_a_bounded_number_of_times,
    }
    /// The withdrawal of a waiter's request for a mutex when its time is up.
    mutex_ask_kept {
        mutex_fairness: whoever_asked_and_gives_up_leaves_no_reservation,
    }
    /// The heavy fence between raising the light mutex's waiters word and the recheck (pair F).
    light_heavy {
        light_mutex: heavy_fences_do_not_multiply,
        loom: raw::loom_tests::mutex::light_mutex_two_threads_twice,
    }
    /// The light fence between a light mutex's unlocking store and its look for sleepers (pair F).
    light_unlock_fence {
        // No instruction: loom's.
        loom: raw::loom_tests::mutex::light_mutex_two_threads_twice,
    }
    /// The recheck of the light mutex before the sleep.
    light_recheck {
        // Races of a few instructions: loom's.
        loom: raw::loom_tests::mutex::light_mutex_two_threads_twice,
    }
    /// The wake of a contended light mutex's unlock.
    light_wake {
        loom: raw::loom_tests::mutex::light_mutex_two_threads_twice,
    }
    /// The raising of the light mutex's waiters word.
    light_raise {
        loom: raw::loom_tests::mutex::light_mutex_two_threads_twice,
    }
    /// The exchange of a light mutex's raised waiters word where its value stays.
    light_settle {
        loom: raw::loom_tests::mutex::light_mutex_three_threads,
    }
    /// The clearing of the waking mark by the light mutex's sleeper that leaves.
    light_leave {
        loom: raw::loom_tests::mutex::light_mutex_three_threads,
    }
    /// The reservation of a light mutex by its fair unlock.
    light_fair_reserves {
        light_mutex: a_newcomer_waits_for_a_sleeper,
    }
    /// The end of a light mutex's reservation for which no thread slept.
    light_fair_undone {
        light_mutex: a_thread_that_sleeps_no_longer,
        loom: raw::loom_tests::fair::light_mutex_two_threads,
    }
    /// The time limit of the sleep of a newcomer that finds a light mutex reserved.
    light_expire {
        light_mutex: a_newcomer_waits_for_a_sleeper,
    }
    /// The change of a condition variable's sequence number.
    condvar_sequence {
        condvar_order: plain::a_waiter_on_its_way_to_sleep,
        loom: raw::loom_tests::mutex::condvar_plain_all_held,
        loom: raw::loom_tests::mutex::condvar_requeue_all_held,
        loom: raw::loom_tests::mutex::condvar_wake_op_all_held,
    }
    /// The wake of a condition variable.
    condvar_wake {
        loom: raw::loom_tests::mutex::condvar_plain_all_held,
    }
    /// The mark on the mutex to which waiters were moved.
    condvar_mark {
        loom: raw::loom_tests::mutex::condvar_requeue_all_held,
    }
    /// The contended mark when a waiter that was moved locks the mutex.
    condvar_lock_moved {
        loom: raw::loom_tests::mutex::condvar_requeue_all_held,
    }
    /// The order of naming a robust lock as pending and taking it: named after it.
    robust_pending_late {
        robust_stepping: by_exchange::lock_work_unlock,
    }
    /// The pending entry until the lock is linked (cleared when it is taken).
    robust_pending_before_link {
        robust_stepping: by_exchange::lock_work_unlock,
    }
    /// The pending entry until the word is released (cleared when it is unlinked).
    robust_pending_before_release {
        robust_stepping: by_exchange::lock_work_unlock,
    }
    /// The pending entry until a waiter is woken (cleared when the word is released).
    robust_pending_before_wake {
        robust_stepping: by_exchange::unlock_with_a_waiter,
    }
    /// The order of taking and linking a robust lock: linked first.
    robust_link_first {
        robust: errors_of_the_living,
    }
    /// The waiters bit after a release: only the woken waiter knows of the others then.
    robust_waiters_dropped {
        robust: woken_waiter_killed::behind_a_thief,
    }
    /// The wake of a waiter by a robust unlock.
    robust_wake {
        robust_stepping: by_exchange::unlock_with_a_waiter,
    }
    /// The taking of a robust lock to clear its waiters bit.
    robust_settle_without_taking {
        // A race of four in a window of a few instructions.
        robust_model: taking_the_bit_away,
    }
    /// A robust reader's look at the writers' lock once it has its slot.
    robust_read_looks {
        robust_rwlock: a_writer_keeps_readers_out,
    }
    /// The order of a robust reader's slot and its look at the writers' lock: it looks first.
    robust_read_looks_first {
        robust_rwlock_model: the_order_of_slot_and_look,
        robust_rwlock_stepping: a_writer_comes_while_a_reader_enters,
    }
    /// The writers' lock until a robust reader that was held up has its slot (given up before).
    robust_turnstile_early {
        robust_rwlock_model: the_turnstile,
        robust_rwlock_stepping: a_writer_comes_while_a_reader_is_in_the_turnstile,
    }
    /// The writers' lock until a robust writer that becomes a reader has its slot (given up before).
    robust_downgrade_early {
        robust_rwlock_model: a_writer_becomes_a_reader,
        robust_rwlock_stepping: a_writer_comes_while_another_becomes_a_reader,
    }
    /// The look of a robust reader that waits at slots other than its first.
    robust_any_slot {
        robust_rwlock: any_slot_will_do,
    }
    /// A robust writer's wait for the readers that are inside.
    robust_write_drains {
        robust_rwlock: readers_keep_a_writer_out,
    }
    /// A robust writer's mark that it may have changed the data.
    robust_writing {
        robust_rwlock: a_writer_is_killed,
    }
    /// The news that a robust reader who does not repair leaves to the next one.
    robust_left_to_the_next {
        robust_rwlock: a_reader_may_leave_the_repair_to_others,
    }
    /// The end of a reader's wait for writers that do not come for the free lock.
    rwlock_writer_expire {
        rwlock_steered: a_writer_that_was_woken_and_is_not_there,
    }
    /// The disregard of absent threads' marks by a lock's `try_` call in the child of a fork.
    lock_forked {
        lock_forks: a_rwlock_that_is_kept_for_a_writer,
    }
    /// The reservation of a readers-writer lock by a fair unlock.
    rwlock_fair_reserves {
        rwlock_fair: from_a_writer_to_a_writer,
        rwlock_fair: from_a_writer_to_a_reader,
        rwlock_fair: from_the_last_reader_to_a_writer,
        rwlock_fair: from_the_upgradable_reader_to_a_writer,
        rwlock_fair: from_one_upgradable_reader_to_the_next,
    }
    /// The new phase that a writer's fair unlock begins where no writer sleeps.
    rwlock_fair_phase {
        loom: raw::loom_tests::fair::rwlock_from_a_writer_to_a_reader,
    }
    /// The end of a readers-writer lock's reservation for which no thread slept.
    rwlock_fair_undone {
        rwlock_fair: a_thread_that_sleeps_no_longer,
    }
    /// The wake of the threads that slept because a lock was reserved, by the reader that ends that.
    rwlock_fair_ends {
        loom: raw::loom_tests::fair::rwlock_from_a_writer_to_a_reader_beside_upgradable_ones,
    }
    /// The end of the reservation by a writer that was woken and gives up.
    rwlock_gives_up_reserved {
        rwlock_fair: a_woken_writer_that_gives_up,
    }
    /// The count of the readers that writers bypassed.
    rwlock_bypassed {
        rwlock_steered: a_reader_that_was_passed_over,
    }
    /// The wake, by a writer's unlock, of the readers that wait.
    rwlock_wake_readers {
        // Lost wake-ups: loom finds them in less time than a test needs to hang.
        loom: raw::loom_tests::small::rwlock_a_writer_and_two_readers,
    }
    /// The wake of a writer.
    rwlock_wake_writer {
        loom: raw::loom_tests::small::rwlock_two_writers_and_a_reader,
    }
    /// The release of the count of writers' wakes (relaxed instead).
    rwlock_wakes_release {
        loom: raw::loom_tests::small::rwlock_writers_in_turn,
    }
    /// The wake of a writer that went to sleep while the mark was taken back.
    rwlock_retract_wakes {
        loom: raw::loom_tests::small::rwlock_a_reader_that_gives_up,
    }
    /// The bit that keeps other writers out of a lock whose upgradable reader becomes the writer.
    rwlock_upgrade_excludes {
        rwlock_upgrade: no_writer_comes_between,
        loom: raw::loom_tests::small::rwlock_an_upgrade_and_a_writer,
    }
    /// The wake of all that sleep as writers, where an upgradable reader may be one of them.
    rwlock_upgrade_wakes {
        loom: raw::loom_tests::small::rwlock_an_upgrade_that_waits_beside_a_writer,
    }
    /// The wake of those that wait for the place of the upgradable reader.
    rwlock_vacate_wakes {
        loom: raw::loom_tests::small::rwlock_upgradable_readers,
    }
    /// The taking back of the mark of an upgrade whose time is up.
    rwlock_upgrade_retracts {
        rwlock_upgrade: an_upgrade_that_gives_up,
    }
    /// The wait for room in a shared readers-writer lock that has, or seems to have, as many
    /// readers as fit.
    rwlock_full {
        shared_garbage: a_rwlock_that_is_full,
    }
    /// The wake of a semaphore's waiter by a release.
    semaphore_wake {
        loom: raw::loom_tests::small::semaphore_hands_on,
    }
    /// The mark that a semaphore's woken waiter leaves for the others.
    semaphore_mark {
        loom: raw::loom_tests::small::semaphore_two_takers_and_two_releases,
    }
    /// The wake of a semaphore's next waiter by one that leaves permits.
    semaphore_next_wake {
        loom: raw::loom_tests::small::semaphore_two_takers_and_two_releases,
    }
    /// The wake of a barrier's threads by the last one.
    barrier_wake {
        loom: raw::loom_tests::small::barrier_in_rounds,
    }
    /// The wake of the threads that wait for an event.
    event_wake {
        loom: raw::loom_tests::small::event_hands_on,
    }
    /// The release of waiters that slept when an event was set and cleared again.
    event_count {
        loom: raw::loom_tests::small::event_set_and_cleared_at_once,
    }
    /// The wake of the threads that wait for a latch.
    latch_wake {
        loom: raw::loom_tests::small::latch_hands_on,
    }
    /// The wake of the threads that wait for the one that runs a `Once`.
    once_wake {
        loom: raw::loom_tests::small::once_hands_on,
    }
    /// The count of slots given back, by which a claiming thread knows of one that it passed.
    registry_starts_over {
        loom: registry::loom_tests::a_slot_given_back_meanwhile,
    }
    /// The check whether the thread that runs a `Once` is the caller itself.
    once_itself {
        once: itself::a_once_within_itself,
    }
    /// The store that poisons a lock whose holder unwinds.
    poison_set {
        poison: ours::behaviours::a_mutex_whose_holder_panics,
        poison: ours::behaviours::a_rwlock_whose_writer_panics,
    }
    /// The look at the poison by a thread that has locked.
    poison_seen {
        poison: ours::behaviours::a_mutex_whose_holder_panics,
        poison: ours::behaviours::waiters_learn_of_a_panic,
    }
    /// The look whether a thread unwound already when it locked: its guard poisons nothing.
    poison_earlier {
        poison: ours::behaviours::a_destructor_may_lock_while_the_thread_unwinds,
    }
    /// The refusal of a `Once` of `sync::poison` whose closure has panicked.
    poison_once {
        poison: ours::behaviours::a_once_whose_closure_panics,
        poison: what_waits_for_a_once_that_panics,
    }
    /// The refusal of a priority-inheriting lock that the kernel took from an owner that exited.
    pi_gone {
        locks_pi: an_owner_that_goes_while_others_wait,
    }
    /// The patience with a lock that the kernel has given to a waiter which has not run since.
    pi_handed {
        locks_pi: an_owner_that_goes_while_another_comes,
    }
    /// The heavy fence between closing an asymmetric rwlock and the scan of the slots (pair G).
    asym_close_heavy {
        model: model::asymmetric::readers_and_a_writer,
        loom: asym::loom_tests::rwlock_a_reader_and_a_writer,
    }
    /// The heavy fence of a writer that finds a lock which another writer is closing: taken for its
    /// own.
    asym_foreign_closing {
        model: model::asymmetric::two_writers_that_meet,
        loom: asym::loom_tests::rwlock_two_writers_and_a_reader,
        loom: asym::loom_tests::rwlock_an_upgrade_while_a_writer_closes,
    }
    /// The same fence of a writer that has a deadline, or meets another that closes the lock.
    asym_revoke_heavy {
        model: model::asymmetric::two_writers_that_meet,
        loom: asym::loom_tests::rwlock_trying_and_giving_up,
    }
    /// A reader's check whether the asymmetric rwlock is open, after its announcement (pair G).
    asym_read_rechecks {
        // The window is a few instructions wide: readers look before they announce themselves, too.
        loom: asym::loom_tests::rwlock_a_reader_and_a_writer,
    }
    /// The light fence between an announcement in a slot and the check of the lock (pairs G, I).
    asym_announce_light {
        // No instruction, or what x86 does anyway.
        loom: asym::loom_tests::rwlock_a_reader_and_a_writer,
        loom: asym::loom_tests::mutex_owner_and_revoker,
    }
    /// The light fence between leaving a slot and the check of `waited` (pairs H, J).
    asym_leave_light {
        loom: asym::loom_tests::rwlock_a_reader_and_a_writer,
        loom: asym::loom_tests::mutex_owner_and_revoker,
    }
    /// The wait for the threads whose slots say that they are inside an asymmetric lock.
    asym_no_wait {
        asym_rwlock: a_writer_waits_for_slots,
        loom: asym::loom_tests::rwlock_a_reader_and_a_writer,
        loom: asym::loom_tests::mutex_owner_and_revoker,
    }
    /// The heavy fence between asking a thread for a wake and the recheck (pairs H, J).
    asym_heavy_before_sleep {
        model: model::asymmetric::a_writer_that_sleeps,
        loom: asym::loom_tests::rwlock_a_reader_and_a_writer,
        loom: asym::loom_tests::mutex_owner_and_revoker,
    }
    /// The recheck of an asymmetric lock's slot before the sleep.
    asym_drain_recheck {
        // The window is a few instructions wide.
        loom: asym::loom_tests::rwlock_a_reader_and_a_writer,
        loom: asym::loom_tests::mutex_owner_and_revoker,
    }
    /// The second request for a wake, when a sleep returned and the thread is still inside.
    asym_ask_again {
        loom: asym::loom_tests::rwlock_a_reader_and_a_writer,
        loom: asym::loom_tests::mutex_owner_and_revoker,
    }
    /// The check for a sleeping writer by a thread that leaves an asymmetric lock.
    asym_leave_checks_waited {
        asym_rwlock: a_writer_waits_for_slots,
        loom: asym::loom_tests::rwlock_a_reader_and_a_writer,
        loom: asym::loom_tests::mutex_owner_and_revoker,
    }
    /// The wake of a sleeping writer by a thread that leaves an asymmetric lock.
    asym_leave_wake {
        asym_rwlock: a_writer_waits_for_slots,
        loom: asym::loom_tests::rwlock_a_reader_and_a_writer,
        loom: asym::loom_tests::mutex_owner_and_revoker,
    }
    /// The release of the store that leaves an asymmetric lock (relaxed instead).
    asym_leave_release {
        loom: asym::loom_tests::rwlock_a_reader_and_a_writer,
        loom: asym::loom_tests::mutex_owner_and_revoker,
    }
    /// The acquire of the writer's scan of a slot (relaxed instead).
    asym_scan_acquire {
        loom: asym::loom_tests::rwlock_a_reader_and_a_writer,
        loom: asym::loom_tests::mutex_owner_and_revoker,
    }
    /// The count of a thread's guards of one asymmetric rwlock.
    asym_nested_count {
        asym_rwlock: nested_reads_pass_a_waiting_writer,
        loom: asym::loom_tests::rwlock_nested,
    }
    /// The note in a slot that its thread reads by way of the ordinary lock.
    asym_note_ordinary {
        asym_rwlock: nested_reads_pass_a_waiting_writer,
    }
    /// The keeping of the slots of a thread that exits inside an asymmetric lock.
    asym_exit_drops_live_slots {
        asym_rwlock: leaked_guards,
    }
    /// The heavy fence between taking a mutex's bias away and the check of its owner's slots (pair
    /// I).
    asym_bias_heavy {
        model: model::asymmetric::an_owner_and_a_revoker,
        loom: asym::loom_tests::mutex_owner_and_revoker,
    }
    /// The release of the store that opens an asymmetric rwlock to slots (relaxed instead).
    asym_open_release {
        // No instruction of x86, and hidden by loom's fences; and by what other tests order.
        sanitizer: asym_rwlock::who_enters_by_a_slot_sees_what_was_written,
    }
    /// The check whether the allocator re-enters an asymmetric lock while its thread's slots are
    /// made.
    asym_registering {
        allocator_first_use: asymmetric_locks,
    }
    /// The child's repair of slots after a fork.
    asym_fork {
        asym_fork: what_stays_locked,
    }
    /// The order of an owner's announcement and its check of the biased mutex: check first (pair
    /// I).
    asym_owner_rechecks {
        // The window is a few instructions wide.
        loom: asym::loom_tests::mutex_owner_and_revoker,
    }
    /// The rule that an owner enters a biased mutex by its first slot only: by any free slot
    /// instead.
    asym_first_slot {
        asym_mutex: its_owner_is_inside_once_whatever_slots_are_free,
    }
    /// The check whether a bias that is revoked is another thread's: taken for the caller's own.
    asym_foreign_owner {
        loom: asym::loom_tests::mutex_owner_and_revoker,
    }
    /// The return of the bias when a revoker gives up.
    asym_owner_restored {
        asym_mutex: one_at_a_time,
        loom: asym::loom_tests::mutex_trying_and_giving_up,
    }
    /// The reopening of an asymmetric rwlock when a writer gives up.
    asym_open_restored {
        asym_rwlock: a_writer_that_gives_up_lets_readers_in,
        asym_upgrade: who_shares_with_it,
        loom: asym::loom_tests::rwlock_trying_and_giving_up,
        loom: asym::loom_tests::rwlock_an_upgrade_while_a_writer_closes,
    }
    /// The taking of an asymmetric rwlock from the readers in their slots by an upgrade.
    asym_upgrade_revokes {
        asym_upgrade: who_shares_with_it,
        loom: asym::loom_tests::rwlock_an_upgrade,
    }
    /// The check whether the locks that earn a mutex's bias are one thread's.
    asym_row_of_one {
        asym_mutex: the_bias_is_not_earned_in_turn,
    }
    /// The expiry of requests for a mutex whose threads do not come.
    mutex_expire {
        mutex_fairness: who_asked_and_is_not_there,
    }
    /// The keeping of other waiters' requests when one that asked takes the mutex.
    mutex_ask_forgotten {
        mutex_fairness: two_that_asked,
    }
    /// A condition variable's check whether its waiters, and so their mutex, are of this process.
    condvar_forked {
        condvar_forks: a_child_notifies,
    }
    /// A shared guard's check whether it is of this process, and not a fork's copy.
    shared_fork_mark {
        shared: guards_that_a_fork_copies,
    }
    /// A robust guard's check whether it is of this process, and not a fork's copy.
    robust_fork_mark {
        robust_forks: a_child_with_the_dead_owners_number,
    }
    /// The heavy fence of a light robust mutex's sleeper (pair K).
    robust_light_heavy {
        // The window is two instructions wide.
        robust_model: robust_model::light_tests::the_pair,
    }
    /// The mark of a light robust mutex's owner that it is leaving (pair K).
    robust_light_leaving {
        robust_stepping: by_store::unlock_while_somebody_comes,
    }
    /// The release of the exchange that queues a callback (relaxed instead).
    push_release {
        loom: rcu::loom_tests::what_callbacks_carry,
    }
    /// The acquire of the exchange that takes what is queued (release only instead).
    take_acquire {
        // Loom takes the heavy fence that follows for it; what lies between the two it does not
        // watch.
        sanitizer: defer,
    }
    /// The light fence between telling what the worker begins and its check for a fork (pair L).
    pause_light {
        model: model::pausing::callbacks_beside_a_fork,
    }
    /// The heavy fence between telling of a fork and the check of what the worker runs (pair L).
    pause_heavy {
        model: model::pausing::callbacks_beside_a_fork,
    }
    /// The full fence between the callers' unlink and the check whether a heavy one is needed (pair
    /// M).
    quiet_fence {
        model: model::registering::the_first_reader,
    }
    /// The full fence between counting a reader and all its later loads (pair M).
    register_fence {
        // A locked addition stands before it: x86 has the fence already.
        model: model::registering::the_first_reader,
    }
    /// The acquire of the check how many readers are registered (relaxed instead).
    registered_acquire {
        model: model::registering::the_last_reader,
    }
    /// The release of the count of a reader that unregisters (relaxed instead).
    registered_release {
        model: model::registering::the_last_reader,
    }
    /// The starter's check whether the worker that it started is still there.
    worker_state {
        fork_everywhere: arranged::a_worker_that_ends_before_its_starter_has_said_that_it_runs,
        loom: rcu::loom_tests::life::a_worker_that_ends,
    }
    /// The child's adoption of the callbacks that it inherits.
    fork_adopts {
        fork: callbacks::a_child_adopts_callbacks_by_choice,
    }
    /// The keeping, in a child, of what a leaked guard of a thread that has exited protects.
    fork_drops_leaked {
        fork: leaked::what_a_guard_protects_that_was_leaked_late,
    }
    /// The reset of the signal fence's lock in a child.
    signal_fork {
        fork_everywhere: operations::fences::beside::heavy_by_signals,
    }
    /// The start of the worker by the C library: by the standard library, whose lock a fork copies.
    worker_of_std {
        fork_beside_starts: the_worker_starts_in_the_child,
    }
    /// The end of a writer's wait for readers that do not come for the lock that is kept for them.
    rwlock_expire {
        rwlock_steered: a_reader_that_was_passed_over_and_is_slow,
    }
    /// The choice of a signal for fences that ends no program into which `execve` takes it along.
    signal_survives_execve {
        execve: with_a_fences_signal_pending,
    }
    /// The check whether the caller runs on the processor that it visits.
    visit_checks {
        refused: affinity_that_is_not_kept,
    }
    /// The check whether the caller was switched out on its way to the processor that it visits.
    visit_switches {
        refused: a_kernel_that_only_says_so,
    }
    /// The second visit of all processors when they have changed meanwhile.
    visit_again {
        refused: processors_that_change_meanwhile,
    }
    /// The check whether the threads are listed by the numbers by which they are signalled.
    signal_numbers {
        refused: another_proc,
    }
    /// The heavy fence between unlinking and the scan of the hazard pointers (pair N).
    hazard_heavy {
        model: model::hazards::one_use,
        loom: hazard::loom_tests::a_reader_and_a_reclaimer,
        fences_refused: what_is_retired_waits,
    }
    /// The light fence between a hazard pointer's announcement and the second load (pair N).
    hazard_light {
        model: model::hazards::one_use,
        loom: hazard::loom_tests::a_reader_and_a_reclaimer,
    }
    /// The comparison of the pointer that was announced with what the second load finds.
    hazard_rechecks {
        model: model::hazards::one_use,
        loom: hazard::loom_tests::a_reader_and_two_replacements,
        hazard: threads::a_protection_that_comes_too_late,
    }
    /// The acquire of the second load (relaxed instead).
    hazard_load_acquire {
        model: model::hazards::an_address_again,
    }
    /// The release of the store that protects nothing from now on (relaxed instead).
    hazard_reset_release {
        model: model::hazards::one_use,
        loom: hazard::loom_tests::a_reader_and_a_reclaimer,
    }
    /// The release of the store that protects the next object (relaxed instead).
    hazard_protect_release {
        model: model::hazards::one_use_after_the_other,
        loom: hazard::loom_tests::one_protection_after_the_other,
    }
    /// The acquire of the scan of the hazard pointers (relaxed instead).
    hazard_scan_acquire {
        model: model::hazards::one_use,
        loom: hazard::loom_tests::a_reader_and_a_reclaimer,
    }
    /// The release of the push to the list of retired objects (relaxed instead).
    hazard_push_release {
        loom: hazard::loom_tests::what_another_thread_retired,
    }
    /// The acquire with which the list of retired objects is taken (relaxed instead).
    hazard_take_acquire {
        sanitizer: hazard,
    }
    /// The doubling of the number of retired objects at which a refused heavy fence is asked for again.
    hazard_backs_off {
        fences_refused: what_is_retired_waits if x86_64,
    }
    /// The end of a step whose heavy fence was refused.
    step_refused {
        fences_refused: collectors_keep_what_is_deferred,
    }
    /// The wait of a collector, whose heavy fence was refused, for more items before it asks again.
    pace_backs_off {
        fences_refused: collectors_keep_what_is_deferred if x86_64,
    }
    /// The exemption of an object that a hazard pointer names from the end of its batch.
    hazard_keeps {
        hazard: what_is_protected_is_kept,
        stepping: a_hazard_pointer_protects_whatever_a_writer_does,
        loom: hazard::loom_tests::a_reader_and_a_reclaimer,
    }
    /// The end of the protection when a hazard pointer is dropped.
    hazard_drop_resets {
        hazard: what_is_protected_is_kept,
    }
    /// The refusal to reclaim from within a destructor.
    hazard_turn {
        hazard: destructors_that_retire,
    }
    /// The return of a batch to the list when a destructor panics.
    hazard_unwinds {
        hazard: destructors_that_panic,
    }
    /// The end of the list of retired objects in the child of a fork.
    hazard_fork {
        hazard: forks::what_was_retired_is_the_parents,
    }
    /// The acquire of a line's word, for the addresses in its slots.
    map_tags_acquire {
        loom: collect::table::loom_tests::an_insertion_and_a_reader,
    }
    /// The release of a line's word.
    map_publish_release {
        loom: collect::table::loom_tests::an_insertion_and_a_reader,
    }
    /// The acquire of a node's address, for what the node has.
    map_node_acquire {
        loom: collect::table::loom_tests::a_replacement_and_a_reader,
    }
    /// The release of a node's address.
    map_node_release {
        loom: collect::table::loom_tests::a_replacement_and_a_reader,
    }
    /// The acquires of a writer that takes a line's lock, or finds the line moved.
    map_lock_acquire {
        loom: collect::table::loom_tests::one_of_two_insertions_of_a_key,
        loom: collect::table::loom_tests::a_move_and_a_writer,
    }
    /// The release of the link to a further overflow line.
    map_link_release {
        loom: collect::table::loom_tests::an_insertion_into_two_full_lines_and_a_reader,
    }
    /// The acquire of the link to a further overflow line.
    map_link_acquire {
        loom: collect::table::loom_tests::an_insertion_into_two_full_lines_and_a_reader,
    }
    /// The look, with the lock, for nodes that the writer has not compared.
    map_insert_recheck {
        loom: collect::table::loom_tests::one_of_two_insertions_of_a_key,
    }
    /// The second look of a writer that is about to sleep.
    map_lock_recheck {
        loom: collect::table::loom_tests::three_writers_of_one_line,
    }
    /// The count of a wake.
    map_room_count {
        loom: collect::table::loom_tests::three_writers_of_one_line,
    }
    /// The wake of writers that wait for a line.
    map_room_wake {
        loom: collect::table::loom_tests::three_writers_of_one_line,
    }
    /// The second line's lock, where two lines are moved into one.
    map_move_locks_all {
        loom: collect::table::loom_tests::a_move_to_half_the_size_and_a_writer,
    }
    /// The refusal of a node that has another hash than the one whose place it is to take.
    map_replace_refuses {
        loom: collect::table::loom_tests::a_replacement_of_another_hash_is_refused,
    }
    /// The hash of a call, which it carries on: asked for again where an entry is replaced.
    map_hash_once {
        hash_map_lies: update,
        hash_map_lies: each_call_hashes_once,
    }
    /// The emptying of a line that an attempt at a move has filled which was refused memory.
    map_move_anew {
        refused_memory: in_turn::every_operation_is_refused_at_each_allocation,
    }
    /// The memory of which overflow line a move fills: it goes through all of them for each node.
    map_move_end {
        loom: collect::table::loom_tests::a_move_of_many_nodes_of_one_line,
    }
    /// The look whether a node moves within its unit.
    map_move_unit {
        hash_map_lies: a_node_whose_hash_changes_ends_the_process,
    }
    /// The mark that a closure of the thread leaves where it writes its own key.
    map_own_write {
        hash_map_closures: a_closure_that_writes_its_own_key_each_time_panics,
    }
    /// That mark, of a closure in which another one of another key runs.
    map_outer_write {
        hash_map_closures: a_closure_whose_inner_closure_writes_its_key_panics,
    }
    /// The mark of an overflow line that a writer linked which the child of a fork does not have.
    map_repair_overflow {
        loom: collect::table::loom_tests::a_fork_beside_a_new_overflow_line,
    }
    /// The bit of a tag that tells a node from a free slot.
    map_tag_bit {
        hash_map: equal_hashes_are_a_list,
    }
    /// What a walk leaves out where a table has shrunk.
    map_walk_position {
        loom: collect::table::loom_tests::a_walk_and_a_move_to_half_the_size,
    }
    /// The acquire of a node's link, for what the next node has.
    cmap_link_acquire {
        loom: collect::table::list_loom_tests::an_addition_and_a_reader,
    }
    /// The release of a link to a node that was added behind another.
    cmap_link_release {
        loom: collect::table::list_loom_tests::an_addition_and_a_reader,
    }
    /// The release of a replaced node's link to the one that took its place.
    cmap_replace_release {
        loom: collect::table::list_loom_tests::a_replacement_and_a_reader,
    }
    /// The bit of a link that says that its node was removed.
    cmap_removed_bit {
        loom: collect::table::list_loom_tests::a_reader_that_stands_meets_what_is_there,
    }
    /// The mark of a node that was replaced.
    cmap_replace_marks {
        loom: collect::table::list_loom_tests::a_reader_that_stands_meets_what_is_there,
    }
    /// The mark of a node that was removed.
    cmap_remove_marks {
        loom: collect::table::list_loom_tests::a_reader_that_stands_meets_what_is_there,
    }
    /// The look for the node itself among those with its hash, before it is added.
    cmap_add_twice {
        hash_map_lies: a_node_that_is_added_twice,
    }
    /// The look, with the lock, for nodes of a list that the writer has not compared.
    cmap_add_recheck {
        loom: collect::table::list_loom_tests::one_of_two_additions_of_a_key,
    }
    /// The look, with the lock, whether the node that was last is still in the list.
    cmap_last_recheck {
        loom: collect::table::list_loom_tests::an_addition_behind_a_node_that_is_removed,
    }
    /// The look whether a container's writer is in a destructor of what that container held.
    limbo_nested {
        hash_map: frees::a_destructor_that_writes_is_not_interrupted_by_others,
    }
    /// The freeing by each writer that has filled a bag.
    limbo_each_frees {
        hash_map: frees::what_waits_is_bounded_beside_sixteen_writers,
        hash_map: frees::what_waits_is_bounded_beside_a_destructor_that_blocks,
    }
    /// The keeping of an item for which there is no memory in a bag.
    limbo_aside {
        refused_memory: in_turn::ordered::a_map_is_emptied_without_memory,
    }
    /// The wait for the grace period of a bag.
    limbo_waits {
        hash_map: frees::what_is_removed_is_freed_once_and_not_before_its_readers_leave,
    }
    /// The release of the link to new nodes of a list (relaxed instead).
    list_link_release {
        loom: collect::list::loom_tests::a_reader_beside_an_insertion,
    }
    /// The release of the link past a removed node (relaxed instead).
    list_unlink_release {
        loom: collect::list::loom_tests::a_reader_beside_an_insertion_and_a_removal,
    }
    /// The release of the link to a node that takes another's place (relaxed instead).
    list_replace_release {
        loom: collect::list::loom_tests::a_reader_beside_a_replacement,
    }
    /// The acquire of a walk's step (relaxed instead).
    list_walk_acquire {
        loom: collect::list::loom_tests::a_reader_beside_an_insertion,
    }
    /// The acquire of a lock whose word names its holder (relaxed instead).
    holder_lock_acquire {
        loom: collect::list::loom_tests::the_lock,
        loom: collect::ordered_map::loom_tests::the_lock,
        loom: collect::queue::loom_tests::two_consumers,
    }
    /// The release of such a lock (relaxed instead).
    holder_lock_release {
        loom: collect::list::loom_tests::the_lock,
        loom: collect::ordered_map::loom_tests::the_lock,
        loom: collect::queue::loom_tests::two_consumers,
    }
    /// The wake of a thread that waits for such a lock.
    holder_lock_wake {
        loom: collect::list::loom_tests::the_lock,
        loom: collect::ordered_map::loom_tests::the_lock,
        loom: collect::queue::loom_tests::two_consumers,
    }
    /// The comparison of the holder with the calling thread, where the word names a thread.
    holder_lock_own {
        list: hostile::a_second_lock_of_a_thread_panics,
    }
    /// The comparison of the holder with the one that gives the lock up, which another may have taken over.
    holder_lock_release_own {
        fork: consumers::a_consumer_that_is_dropped_leaves_the_right_to_the_one_that_took_it_over,
    }
    /// The question of a consumer whether it has its lock still, in the child of a fork.
    collect_lock_keep {
        fork: consumers::a_consumer_waits_for_the_one_that_took_its_right_over,
    }
    /// Taking such a lock from a thread that a fork has not copied.
    holder_lock_abandoned {
        fork_everywhere: operations::list::beside::push_back,
        fork_everywhere: operations::ordered_map::beside::insert,
        fork_everywhere: operations::collect::beside::queue_popped,
    }
    /// The second look of a writer that is about to sleep for the lock of a list.
    list_lock_recheck {
        loom: collect::list::loom_tests::the_lock,
    }
    /// The count of a wake of the lock of a list.
    list_lock_count {
        loom: collect::list::loom_tests::the_lock,
    }
    /// The walk that mends what such a thread has left.
    list_repair {
        fork_everywhere: operations::list::beside::retain,
    }
    /// The retiring of what was removed from a list.
    list_retire {
        list: drops::everything_is_dropped_once,
    }
    /// Keeping what is dropped with the list locked until it is not.
    list_waste {
        list: drops::no_destructor_runs_with_the_list_locked,
    }
    /// The refusal to wait for a grace period with the list locked.
    list_synchronize_own {
        list: hostile::a_grace_period_is_not_waited_for_with_the_list_locked,
    }
    /// The release of a new leaf or inner node, where a child is replaced.
    ordered_child_release {
        loom: collect::ordered_map::loom_tests::a_reader_beside_an_update_below_the_root,
    }
    /// The acquire of a child.
    ordered_child_acquire {
        loom: collect::ordered_map::loom_tests::a_reader_beside_an_update_below_the_root,
    }
    /// The release of a new root.
    ordered_root_release {
        loom: collect::ordered_map::loom_tests::a_reader_beside_an_update,
    }
    /// The acquire of the root.
    ordered_root_acquire {
        loom: collect::ordered_map::loom_tests::a_reader_beside_an_update,
    }
    /// The check that a writer's path is still linked.
    ordered_validate {
        ordered_map: hostile::a_closure_that_changes_its_own_leaf_loses_nothing,
        loom: collect::ordered_map::loom_tests::two_writers,
    }
    /// The last of the inner nodes that a change needs, of those that are reserved before the lock.
    ordered_reserve {
        ordered_map: drops::everything_is_dropped_once,
    }
    /// The reserve by which a checked call's entry is retired where there is no memory.
    ordered_reserve_apart {
        refused_memory: in_turn::ordered::what_was_taken_out_is_freed_without_memory,
    }
    /// The letting go of a shard by a comparison of maps that would wait for a shard of the other.
    shard_compare_waits {
        shard_map: compared::a_comparison_waits_with_nothing_locked,
    }
    /// The retiring of what a writer has unlinked.
    ordered_retire {
        ordered_map: drops::everything_is_dropped_once,
    }
    /// The leaving out of keys that a scan has returned already.
    ordered_scan_skip {
        ordered_map: a_reversed_scan_returns_no_key_twice,
    }
    /// The acquire of a look that finds the lock of those that pop free (relaxed instead).
    collect_lock_seen_acquire {
        sanitizer: stack,
    }
    /// The release of the mark that a thread makes which does not sleep on that lock (relaxed instead).
    collect_lock_mark_release {
        loom: collect::queue::loom_tests::a_taker_and_a_consumer_that_leaves,
    }
    /// The acquire of an unlock that finds such a mark.
    collect_lock_mark_acquire {
        loom: collect::queue::loom_tests::a_taker_and_a_consumer_that_leaves,
    }
    /// The release of the exchange that writes a link (relaxed instead).
    collect_link_release {
        loom: collect::raw::loom_tests::two_producers_and_a_consumer,
    }
    /// The wake of a thread that waits for a link.
    collect_link_wake {
        loom: collect::raw::loom_tests::two_producers_and_a_consumer,
    }
    /// The taking back of a claim for which there was no memory.
    queue_take_back {
        refused_memory: a_queue_is_refused_memory_for_long,
    }
    /// The acquire of the addition that claims a slot (relaxed instead).
    queue_claim_acquire {
        sanitizer: queue,
    }
    /// The release of the store that fills a slot (relaxed instead).
    queue_fill_release {
        loom: collect::queue::loom_tests::two_producers_and_a_consumer,
    }
    /// The acquire of the load that finds a slot filled (relaxed instead).
    queue_take_acquire {
        loom: collect::queue::loom_tests::two_producers_and_a_consumer,
    }
    /// The release of the exchange that appends a block (acquire only instead).
    queue_link_release {
        sanitizer: queue,
    }
    /// The acquire of the load of the tail by the consumer (relaxed instead).
    queue_reach_acquire {
        sanitizer: queue,
    }
    /// The acquire of the exchange that takes the spare block (relaxed instead).
    queue_spare_acquire {
        sanitizer: queue,
    }
    /// The release of the exchange that keeps a spare block (acquire only instead).
    queue_spare_release {
        sanitizer: queue,
    }
    /// The wake of a consumer that sleeps for a value.
    queue_wake {
        loom: collect::queue::loom_tests::two_producers_and_a_consumer,
    }
    /// Pair P, the light half: between filling a slot and looking for a consumer that sleeps for one.
    queue_gap_light {
        loom: collect::queue::loom_tests::two_producers_and_a_consumer,
    }
    /// Pair P, the heavy half: between the mark of a consumer that waits for a slot and its recheck.
    queue_gap_heavy {
        loom: collect::queue::loom_tests::two_producers_and_a_consumer,
    }
    /// The recheck of the slot after that fence.
    queue_gap_recheck {
        loom: collect::queue::loom_tests::two_producers_and_a_consumer,
    }
    /// The wake of a consumer that sleeps for a claimed slot.
    queue_gap_wake {
        loom: collect::queue::loom_tests::two_producers_and_a_consumer,
    }
    /// The wake by other kinds of futex than the producer's.
    queue_gap_kinds {
        queue_gaps: consumers_on_two_kinds_of_futex_are_woken,
        loom: collect::queue::loom_tests::consumers_on_two_kinds_of_futex,
    }
    /// The look at the mark that was taken away, for that wake, and not at the one that was found.
    queue_gap_taken {
        loom: collect::queue::loom_tests::consumers_on_two_kinds_of_futex,
    }
    /// The acquire of the exchange that takes the mark of a consumer that waits for a slot away (relaxed instead).
    queue_gap_taken_acquire {
        loom: collect::queue::loom_tests::consumers_on_two_kinds_of_futex,
    }
    /// The release of the mark of a consumer that waits for a slot (relaxed instead).
    queue_gap_mark_release {
        loom: collect::queue::loom_tests::consumers_on_two_kinds_of_futex,
    }
    /// The bound of a sleep by a kind of futex for which there was no place.
    queue_gap_crowded {
        queue_gaps: consumers_on_more_kinds_of_futex_than_there_are_places_for,
    }
    /// The acquire of the tail, by a look whether the queue is empty (relaxed instead).
    queue_empty_acquire {
        loom: collect::queue::loom_tests::a_look_at_a_queue_whose_block_comes_again,
    }
    /// The second look at the count of blocks that the front has left, by such a look.
    queue_left_recheck {
        loom: collect::queue::loom_tests::a_look_at_a_queue_whose_block_comes_again,
    }
    /// The order of the exchange that marks the consumer as asleep (relaxed instead).
    queue_sleep_order {
        loom: collect::queue::loom_tests::two_producers_and_a_consumer,
    }
    /// The recheck that the queue is empty still when the consumer is marked as asleep.
    queue_sleep_recheck {
        loom: collect::queue::loom_tests::two_producers_and_a_consumer,
    }
    /// The recheck of closing after the consumer is marked as asleep.
    queue_closed_recheck {
        loom: collect::queue::loom_tests::closing,
    }
    /// The order of the addition by which closing meets the consumer (relaxed instead).
    queue_close_order {
        loom: collect::queue::loom_tests::closing,
    }
    /// The wake of the consumer when the queue is closed.
    queue_close_wake {
        loom: collect::queue::loom_tests::closing,
    }
    /// The acquire of the load that finds the queue closed (relaxed instead).
    queue_closed_acquire {
        loom: collect::queue::loom_tests::closing,
    }
    /// The look of a thread that pops, and waits for the lock, whether the queue is closed and empty.
    queue_over {
        queue_takers: pops_behind_an_idle_consumer_end_when_the_queue_is_closed,
    }
    /// The order of such a thread's mark and its look (relaxed instead).
    queue_over_order {
        loom: collect::queue::loom_tests::a_pop_behind_a_consumer_of_a_queue_that_is_closed,
    }
    /// The order by which a consumer shows that the closed queue is empty (relaxed instead).
    queue_shows_order {
        loom: collect::queue::loom_tests::a_pop_behind_a_consumer_that_finds_the_closed_queue_empty,
    }
    /// The wake of such threads where the queue is closed.
    queue_close_poppers {
        queue_takers: pops_behind_an_idle_consumer_end_when_the_queue_is_closed,
    }
    /// The wake of such threads by a consumer that finds the closed queue empty.
    queue_over_poppers {
        queue_takers: pops_and_takers_end_when_a_consumer_finds_the_closed_queue_empty,
    }
    /// The telling of threads that take all by a consumer that finds the closed queue empty.
    queue_over_takers {
        queue_takers: pops_and_takers_end_when_a_consumer_finds_the_closed_queue_empty,
    }
    /// The count of wakes, by which a thread that is about to sleep learns of one.
    collect_lock_count {
        loom: collect::queue::loom_tests::two_consumers,
    }
    /// The acquire of what earlier holders did, for the look whether to give up.
    collect_lock_look_acquire {
        loom: collect::queue::loom_tests::pops_behind_a_consumer_that_comes_again,
    }
    /// The passing on of a wake by a thread that gives up.
    collect_lock_pass_on {
        loom: collect::queue::loom_tests::pops_behind_a_consumer_that_comes_again,
    }
    /// The look of a thread that takes all whether the queue is empty.
    queue_taker_look {
        queue_takers: a_taker_passes_a_consumer_that_sleeps,
    }
    /// The mark of the lock by a thread that waits to take all.
    queue_taker_mark {
        queue_takers: a_consumer_that_is_dropped_lets_takers_go,
        loom: collect::queue::loom_tests::a_taker_and_a_consumer_that_leaves,
    }
    /// The order of the addition by which such a thread meets the consumer (relaxed instead).
    queue_taker_order {
        loom: collect::queue::loom_tests::a_taker_and_a_consumer_that_sleeps,
    }
    /// The telling of such threads by a consumer that goes to sleep.
    queue_taker_sleep {
        queue_takers: a_consumer_that_goes_to_sleep_lets_takers_go,
        loom: collect::queue::loom_tests::a_taker_and_a_consumer_that_sleeps,
    }
    /// The telling of such threads by a consumer that asks in vain.
    queue_taker_try {
        queue_takers: a_consumer_that_finds_nothing_lets_takers_go,
    }
    /// The telling of such threads by an unlock.
    queue_taker_unlock {
        queue_takers: a_consumer_that_is_dropped_lets_takers_go,
        loom: collect::queue::loom_tests::a_taker_and_a_consumer_that_leaves,
    }
    /// The count by which such a thread learns that it was told before it slept.
    queue_turn {
        loom: collect::queue::loom_tests::a_taker_and_a_consumer_that_sleeps,
    }
    /// The bound of a wait for a slot whose producer a fork may not have copied.
    queue_gap_inherited {
        fork_everywhere: operations::collect::beside::queue_pushed,
    }
    /// The release of the state of a bounded queue's slot that was filled (relaxed instead).
    bounded_fill_release {
        loom: collect::bounded::loom_tests::two_producers_and_a_consumer,
    }
    /// The acquire of the state of a bounded queue's slot that is filled (relaxed instead).
    bounded_take_acquire {
        sanitizer: bounded,
    }
    /// The release of the state of a bounded queue's slot that was emptied (relaxed instead).
    bounded_free_release {
        loom: collect::bounded::loom_tests::what_was_done_before_a_pop,
    }
    /// The acquire of the state of a bounded queue's slot that is free (relaxed instead).
    bounded_room_acquire {
        sanitizer: bounded,
    }
    /// The acquire of the head, by a look whether a bounded queue is empty (relaxed instead).
    bounded_empty_acquire {
        loom: collect::bounded::loom_tests::a_look_at_a_queue_with_values,
    }
    /// The acquire of the tail, by a look whether a bounded queue is full (relaxed instead).
    bounded_full_acquire {
        loom: collect::bounded::loom_tests::a_look_at_a_queue_with_room,
    }
    /// The look whether a bounded queue's tail has moved while its values were counted.
    bounded_len_recheck {
        loom: collect::bounded::loom_tests::a_count_of_values,
    }
    /// The telling of threads that wait for a bounded queue's slot, which was filled (pair P).
    bounded_fill_gap {
        loom: collect::bounded::loom_tests::two_producers_and_a_consumer,
    }
    /// The telling of threads that wait for a bounded queue's slot, which was emptied (pair P).
    bounded_free_gap {
        loom: collect::bounded::loom_tests::a_producer_and_a_consumer_of_one_slot,
    }
    /// The wake of a consumer of a bounded queue.
    bounded_wake_pops {
        bounded: consumers_that_sleep_are_woken,
        loom: collect::bounded::loom_tests::two_consumers_that_sleep,
    }
    /// The wake of a producer of a bounded queue.
    bounded_wake_pushes {
        bounded: producers_that_sleep_are_woken,
        loom: collect::bounded::loom_tests::two_producers_that_sleep,
    }
    /// The recheck that a bounded queue's cursor has not moved when it is marked.
    bounded_mark_recheck {
        loom: collect::bounded::loom_tests::two_producers_and_a_consumer,
    }
    /// The passing on of a wake by one that has waited for a bounded queue.
    bounded_pass_on {
        bounded: consumers_that_sleep_are_woken,
        loom: collect::bounded::loom_tests::two_consumers_that_sleep,
    }
    /// The mark for those that still wait for a bounded queue, by one that goes.
    bounded_pass_mark {
        loom: collect::bounded::loom_tests::two_consumers_that_sleep,
    }
    /// The wake of one of those that still wait for a bounded queue, by one that goes.
    bounded_pass_wake {
        loom: collect::bounded::loom_tests::two_consumers_that_sleep,
    }
    /// The wake of consumers when a bounded queue is closed.
    bounded_close_pops {
        bounded: consumers_that_sleep_are_woken,
        loom: collect::bounded::loom_tests::closing_for_consumers,
    }
    /// The wake of producers when a bounded queue is closed.
    bounded_close_pushes {
        bounded: producers_that_sleep_are_woken,
        loom: collect::bounded::loom_tests::closing_for_producers,
    }
    /// The order by which a close meets producers that go to sleep (relaxed instead).
    bounded_close_order {
        loom: collect::bounded::loom_tests::closing_for_producers,
    }
    /// The recheck that a bounded queue is open still when a producer has marked its head.
    bounded_closed_recheck {
        loom: collect::bounded::loom_tests::closing_for_producers,
    }
    /// The keeping of the mark of producers that wait, by a push by force.
    bounded_displace_mark {
        loom: collect::bounded::loom_tests::a_push_by_force_and_a_producer_that_sleeps,
    }
    /// The wake of a task that waits for a bounded queue.
    bounded_wake_task {
        bounded_tasks: a_task_waits_for_a_value,
        bounded_tasks: a_task_waits_for_room,
    }
    /// The wake of tasks when a bounded queue is closed.
    bounded_close_tasks {
        bounded_tasks: closing_wakes_tasks,
    }
    /// The settling of a bounded queue in the child of a fork.
    bounded_adopt {
        fork_everywhere: operations::bounded::beside::pushed,
    }
    /// The order of the exchange of an intrusive queue's tail (relaxed instead).
    queue_raw_tail_order {
        loom: collect::raw::loom_tests::two_producers_and_a_consumer,
    }
    /// The wake of the consumer of an intrusive queue.
    queue_raw_wake {
        loom: collect::raw::loom_tests::two_producers_and_a_consumer,
    }
    /// The acquire of the load of the first node (relaxed instead).
    queue_raw_take_acquire {
        loom: collect::raw::loom_tests::two_producers_and_a_consumer,
    }
    /// The release of the exchange that marks the consumer as asleep (relaxed instead).
    queue_raw_sleep_release {
        loom: collect::raw::loom_tests::two_producers_and_a_consumer,
    }
    /// The recheck that the queue is empty still when the consumer is marked as asleep.
    queue_raw_sleep_recheck {
        loom: collect::raw::loom_tests::two_producers_and_a_consumer,
    }
    /// The order of the exchange by which a splice takes the tail (relaxed instead).
    queue_raw_splice_order {
        loom: collect::raw::loom_tests::a_splice_beside_a_push,
    }
    /// The bound of a wait for a link whose producer a fork may not have copied.
    queue_raw_forked {
        fork_everywhere: operations::collect::beside::raw_pushed,
    }
    /// The release of a push to a stack (relaxed instead).
    stack_push_release {
        loom: collect::raw::loom_tests::a_stack_popped_one_by_one,
    }
    /// The release of a wait-free push to a stack (relaxed instead).
    stack_push_wait_free_release {
        loom: collect::raw::loom_tests::a_stack_popped_one_by_one,
    }
    /// The acquire of the load of the top node (relaxed instead).
    stack_pop_acquire {
        loom: collect::raw::loom_tests::a_stack_popped_one_by_one,
    }
    /// The acquire of the exchange that pops all nodes (relaxed instead).
    stack_pop_all_acquire {
        loom: collect::raw::loom_tests::a_stack_popped_at_once,
    }
    /// The fence of a `pop` between its lock and the top node.
    stack_pop_fence {
        loom: collect::stack::loom_tests::a_pop_beside_a_pop_of_all,
    }
    /// The fence of `pop_all` between the top node and the lock.
    stack_taken_fence {
        loom: collect::stack::loom_tests::a_pop_beside_a_pop_of_all,
    }
    /// The wait for a `pop` before nodes that `pop_all` took are freed.
    stack_taken_settle {
        loom: collect::stack::loom_tests::a_pop_beside_a_pop_of_all,
    }
    /// The sentence for a thread that reads a shard which it has locked for writing.
    shard_read_sees_own_write {
        shard_map: a_read_while_the_thread_writes_panics,
    }
    /// The sentence for a thread that writes a shard which it reads.
    shard_write_sees_own_read {
        shard_map: a_write_while_the_thread_reads_panics,
        shard_map: a_write_within_an_iteration_panics,
    }
    /// The sentence for a thread that writes a shard which it has locked for writing.
    shard_write_sees_own_write {
        shard_map: a_write_while_the_thread_writes_panics,
    }
    /// The list of a thread's reads that none of its slots shows.
    shard_notes_reads {
        shard_map: a_write_while_the_thread_reads_panics,
    }
}
