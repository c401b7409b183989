//! Kernels that are wrong in the table of a process's futexes, in words with a memory policy, and in locks whose owner
//! exits. The scenarios tell.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use leeward_conform::numbers;

use crate::support::wrong::{Arguments, Call, Wrong};

const SRCH: isize = -3;
const AGAIN: isize = -11;
const FAULT: isize = -14;
const INVAL: isize = -22;
const BUSY: isize = -16;
const WAKE: usize = 1;
const LOCK_PI: usize = 6;
const PR_FUTEX_HASH: usize = 78;
const SET_SLOTS: usize = 1;
const GET_SLOTS: usize = 2;
const NUMA: usize = 4;
const MPOL: usize = 8;
const OWNER_DIED: u32 = 1 << 30;

/// Returns the operation of a call about the table.
fn table(number: usize, arguments: &Arguments) -> Option<usize> {
    (number == numbers::PRCTL && arguments[0] == PR_FUTEX_HASH).then_some(arguments[1])
}

/// Linux whose table's size is kept by a number of its own, which processes share or do not.
fn with_size(size: &AtomicUsize, number: usize, arguments: Arguments, call: Call<'_>) -> isize {
    match table(number, &arguments) {
        Some(SET_SLOTS) => {
            let answered = call(number, arguments);
            if answered == 0 {
                size.store(arguments[2], Ordering::SeqCst);
            }
            answered
        }
        Some(GET_SLOTS) => size.load(Ordering::SeqCst) as isize,
        _ => call(number, arguments),
    }
}

/// Returns a number that processes share.
fn shared() -> &'static AtomicUsize {
    static SHARED: std::sync::LazyLock<&'static AtomicUsize> = std::sync::LazyLock::new(crate::support::shared_word);
    &SHARED
}

/// Answers the calls of a lock with priority inheritance by `answers`, of the word and the true answer.
fn of_locks(number: usize, arguments: Arguments, call: Call<'_>, answers: fn(&AtomicU32, isize) -> isize) -> isize {
    let answered = call(number, arguments);
    if number != numbers::FUTEX || arguments[1] & 0x7f != LOCK_PI {
        return answered;
    }
    // SAFETY: a word of the scenario's.
    answers(unsafe { AtomicU32::from_ptr(std::ptr::with_exposed_provenance_mut(arguments[0])) }, answered)
}

/// The calls of futex2, and where each has its flags.
fn flags_at(number: usize) -> Option<usize> {
    [numbers::FUTEX_WAIT, numbers::FUTEX_WAKE].contains(&number).then_some(3)
}

