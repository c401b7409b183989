//! Kernels that are wrong in one thing each, made of this one: the scenarios tell.
//!
//! Each kernel changes the calls that it gets, or what they answer, and hands them to this one.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

use leeward_conform::linux::Linux;
use leeward_conform::{Errno, Syscalls, Verdict, ask_resting, numbers, scenarios};

const PRIVATE: usize = 128;
const REALTIME: usize = 256;
const INVAL: isize = -22;
const FAULT: isize = -14;
const TIMEDOUT: isize = -110;

const WAIT: usize = 0;
const WAKE: usize = 1;
const REQUEUE: usize = 3;
const CMP_REQUEUE: usize = 4;
const WAKE_OP: usize = 5;
const WAIT_BITSET: usize = 9;
const WAKE_BITSET: usize = 10;

/// The arguments of a futex call: word, operation, value, fourth, second word, sixth.
type Arguments = [usize; 6];

/// What is wrong: gets the operation without flags, the arguments, and how the call is made in truth.
type Fault = fn(usize, Arguments, &dyn Fn(Arguments) -> isize) -> isize;

struct Wrong(Fault);

impl Syscalls for Wrong {
    unsafe fn call(&self, number: usize, arguments: [usize; 6]) -> isize {
        // SAFETY: the caller's promise; what faults change are numbers and words of the scenario's.
        let call = |arguments| unsafe { Linux.call(number, arguments) };
        if number == numbers::FUTEX { (self.0)(arguments[1] & 0x7f, arguments, &call) } else { call(arguments) }
    }

    unsafe fn spawn(&self, body: extern "C" fn(usize), argument: usize) -> Result<(), Errno> {
        // SAFETY: the caller's promise.
        unsafe { Linux.spawn(body, argument) }
    }
}

fn tells(fault: Fault, names: &[&str]) {
    for name in names {
        let scenario = scenarios().find(|scenario| scenario.name == *name).unwrap_or_else(|| panic!("no {name}"));
        // Once: it is wrong however long threads are let to go to sleep.
        let verdict = ask_resting(scenario, Box::leak(Box::new(Wrong(fault))), &[10_000]);
        assert!(matches!(verdict, Verdict::Wrong(_)), "{name}: {verdict:?}");
    }
}

/// Declares a test for each fault: the scenarios that tell.
macro_rules! faults {
    ($($name:ident: $fault:expr => [$($scenario:literal),+];)*) => {
        $(#[test]
        fn $name() {
            tells($fault, &[$($scenario),+]);
        })*
    };
}

/// Where the operation is one of these, the call with an argument set; else the call.
fn set(is_so: bool, mut arguments: Arguments, at: usize, to: usize, call: &dyn Fn(Arguments) -> isize) -> isize {
    if is_so {
        arguments[at] = to;
    }
    call(arguments)
}

fn is_negative(count: usize) -> bool {
    (count as u32 as i32) < 0
}

fn has_time(arguments: &Arguments) -> bool {
    arguments[3] > 0xffff && arguments[3] < 1 << 47
}

/// Reads a time that is one.
fn time(arguments: &Arguments) -> [i64; 2] {
    // SAFETY: in the scenarios below, the fourth argument of a wait is 0 or a time.
    unsafe { core::ptr::with_exposed_provenance::<[i64; 2]>(arguments[3]).read() }
}

