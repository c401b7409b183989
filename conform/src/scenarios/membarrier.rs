//! `membarrier`: its commands, its registrations, and whether it is a barrier.

use crate::barriers::{
    GET_REGISTRATIONS, GLOBAL, GLOBAL_EXPEDITED, Light, ONE_PROCESSOR, PRIVATE_EXPEDITED, QUERY,
    REGISTER_GLOBAL_EXPEDITED, REGISTER_PRIVATE_EXPEDITED, REGISTER_RSEQ, REGISTER_SYNC_CORE, RSEQ, SYNC_CORE,
};
use crate::errno::{Answer, Errno};
use crate::scenario::{Outcome, scenarios};
use crate::world::{Body, World, wrong};

/// The commands that need a registration, and the registration.
const PAIRS: [(usize, usize); 3] =
    [(PRIVATE_EXPEDITED, REGISTER_PRIVATE_EXPEDITED), (SYNC_CORE, REGISTER_SYNC_CORE), (RSEQ, REGISTER_RSEQ)];

/// Asks for what is always right once it is registered.
fn calls(world: &World<'_>, command: usize) -> Outcome {
    world.step(&"asks for a barrier");
    world.same(format_args!("membarrier's command {command:#x}"), world.membarrier(command, 0, 0), Ok(0))
}

/// Asserts that a command orders stores and loads of another thread, after a registration.
fn is_a_barrier(world: &World<'_>, command: usize, registration: usize) -> Outcome {
    world.has_barriers(command | registration)?;
    if registration != 0 {
        world.register(registration)?;
    }
    let heavy = || world.membarrier(command, 0, 0);
    world.orders_stores(Light::Thread, &heavy)?;
    world.orders_loads(&heavy)
}

