//! Words of 8, 16 and 64 bits, where the host serves them: what is compared, what is woken, and
//! which operations refuse them.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/guest.rs"]
mod guest;

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::task::{Context, Poll, Waker};

use common::until;
use guest::{Guest, Page};
use leeward_engine::abi::{FUTEX2_PRIVATE, FUTEX2_SIZE_U8, FUTEX2_SIZE_U16, FUTEX2_SIZE_U32, FUTEX2_SIZE_U64, Numbers};
use leeward_engine::parking::Process;
use leeward_engine::{
    Arithmetic, Clock, Comparison, Config, Deadline, Engine, Errno, Heap, Host, Node, Requeue, Size, Wait, WaitAny,
    WaitEntry, WakeOp, Word,
};

const ANY: u32 = u32::MAX;
const SIZES: [Size; 4] = [Size::U8, Size::U16, Size::U32, Size::U64];
const PAST: Option<Deadline> = Some(Deadline { clock: Clock::Monotonic, at: 0 });

/// An engine, a process, and 64 aligned bytes of its memory.
struct Case {
    engine: Engine<Process>,
    process: Process,
    memory: [AtomicU64; 8],
}

impl Case {
    fn new() -> Case {
        let engine = Engine::new(Config::small(7).with_private_tables(), Heap).unwrap();
        // SAFETY: the words that are named are those of a case, which outlives the calls.
        Case { engine, process: unsafe { Process::new(2, 7) }, memory: Default::default() }
    }

    /// Returns the word at that offset in bytes from the beginning.
    fn word(&self, byte: u64, size: Size) -> Word {
        Word::private(self.memory.as_ptr().expose_provenance() as u64 + byte).sized(size)
    }

    /// Stores the eight bytes from a multiple of 8 on, the first one first.
    fn store(&self, byte: usize, bytes: [u8; 8]) {
        self.memory[byte / 8].store(u64::from_ne_bytes(bytes), SeqCst);
    }

    /// Waits until the time that is past: the outcome of the comparison.
    fn compare(&self, word: Word, expected: u64) -> Result<Wait, Errno> {
        self.engine.wait(&self.process, word, expected, ANY, PAST)
    }

    fn wake(&self, word: Word) -> u32 {
        self.engine.wake(&self.process, word, 9, ANY).unwrap()
    }

    fn waiting(&self) -> u64 {
        self.engine.stats(&self.process).waiters + self.process.space().stats(&self.process).waiters
    }

    fn syscall(&self, number: u64, arguments: [u64; 6]) -> i64 {
        self.engine.syscall(&self.process, &Numbers::X86_64, number, arguments).unwrap()
    }
}

/// Returns the number that a word of that size holds whose bytes are these.
fn number(bytes: &[u8], size: Size) -> u64 {
    match size {
        Size::U8 => bytes[0].into(),
        Size::U16 => u16::from_ne_bytes([bytes[0], bytes[1]]).into(),
        Size::U32 => u32::from_ne_bytes(bytes[..4].try_into().unwrap()).into(),
        Size::U64 => u64::from_ne_bytes(bytes[..8].try_into().unwrap()),
    }
}

#[test]
fn each_byte_of_a_word_is_compared_and_no_other_byte() {
    let case = Case::new();
    let bytes = [1, 2, 3, 4, 5, 6, 7, 8];
    for size in SIZES {
        let len = size.bytes() as usize;
        for at in (0..8).step_by(len) {
            let (word, expected) = (case.word(at as u64, size), number(&bytes[at..], size));
            case.store(0, bytes);
            assert_eq!(case.compare(word, expected), Ok(Wait::TimedOut), "{size:?} at {at}");
            for changed in 0..8 {
                let mut other = bytes;
                other[changed] ^= 0x80;
                case.store(0, other);
                let wanted = if (at..at + len).contains(&changed) { Wait::Changed } else { Wait::TimedOut };
                assert_eq!(case.compare(word, expected), Ok(wanted), "{size:?} at {at}, byte {changed} changed");
            }
        }
    }
    assert_eq!(case.waiting(), 0);
}

#[test]
fn the_upper_half_of_a_long_word_is_compared() {
    let case = Case::new();
    case.memory[0].store(1 << 32, SeqCst);
    assert_eq!(case.compare(case.word(0, Size::U64), 0), Ok(Wait::Changed));
    assert_eq!(case.compare(case.word(0, Size::U64), 1 << 32), Ok(Wait::TimedOut));
}

