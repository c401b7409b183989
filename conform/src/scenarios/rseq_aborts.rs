//! What aborts a restartable sequence: the loss of the processor, another processor, a signal, a barrier of
//! `membarrier`'s. A sequence here lasts until it sees what happened to its thread: one that sees it was not aborted,
//! which is a proof. One that came to its end before anything happened tells nothing, and is tried again.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::barriers::{ONE_PROCESSOR, REGISTER_RSEQ, RSEQ};
use crate::errno::{Answer, Errno};
use crate::numbers;
use crate::scenario::{Outcome, Trouble, scenarios};
use crate::scenarios::rseq::{CPU, FIRST, load, register, unregister, word_of};
use crate::sections::{Descriptor, End, Sequence};
use crate::signals::{After, USR1};
use crate::world::{Body, Shown, Started, World, proven, unfit, wrong};

/// The world's words: a sequence has begun; what it waits for has happened; on which processor it is to run; the name
/// in the area that a handler found, and one.
const INSIDE: usize = 44;
const HAPPENED: usize = 45;
const HERE: usize = 46;
const NAME: usize = 47;
/// How often a sequence is tried that ends before anything happened, and how many that were aborted are enough.
const TRIES: usize = 20;
const ENOUGH: usize = 5;

/// What a thread with a sequence answers: how that ended, or why that tells nothing.
const ABORTED: usize = 1;
const WITHOUT_SIGNATURE: usize = 2;
const WENT_ON: usize = 3;
const RAN_OUT: usize = 4;
const STILL_NAMED: usize = 5;
const NOT_WRITTEN: usize = 6;
const ELSEWHERE: usize = 7;

const SIGSEGV: usize = 11;
const PR_SET_DUMPABLE: usize = 4;
/// What is added to what a child's thread answers, for its exit code.
const CODE: usize = 100;

/// Returns the place of the name in the area of a thread.
fn name<'a>(world: &'a World<'_>) -> &'a AtomicU64 {
    let place = world.address(word_of(world, FIRST, 2));
    // SAFETY: two words of the world, aligned as the area is; the words are not used as such.
    unsafe { AtomicU64::from_ptr(core::ptr::with_exposed_provenance_mut(place)) }
}

/// Registers, runs a sequence on the calling thread, and takes the area back. `changes` makes of it what it is to be.
fn run(world: &World<'_>, watched: usize, changes: impl FnOnce(&mut Sequence<'_>, &mut Descriptor)) -> Answer {
    register(world)?;
    let mut descriptor = Descriptor::default();
    let initial = world.get(watched);
    let mut sequence = Sequence::new(name(world), world.word(INSIDE), world.word(watched), initial);
    changes(&mut sequence, &mut descriptor);
    if watched != HAPPENED && initial.wrapping_add(1) != world.get(HERE) {
        return unregister(world).map(|_| ELSEWHERE);
    }
    let ended = sequence.run(&mut descriptor);
    let processor = load(world, FIRST, CPU);
    unregister(world)?;
    // A sequence that is to stay on a processor and did not tells nothing.
    let is_elsewhere = world.get(HERE).checked_sub(1).is_some_and(|here| here != processor);
    Ok(match ended {
        None => NOT_WRITTEN,
        Some((End::RanOut, _)) => RAN_OUT,
        Some((End::SawTheChange, _)) if watched == HAPPENED && is_elsewhere => ELSEWHERE,
        Some((End::SawTheChange, _)) => WENT_ON,
        Some((End::AbortedWithoutSignature, _)) => WITHOUT_SIGNATURE,
        Some((End::Aborted, 0)) => ABORTED,
        Some((End::Aborted, _)) => STILL_NAMED,
    })
}

/// Goes to the processor that is told, if one is.
fn goes_there(world: &World<'_>) -> Answer {
    match world.get(HERE).checked_sub(1) {
        Some(here) => world.run_on_one(here as usize),
        None => Ok(0),
    }
}

/// The body of most: a sequence that lasts until word `HAPPENED` says that something has happened.
fn lasts(world: &World<'_>) -> Answer {
    if goes_there(world).is_err() {
        return Ok(ELSEWHERE);
    }
    run(world, HAPPENED, |_, _| {})
}

