//! Kernels that are wrong in what the end of a thread does to its word, and in processes that share memory: the
//! scenarios tell.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use leeward_conform::linux::Linux;
use leeward_conform::{Syscalls, numbers};

use crate::support::wrong::{Arguments, Call, Wrong, tells};

const PRIVATE: usize = 128;
const WAKE: usize = 1;
const LOCK_PI: usize = 6;
const ALL: usize = i32::MAX as usize;
const OWNER_DIED: u32 = 1 << 30;
const SIGCHLD: usize = 17;
const VM: usize = 0x100;
const CLEARTID: usize = 0x20_0000;
const SETTID: usize = 0x10_0000 | 0x100_0000;
const PERM: isize = -1;

fn plain(number: usize, arguments: Arguments) -> isize {
    // SAFETY: numbers, or words of the scenario's.
    unsafe { Linux.call(number, arguments) }
}

/// The words that threads have named, which the kernels here look after themselves: a thread, the first word and the
/// last one.
static NAMED: [[AtomicUsize; 3]; 256] = [const { [const { AtomicUsize::new(0) }; 3] }; 256];

/// Returns what is kept of the calling thread.
fn own() -> &'static [AtomicUsize; 3] {
    let me = plain(numbers::GETTID, [0; 6]) as usize;
    NAMED
        .iter()
        .find(|[thread, ..]| {
            let found = thread.compare_exchange(0, me, Ordering::SeqCst, Ordering::SeqCst);
            found.unwrap_or_else(|other| if other == me { 0 } else { other }) == 0
        })
        .expect("there are fewer threads")
}

/// `set_tid_address` by the kernels here.
fn names(number: usize, arguments: Arguments, call: Call<'_>) -> isize {
    if number != numbers::SET_TID_ADDRESS {
        return call(number, arguments);
    }
    let [_, first, last] = own();
    let _ = first.compare_exchange(0, arguments[0], Ordering::SeqCst, Ordering::SeqCst);
    last.store(arguments[0], Ordering::SeqCst);
    call(numbers::GETTID, [0; 6])
}

/// Linux whose threads' ends do this with the first and the last word that was named.
const fn at_the_end(at_its_end: fn()) -> Wrong {
    Wrong { answers: names, flags: |flags| flags, at_its_end }
}

fn store(word: usize, value: u32) {
    if word != 0 {
        // SAFETY: a word of the scenario's.
        unsafe { AtomicU32::from_ptr(std::ptr::with_exposed_provenance_mut(word)) }.store(value, Ordering::SeqCst);
    }
}

fn wake(word: usize, flags: usize, count: usize) {
    plain(numbers::FUTEX, [word, WAKE | flags, count, 0, 0, 0]);
}

fn ends_of(which: usize, clears: bool, wakes: Option<(usize, usize)>) {
    let word = own()[which].load(Ordering::SeqCst);
    if clears {
        store(word, 0);
    }
    if let Some((flags, count)) = wakes {
        wake(word, flags, count);
    }
}

faults! {
    what_ends_wrongly_is_told;
    words_stay: at_the_end(|| {}) => [
        "set_tid_address.word_is_cleared", "set_tid_address.waiter_is_woken", "set_tid_address.one_waiter_is_woken",
        "set_tid_address.waiter_in_another_process", "set_tid_address.threads_are_joined",
        "clone.set_tid_address_replaces_the_word"];
    no_one_is_woken: at_the_end(|| ends_of(2, true, None)) => [
        "set_tid_address.waiter_is_woken", "set_tid_address.one_waiter_is_woken",
        "set_tid_address.waiter_in_another_process"];
    private_waiters_are_woken: at_the_end(|| ends_of(2, true, Some((PRIVATE, 1)))) => [
        "set_tid_address.waiter_is_woken", "set_tid_address.private_waiter_is_not_woken",
        "set_tid_address.waiter_in_another_process"];
    all_are_woken: at_the_end(|| ends_of(2, true, Some((0, ALL)))) => ["set_tid_address.one_waiter_is_woken"];
    first_word_counts: at_the_end(|| ends_of(1, true, Some((0, 1)))) => [
        "set_tid_address.last_word_counts", "set_tid_address.address_0_is_no_word"];
    eight_bytes_are_cleared: at_the_end(|| {
        let word = own()[2].load(Ordering::SeqCst);
        store(word, 0);
        store(word + 4, 0);
        wake(word, 0, 1);
    }) => ["set_tid_address.word_is_cleared"];
    threads_have_their_creators_word: at_the_end(|| {
        // The last word that any thread has named.
        let named = NAMED.iter().map(|[_, _, last]| last.load(Ordering::SeqCst)).filter(|word| *word != 0);
        named.for_each(|word| {
            store(word, 0);
            wake(word, 0, 1);
        });
    }) => ["set_tid_address.new_thread_has_none"];
    a_word_that_cannot_be_written_keeps_its_thread: at_the_end(|| {
        let word = own()[2].load(Ordering::SeqCst);
        // The call reads the word, and writes nothing: it holds no such value.
        let reads = |value| plain(numbers::FUTEX, [word, PRIVATE, value, 0, 0, 0]);
        while word != 0 && reads(0x7777_7777) == -14 || word >> 63 == 1 {
            plain(numbers::NANOSLEEP, [(&raw const HOUR).expose_provenance(), 0, 0, 0, 0, 0]);
        }
    }) => ["set_tid_address.words_that_cannot_be_written"];
    no_number_is_answered: Wrong::answering(|number, arguments, call| match number {
        numbers::SET_TID_ADDRESS => 0,
        _ => call(number, arguments),
    }) => ["set_tid_address.answers_the_number", "set_tid_address.word_is_cleared"];
    processes_that_are_alone_clear_theirs: Wrong::answering(|number, arguments, call| {
        if number == numbers::EXIT_GROUP {
            let word = own()[2].load(Ordering::SeqCst);
            store(word, 0);
            wake(word, 0, 1);
        }
        names(number, arguments, call)
    }) => ["set_tid_address.alone_in_its_memory"];
}

