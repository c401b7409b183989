//! Mutants: one fence, wait, wake or re-check taken out at a time, to show that some test notices.
//!
//! In an ordinary build [`mutated!`] is the constant `false` and nothing of this is compiled. With
//! `--cfg leeward_mutants` the environment variable `LEEWARD_MUTANT` names the one that is active, so that a single
//! build serves the whole list. `ci/mutants` runs it and demands that each one dies.

/// The names, in one place: `name: what is taken out`.
macro_rules! mutants {
    ($($name:ident: $what:literal,)*) => {
        /// Something that may be taken out.
        #[cfg(leeward_mutants)]
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[allow(non_camel_case_types, missing_docs)]
        pub enum Mutant { $($name,)* }

        /// Every mutant's name and what it takes out.
        #[cfg(leeward_mutants)]
        pub const ALL: &[(&str, &str)] = &[$((stringify!($name), $what),)*];

        #[cfg(leeward_mutants)]
        const VALUES: &[Mutant] = &[$(Mutant::$name,)*];
    };
}

mutants! {
    heavy_before_scan: "the heavy fence between the caller's unlink and the scan of the slots (pair A)",
    global_before_heavy: "the order of the heavy fence and the advance of the global epoch: epoch first (pair A)",
    caller_fence: "the full fence between the caller's unlink and its look at the tickets (pair B)",
    heavy_before_sleep: "the heavy fence between raising `waited` and the second look (pair C)",
    rearm_after_return: "raising `waited` again when a sleep returned and the reader is still inside",
    heavy_after_rearm: "the heavy fence behind that second raising (pair C)",
    recheck_before_sleep: "the second look at the slot between the heavy fence and the sleep",
    no_wait: "waiting for readers at all",
    wait_for_zero_only: "taking a reader that entered after the epoch's advance for one that need not be waited for",
    leave_wake: "the leaving reader's wake of a sleeping writer",
    leave_checks_waited: "the leaving reader's look at `waited`",
    enter_light: "the light fence between the entering store and the section's loads (pair A)",
    leave_light: "the light fence between the leaving store and the look at `waited` (pair C)",
    quiesce_light: "the light fence behind the quiescent store (pairs A and C)",
    leave_store_release: "the release of the leaving store (relaxed instead)",
    enter_store_release: "the release of the entering store (relaxed instead)",
    scan_acquire: "the acquire of the scan's loads (relaxed instead)",
    nested_count: "counting the sections beyond the first",
    refresh_outermost: "a refreshed guard's look whether it is the only one",
    ticket_started: "the ticket's + 1: a grace period that already runs is taken for one that starts later",
    follower_fence: "the full fence between a follower's announcement and its last look (pair D)",
    follower_recheck: "a follower's last look before it sleeps (pair D)",
    hand_over_fence: "the full fence between handing the lead over and the look at who sleeps (pair D)",
    step_down_fence: "the same where the lead is given away unused (pair D)",
    follower_wake: "the leader's wake of the callers that it served",
    next_leader_wake: "the leader's wake of one caller of the next grace period",
    step_down_wake: "the wake of a caller that takes the lead and finds itself served already",
    done_release: "the order of `done` and the hand-over: handed over first",
    own_section_leads: "a leader's look whether it is inside itself, before it sleeps on a reader",
    own_section_follows: "the same of a follower, before it sleeps",
    exit_drops_live_slot: "keeping the slot of a thread that exits inside a section",
    fork_hook: "the child's clean-up after fork",
    worker_grace: "the grace period between taking a batch and running it",
    worker_wake: "waking the worker when a callback was queued",
    worker_call_wake: "the wake behind the word that tells the worker of work",
    want_wake: "waking the worker when somebody wants to poll",
    barrier_waits: "waiting in `barrier` for the batch that is running",
    waiting_fence: "the full fence between a waiter's announcement and its last look (pair E)",
    waiting_recheck: "a waiter's last look before it sleeps (pair E)",
    batch_fence: "the full fence between a batch's end and the look at who waits (pair E)",
    batch_wake: "the wake of who waits for a batch",
    limit_waits: "the wait (or help) of a caller that reached the queue's limit",
    set_limit_wake: "the wake of callers at the limit when it is changed",
    qsbr_release: "the release of the quiescent store (relaxed instead)",
    signal_answer: "waiting for the answers to the fence's signals",
    signal_second_listing: "listing the threads again after the first have answered",
    publish_release: "the release of the cell's publishing exchange (relaxed instead)",
    spin_long: "the end of a wait's yields when they took long",
    spin_near: "the wait that does not yield since its deadline is near",
    spin_real_time: "the second yield that a real-time thread does not make",
    spin_busy: "the time in which no wait yields, since yields took a time slice",
    mutex_wake: "the wake of a contended mutex's unlock",
    mutex_contended: "the mark that others may sleep still, when a sleeper takes the mutex",
    mutex_reserve: "the reservation of a mutex that a starving waiter has asked for",
    mutex_ask_kept: "taking the request back when the time of the one that asked is up",
    light_heavy: "the heavy fence between raising the light mutex's waiters word and the second look (pair F)",
    light_recheck: "the second look at the light mutex before the sleep",
    light_wake: "the wake of a contended light mutex's unlock",
    light_raise: "raising the light mutex's waiters word",
    light_settle: "the exchange of a light mutex's raised word that stays as it is",
    light_leave: "counting the light mutex's woken sleeper as one that will look no more, when it has locked",
    condvar_sequence: "the change of a condition variable's sequence number",
    condvar_wake: "the wake of a condition variable",
    condvar_mark: "the mark on the mutex to which waiters were moved",
    condvar_lock_moved: "locking as contended after having been moved",
    robust_pending_late: "naming a robust lock as pending before taking it (after it instead)",
    robust_pending_before_link: "the pending entry until the lock is linked (cleared when it is taken)",
    robust_pending_before_release: "the pending entry until the word is released (cleared when it is unlinked)",
    robust_pending_before_wake: "the pending entry until a waiter is woken (cleared when the word is released)",
    robust_link_first: "the order of taking and linking: linked first",
    robust_waiters_dropped: "the waiters bit behind a release: the woken waiter alone knows of the others",
    robust_wake: "the wake of a waiter by a robust unlock",
    robust_settle_without_taking: "taking a robust lock back to clear its waiters bit",
    rwlock_writer_expire: "the end of a reader's wait for writers that do not come for the free lock",
    lock_forked: "what a lock's `try_` call in the child of a fork does not heed: marks of threads that are not there",
    rwlock_bypassed: "counting the readers that writers bypassed",
    rwlock_wake_readers: "waking the readers that wait for a writer's unlock",
    rwlock_wake_writer: "waking a writer",
    rwlock_wakes_release: "the release of the count of writers' wakes (relaxed instead)",
    rwlock_retract_wakes: "waking a writer that lay down while the mark was taken back",
    rwlock_full: "waiting for room where as many readers are inside of a shared readers-writer lock as can be counted, or a word says so",
    semaphore_wake: "a release's wake",
    semaphore_mark: "the mark that a woken waiter leaves for the others",
    semaphore_next_wake: "the wake of the next waiter by one that leaves permits",
    barrier_wake: "the last one's wake of the others",
    event_wake: "the wake of those who wait for an event",
    event_count: "letting go who slept when an event was set and cleared again",
    latch_wake: "the wake of those who wait for a latch",
    once_wake: "the wake of those who wait for who runs it",
    registry_starts_over: "counting the slots that were given back, by which who claims another knows of one that it passed",
    once_itself: "the look whether it is the caller itself that runs what it would wait for",
    pi_gone: "refusing a priority-inheriting lock that the kernel took from an owner that exited",
    asym_revoke_heavy: "the heavy fence between closing an asymmetric rwlock and the look at the slots (pair G)",
    asym_read_rechecks: "a reader's look whether the asymmetric rwlock is open, behind its announcement (pair G)",
    asym_announce_light: "the light fence between an announcement in a slot and the look at the lock (pairs G, I)",
    asym_leave_light: "the light fence between leaving a slot and the look at `waited` (pairs H, J)",
    asym_no_wait: "waiting for those who are inside of an asymmetric lock by their slots",
    asym_heavy_before_sleep: "the heavy fence between asking a thread to wake us and the second look (pairs H, J)",
    asym_drain_recheck: "the second look at the slot before the sleep",
    asym_ask_again: "asking again when a sleep returned and the thread is still inside",
    asym_leave_checks_waited: "the look for a sleeping writer of who leaves an asymmetric lock",
    asym_leave_wake: "the wake of a sleeping writer by who leaves an asymmetric lock",
    asym_leave_release: "the release of the store that leaves an asymmetric lock (relaxed instead)",
    asym_scan_acquire: "the acquire of the writer's look at a slot (relaxed instead)",
    asym_nested_count: "counting a thread's guards of one asymmetric rwlock",
    asym_note_ordinary: "noting in a slot that the thread reads by way of the ordinary lock",
    asym_exit_drops_live_slots: "keeping the slots of a thread that exits inside of an asymmetric lock",
    asym_bias_heavy: "the heavy fence between taking a mutex's bias away and the look at its owner's slots (pair I)",
    asym_open_release: "the release of the store that opens an asymmetric rwlock to slots (relaxed instead)",
    asym_registering: "noticing that the allocator comes back to an asymmetric lock while its thread's slots are made",
    asym_fork: "the child's clean-up of slots after fork",
    asym_owner_rechecks: "the order of the owner's announcement and its look whether the biased mutex is its own: looked first (pair I)",
    asym_first_slot: "the owner's entering a biased mutex by its first slot only: by any that is free instead",
    asym_foreign_owner: "whose bias it is that is revoked: taken for one's own, without fence and without price (pair I)",
    asym_owner_restored: "giving the bias back when a revoker gives up",
    asym_open_restored: "opening an asymmetric rwlock again when a writer gives up",
    asym_row_of_one: "counting only what the same thread took in a row towards a mutex's bias",
    mutex_expire: "the expiry of requests for a mutex for which nobody comes",
    mutex_ask_forgotten: "the requests of others, when one that asked for a mutex takes it",
    condvar_forked: "a condition variable's look whether its waiters, and so their mutex, are of this process",
    shared_fork_mark: "a shared guard's look whether it is of this process, and not the copy of a fork",
    robust_fork_mark: "a robust guard's look whether it is of this process, and not of one that this was forked from",
    robust_light_heavy: "the heavy fence of a light robust mutex's sleeper (pair K)",
    robust_light_leaving: "a light robust mutex's owner saying that it is leaving (pair K)",
    push_release: "the release of the exchange that queues a callback (relaxed instead)",
    take_acquire: "the acquire of the exchange that takes what is queued (release only instead)",
    pause_light: "the light fence between telling what the worker begins and its look whether the process forks (pair L)",
    pause_heavy: "the heavy fence between telling that the process forks and the look at what the worker runs (pair L)",
    quiet_fence: "the full fence between the callers' unlink and the look whether a heavy one is needed (pair M)",
    register_fence: "the full fence between counting a reader and all that it ever loads (pair M)",
    sections_acquire: "the acquire of the look at how many readers need a heavy fence (relaxed instead)",
    worker_state: "the starter's look whether the worker that it started is still there",
    fork_adopts: "a child's adopting the callbacks that it inherits",
    fork_drops_leaked: "keeping in a child what a leaked guard of a thread that has ended protects",
    signal_fork: "unlocking the signal fence in a child",
    worker_of_std: "starting the worker with the C library: as a thread of the standard library's, which takes a lock that a fork copies",
    rwlock_expire: "a readers-writer lock's writer taking a lock that is kept for readers that do not come",
    signal_survives_execve: "taking a signal for fences that ends no program into which execve takes it along",
    visit_checks: "asking whether the caller runs on the processor that it visits",
    visit_switches: "asking whether the caller was switched out on its way to the processor that it visits",
    visit_again: "visiting the processors anew when they have changed meanwhile",
    signal_numbers: "asking whether the threads are listed by the numbers by which they are signalled",
}