/// One that lasts until the area says that the thread runs on another processor.
fn lasts_here(world: &World<'_>) -> Answer {
    if goes_there(world).is_err() {
        return Ok(ELSEWHERE);
    }
    run(world, word_of(world, FIRST, CPU), |_, _| {})
}

/// Returns true if the sequence was aborted, and false if it ended before anything happened.
fn was_aborted(world: &World<'_>, answered: Answer, what: &str) -> Result<bool, Trouble> {
    match answered {
        Ok(ABORTED) => Ok(true),
        Ok(RAN_OUT) => Ok(false),
        Ok(NOT_WRITTEN) => Err(unfit(format_args!("there is no restartable sequence for this machine"))),
        Ok(ELSEWHERE) => Err(unfit(format_args!("a thread does not stay on the processor that it is told"))),
        Ok(STILL_NAMED) => {
            proven(format_args!("a sequence was aborted, and its name left in the area; Linux stores 0"))
        }
        Ok(WITHOUT_SIGNATURE) => proven(format_args!("a sequence was aborted to where it is not to go")),
        Ok(_) => proven(format_args!("a restartable sequence went on after {what}; on Linux it is aborted")),
        Err(_) => world.same("rseq of a thread without an area", answered, Ok(0)).map(|()| false),
    }
}

/// Has threads run sequences, each of which something happens to, until enough were aborted.
fn are_aborted(world: &World<'_>, body: Body, what: &str, happens: impl Fn(Started) -> Outcome) -> Outcome {
    let mut aborted = 0;
    for _ in 0..TRIES {
        world.set(INSIDE, 0);
        world.set(HAPPENED, 0);
        let thread = world.start(body)?;
        world.step(&"waits for a thread that begins a restartable sequence");
        world.wait_until(|| world.get(INSIDE) == 1 || world.has_ended(thread));
        happens(thread)?;
        world.step(&"waits for the end of a restartable sequence");
        aborted += usize::from(was_aborted(world, world.end_of(thread), what)?);
        if aborted == ENOUGH {
            return Ok(());
        }
    }
    Err(unfit(format_args!("{TRIES} sequences of some tens of milliseconds ended before anything happened to them")))
}

/// The thread that takes the processor away: it runs there, and says that it did.
fn takes_the_processor(world: &World<'_>) -> Answer {
    goes_there(world)?;
    world.wait_until(|| world.get(INSIDE) == 1);
    let is_there = world.processor().is_ok_and(|here| here + 1 == world.get(HERE));
    world.set(HAPPENED, u32::from(is_there));
    Ok(usize::from(!is_there))
}

/// A child, whose thread runs a sequence that cannot be aborted, and is sent a signal.
fn is_signalled(world: &World<'_>, body: Body) -> Answer {
    // SAFETY: takes numbers. A child that is killed here is no bug of a program's: there is nothing to be kept.
    let _ = unsafe { world.call(numbers::PRCTL, [PR_SET_DUMPABLE, 0, 0, 0, 0, 0]) };
    let thread = world.start(body).map_err(|_| Errno::AGAIN)?;
    world.wait_until(|| world.get(INSIDE) == 1 || world.has_ended(thread));
    if !world.has_ended(thread) {
        let _ = world.send(thread, USR1);
    }
    world.end_of(thread).and_then(|answered| Err(Errno((CODE + answered) as u16)))
}

/// Asserts that a child is killed whose sequence cannot be aborted.
fn is_killed(world: &World<'_>, child: Body, what: &str) -> Outcome {
    is_killed_or(world, None, child, what)
}