#[test]
fn a_byte_is_compared_without_its_neighbours() {
    let case = Case::new();
    case.store(0, [0, 9, 9, 9, 9, 9, 9, 9]);
    assert_eq!(case.compare(case.word(0, Size::U8), 0), Ok(Wait::TimedOut));
    assert_eq!(case.compare(case.word(1, Size::U8), 0), Ok(Wait::Changed));
}

#[test]
fn a_value_that_the_word_cannot_hold_is_refused() {
    let case = Case::new();
    for size in SIZES {
        let word = case.word(0, size);
        let greatest = u64::MAX >> (64 - 8 * size.bytes());
        assert_eq!(case.compare(word, greatest), Ok(Wait::Changed));
        let Some(too_much) = greatest.checked_add(1) else { continue };
        assert_eq!(case.compare(word, too_much), Err(Errno::EINVAL));
        let moved = case.engine.requeue(&case.process, word, case.word(8, size), 1, 1, Some(too_much));
        assert_eq!(moved, Err(Errno::EINVAL));
        let mut entries = [WaitEntry::new(word, too_much)];
        assert_eq!(case.engine.waitv(&case.process, &mut entries, PAST), Err(Errno::EINVAL));
        let mut wait = pin!(case.engine.wait_async(&case.process, word, too_much, ANY));
        let context = &mut Context::from_waker(Waker::noop());
        assert_eq!(wait.as_mut().poll(context), Poll::Ready(Err(Errno::EINVAL)));
        let number = Numbers::X86_64.futex_wait;
        let flags = u64::from(flags(size));
        assert_eq!(case.syscall(number, [word.address, too_much, 1, flags, 0, 0]), Errno::EINVAL.answer());
    }
}

/// Returns futex2's flags of a private word.
fn flags(size: Size) -> u32 {
    FUTEX2_PRIVATE
        | match size {
            Size::U8 => FUTEX2_SIZE_U8,
            Size::U16 => FUTEX2_SIZE_U16,
            Size::U32 => FUTEX2_SIZE_U32,
            Size::U64 => FUTEX2_SIZE_U64,
        }
}

#[test]
fn a_word_is_aligned_to_its_size() {
    let case = Case::new();
    for size in SIZES {
        for byte in 0..16 {
            let word = case.word(byte, size);
            let wanted = if byte % size.bytes() == 0 { Ok(Wait::TimedOut) } else { Err(Errno::EINVAL) };
            assert_eq!(case.compare(word, 0), wanted, "{size:?} at {byte}");
            assert_eq!(case.engine.wake(&case.process, word, 1, ANY).is_ok(), wanted.is_ok(), "{size:?} at {byte}");
            let moved = case.engine.requeue(&case.process, case.word(32, size), word, 1, 1, Some(0));
            assert_eq!(moved.is_ok(), wanted.is_ok(), "{size:?} at {byte}");
        }
    }
}

#[test]
fn a_wake_of_an_address_wakes_the_waiters_of_every_size_and_of_no_neighbour() {
    let case = Case::new();
    for size in SIZES {
        std::thread::scope(|threads| {
            let wait = |byte, size| case.engine.wait(&case.process, case.word(byte, size), 0, ANY, None);
            let waiters = SIZES.map(|size| threads.spawn(move || wait(8, size)));
            let neighbours = [(9, Size::U8), (10, Size::U16), (12, Size::U32), (16, Size::U64)];
            let others = neighbours.map(|(byte, size)| threads.spawn(move || wait(byte, size)));
            until(|| case.waiting() == 8);
            assert_eq!(case.wake(case.word(8, size)), 4, "{size:?}");
            waiters.into_iter().for_each(|waiter| assert_eq!(waiter.join().unwrap(), Ok(Wait::Woken)));
            assert_eq!(case.waiting(), 4);
            neighbours.iter().for_each(|&(byte, size)| assert_eq!(case.wake(case.word(byte, size)), 1));
            others.into_iter().for_each(|other| assert_eq!(other.join().unwrap(), Ok(Wait::Woken)));
        });
    }
    assert_eq!(case.waiting(), 0);
}

#[test]
fn waitv_takes_words_of_several_sizes() {
    let case = Case::new();
    let words = [(0, Size::U8), (2, Size::U16), (4, Size::U32), (8, Size::U64)].map(|(at, size)| case.word(at, size));
    for (index, woken) in words.into_iter().enumerate() {
        std::thread::scope(|threads| {
            let waiter = threads.spawn(|| {
                let mut entries = words.map(|word| WaitEntry::new(word, 0));
                case.engine.waitv(&case.process, &mut entries, None)
            });
            until(|| case.waiting() == 4);
            assert_eq!(case.wake(woken), 1);
            assert_eq!(waiter.join().unwrap(), Ok(WaitAny::Woken(index)));
        });
    }
    // The upper half of the last word differs.
    case.memory[1].store(1 << 40, SeqCst);
    let mut entries = words.map(|word| WaitEntry::new(word, 0));
    assert_eq!(case.engine.waitv(&case.process, &mut entries, None), Ok(WaitAny::Changed));
    assert_eq!(case.waiting(), 0);
}

