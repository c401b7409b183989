//! Kernels that abort no restartable sequence, or abort it to a wrong address, and one whose barrier leaves old code
//! where it was. The scenarios tell.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use leeward_conform::linux::Linux;
use leeward_conform::{Syscalls, numbers};

use crate::support::wrong::{Arguments, Call, Wrong};

const UNREGISTER: usize = 1;
const SYNC_CORE: usize = 1 << 5;
const READ_EXECUTE: usize = 5;
const READ_WRITE_EXECUTE: usize = 7;
const PRIVATE_ANONYMOUS_FIXED: usize = 0x32;

/// The area that a thread believes to be registered.
static AREA: AtomicUsize = AtomicUsize::new(0);

/// Stores a processor's number in the area, as far as it is there.
fn store_processor(number: u32) {
    let area = AREA.load(Ordering::SeqCst);
    if area != 0 {
        let word = std::ptr::with_exposed_provenance_mut(area + 4);
        // SAFETY: a word of the scenario's.
        unsafe { AtomicU32::from_ptr(word) }.store(number, Ordering::SeqCst);
    }
}

/// Returns the number of the processor on which the calling thread runs.
fn processor() -> u32 {
    let mut number = 0_u32;
    let arguments = [(&raw mut number).expose_provenance(), 0, 0, 0, 0, 0];
    // SAFETY: writes the number.
    unsafe { Linux.call(numbers::GETCPU, arguments) };
    number
}

/// Linux that keeps the processor's number in areas, and aborts no sequence.
fn aborts_nothing(number: usize, arguments: Arguments, call: Call<'_>) -> isize {
    match number {
        numbers::RSEQ if arguments[2] == UNREGISTER => {
            AREA.store(0, Ordering::SeqCst);
            0
        }
        numbers::RSEQ => {
            AREA.store(arguments[0], Ordering::SeqCst);
            store_processor(processor());
            0
        }
        numbers::SCHED_SETAFFINITY if arguments[0] != 0 => {
            let answered = call(number, arguments);
            // SAFETY: the scenario's set of processors.
            let set = unsafe { std::ptr::with_exposed_provenance::<[u64; 16]>(arguments[2]).read() };
            let first = (0..1024).find(|at| set[at / 64] >> (at % 64) & 1 == 1);
            store_processor(first.unwrap_or(0) as u32);
            answered
        }
        _ => call(number, arguments),
    }
}

/// The mapping that is executed, and 1 if it was replaced by what it was.
static CODE: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Replaces code by a copy, which does not change any more: as a processor that does not look at memory again.
fn keeps_its_code(call: Call<'_>) {
    let code = CODE[0].load(Ordering::SeqCst);
    if code == 0 || CODE[1].swap(1, Ordering::SeqCst) == 1 {
        return;
    }
    let place = std::ptr::with_exposed_provenance_mut::<u64>(code);
    // SAFETY: mapped for reading.
    let instructions = unsafe { place.read_volatile() };
    call(numbers::MMAP, [code, 4096, READ_WRITE_EXECUTE, PRIVATE_ANONYMOUS_FIXED, usize::MAX, 0]);
    // SAFETY: mapped for writing; no thread runs it before it is told.
    unsafe { place.write_volatile(instructions) };
}

faults! {
    sequences_that_are_not_aborted_are_told;
    no_sequence_is_aborted: Wrong::answering(aborts_nothing) => [
        "rseq.loss_of_the_processor_aborts", "rseq.another_processor_aborts", "rseq.signal_aborts",
        "rseq.barrier_aborts", "rseq.barrier_of_one_processor_aborts", "rseq.signature_is_looked_at",
        "rseq.malformed_descriptors"];
    other_areas_are_registered: Wrong::answering(|number, mut arguments, call| {
        if number == numbers::RSEQ {
            // A part of the world that no sequence names.
            arguments[0] += 64;
        }
        call(number, arguments)
    }) => ["rseq.signal_aborts", "rseq.barrier_aborts"];
    registrations_fail: Wrong::answering(|number, arguments, call| match number {
        numbers::RSEQ => -22,
        _ => call(number, arguments),
    }) => ["rseq.sequence_comes_to_its_end", "rseq.signal_aborts"];
    old_code_goes_on: Wrong::answering(|number, arguments, call| {
        let answered = call(number, arguments);
        match number {
            numbers::MMAP if arguments[2] == READ_EXECUTE => CODE[0].store(answered as usize, Ordering::SeqCst),
            numbers::MEMBARRIER if arguments[0] == SYNC_CORE => keeps_its_code(call),
            _ => {}
        }
        answered
    }) => ["membarrier.sync_core_refetches_code"];
}