/// Asserts that a child is killed, or that its sequence ends so.
fn is_killed_or(world: &World<'_>, end: Option<usize>, child: Body, what: &str) -> Outcome {
    world.by_default(SIGSEGV)?;
    world.handle(After::End, |world| {
        world.set(HAPPENED, 1);
        Ok(0)
    })?;
    for _ in 0..TRIES {
        world.set(INSIDE, 0);
        world.step(&"waits for a child whose restartable sequence cannot be aborted");
        let status = world.status_of(world.child(child)?)? as usize;
        match (status & 0x7f, (status >> 8).checked_sub(CODE)) {
            (SIGSEGV, _) => return Ok(()),
            (0, ended @ Some(_)) if ended == end => return Ok(()),
            (0, Some(RAN_OUT)) => {}
            (0, Some(NOT_WRITTEN)) => return was_aborted(world, Ok(NOT_WRITTEN), what).map(drop),
            (0, Some(_)) => {
                return proven(format_args!("a sequence with {what} goes on after a signal; Linux kills its process"));
            }
            (0, None) => return world.same("rseq in a child", Err(Errno((status >> 8) as u16)), Ok(0)),
            (signal, _) => {
                return wrong(format_args!("a child with {what} was killed by signal {signal}; on Linux by 11"));
            }
        }
    }
    Err(unfit(format_args!("{TRIES} sequences of some tens of milliseconds ended before their signals came")))
}

/// Says on which processor sequences are to run: the first that this thread may run on. Returns another one, if there
/// is one.
fn chooses_processors(world: &World<'_>) -> Result<Option<usize>, Trouble> {
    let processors = world.processors();
    let mut numbers = processors.iter().flat_map(|set| set.numbers());
    let Some(first) = numbers.next() else {
        return Err(unfit(format_args!("sched_getaffinity names no processor")));
    };
    world.set(HERE, first as u32 + 1);
    Ok(numbers.next())
}