faults! {
    wrong_tables_policies_and_owners_are_told;
    sizes_are_taken_and_forgotten: Wrong::answering(|number, arguments, call| match table(number, &arguments) {
        Some(SET_SLOTS) => 0,
        _ => call(number, arguments),
    }) => ["futex_hash.size_is_told", "futex_hash.table_is_the_processs", "futex_hash.table_of_all_processes"];
    any_size_is_taken: Wrong::answering(|number, arguments, call| match (table(number, &arguments), arguments[2]) {
        (Some(SET_SLOTS), 1 | 3 | 24) => 0,
        _ => call(number, arguments),
    }) => ["futex_hash.malformed"];
    any_flag_is_taken: Wrong::answering(|number, mut arguments, call| {
        if table(number, &arguments) == Some(SET_SLOTS) {
            arguments[3] = 0;
        }
        call(number, arguments)
    }) => ["futex_hash.malformed"];
    sleepers_of_the_old_table_are_lost: Wrong::answering(|number, arguments, call| {
        static IS_EXCHANGED: AtomicUsize = AtomicUsize::new(0);
        let answered = call(number, arguments);
        match table(number, &arguments) {
            Some(SET_SLOTS) => {
                IS_EXCHANGED.store(1, Ordering::SeqCst);
                answered
            }
            // The first wake after an exchange that would find one finds none.
            None if number == numbers::FUTEX && arguments[1] & 0x7f == WAKE && answered > 0 => {
                if IS_EXCHANGED.swap(0, Ordering::SeqCst) == 1 { 0 } else { answered }
            }
            _ => answered,
        }
    }) => ["futex_hash.sleepers_are_found_in_a_new_table", "futex_hash.table_of_all_processes"];
    wakes_are_lost_while_a_table_is_exchanged: Wrong::answering(|number, arguments, call| {
        static EXCHANGES: AtomicUsize = AtomicUsize::new(0);
        if table(number, &arguments) == Some(SET_SLOTS) {
            EXCHANGES.fetch_add(1, Ordering::SeqCst);
        }
        // Nothing of what is woken after the second exchange.
        let is_wake = number == numbers::FUTEX && arguments[1] & 0x7f == WAKE;
        if is_wake && EXCHANGES.load(Ordering::SeqCst) > 1 { 0 } else { call(number, arguments) }
    }) => ["futex_hash.none_is_lost_meanwhile"];
    table_is_everyones: Wrong::answering(|number, arguments, call| {
        with_size(shared(), number, arguments, call)
    }) => ["futex_hash.table_is_the_processs"];
    table_of_all_is_given_up_again: Wrong::answering(|number, arguments, call| match call(number, arguments) {
        BUSY if table(number, &arguments) == Some(SET_SLOTS) => 0,
        answered => answered,
    }) => ["futex_hash.table_of_all_processes"];

    wakes_with_a_policy_look_elsewhere: Wrong::answering(|number, arguments, call| {
        let has_policy = number == numbers::FUTEX_WAKE && arguments[3] & MPOL != 0;
        if has_policy && call(number, arguments) >= 0 { 0 } else { call(number, arguments) }
    }) => ["futex2.word_with_a_policy_is_met", "futex2.word_with_a_policy_and_a_node",
        "futex2.word_with_a_policy_is_moved"];
    nodes_of_policies_are_not_written: Wrong::answering(|number, mut arguments, call| {
        if let Some(at) = flags_at(number).filter(|&at| arguments[at] & MPOL != 0) {
            arguments[at] &= !NUMA;
        }
        call(number, arguments)
    }) => ["futex2.word_with_a_policy_and_a_node", "futex2.policy_names_the_node"];
    words_with_a_policy_need_no_memory: Wrong::answering(|number, arguments, call| match call(number, arguments) {
        FAULT if number == numbers::FUTEX_WAIT => AGAIN,
        answered => answered,
    }) => ["futex2.malformed_words_with_a_policy"];

    a_lock_without_owner_is_had: Wrong::answering(|number, arguments, call| {
        of_locks(number, arguments, call, |word, _| {
            word.store(1, Ordering::SeqCst);
            0
        })
    }) => ["pi.owner_exits_meanwhile", "pi.owner_in_list_exits_meanwhile"];
    locks_are_to_be_tried_again: Wrong::answering(|number, arguments, call| {
        of_locks(number, arguments, call, |_, _| AGAIN)
    }) => ["pi.owner_exits_meanwhile", "pi.owner_in_list_exits_meanwhile"];
    owners_that_exit_are_gone: Wrong::answering(|number, arguments, call| {
        of_locks(number, arguments, call, |_, _| SRCH)
    }) => ["pi.owner_in_list_exits_meanwhile"];
    deaths_are_not_told: Wrong::answering(|number, arguments, call| {
        of_locks(number, arguments, call, |word, answered| {
            word.fetch_and(!OWNER_DIED, Ordering::SeqCst);
            answered
        })
    }) => ["pi.owner_in_list_exits_meanwhile"];
}

/// A kernel without the option, one with the option and without tables, and one whose memory has no policies are not
/// wrong.
#[test]
fn what_is_refused_as_unknown_is_absent() {
    use leeward_conform::linux::apart_with;
    use leeward_conform::{RESTS, Verdict, scenarios};
    let without_either = Wrong::answering(|number, arguments, call| match flags_at(number) {
        Some(at) if arguments[at] & MPOL != 0 => INVAL,
        _ if table(number, &arguments).is_some() => INVAL,
        _ => call(number, arguments),
    });
    // As Linux 6.16.
    let without_tables = Wrong::answering(|number, arguments, call| match table(number, &arguments) {
        Some(GET_SLOTS) => 0,
        Some(_) => INVAL,
        None => call(number, arguments),
    });
    let concerned = |kernel: &Wrong, is_concerned: fn(&str) -> bool| {
        for scenario in scenarios().filter(|scenario| is_concerned(scenario.name)) {
            let verdict = apart_with(scenario, kernel, 20, RESTS);
            assert!(matches!(verdict, Verdict::Absent(_)), "{}: {verdict:?}", scenario.name);
        }
    };
    concerned(&without_either, |name| name.starts_with("futex_hash.") || name.contains("policy"));
    concerned(&without_tables, |name| name.starts_with("futex_hash."));
}