faults! {
    all_is_private: |_, a, call| set(true, a, 1, a[1] | PRIVATE, call) => [
        "wake.private_does_not_find_shared", "wake.shared_does_not_find_private",
        "requeue.shared_does_not_find_private", "requeue.shared_stays_shared",
        "cmp_requeue.private_does_not_find_shared", "wake_op.private_does_not_find_shared",
        "errors.unmapped_shared", "errors.unmapped_second_shared", "errors.read_only_shared"];
    all_is_shared: |_, a, call| set(true, a, 1, a[1] & !PRIVATE, call) => [
        "wake.private_does_not_find_shared", "wake.shared_does_not_find_private", "errors.unmapped_private",
        "errors.unmapped_second_private", "errors.read_only_private", "errors.read_only_second", "errors.unreadable"];
    wake_of_0_wakes_none: |op, a, call| if op == WAKE && a[2] == 0 { 0 } else { call(a) } => ["wake.count_0_wakes_one"];
    wake_of_less_wakes_none: |op, a, call| if op == WAKE && is_negative(a[2]) { 0 } else { call(a) } => [
        "wake.count_minus_1_wakes_one", "wake.least_count_wakes_one"];
    wake_count_has_no_sign: |op, a, call| set(op == WAKE && is_negative(a[2]), a, 2, i32::MAX as usize, call) => [
        "wake.count_minus_1_wakes_one", "wake.least_count_wakes_one"];
    wake_wakes_all: |op, a, call| set(op == WAKE, a, 2, 99, call) => [
        "wake.each_is_counted_once", "wake.count_0_wakes_one", "wake.first_in_first_out",
        "wake.order_stays_when_one_leaves"];
    wake_ends_after_64: |op, a, call| set(op == WAKE && a[2] > 64, a, 2, 64, call) => [
        "crowds.are_woken", "crowds.are_moved", "crowds.of_entries_are_woken", "crowds.of_entries_are_moved"];
    requeue_moves_8_at_most: |op, a, call| set(op == REQUEUE && a[3] > 8, a, 3, 8, call) => [
        "crowds.are_moved", "crowds.of_entries_are_moved"];
    wake_answers_what_was_asked: |op, a, call| match call(a) {
        0.. if op == WAKE => a[2] as isize,
        answered => answered,
    } => [
        "wake.no_one_waits", "wake.is_not_kept", "wake.counts_agree_with_time_outs"];
    wake_compares_the_word: |op, a, call| {
        // SAFETY: a word of the scenario's.
        let value = unsafe { core::ptr::with_exposed_provenance::<u32>(a[0]).read_volatile() };
        if op == WAKE && value != 0 { 0 } else { call(a) }
    } => ["wake.value_does_not_matter"];
    words_share_a_queue: |_, a, call| set(true, a, 0, a[0] & !7, call) => ["wake.other_words_are_others"];
    bits_do_not_matter: |op, a, call| set(matches!(op, WAIT_BITSET | WAKE_BITSET), a, 5, u32::MAX as usize, call) => [
        "bitset.bits_meet", "bitset.highest_bit", "bitset.wait_without_a_bit", "bitset.wake_without_a_bit",
        "bitset.count_is_of_those_that_match", "bitset.bits_are_kept_over_a_requeue"];
    highest_bit_is_lost: |op, a, call| set(matches!(op, WAIT_BITSET | WAKE_BITSET), a, 5, a[5] & 0x7fff_ffff, call) => [
        "bitset.highest_bit"];
    plain_wake_has_one_bit: |op, a, call| match op {
        WAKE => call([a[0], a[1] & !0x7f | WAKE_BITSET, a[2], 0, 0, 2]),
        _ => call(a),
    } => ["bitset.plain_wake_has_all_bits"];
    plain_wait_has_one_bit: |op, a, call| match op {
        WAIT if a[3] == 0 => call([a[0], a[1] & !0x7f | WAIT_BITSET, a[2], 0, 0, 2]),
        _ => call(a),
    } => ["bitset.plain_wait_has_all_bits"];
    lengths_are_points: |op, a, call| match op {
        WAIT if has_time(&a) => call([a[0], WAIT_BITSET | PRIVATE, a[2], a[3], 0, 1]),
        _ => call(a),
    } => ["time.relative_is_waited_for"];
    times_end_early: |op, a, call| match op {
        WAIT_BITSET if has_time(&a) && time(&a)[0] > 0 => TIMEDOUT,
        _ => call(a),
    } => [
        "bitset.time_is_a_point", "bitset.woken_before_its_time", "time.realtime_is_waited_for", "time.longest"];
    past_times_are_looked_at_first: |op, a, call| match op {
        WAIT | WAIT_BITSET if has_time(&a) && time(&a)[0] == 0 && time(&a)[1] < 2 => TIMEDOUT,
        _ => call(a),
    } => ["bitset.value_comes_before_a_past_time", "time.value_comes_before_zero"];
    one_clock: |_, a, call| {
        let is_ahead = a[1] & REALTIME == 0 && a[1] & 0x7f == WAIT_BITSET && has_time(&a);
        set(is_ahead, a, 1, a[1] | REALTIME, call)
    } => ["time.monotonic_is_not_realtime"];
    realtime_is_taken_by_all: |_, a, call| set(a[1] & 0x7f != WAIT_BITSET, a, 1, a[1] & !REALTIME, call) => [
        "time.realtime_where_there_is_no_time", "time.realtime_for_a_length"];
    invalid_times_are_past: |op, a, call| match call(a) {
        INVAL if matches!(op, WAIT | WAIT_BITSET) && has_time(&a) => TIMEDOUT,
        answered => answered,
    } => ["time.invalid_relative", "time.invalid_point", "time.bad_time_comes_before_the_value"];
    bad_pointers_are_no_time: |op, a, call| match call(a) {
        FAULT if matches!(op, WAIT | WAIT_BITSET) => TIMEDOUT,
        answered => answered,
    } => ["time.bad_pointer", "time.bad_time_comes_before_the_value", "errors.unmapped_private"];
    value_is_compared_before_the_time: |op, a, call| match op {
        WAIT if a[2] == 1 => call([a[0], a[1], a[2], 0, 0, 0]),
        _ => call(a),
    } => ["time.bad_time_comes_before_the_value"];
    wake_reads_a_time: |op, a, call| if op == WAKE && a[3] != 0 { FAULT } else { call(a) } => ["time.wake_has_none"];
    requeue_takes_negative_counts: |op, mut a, call| {
        if matches!(op, REQUEUE | CMP_REQUEUE) {
            for at in [2, 3] {
                a[at] = if is_negative(a[at]) { 0 } else { a[at] };
            }
        }
        call(a)
    } => ["requeue.negative_counts", "cmp_requeue.negative_counts"];
    requeue_compares_nothing: |op, a, call| set(op == CMP_REQUEUE, a, 1, a[1] - (op == CMP_REQUEUE) as usize, call) => [
        "cmp_requeue.value_differs", "cmp_requeue.compares_when_no_one_waits",
        "cmp_requeue.compares_with_the_first_word"];
    plain_requeue_compares: |op, a, call| match op {
        REQUEUE => call([a[0], CMP_REQUEUE | PRIVATE, a[2], a[3], a[4], 0]),
        _ => call(a),
    } => ["requeue.value_does_not_matter"];
    requeue_wakes_at_least_one: |op, a, call| set(matches!(op, REQUEUE | CMP_REQUEUE) && a[2] == 0, a, 2, 1, call) => [
        "requeue.wake_count_0_wakes_none", "cmp_requeue.wake_count_0_wakes_none", "requeue.order_is_kept",
        "requeue.moved_is_woken_at_the_new_word", "requeue.no_copy_is_left", "requeue.onto_itself"];
    requeue_moves_all: |op, a, call| set(matches!(op, REQUEUE | CMP_REQUEUE), a, 3, 99, call) => [
        "requeue.counts", "cmp_requeue.counts", "requeue.move_count_0_moves_none", "requeue.takes_from_the_front",
        "cmp_requeue.order_is_kept"];
    requeue_wakes_instead: |op, a, call| match op {
        REQUEUE if a[2] + a[3] > 0 => call([a[0], WAKE | PRIVATE, a[2] + a[3], 0, 0, 0]),
        _ => call(a),
    } => ["requeue.counts", "requeue.wake_count_0_wakes_none", "requeue.moved_is_woken_at_the_new_word"];
    requeue_does_nothing: |op, a, call| if op == REQUEUE { 1 } else { call(a) } => [
        "requeue.moved_is_woken_at_the_new_word", "requeue.moved_with_a_time_is_woken", "requeue.no_copy_is_left"];
    wake_op_knows_no_shift: |op, a, call| set(op == WAKE_OP, a, 5, a[5] & 0x7fff_ffff, call) => ["wake_op.shift"];
    wake_op_wakes_the_same_at_both: |op, a, call| set(op == WAKE_OP, a, 3, a[2], call) => ["wake_op.both_counts"];
    wake_op_wakes_the_first_alone: |op, a, call| set(op == WAKE_OP, a, 5, a[5] & !0xf00_0fff | 0x800, call) => [
        "wake_op.both_counts", "wake_op.compare_equal", "wake_op.compare_less", "wake_op.onto_itself"];
    wake_op_operands_have_no_sign: |op, a, call| {
        // Of two comparisons with a sign, the negative operand never matches.
        if op == WAKE_OP && a[5] & 0x800 != 0 { call([a[0], WAKE | PRIVATE, a[2], 0, 0, 0]) } else { call(a) }
    } => [
        "wake_op.compare_equal", "wake_op.compare_less", "wake_op.compare_greater",
        "wake_op.compare_greater_or_equal"];
    less_is_less_or_equal: |op, a, call| match op {
        WAKE_OP if a[5] >> 24 & 15 == 2 => call([a[0], a[1], a[2], a[3], a[4], a[5] | 1 << 24]),
        _ => call(a),
    } => ["wake_op.compare_less"];
    greater_is_greater_or_equal: |op, a, call| match op {
        WAKE_OP if a[5] >> 24 & 15 == 4 => call([a[0], a[1], a[2], a[3], a[4], a[5] | 1 << 24]),
        _ => call(a),
    } => ["wake_op.compare_greater"];
    wake_op_refuses_what_it_does_not_know_otherwise: |op, a, call| match call(a) {
        -38 if op == WAKE_OP => INVAL,
        answered => answered,
    } => ["wake_op.unknown_change", "wake_op.unknown_comparison"];
    words_are_rounded_down: |_, a, call| set(true, [a[0], a[1], a[2], a[3], a[4] & !3, a[5]], 0, a[0] & !3, call) => [
        "errors.misaligned", "errors.misaligned_second", "errors.misaligned_comes_before_unmapped"];
    kernel_words_are_no_ones: |op, a, call| match call(a) {
        FAULT if matches!(op, WAKE | WAKE_BITSET | REQUEUE) => 0,
        answered => answered,
    } => ["errors.kernel_address", "errors.kernel_address_second", "errors.unmapped_shared", "errors.read_only_shared"];
    unmapped_wakes_are_refused: |op, a, call| {
        let can_read = call([a[0], WAIT | PRIVATE, 0x7777_7777, 0, 0, 0]) != FAULT;
        if op == WAKE && !can_read { FAULT } else { call(a) }
    } => ["errors.unmapped_private", "errors.unreadable"];
    unknown_operations_are_invalid: |_, a, call| match call(a) {
        -38 => INVAL,
        answered => answered,
    } => ["errors.unknown_operation", "errors.unknown_flags", "time.realtime_for_a_length"];
    unknown_flags_do_not_matter: |_, a, call| set(true, a, 1, a[1] & 0x1ff, call) => ["errors.unknown_flags"];
    counts_have_64_bits: |op, a, call| set(op == WAKE && a[2] >> 32 != 0, a, 2, 99, call) => [
        "errors.upper_halves_do_not_matter"];
}