scenarios! { "rseq";
    /// A thread runs a sequence a thousand times in which it looks at a word once.
    /// On Linux most of them come to their end: a sequence to which nothing happens is not aborted.
    #[since("4.18")]
    #[harm("Programs that use restartable sequences go the slow way each time, or have no end.")]
    fn sequence_comes_to_its_end(world) {
        let thread = world.start(|world| {
            for _ in 0..1000 {
                match run(world, HAPPENED, |sequence, _| sequence.looks = 1)? {
                    ABORTED => {}
                    other => return Ok(other),
                }
            }
            Ok(ABORTED)
        })?;
        world.step(&"waits for the end of a thousand restartable sequences");
        match world.end_of(thread) {
            Ok(RAN_OUT) => Ok(()),
            Ok(ABORTED) => wrong(format_args!("each of a thousand sequences of some instructions was aborted")),
            answered => was_aborted(world, answered, "nothing").map(drop),
        }
    }

    /// Two threads are told to run on one processor. One runs a sequence until it sees that the other one has run.
    /// Linux aborts the sequence before it goes on, and stores 0 for its name: it never sees that.
    #[seen("Linux 6.19 on aarch64: not aborted where the thread comes back to the same processor")]
    #[needs(Processors)]
    #[since("4.18")]
    #[harm("Allocators with a part for each processor lose what one of two threads does there: memory is destroyed.")]
    fn loss_of_the_processor_aborts(world) {
        chooses_processors(world)?;
        let what = "another thread had its processor";
        are_aborted(world, lasts, what, |_| {
            let other = world.start(takes_the_processor)?;
            world.step(&"waits for a thread that takes the processor away from another");
            match world.end_of(other) {
                Ok(0) => Ok(()),
                _ => Err(unfit(format_args!("a thread does not run on the processor that it is told"))),
            }
        })
    }

    /// A thread runs a sequence until it sees that the kernel has written another processor's number into its area;
    /// meanwhile it is told to run on another one.
    /// Linux aborts the sequence: it never sees that.
    #[needs(Processors)]
    #[since("4.18")]
    #[harm("Allocators and counters with a part for each processor write to another's part: memory is destroyed.")]
    fn another_processor_aborts(world) {
        let Some(other) = chooses_processors(world)? else {
            return Err(unfit(format_args!("there is one processor, and nowhere to go")));
        };
        are_aborted(world, lasts_here, "its thread went to another processor", |thread| {
            match world.send_away(world.number_of(thread), other) {
                // The sequence may have ended, and its thread with it.
                Ok(_) | Err(Errno::SRCH) => Ok(()),
                answered => Err(unfit(format_args!("sched_setaffinity: {}", Shown(answered)))),
            }
        })
    }

    /// A thread runs a sequence until it sees that a handler of a signal has run on it.
    /// Linux aborts the sequence before the handler runs, which finds 0 for its name.
    #[needs(Signals)]
    #[since("4.18")]
    #[harm("A handler that allocates destroys the memory that the sequence it interrupts is about to take.")]
    fn signal_aborts(world) {
        world.handle(After::End, |world| {
            world.set(NAME, u32::from(name(world).load(Ordering::SeqCst) != 0));
            world.set(HAPPENED, 1);
            Ok(0)
        })?;
        are_aborted(world, lasts, "a handler ran on its thread", |thread| {
            // The sequence may have ended, and its thread with it.
            let _ = world.interrupt(thread);
            if world.get(NAME) == 1 {
                return proven(format_args!("a handler finds the name of the sequence that it interrupts; on Linux 0"));
            }
            Ok(())
        })
    }

    /// A thread runs a sequence until it sees what another thread stores after membarrier's RSEQ command.
    /// Linux aborts the sequence: it never sees that.
    #[since("5.10")]
    #[harm("An allocator that moves all processors' parts moves one that a sequence is changing: memory is destroyed.")]
    fn barrier_aborts(world) {
        world.has_barriers(RSEQ | REGISTER_RSEQ)?;
        world.register(REGISTER_RSEQ)?;
        are_aborted(world, lasts, "membarrier's RSEQ had answered", |_| {
            world.same("membarrier's RSEQ", world.membarrier(RSEQ, 0, 0), Ok(0))?;
            world.set(HAPPENED, 1);
            Ok(())
        })
    }

    /// A thread is told to run on one processor, and runs a sequence until it sees what another thread stores after
    /// membarrier's RSEQ command for that processor.
    /// Linux aborts the sequence.
    #[needs(Processors)]
    #[since("5.10")]
    #[harm("An allocator that moves a processor's part moves one that a sequence is changing: memory is destroyed.")]
    fn barrier_of_one_processor_aborts(world) {
        world.has_barriers(RSEQ | REGISTER_RSEQ)?;
        world.register(REGISTER_RSEQ)?;
        chooses_processors(world)?;
        let here = world.get(HERE) as usize - 1;
        are_aborted(world, lasts, "membarrier's RSEQ for its processor had answered", |_| {
            world.same("membarrier's RSEQ for one processor", world.membarrier(RSEQ, ONE_PROCESSOR, here), Ok(0))?;
            world.set(HAPPENED, 1);
            Ok(())
        })
    }

    /// A child's thread runs a sequence that is to be aborted at an address without the signature before it; a signal
    /// comes.
    /// Linux kills the child by SIGSEGV.
    #[needs(Fork, Signals)]
    #[since("4.18")]
    #[harm("Who can write to a program's memory can have it run from any address.")]
    fn signature_is_looked_at(world) {
        let child: Body = |world| {
            is_signalled(world, |world| run(world, HAPPENED, |sequence, _| sequence.has_no_signature = true))
        };
        is_killed(world, child, "an address without its signature")
    }

    /// A child's thread runs a sequence whose descriptor has an unknown version, and another child's one whose
    /// descriptor is at an address that is not mapped; a signal comes.
    /// Linux kills both by SIGSEGV. Since 6.19 it looks at no version, and aborts the first like any other; the second
    /// goes on.
    #[needs(Faults, Fork, Signals)]
    #[since("4.18")]
    #[harm("A sequence that the kernel does not understand goes on where it must be aborted.")]
    fn malformed_descriptors(world) {
        let version: Body = |world| {
            is_signalled(world, |world| run(world, HAPPENED, |_, descriptor| descriptor.version = 1))
        };
        is_killed_or(world, Some(ABORTED), version, "an unknown version")?;
        world.set_address(NAME + 2, world.hole()?);
        let unmapped: Body = |world| {
            is_signalled(world, |world| {
                run(world, HAPPENED, |sequence, _| sequence.named = world.address_in(NAME + 2))
            })
        };
        is_killed_or(world, Some(WENT_ON), unmapped, "a descriptor that is not mapped")
    }
}