/// Whether `mutant` is the active one.
#[cfg(leeward_mutants)]
#[inline]
pub fn is(mutant: Mutant) -> bool {
    use core::sync::atomic::{AtomicUsize, Ordering};
    const UNREAD: usize = usize::MAX;
    const NONE: usize = usize::MAX - 1;
    static ACTIVE: AtomicUsize = AtomicUsize::new(UNREAD);

    #[cold]
    #[inline(never)]
    fn read() -> usize {
        let index = match std::env::var("LEEWARD_MUTANT") {
            Ok(name) if !name.is_empty() => ALL
                .iter()
                .position(|(known, _)| *known == name)
                .unwrap_or_else(|| panic!("LEEWARD_MUTANT={name}: there is no such mutant")),
            _ => NONE,
        };
        // Relaxed: the value is the same whoever stores it.
        ACTIVE.store(index, Ordering::Relaxed);
        index
    }

    // Relaxed: as above; and a load adds no order that the mutant was meant to take away.
    let active = match ACTIVE.load(Ordering::Relaxed) {
        UNREAD => read(),
        index => index,
    };
    VALUES.get(active) == Some(&mutant)
}

/// Whether the named mutant is active: the constant `false` in an ordinary build.
#[cfg(leeward_mutants)]
macro_rules! mutated {
    ($name:ident) => {
        $crate::mutant::is($crate::mutant::Mutant::$name)
    };
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