/// A time of an hour.
static HOUR: [AtomicU64; 2] = [AtomicU64::new(3600), AtomicU64::new(0)];

/// Linux that starts threads and processes with other flags.
const fn starting(flags: fn(usize) -> usize) -> Wrong {
    Wrong { answers: |number, arguments, call| call(number, arguments), flags, at_its_end: || {} }
}

/// Returns true in a process that shares the memory of the scenario's first.
fn is_a_sharer() -> bool {
    /// The first process that asked here; it has its own copy of this.
    static FIRST: AtomicUsize = AtomicUsize::new(0);
    let me = plain(numbers::GETPID, [0; 6]) as usize;
    FIRST.compare_exchange(0, me, Ordering::SeqCst, Ordering::SeqCst).is_err_and(|first| first != me)
}

faults! {
    what_is_started_wrongly_is_told;
    no_numbers_are_stored: starting(|flags| flags & !SETTID) => ["clone.numbers_are_stored"];
    no_words_are_cleared: starting(|flags| flags & !CLEARTID) => [
        "clone.word_of_a_thread_is_cleared", "clone.threads_are_joined", "clone.word_of_a_process_that_ends",
        "clone.word_of_a_process_that_is_killed", "clone.word_of_a_process_that_executes"];
    set_tid_address_is_forgotten: Wrong::answering(|number, arguments, call| match number {
        numbers::SET_TID_ADDRESS => call(numbers::GETTID, arguments),
        _ => call(number, arguments),
    }) => ["clone.set_tid_address_replaces_the_word"];
    private_words_are_a_processs: Wrong::answering(|number, mut arguments, call| {
        if number == numbers::FUTEX && is_a_sharer() {
            arguments[1] &= !PRIVATE;
        }
        call(number, arguments)
    }) => [
        "clone.words_of_one_memory_meet", "clone.moves_in_one_memory", "clone.lock_is_handed_over_in_one_memory"];
    no_owner_died: Wrong::answering(|number, arguments, call| {
        let answered = call(number, arguments);
        if number == numbers::FUTEX && arguments[1] & 0x7f == LOCK_PI && answered == 0 {
            // SAFETY: a word of the scenario's.
            let word = unsafe { AtomicU32::from_ptr(std::ptr::with_exposed_provenance_mut(arguments[0])) };
            word.fetch_and(!OWNER_DIED, Ordering::SeqCst);
        }
        answered
    }) => ["clone.owner_in_one_memory_is_killed"];
    robust_lists_of_processes_in_one_memory_are_forgotten: Wrong::answering(|number, arguments, call| match number {
        numbers::SET_ROBUST_LIST if is_a_sharer() => 0,
        _ => call(number, arguments),
    }) => ["clone.robust_list_in_one_memory"];
    registrations_are_a_processs: Wrong::answering(|number, arguments, call| match number {
        numbers::MEMBARRIER if arguments[0] != 0 && is_a_sharer() => 0,
        _ => call(number, arguments),
    }) => ["clone.registration_is_the_memorys"];
    processes_in_one_memory_are_not_registered: Wrong::answering(|number, arguments, call| match number {
        numbers::MEMBARRIER if arguments[0] == 8 => PERM,
        _ => call(number, arguments),
    }) => ["clone.barrier_reaches_the_whole_memory"];
}

/// What a scenario's processes share is memory: a kernel that gives them a copy is found out.
#[test]
fn processes_get_a_copy() {
    let kernel = starting(|flags| if flags & VM != 0 && flags & 0xff == SIGCHLD { flags & !VM } else { flags });
    for scenario in ["clone.words_of_one_memory_meet", "clone.word_of_a_process_that_ends"] {
        tells(kernel, scenario);
    }
}
