//! `FUTEX_WAKE_OP`: the changes, the comparisons, the counts.

use core::sync::atomic::Ordering;

use crate::errno::{Answer, Errno};
use crate::futex::{ALL, Change, Compare, PRIVATE, SHIFT, encode, wait, wake_op};
use crate::scenario::{Outcome, scenarios};
use crate::world::World;

/// The least and the greatest operand.
const LEAST: i32 = -2048;
const GREATEST: i32 = 2047;
/// How often two threads add to a word.
const ADDS: u32 = 1000;

scenarios! { "wake_op";
    /// Stores 7, -1, 2047 and -2048 in the second word. No thread waits.
    /// Linux answers 0; the word holds the operand, whose twelve bits have a sign.
    #[since("2.6.14")]
    #[harm("A condition variable's second word holds what the program did not store.")]
    fn set(world) {
        let cases = [(99, 7, 7), (7, -1, u32::MAX), (0, GREATEST, 2047), (0, LEAST, -2048_i32 as u32), (5, 0, 0)];
        changes(world, Change::Set as u32, &cases)
    }

    /// Adds 5, -1, 2047 and -2048 to the second word; also past the greatest number.
    /// Linux answers 0; the word holds the sum, without a carry.
    #[since("2.6.14")]
    #[harm("A count in the second word is wrong.")]
    fn add(world) {
        let cases = [(3, 5, 8), (8, -1, 7), (0, -1, u32::MAX), (u32::MAX, 1, 0), (1, GREATEST, 2048), (2048, LEAST, 0)];
        changes(world, Change::Add as u32, &cases)
    }

    /// Sets bits 0 and 2 of the second word, and all by an operand of -1, and those of -2048.
    /// Linux answers 0; the word holds the bits of both.
    #[since("2.6.14")]
    #[harm("A flag in the second word is missing, or others are set too.")]
    fn or(world) {
        changes(world, Change::Or as u32, &[(2, 5, 7), (2, -1, u32::MAX), (1, LEAST, 0xffff_f801), (6, 0, 6)])
    }

    /// Takes bits 0 and 2 out of the second word, and all by an operand of -1, and those of -2048.
    /// Linux answers 0; the word holds the bits that are not in the operand.
    #[since("2.6.14")]
    #[harm("A lock's bit stays set, or the word holds the operand without the word's bits.")]
    fn andn(world) {
        changes(world, Change::AndNot as u32, &[(7, 5, 2), (77, -1, 0), (u32::MAX, LEAST, 0x7ff), (6, 0, 6)])
    }

    /// Turns bits 0 and 2 of the second word over, and all by an operand of -1.
    /// Linux answers 0; the word holds the bits that are in one of the two.
    #[since("2.6.14")]
    #[harm("A flag in the second word is wrong.")]
    fn xor(world) {
        changes(world, Change::Xor as u32, &[(6, 5, 3), (0, -1, u32::MAX), (u32::MAX, LEAST, 0x7ff), (6, 0, 6)])
    }

    /// Makes each change with an operand that is a bit's number: 0, 4 and 31.
    /// Linux answers 0; the operand is 1 shifted by this number.
    #[since("2.6.14")]
    #[harm("Bits above the eleventh cannot be changed, or others are.")]
    fn shift(world) {
        changes(world, Change::Set as u32 | SHIFT, &[(9, 0, 1), (9, 4, 16), (9, 31, 1 << 31)])?;
        changes(world, Change::Add as u32 | SHIFT, &[(1, 4, 17), (1 << 31, 31, 0)])?;
        changes(world, Change::Or as u32 | SHIFT, &[(1, 4, 17), (1, 31, 1 << 31 | 1)])?;
        changes(world, Change::AndNot as u32 | SHIFT, &[(17, 4, 1), (u32::MAX, 31, u32::MAX >> 1)])?;
        changes(world, Change::Xor as u32 | SHIFT, &[(17, 4, 1), (0, 31, 1 << 31)])
    }

    /// Sets the bit number 33, and the bit number -1.
    /// Linux sets bit 1, and bit 31: of such a number it takes the lowest five bits.
    #[since("4.15")]
    #[harm("A program's mistake is an overflow in the kernel.")]
    fn shift_out_of_range(world) {
        changes(world, Change::Or as u32 | SHIFT, &[(0, 33, 2), (0, -1, 1 << 31)])
    }

    /// Threads wait at the second word, whose old value is compared: is it equal?
    /// Linux wakes there if it is. The comparison is with the value before the change.
    #[since("2.6.14")]
    #[harm("A thread sleeps on, or is woken for nothing.")]
    fn compare_equal(world) {
        compares(world, Compare::Equal, &[(5, 6), (6, 5), (u32::MAX, 1)], &[(5, 5), (u32::MAX, -1)])
    }

    /// Threads wait at the second word, whose old value is compared: is it another?
    /// Linux wakes there if it is. The comparison is with the value before the change.
    #[since("2.6.14")]
    #[harm("A thread sleeps on, or is woken for nothing.")]
    fn compare_not_equal(world) {
        compares(world, Compare::NotEqual, &[(5, 5), (u32::MAX, -1)], &[(5, 6), (6, 5)])
    }

    /// Threads wait at the second word, whose old value is compared: is it less?
    /// Linux wakes there if it is. Both have a sign.
    #[since("2.6.14")]
    #[harm("A thread sleeps on, or is woken for nothing.")]
    fn compare_less(world) {
        compares(world, Compare::Less, &[(5, 5), (6, 5), (0, -1)], &[(4, 5), (u32::MAX, 0), (1 << 31, LEAST)])
    }

    /// Threads wait at the second word, whose old value is compared: is it less or equal?
    /// Linux wakes there if it is. Both have a sign.
    #[since("2.6.14")]
    #[harm("A thread sleeps on, or is woken for nothing.")]
    fn compare_less_or_equal(world) {
        compares(world, Compare::LessOrEqual, &[(6, 5), (0, -1)], &[(5, 5), (4, 5), (u32::MAX, 0)])
    }

    /// Threads wait at the second word, whose old value is compared: is it greater?
    /// Linux wakes there if it is. Both have a sign.
    #[since("2.6.14")]
    #[harm("A thread sleeps on, or is woken for nothing: glibc's pthread_cond_signal relied on this one.")]
    fn compare_greater(world) {
        compares(world, Compare::Greater, &[(5, 5), (4, 5), (u32::MAX, 0)], &[(6, 5), (0, -1), (2048, GREATEST)])
    }

    /// Threads wait at the second word, whose old value is compared: is it greater or equal?
    /// Linux wakes there if it is. Both have a sign.
    #[since("2.6.14")]
    #[harm("A thread sleeps on, or is woken for nothing.")]
    fn compare_greater_or_equal(world) {
        compares(world, Compare::GreaterOrEqual, &[(4, 5), (u32::MAX, 0)], &[(5, 5), (6, 5), (0, -1)])
    }

    /// Three threads wait at each of two words; two are woken at each, and the comparison holds.
    /// Linux answers 4, and one is left at each.
    #[since("2.6.14")]
    #[harm("One count is taken for both words: threads sleep on, or too many run.")]
    fn both_counts(world) {
        let first = world.asleep::<3>(|world| world.sleep_on(0))?;
        let second = world.asleep::<3>(|world| world.sleep_on(1))?;
        asks(world, (2, 1), equal_to(0), Ok(3))?;
        world.same("FUTEX_WAKE at the first word", world.wake_at(0, ALL), Ok(1))?;
        world.same("FUTEX_WAKE at the second word", world.wake_at(1, ALL), Ok(2))?;
        world.all_end(&first)?;
        world.all_end(&second)
    }

    /// Two threads wait at each of two words; all are to be woken, and the comparison does not hold.
    /// Linux answers 2: it wakes at the first word all the same, and none at the second.
    #[since("2.6.14")]
    #[harm("Threads at the first word sleep on.")]
    fn first_is_woken_without_the_comparison(world) {
        let first = world.asleep::<2>(|world| world.sleep_on(0))?;
        let second = world.asleep::<2>(|world| world.sleep_on(1))?;
        asks(world, (ALL, ALL), equal_to(1), Ok(2))?;
        world.all_end(&first)?;
        world.same("FUTEX_WAKE at the second word", world.wake_at(1, ALL), Ok(2))?;
        world.all_end(&second)
    }

    /// Two threads wait at each of two words; both counts are 0, and then both are -1.
    /// Linux answers 2 each time: one is woken at each word, as FUTEX_WAKE does.
    #[since("2.6.14")]
    #[harm("A program that wakes with a count of 0, as it may on Linux, leaves a thread asleep.")]
    fn counts_of_0_and_less_wake_one(world) {
        let first = world.asleep::<2>(|world| world.sleep_on(0))?;
        let second = world.asleep::<2>(|world| world.sleep_on(1))?;
        asks(world, (0, 0), equal_to(0), Ok(2))?;
        asks(world, (u32::MAX, u32::MAX), equal_to(0), Ok(2))?;
        world.all_end(&first)?;
        world.all_end(&second)
    }

    /// Three threads wait at a word that is the first word and the second too; one is woken at each.
    /// Linux answers 2, and stores in the word.
    #[since("2.6.14")]
    #[harm("The kernel takes one lock twice, and stops.")]
    fn onto_itself(world) {
        let sleepers = world.asleep::<3>(|world| world.sleep_on(0))?;
        world.step(&"wakes at a word that is the first and the second");
        let encoded = encode(Change::Set as u32, 7, Compare::Equal as u32, 0);
        let woken = world.futex(wake_op(world.address(0), PRIVATE, 1, world.address(0), 1, encoded));
        world.same("FUTEX_WAKE_OP onto itself", woken, Ok(2))?;
        world.holds(0, "the word", 7)?;
        world.same("FUTEX_WAKE", world.wake_at(0, ALL), Ok(1))?;
        world.all_end(&sleepers)
    }

    /// Changes the second word, at whose first word no thread waits, and with a comparison that does not
    /// hold.
    /// Linux answers 0; the second word is changed, the first is not.
    #[since("2.6.14")]
    #[harm("A lock that is freed by this call stays locked.")]
    fn second_is_changed_always(world) {
        world.set(0, 3);
        for holds in [Compare::Equal, Compare::NotEqual] {
            world.set(1, 1);
            let encoded = encode(Change::Set as u32, 44, holds as u32, 1);
            asks(world, (1, 1), encoded, Ok(0))?;
            world.holds(1, "the second word", 44)?;
            world.holds(0, "the first word", 3)?;
        }
        Ok(())
    }

    /// A thread waits at each of two words, without the flag PRIVATE; a call with it, and one without.
    /// Linux answers 0, and then 2; the word is changed by both.
    #[seen("Gramine: treats shared futexes as private ones")]
    #[since("2.6.22")]
    #[harm("Threads are woken by calls that are not for them.")]
    fn private_does_not_find_shared(world) {
        let first = world.asleep::<1>(|world| world.futex(wait(world.address(0), 0, 0, 0)))?;
        let second = world.asleep::<1>(|world| world.futex(wait(world.address(1), 0, 0, 0)))?;
        let encoded = encode(Change::Add as u32, 1, Compare::GreaterOrEqual as u32, 0);
        asks(world, (ALL, ALL), encoded, Ok(0))?;
        world.holds(1, "the second word", 1)?;
        let woken = world.futex(wake_op(world.address(0), 0, ALL, world.address(1), ALL, encoded));
        world.same("FUTEX_WAKE_OP without PRIVATE", woken, Ok(2))?;
        world.holds(1, "the second word", 2)?;
        world.all_end(&first)?;
        world.all_end(&second)
    }

    /// Two threads add 1 to a word 1000 times each by this call, while a third adds by its own
    /// instructions.
    /// On Linux the sum is 3000: the change is atomic, also against instructions.
    #[since("2.6.14")]
    #[harm("A lock's word that is changed by the kernel and by threads loses a change: it is entered twice.")]
    fn change_is_atomic(world) {
        asks(world, (1, 1), encode(Change::Add as u32, 0, Compare::Equal as u32, 0), Ok(0))?;
        let add = |world: &World<'_>| {
            let encoded = encode(Change::Add as u32, 1, Compare::Equal as u32, 0);
            let call = wake_op(world.address(0), PRIVATE, 1, world.address(1), 1, encoded);
            (0..ADDS).try_fold(0, |_, _| world.futex(call))
        };
        let threads = [world.start(add)?, world.start(add)?];
        for _ in 0..ADDS {
            world.word(1).fetch_add(1, Ordering::SeqCst);
            (0..100).for_each(|_| core::hint::spin_loop());
        }
        threads.iter().try_for_each(|&thread| world.ends(thread, "a thread that adds", Ok(0)))?;
        world.holds(1, "the word that three threads added to", 3 * ADDS)
    }

    /// A thread waits at each of two words; calls with the changes 5, 6 and 7, which there are not.
    /// Linux answers ENOSYS, and neither changes nor wakes.
    #[since("2.6.14")]
    #[harm("A change that the kernel does not know is made as another.")]
    fn unknown_change(world) {
        unknown(world, |number| encode(number, 1, Compare::GreaterOrEqual as u32, 0), [5, 6, 7], 0)
    }

    /// A thread waits at each of two words; calls with the comparisons 6, 7 and 15, which there are not,
    /// that add 1.
    /// Linux answers ENOSYS and wakes none, but has made the change.
    #[since("2.6.14")]
    #[harm("A comparison that the kernel does not know is made as another.")]
    fn unknown_comparison(world) {
        unknown(world, |number| encode(Change::Add as u32, 1, number, 0), [6, 7, 15], 3)
    }
}