scenarios! { "membarrier";
    /// Each command that needs a registration is called in a process that has not registered.
    /// Linux answers EPERM.
    #[since("4.14")]
    #[harm("A program that asks whether it is registered believes that it is, or goes without barriers.")]
    fn unregistered_is_refused(world) {
        for (command, registration) in PAIRS {
            if world.has_barriers(command | registration).is_ok() {
                world.is_unregistered(registration)?;
                let answered = world.membarrier(command, 0, 0);
                world.same(format_args!("membarrier's command {command:#x}"), answered, Err(Errno::PERM))?;
            }
        }
        world.has_barriers(PRIVATE_EXPEDITED)
    }

    /// A child registers for the private expedited command, and uses it; then its parent, which has not
    /// registered, asks for it.
    /// Linux answers EPERM to the parent: a registration is its process's.
    #[needs(Fork)]
    #[since("4.14")]
    #[harm("A process is told that it has barriers that it has not.")]
    fn registration_of_a_child_is_its_own(world) {
        world.has_barriers(PRIVATE_EXPEDITED | REGISTER_PRIVATE_EXPEDITED)?;
        world.is_unregistered(REGISTER_PRIVATE_EXPEDITED)?;
        let by_child = world.in_child(|| {
            world.membarrier(REGISTER_PRIVATE_EXPEDITED, 0, 0)?;
            world.membarrier(PRIVATE_EXPEDITED, 0, 0)
        })?;
        world.same("membarrier in a child that registered", by_child, Ok(0))?;
        let answered = world.membarrier(PRIVATE_EXPEDITED, 0, 0);
        world.same("membarrier in a parent that did not register", answered, Err(Errno::PERM))
    }

    /// QUERY, twice.
    /// Linux answers both times the same bits: one for each command, and a command that needs a registration
    /// not without that.
    #[since("4.3")]
    #[harm("A library takes a barrier that is not there, or misses one that is.")]
    fn query(world) {
        let first = world.membarrier(QUERY, 0, 0);
        let Ok(has) = first else { return world.same("membarrier's QUERY", first, Ok(0)) };
        world.same("membarrier's second QUERY", world.membarrier(QUERY, 0, 0), first)?;
        for (command, registration) in PAIRS.into_iter().chain([(GLOBAL_EXPEDITED, REGISTER_GLOBAL_EXPEDITED)]) {
            if (has & command != 0) != (has & registration != 0) {
                return wrong(format_args!(
                    "QUERY answered {has:#x}: {command:#x} without its registration {registration:#x}, or the reverse"
                ));
            }
        }
        Ok(())
    }

    /// Each command whose bit QUERY answers is called, with its registration before it.
    /// Linux answers no error.
    #[since("4.3")]
    #[harm("A library that asked what there is fails when it uses it, mostly by ending the program.")]
    fn what_query_says_works(world) {
        let has = world.membarrier(QUERY, 0, 0);
        let Ok(has) = has else { return world.same("membarrier's QUERY", has, Ok(0)) };
        for (command, registration) in PAIRS.into_iter().chain([(GLOBAL_EXPEDITED, REGISTER_GLOBAL_EXPEDITED)]) {
            if has & command != 0 {
                world.register(registration)?;
                calls(world, command)?;
            }
        }
        if has & GLOBAL != 0 {
            calls(world, GLOBAL)?;
        }
        Ok(())
    }

    /// Commands that there are not: two bits at once, a bit beyond the last, and -1.
    /// Linux answers EINVAL: commands are bits, of which a call names one.
    #[seen("StarryOS / tgoskits: commands were numbered 1, 2, 3 instead of being bits")]
    #[since("4.3")]
    #[harm("A program asks for one barrier and gets another, or none.")]
    fn commands_are_bits(world) {
        world.has_barriers(0)?;
        for command in [3, 5, 6, 7, 9, 24, 1 << 30, usize::MAX] {
            let answered = world.membarrier(command, 0, 0);
            world.same(format_args!("membarrier's command {command:#x}"), answered, Err(Errno::INVAL))?;
        }
        Ok(())
    }

    /// Each command that there is, with a flag that it does not have.
    /// Linux answers EINVAL, to QUERY and to registrations too.
    #[since("4.3")]
    #[harm("A program that asks which flags there are believes that this kernel has all of them.")]
    fn unknown_flags(world) {
        let has = world.membarrier(QUERY, 0, 0);
        let Ok(has) = has else { return world.same("membarrier's QUERY", has, Ok(0)) };
        let commands = (0..10).map(|bit| 1 << bit).filter(|bit| has & bit != 0);
        for command in commands.chain([QUERY]) {
            for flags in [ONE_PROCESSOR, 2, 1 << 31] {
                if command != RSEQ || flags != ONE_PROCESSOR {
                    let answered = world.membarrier(command, flags, 0);
                    world.same(
                        format_args!("membarrier's command {command:#x} with flags {flags:#x}"),
                        answered,
                        Err(Errno::INVAL),
                    )?;
                }
            }
        }
        Ok(())
    }

    /// A registration twice, while another thread runs; then a thread that did not register itself asks for the
    /// barrier.
    /// Linux answers 0 each time: a registration is the whole process's.
    #[since("4.14")]
    #[harm("Libraries that register each for itself, or while threads run, fail.")]
    fn registration_is_the_whole_processs(world) {
        world.has_barriers(PRIVATE_EXPEDITED | REGISTER_PRIVATE_EXPEDITED)?;
        let barrier: Body = |world| {
            world.wait_until(|| world.get(0) == 1);
            world.membarrier(PRIVATE_EXPEDITED, 0, 0)
        };
        let thread = world.start(barrier)?;
        world.register(REGISTER_PRIVATE_EXPEDITED)?;
        world.register(REGISTER_PRIVATE_EXPEDITED)?;
        world.set(0, 1);
        world.step(&"waits for the end of a thread that asks for a barrier");
        world.ends(thread, "a thread that asks for a barrier", Ok(0))?;
        calls(world, PRIVATE_EXPEDITED)
    }

    /// A process registers, and forks; the child asks for the barrier.
    /// Linux answers 0: the child has its parent's registrations.
    #[needs(Fork)]
    #[since("4.14")]
    #[harm("A library that registered when it was loaded fails in children, mostly by ending them.")]
    fn child_is_registered_as_its_parent(world) {
        world.has_barriers(PRIVATE_EXPEDITED | REGISTER_PRIVATE_EXPEDITED)?;
        world.register(REGISTER_PRIVATE_EXPEDITED)?;
        let answered = world.in_child(|| world.membarrier(PRIVATE_EXPEDITED, 0, 0))?;
        world.same("membarrier in a child of a process that registered", answered, Ok(0))
    }

    /// A process registers for each command that there is, and asks for its registrations after each.
    /// Linux answers the bits of the registrations so far.
    #[since("6.3")]
    #[harm("A program that is moved to another machine (CRIU) loses its registrations.")]
    fn registrations_are_told(world) {
        world.has_barriers(GET_REGISTRATIONS | PRIVATE_EXPEDITED)?;
        let has = world.membarrier(QUERY, 0, 0).unwrap_or(0);
        let before = world.membarrier(GET_REGISTRATIONS, 0, 0);
        let Ok(mut told) = before else { return world.same("GET_REGISTRATIONS", before, Ok(0)) };
        let registrations = PAIRS.map(|(_, registration)| registration);
        for registration in registrations.into_iter().chain([REGISTER_GLOBAL_EXPEDITED]) {
            if has & registration != 0 {
                world.register(registration)?;
                told |= registration;
                let answered = world.membarrier(GET_REGISTRATIONS, 0, 0);
                world.same(format_args!("GET_REGISTRATIONS after {registration:#x}"), answered, Ok(told))?;
            }
        }
        Ok(())
    }

    /// The RSEQ command on one processor: the first, one that there is not, and -1. And a processor without the
    /// flag.
    /// Linux answers 0 to each.
    #[since("5.10")]
    #[harm("An allocator that moves another processor's memory fails where processors come and go.")]
    fn one_processor_of_rseq(world) {
        world.has_barriers(RSEQ | REGISTER_RSEQ)?;
        world.register(REGISTER_RSEQ)?;
        for processor in [0, 1 << 20, usize::MAX] {
            for flags in [ONE_PROCESSOR, 0] {
                let answered = world.membarrier(RSEQ, flags, processor);
                world.same(
                    format_args!("membarrier's RSEQ with flags {flags} and processor {processor:#x}"),
                    answered,
                    Ok(0),
                )?;
            }
        }
        Ok(())
    }

    /// Four threads ask for barriers a hundred times each, at once.
    /// Linux answers 0 to all.
    #[since("4.14")]
    #[harm("Barriers of several threads wait for each other: the program hangs.")]
    fn many_at_once(world) {
        world.has_barriers(PRIVATE_EXPEDITED | REGISTER_PRIVATE_EXPEDITED)?;
        world.register(REGISTER_PRIVATE_EXPEDITED)?;
        let hundred: Body =
            |world| (0..100).try_fold(0, |_, _| world.membarrier(PRIVATE_EXPEDITED, 0, 0)) as Answer;
        let threads = [world.start(hundred)?, world.start(hundred)?, world.start(hundred)?, world.start(hundred)?];
        world.step(&"waits for threads that ask for barriers at once");
        threads.into_iter().try_for_each(|thread| world.ends(thread, "a thread that asks for barriers", Ok(0)))
    }

    /// Thousands of rounds: one thread stores, calls the private expedited command, and loads; another stores
    /// and loads, with no instruction in between. Then one stores twice with the command in between, and the other
    /// loads twice.
    /// On Linux at least one of the two loads sees the other thread's store, and loads see stores in their order.
    #[seen("StarryOS / tgoskits: membarrier was a barrier of the caller's processor alone")]
    #[needs(Processors)]
    #[since("4.14")]
    #[harm("Hazard pointers, RCU and garbage collectors free memory that is in use.")]
    fn private_expedited_is_a_barrier(world) {
        is_a_barrier(world, PRIVATE_EXPEDITED, REGISTER_PRIVATE_EXPEDITED)
    }

    /// As for the private expedited command, with SYNC_CORE.
    /// On Linux at least one of the two loads sees the other thread's store, and loads see stores in their order.
    #[needs(Processors)]
    #[since("4.16")]
    #[harm("Code that a compiler at run time has changed is run before the data that belongs to it is there.")]
    fn sync_core_is_a_barrier(world) {
        is_a_barrier(world, SYNC_CORE, REGISTER_SYNC_CORE)
    }

    /// Thousands of rounds: one thread has run code, and waits; another changes the code, calls SYNC_CORE, and says so;
    /// the first runs it again.
    /// On Linux it runs the new code.
    #[needs(Processors)]
    #[since("4.16")]
    #[harm("A compiler at run time changes code, and another thread goes on to run the old: the program breaks.")]
    fn sync_core_refetches_code(world) {
        world.has_barriers(SYNC_CORE | REGISTER_SYNC_CORE)?;
        world.register(REGISTER_SYNC_CORE)?;
        world.refetches_code(&|| world.membarrier(SYNC_CORE, 0, 0))
    }

    /// As for the private expedited command, with GLOBAL, which takes milliseconds.
    /// On Linux at least one of the two loads sees the other thread's store, and loads see stores in their order.
    #[seen("StarryOS / tgoskits: membarrier was a barrier of the caller's processor alone")]
    #[needs(Processors)]
    #[since("4.3")]
    #[harm("Hazard pointers, RCU and garbage collectors free memory that is in use.")]
    fn global_is_a_barrier(world) {
        is_a_barrier(world, GLOBAL, 0)
    }

    /// As for the private expedited command, with GLOBAL_EXPEDITED, between a process and its child; both have
    /// registered.
    /// On Linux at least one of the two loads sees the other process's store.
    #[needs(Fork, Processors)]
    #[since("4.16")]
    #[harm("Processes that share memory free what is in use.")]
    fn global_expedited_is_a_barrier(world) {
        world.has_barriers(GLOBAL_EXPEDITED | REGISTER_GLOBAL_EXPEDITED)?;
        world.register(REGISTER_GLOBAL_EXPEDITED)?;
        let light = Light::Child(REGISTER_GLOBAL_EXPEDITED);
        world.orders_stores(light, &|| world.membarrier(GLOBAL_EXPEDITED, 0, 0))
    }

    /// As for the private expedited command, with GLOBAL, between a process and its child, which has not
    /// registered.
    /// On Linux at least one of the two loads sees the other process's store.
    #[needs(Fork, Processors)]
    #[since("4.3")]
    #[harm("Processes that share memory free what is in use.")]
    fn global_reaches_other_processes(world) {
        world.has_barriers(GLOBAL)?;
        world.orders_stores(Light::Child(0), &|| world.membarrier(GLOBAL, 0, 0))
    }
}
