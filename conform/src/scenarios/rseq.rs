//! `rseq`: registration, and the processor's number that the kernel keeps in the thread's area.
//!
//! Each is asked on a fresh thread, which has no area: a C library registers the first thread's.

use crate::errno::{Answer, Errno};
use crate::numbers;
use crate::scenario::{Outcome, Trouble, scenarios};
use crate::sections::SIGNATURE;
use crate::world::{Body, World, unfit, wrong};

/// The size of the area that every kernel with the call knows, and its alignment.
const SIZE: usize = 32;
const UNREGISTER: usize = 1;
/// Where the area's two numbers of the processor are, in words.
const START: usize = 0;
pub(super) const CPU: usize = 1;
/// What the latter is while the area is not registered.
const UNINITIALIZED: u32 = u32::MAX;
/// The world's words that are areas, aligned to 32 bytes by `area`; and one that reports.
pub(super) const FIRST: usize = 8;
const SECOND: usize = 24;
const REPORT: usize = 40;

/// Returns the address of an area, in the words from `at`.
fn area(world: &World<'_>, at: usize) -> usize {
    world.address(at).next_multiple_of(SIZE)
}

/// Returns the index of a word of an area.
pub(super) fn word_of(world: &World<'_>, at: usize, word: usize) -> usize {
    at + (area(world, at) - world.address(at)) / 4 + word
}

pub(super) fn load(world: &World<'_>, at: usize, word: usize) -> u32 {
    world.get(word_of(world, at, word))
}

fn rseq(world: &World<'_>, area: usize, size: usize, flags: usize, signature: usize) -> Answer {
    // SAFETY: writes to an area of the world's words, which are atomics, or to none.
    unsafe { world.call(numbers::RSEQ, [area, size, flags, signature, 0, 0]) }
}

pub(super) fn register(world: &World<'_>) -> Answer {
    world.set(word_of(world, FIRST, CPU), UNINITIALIZED);
    rseq(world, area(world, FIRST), SIZE, 0, SIGNATURE)
}

/// Takes the area back: the kernel writes no number there any more.
pub(super) fn unregister(world: &World<'_>) -> Answer {
    rseq(world, area(world, FIRST), SIZE, UNREGISTER, SIGNATURE)
}

/// Registers; then asserts what each of the calls answers, whose number is reported if not.
fn registered_then(world: &World<'_>, calls: &[([usize; 4], Answer)]) -> Answer {
    register(world)?;
    for (at, ([area, size, flags, signature], linux)) in calls.iter().enumerate() {
        let answered = rseq(world, *area, *size, *flags, *signature);
        if answered != *linux {
            world.set(REPORT, 1 + at as u32);
            return answered;
        }
    }
    Ok(0)
}

/// Runs a body on a fresh thread; says which of the calls it made answered otherwise than Linux.
fn on_a_fresh_thread(world: &World<'_>, body: Body, calls: &[(&str, Answer)]) -> Outcome {
    let thread = world.start(body)?;
    world.step(&"waits for a thread that calls rseq");
    let answered = world.end_of(thread);
    match (world.get(REPORT) as usize).checked_sub(1) {
        None => world.same("rseq of a thread without an area", answered, Ok(0)),
        Some(at) => match calls.get(at) {
            Some((what, linux)) => world.same(what, answered, *linux),
            None => Err(unfit(format_args!("the thread reports call {at}"))),
        },
    }
}

fn number_is_kept(world: &World<'_>) -> Answer {
    register(world)?;
    for processor in 0..1024 {
        if world.run_on_one(processor).is_err() {
            continue;
        }
        world.set(REPORT, world.get(REPORT) + 1);
        for word in [CPU, START] {
            let number = load(world, FIRST, word);
            if number as usize != processor {
                world.set(REPORT + 1, 1 + processor as u32);
                return Ok(number as usize);
            }
        }
    }
    Ok(0)
}