/// Encodes a comparison, and a change that changes nothing.
fn equal_to(value: i32) -> u32 {
    encode(Change::Add as u32, 0, Compare::Equal as u32, value)
}

/// Asserts what a private call with words 0 and 1 answers.
fn asks(world: &World<'_>, (count, others): (u32, u32), encoded: u32, linux: Answer) -> Outcome {
    let answered = world.futex(wake_op(world.address(0), PRIVATE, count, world.address(1), others, encoded));
    world.same(format_args!("FUTEX_WAKE_OP with {encoded:#010x}"), answered, linux)
}

/// Asserts that a change makes of these old values, with these operands, these new ones.
fn changes(world: &World<'_>, change: u32, cases: &[(u32, i32, u32)]) -> Outcome {
    for &(old, operand, new) in cases {
        world.set(1, old);
        asks(world, (1, 1), encode(change, operand, Compare::Equal as u32, 0), Ok(0))?;
        if world.get(1) != new {
            return crate::world::wrong(format_args!(
                "change {change} of {old:#x} with {operand} made {:#x}; on Linux {new:#x}",
                world.get(1)
            ));
        }
    }
    Ok(())
}

/// Asserts that a comparison of the old value with an operand holds for some and not for others. Each
/// call stores an old value anew, which the change makes the opposite.
fn compares(world: &World<'_>, compare: Compare, not: &[(u32, i32)], holds: &[(u32, i32)]) -> Outcome {
    let mut sleepers = [None; 3];
    for place in &mut sleepers[..holds.len()] {
        *place = Some(world.start(|world| world.sleep_on(1))?);
    }
    world.rest();
    for (cases, linux) in [(not, 0), (holds, 1)] {
        for &(old, with) in cases {
            world.set(1, old);
            let encoded = encode(Change::Xor as u32, -1, compare as u32, with);
            let answered = world.futex(wake_op(world.address(0), PRIVATE, 1, world.address(1), 1, encoded));
            let compare = compare as u32;
            world.same(format_args!("comparison {compare} of {old:#x} with {with}"), answered, Ok(linux))?;
        }
    }
    sleepers.into_iter().flatten().try_for_each(|sleeper| world.all_end(&[sleeper]))
}

/// Asserts that calls with these numbers are refused, wake none, and add their number to the second word.
fn unknown(world: &World<'_>, encoded: fn(u32) -> u32, numbers: [u32; 3], added: u32) -> Outcome {
    asks(world, (1, 1), equal_to(0), Ok(0))?;
    let sleepers = [world.start(|world| world.sleep_on(0))?, world.sleeper(|world| world.sleep_on(1))?];
    for number in numbers {
        asks(world, (1, 1), encoded(number), Err(Errno::NOSYS))?;
    }
    world.holds(1, "the second word", added)?;
    for (at, sleeper) in sleepers.into_iter().enumerate() {
        world.sleeps(sleeper, "a sleeper")?;
        world.same("FUTEX_WAKE", world.wake_at(at, 1), Ok(1))?;
    }
    world.all_end(&sleepers)
}
