//! Kernels that take two words for one, or one word for none: words far apart, in huge pages, and beyond a file's end.
//! The scenarios tell.

use std::sync::atomic::{AtomicUsize, Ordering};

use leeward_conform::numbers;

use crate::support::wrong::{Arguments, Call, Wrong};

const AGAIN: isize = -11;
const FAULT: isize = -14;
const PRIVATE: usize = 128;
const WAIT: usize = 0;
const WAKE: usize = 1;
/// The operations that have a second word.
const WITH_TWO: [usize; 5] = [3, 4, 5, 11, 12];
/// The bits in which the pages of 4 KiB of a huge page differ, and a huge page's size.
const SMALL_PAGE: usize = 0x1f_f000;
const HUGE_PAGE: usize = 0x20_0000;

/// What is wrong with the call: `word` says which word each is taken for.
fn taken_for(word: fn(usize) -> usize, number: usize, mut arguments: Arguments, call: Call<'_>) -> isize {
    match number {
        numbers::FUTEX => {
            arguments[0] = word(arguments[0]);
            if WITH_TWO.contains(&(arguments[1] & 0x7f)) {
                arguments[4] = word(arguments[4]);
            }
            call(number, arguments)
        }
        numbers::FUTEX_WAITV => {
            // SAFETY: the scenario's array of entries: a value, an address, and flags.
            let entries = unsafe {
                std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<[usize; 3]>(arguments[0]), arguments[1])
            };
            let entries: Vec<_> = entries.iter().map(|&[value, at, flags]| [value, word(at), flags]).collect();
            arguments[0] = entries.as_ptr().expose_provenance();
            call(number, arguments)
        }
        _ => call(number, arguments),
    }
}

/// Returns the first address that was asked for with the same lower 32 bits.
fn low_half(address: usize) -> usize {
    static SEEN: [AtomicUsize; 256] = [const { AtomicUsize::new(0) }; 256];
    let is_it = |seen: &&AtomicUsize| {
        let found = seen.compare_exchange(0, address, Ordering::SeqCst, Ordering::SeqCst);
        found.map_or_else(|other| other as u32 == address as u32, |_| true)
    };
    SEEN.iter().find(is_it).expect("scenarios have fewer words").load(Ordering::SeqCst)
}

/// Returns the word at the same place of the huge page's first small page.
fn without_its_small_page(address: usize) -> usize {
    address & !SMALL_PAGE
}

/// Returns the word at the same place of the first of two huge pages, whose address the scenario's advice named, or at
/// which they were mapped.
fn without_its_huge_page(address: usize) -> usize {
    let first = HUGE.load(Ordering::SeqCst);
    if address.wrapping_sub(first) < 2 * HUGE_PAGE { first + (address - first) % HUGE_PAGE } else { address }
}

static HUGE: AtomicUsize = AtomicUsize::new(0);

/// Notes where huge pages are.
fn notes_huge_pages(number: usize, arguments: Arguments, call: Call<'_>) -> isize {
    let answered = call(number, arguments);
    match number {
        numbers::MADVISE => HUGE.store(arguments[0], Ordering::SeqCst),
        numbers::MMAP if arguments[1] == 2 * HUGE_PAGE => HUGE.store(answered as usize, Ordering::SeqCst),
        _ => {}
    }
    answered
}

/// The operation of a call of `futex`.
fn operation(number: usize, arguments: &Arguments) -> Option<usize> {
    (number == numbers::FUTEX).then_some(arguments[1] & 0x7f)
}

faults! {
    words_that_are_taken_for_others_are_told;
    addresses_have_32_bits: Wrong::answering(|number, arguments, call| {
        taken_for(low_half, number, arguments, call)
    }) => [
        "keys.private_words_4_gib_apart", "keys.shared_words_4_gib_apart", "keys.one_object_4_gib_apart",
        "keys.moves_to_a_word_4_gib_apart", "keys.values_4_gib_apart", "keys.words_of_waitv_4_gib_apart"];
    pages_of_files_have_32_bits: Wrong::answering(|number, mut arguments, call| {
        if number == numbers::MMAP {
            arguments[5] &= (1 << 44) - 1;
        }
        call(number, arguments)
    }) => ["keys.places_2_to_the_32_pages_apart"];
    words_of_a_huge_page_are_one: Wrong::answering(|number, arguments, call| {
        taken_for(without_its_small_page, number, arguments, call)
    }) => [
        "huge_pages.words_of_private_ones", "huge_pages.words_of_shared_ones", "huge_pages.words_of_a_file",
        "huge_pages.words_of_transparent_ones"];
    huge_pages_are_one: Wrong::answering(|number, arguments, call| match number {
        numbers::MADVISE | numbers::MMAP => notes_huge_pages(number, arguments, call),
        _ => taken_for(without_its_huge_page, number, arguments, call),
    }) => [
        "huge_pages.words_of_private_ones", "huge_pages.words_of_shared_ones", "huge_pages.words_of_a_file",
        "huge_pages.words_of_transparent_ones"];
    sleepers_of_a_split_page_are_lost: Wrong::answering(|number, arguments, call| {
        static IS_SPLIT: AtomicUsize = AtomicUsize::new(0);
        if number == numbers::MPROTECT {
            IS_SPLIT.store(1, Ordering::SeqCst);
        }
        match operation(number, &arguments) {
            Some(WAKE) if IS_SPLIT.load(Ordering::SeqCst) == 1 => 0,
            _ => call(number, arguments),
        }
    }) => ["huge_pages.page_is_split"];
    words_beyond_the_end_are_memory: Wrong::answering(|number, arguments, call| match call(number, arguments) {
        FAULT if number == numbers::FUTEX && arguments[1] & 0x7f == WAIT => AGAIN,
        FAULT if number == numbers::FUTEX || number == numbers::FUTEX_WAITV => 0,
        answered => answered,
    }) => [
        "file_end.waits_beyond_it", "file_end.wakes_beyond_it", "file_end.second_word_beyond_it",
        "file_end.lock_beyond_it", "file_end.file_is_cut_and_grows", "file_end.private_sleeper_of_a_file_that_is_cut"];
    private_wakes_look_at_the_word: Wrong::answering(|number, arguments, call| {
        let is_wake = operation(number, &arguments) == Some(WAKE) && arguments[1] & PRIVATE != 0;
        let no_value = [arguments[0], WAIT | PRIVATE, 0x7777_7777, 0, 0, 0];
        if is_wake && call(number, no_value) == FAULT { FAULT } else { call(number, arguments) }
    }) => ["file_end.wakes_beyond_it", "file_end.private_sleeper_of_a_file_that_is_cut"];
    the_last_page_ends_with_the_file: Wrong::answering(|number, arguments, call| match operation(number, &arguments) {
        Some(WAIT | WAKE) if arguments[0] % 4096 > 4096 - 100 => FAULT,
        _ => call(number, arguments),
    }) => ["file_end.rest_of_the_last_page"];
    sleepers_of_a_cut_file_are_lost: Wrong::answering(|number, arguments, call| {
        static SIZED: AtomicUsize = AtomicUsize::new(0);
        if number == numbers::FTRUNCATE {
            SIZED.fetch_add(1, Ordering::SeqCst);
        }
        let answered = call(number, arguments);
        match operation(number, &arguments) {
            Some(WAKE) if SIZED.load(Ordering::SeqCst) > 1 && answered > 0 => 0,
            _ => answered,
        }
    }) => ["file_end.file_is_cut_and_grows", "file_end.private_sleeper_of_a_file_that_is_cut"];
}