scenarios! { "rseq";
    /// A fresh thread registers an area of 32 bytes.
    /// Linux answers 0, and the area holds a processor's number instead of -1.
    #[since("4.18")]
    #[harm("An allocator takes -1 or a number that is not there for a processor, or finds no rseq.")]
    fn registration(world) {
        on_a_fresh_thread(world, register, &[])?;
        match load(world, FIRST, CPU) {
            number if number < 1 << 20 => Ok(()),
            number => wrong(format_args!("the processor's number is {number:#x} after the registration")),
        }
    }

    /// A thread that has registered an area registers it again, and another one, and the same with another
    /// signature and size.
    /// Linux answers EBUSY to the first, EPERM to another signature, and EINVAL to another area or size.
    #[since("4.18")]
    #[harm("Two libraries believe that the thread's area is theirs: one of them gets no numbers.")]
    fn registration_twice(world) {
        let body: Body = |world| {
            let (first, second) = (area(world, FIRST), area(world, SECOND));
            registered_then(world, &[
                ([first, SIZE, 0, SIGNATURE], Err(Errno::BUSY)),
                ([first, SIZE, 0, SIGNATURE + 1], Err(Errno::PERM)),
                ([second, SIZE, 0, SIGNATURE], Err(Errno::INVAL)),
                ([first, 2 * SIZE, 0, SIGNATURE], Err(Errno::INVAL)),
            ])
        };
        on_a_fresh_thread(world, body, &[
            ("rseq of the same area", Err(Errno::BUSY)),
            ("rseq of the same area with another signature", Err(Errno::PERM)),
            ("rseq of a second area", Err(Errno::INVAL)),
            ("rseq of the same area with another size", Err(Errno::INVAL)),
        ])
    }

    /// A thread takes its area back: with another signature, size, address and unknown flags; then rightly, and
    /// once more; then it registers again.
    /// Linux answers EPERM, EINVAL, EINVAL, EINVAL, 0, EINVAL and 0.
    #[since("4.18")]
    #[harm("The kernel goes on to write to memory that the thread has given back.")]
    fn unregistration(world) {
        let body: Body = |world| {
            let (first, second) = (area(world, FIRST), area(world, SECOND));
            registered_then(world, &[
                ([first, SIZE, UNREGISTER, SIGNATURE + 1], Err(Errno::PERM)),
                ([first, 2 * SIZE, UNREGISTER, SIGNATURE], Err(Errno::INVAL)),
                ([second, SIZE, UNREGISTER, SIGNATURE], Err(Errno::INVAL)),
                ([first, SIZE, UNREGISTER | 1 << 31, SIGNATURE], Err(Errno::INVAL)),
                ([first, SIZE, UNREGISTER, SIGNATURE], Ok(0)),
                ([first, SIZE, UNREGISTER, SIGNATURE], Err(Errno::INVAL)),
                ([first, SIZE, 0, SIGNATURE], Ok(0)),
            ])
        };
        on_a_fresh_thread(world, body, &[
            ("rseq to unregister with another signature", Err(Errno::PERM)),
            ("rseq to unregister with another size", Err(Errno::INVAL)),
            ("rseq to unregister another area", Err(Errno::INVAL)),
            ("rseq to unregister with unknown flags", Err(Errno::INVAL)),
            ("rseq to unregister", Ok(0)),
            ("rseq to unregister what is not registered", Err(Errno::INVAL)),
            ("rseq after the area was unregistered", Ok(0)),
        ])
    }

    /// A thread registers an area and takes it back.
    /// Linux writes -1 for the processor's number.
    #[since("4.18")]
    #[harm("A library takes the last number that was written for one that is kept.")]
    fn unregistered_area_has_no_number(world) {
        let body: Body = |world| {
            registered_then(world, &[([area(world, FIRST), SIZE, UNREGISTER, SIGNATURE], Ok(0))])
        };
        on_a_fresh_thread(world, body, &[("rseq to unregister", Ok(0))])?;
        match load(world, FIRST, CPU) {
            UNINITIALIZED => Ok(()),
            number => wrong(format_args!("the processor's number is {number:#x} after the end of the registration")),
        }
    }

    /// A thread without an area registers one that is misaligned, one that is too small, one that is not mapped
    /// in this process, and one with unknown flags.
    /// Linux answers EINVAL, EINVAL, EFAULT and EINVAL.
    #[needs(Faults)]
    #[since("4.18")]
    #[harm("The kernel writes where it must not, or a thread dies that was to learn that there is no rseq.")]
    fn malformed_registrations(world) {
        let body: Body = |world| {
            let first = area(world, FIRST);
            let calls = [
                ([first + 8, SIZE, 0, SIGNATURE], Errno::INVAL),
                ([first, SIZE - 1, 0, SIGNATURE], Errno::INVAL),
                ([usize::MAX - 4095, SIZE, 0, SIGNATURE], Errno::FAULT),
                ([first, SIZE, 1 << 31, SIGNATURE], Errno::INVAL),
            ];
            for (at, ([area, size, flags, signature], linux)) in calls.into_iter().enumerate() {
                let answered = rseq(world, area, size, flags, signature);
                if answered != Err(linux) {
                    world.set(REPORT, 1 + at as u32);
                    return answered;
                }
            }
            Ok(0)
        };
        on_a_fresh_thread(world, body, &[
            ("rseq of a misaligned area", Err(Errno::INVAL)),
            ("rseq of 31 bytes", Err(Errno::INVAL)),
            ("rseq of an area of the kernel's", Err(Errno::FAULT)),
            ("rseq with unknown flags", Err(Errno::INVAL)),
        ])
    }

    /// A thread that has registered goes to each processor that it may run on.
    /// Linux writes the processor's number into the area before the thread runs there.
    #[since("4.18")]
    #[harm("Threads on two processors take one processor's memory for theirs, and destroy it.")]
    fn number_is_the_processors(world) {
        let thread = world.start(number_is_kept)?;
        world.step(&"waits for a thread that goes from processor to processor");
        let answered = world.end_of(thread);
        match world.get(REPORT + 1).checked_sub(1) {
            Some(processor) => wrong(format_args!(
                "on processor {processor} the area says {}", crate::world::Shown(answered)
            )),
            None if answered.is_ok() && world.get(REPORT) == 0 => {
                Err::<(), Trouble>(unfit(format_args!("sched_setaffinity fails")))
            }
            None => world.same("rseq of a thread without an area", answered, Ok(0)),
        }
    }

    /// Two threads register areas of their own, one after the other; both run.
    /// Linux answers 0 to both: a new thread does not have its creator's area.
    #[since("4.18")]
    #[harm("A new thread writes into the area of another, or cannot have its own.")]
    fn each_thread_has_its_own(world) {
        let first: Body = |world| {
            register(world)?;
            world.set(REPORT + 2, 1);
            world.wait_until(|| world.get(REPORT + 3) == 1);
            Ok(0)
        };
        let thread = world.start(first)?;
        world.step(&"waits for a thread that registers");
        world.wait_until(|| world.get(REPORT + 2) == 1 || world.has_ended(thread));
        let second = world.start(|world| rseq(world, area(world, SECOND), SIZE, 0, SIGNATURE))?;
        let answered = world.end_of(second);
        world.set(REPORT + 3, 1);
        world.ends(thread, "a thread that calls rseq", Ok(0))?;
        world.same("rseq of a second thread", answered, Ok(0))
    }
}