#[test]
fn a_future_waits_for_a_word_of_any_size() {
    let case = Case::new();
    let context = &mut Context::from_waker(Waker::noop());
    case.memory[0].store(u64::from_ne_bytes([7; 8]), SeqCst);
    for size in SIZES {
        let (word, value) = (case.word(0, size), number(&[7; 8], size));
        let mut changed = pin!(case.engine.wait_async(&case.process, word, value - 1, ANY));
        assert_eq!(changed.as_mut().poll(context), Poll::Ready(Ok(Wait::Changed)));
        let mut wait = pin!(case.engine.wait_async(&case.process, word, value, ANY));
        assert_eq!(wait.as_mut().poll(context), Poll::Pending);
        assert_eq!(case.wake(word), 1);
        assert_eq!(wait.as_mut().poll(context), Poll::Ready(Ok(Wait::Woken)));
    }
}

#[test]
fn a_requeue_between_words_of_two_sizes_compares_the_first() {
    let case = Case::new();
    let context = &mut Context::from_waker(Waker::noop());
    case.memory[0].store(5 << 33, SeqCst);
    for from_size in SIZES {
        for to_size in SIZES {
            let (from, to) = (case.word(0, from_size), case.word(32, to_size));
            let value = number(&case.memory[0].load(SeqCst).to_ne_bytes(), from_size);
            let mut wait = pin!(case.engine.wait_async(&case.process, from, value, ANY));
            assert_eq!(wait.as_mut().poll(context), Poll::Pending);
            let requeue = |expected| case.engine.requeue(&case.process, from, to, 0, 1, Some(expected));
            assert_eq!(requeue(value + 1), Ok(Requeue::Changed));
            assert_eq!(requeue(value), Ok(Requeue::Done(1)));
            assert_eq!((case.wake(from), case.wake(to)), (0, 1), "{from_size:?} to {to_size:?}");
            assert_eq!(wait.as_mut().poll(context), Poll::Ready(Ok(Wait::Woken)));
        }
    }
}

#[test]
fn the_calls_of_futex2_take_the_flag_of_each_size() {
    let case = Case::new();
    let numbers = Numbers::X86_64;
    let context = &mut Context::from_waker(Waker::noop());
    case.memory[0].store(u64::MAX, SeqCst);
    for size in SIZES {
        let (word, flags) = (case.word(0, size), u64::from(flags(size)));
        let value = u64::MAX >> (64 - 8 * size.bytes());
        let again = case.syscall(numbers.futex_wait, [word.address, value - 1, 1, flags, 0, 0]);
        assert_eq!(again, Errno::EAGAIN.answer());
        let mut wait = pin!(case.engine.wait_async(&case.process, word, value, ANY));
        assert_eq!(wait.as_mut().poll(context), Poll::Pending);
        // The array of two words to move between: value, address, flags.
        let to = case.word(8, size);
        let array = [value, word.address, flags, 0, to.address, flags].map(AtomicU64::new);
        let at = array.as_ptr().expose_provenance() as u64;
        assert_eq!(case.syscall(numbers.futex_requeue, [at, 0, 0, 1, 0, 0]), 1);
        assert_eq!(case.syscall(numbers.futex_wake, [to.address, 1, 1, flags, 0, 0]), 1);
        assert_eq!(wait.as_mut().poll(context), Poll::Ready(Ok(Wait::Woken)));
        // An array for waitv, whose word has another value.
        array[0].store(value - 1, SeqCst);
        assert_eq!(case.syscall(numbers.futex_waitv, [at, 1, 0, 0, 0, 0]), Errno::EAGAIN.answer());
    }
}

#[test]
fn operations_that_change_a_word_take_words_of_32_bits_alone() {
    let case = Case::new();
    let (engine, process) = (&case.engine, &case.process);
    let op = WakeOp { arithmetic: Arithmetic::Add, argument: 1, comparison: None, against: 0 };
    for size in [Size::U8, Size::U16, Size::U64] {
        let (word, first) = (case.word(0, size), case.word(32, Size::U32));
        assert_eq!(engine.wake_op(process, first, 1, word, op, 1), Err(Errno::EINVAL));
        assert_eq!(engine.lock_pi(process, word, PAST).err(), Some(Errno::EINVAL));
        assert_eq!(engine.try_lock_pi(process, word), Err(Errno::EINVAL));
        assert_eq!(engine.wait_requeue_pi(process, word, 0, PAST, first).err(), Some(Errno::EINVAL));
        assert_eq!(engine.wait_requeue_pi(process, first, 0, PAST, word).err(), Some(Errno::EINVAL));
        assert_eq!(engine.requeue_pi(process, word, first, 1, 0), Err(Errno::EINVAL));
        assert_eq!(engine.requeue_pi(process, first, word, 1, 0), Err(Errno::EINVAL));
    }
    assert!(case.memory.iter().all(|word| word.load(SeqCst) == 0), "nothing was written");
    // The word of which waiters are woken is only named: it may have any size.
    let never = WakeOp { comparison: Some(Comparison::Less), ..op };
    assert_eq!(engine.wake_op(process, case.word(1, Size::U8), 1, case.word(8, Size::U32), never, 1), Ok(0));
}

#[test]
fn a_size_that_the_host_does_not_serve_is_refused() {
    let (engine, guest) = (Engine::new(Config::for_processors(1, 1), Heap).unwrap(), Guest::new());
    let at = guest.address(Page::Writable);
    for size in [Size::U8, Size::U16, Size::U64] {
        for word in [Word::private(at), Word::shared(at)].map(|word| word.sized(size)) {
            assert_eq!(engine.wait(&guest, word, 0, ANY, PAST), Err(Errno::EINVAL));
            assert_eq!(engine.wake(&guest, word, 1, ANY), Err(Errno::EINVAL));
            assert_eq!(engine.waitv(&guest, &mut [WaitEntry::new(word, 0)], PAST), Err(Errno::EINVAL));
            assert_eq!(engine.requeue(&guest, word, word, 1, 1, None), Err(Errno::EINVAL));
        }
        let wake = [at, 1, 1, u64::from(flags(size)), 0, 0];
        let numbers = Numbers::X86_64;
        assert_eq!(engine.syscall(&guest, &numbers, numbers.futex_wake, wake), Some(Errno::EINVAL.answer()));
    }
}

#[test]
fn a_node_is_beside_words_of_32_bits_alone() {
    let engine = Engine::new(Config::for_processors(1, 1), Heap).unwrap();
    let mut guest = Guest::new();
    guest.all_sizes = true;
    let at = guest.address(Page::Writable) + 16;
    for node in [Node::Beside, Node::BesideOrPolicy] {
        for size in SIZES {
            let word = Word { node, ..Word::private(at) }.sized(size);
            let wanted = if size == Size::U32 { Ok(Wait::TimedOut) } else { Err(Errno::EINVAL) };
            assert_eq!(engine.wait(&guest, word, 0, ANY, PAST), wanted, "{word:?}");
            assert_eq!(engine.wake(&guest, word, 1, ANY).is_ok(), wanted.is_ok(), "{word:?}");
        }
    }
    // The policy's node is not beside the word: such a word may have any size.
    for size in SIZES {
        let word = Word { node: Node::Policy, ..Word::private(at) }.sized(size);
        assert_eq!(engine.wait(&guest, word, 0, ANY, PAST), Ok(Wait::TimedOut));
    }
}

#[test]
fn words_of_every_size_are_found_by_their_object_and_missing_ones_are_faults() {
    let engine = Engine::new(Config::for_processors(1, 1), Heap).unwrap();
    let mut guest = Guest::new();
    guest.all_sizes = true;
    let at = |page| Word::shared(guest.address(page) + 8);
    let context = &mut Context::from_waker(Waker::noop());
    for size in SIZES {
        let mut wait = pin!(engine.wait_async(&guest, at(Page::Object).sized(size), 0, ANY));
        assert_eq!(wait.as_mut().poll(context), Poll::Pending);
        // The same page, mapped at another address.
        assert_eq!(engine.wake(&guest, at(Page::Alias).sized(size), 1, ANY), Ok(1));
        assert_eq!(wait.as_mut().poll(context), Poll::Ready(Ok(Wait::Woken)));
        for scope in [Word::private, Word::shared] {
            let missing = scope(guest.address(Page::Missing)).sized(size);
            assert_eq!(engine.wait(&guest, missing, 0, ANY, PAST), Err(Errno::EFAULT));
        }
    }
}
