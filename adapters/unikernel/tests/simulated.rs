//! The adapter on a simulated unikernel of one processor: every point at which a task may be
//! preempted is tried; ticks come when the test says so. Names of other projects in test names are
//! those of the rows of published bugs.

#![allow(missing_docs)]

mod sim;

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use leeward_engine::abi::{
    FUTEX_OWNER_DIED, FUTEX_WAITERS, MEMBARRIER_CMD_PRIVATE_EXPEDITED, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
    Numbers,
};
use leeward_engine::{Clock, Deadline, LockPi, Owner, Requeue, Wait};
use sim::{ANY, Kernel, Run, TICK};

const TIMED_OUT: i64 = -110;
const INTERRUPTED: i64 = -4;

/// Has two tasks wait for two events that a third one announces: changes the word, wakes one.
fn two_events(kernel: &Kernel, preempt_at: &[u32]) -> Run {
    kernel.machine.word(0).store(0, SeqCst);
    let consume = |kernel: &Kernel| {
        loop {
            let word = kernel.machine.word(0);
            let taken = word.fetch_update(SeqCst, SeqCst, |events| events.checked_sub(1));
            if taken.is_ok() {
                return;
            }
            kernel.machine.point();
            if kernel.wait(0) == Wait::Interrupted {
                return;
            }
        }
    };
    let announce = |kernel: &Kernel| {
        for _ in 0..2 {
            kernel.machine.word(0).fetch_add(1, SeqCst);
            kernel.machine.point();
            kernel.wake(0, 1);
        }
    };
    kernel.run(preempt_at, [Box::new(consume), Box::new(consume), Box::new(announce)])
}

#[test]
fn unikraft_1763_no_wake_is_lost_wherever_two_preemptions_fall() {
    let kernel = Kernel::new();
    let points = two_events(&kernel, &[]).points;
    assert!(points > 10, "there are points at which to preempt");
    // Preempted runs have a few points more.
    for first in 0..points + 4 {
        for second in first..points + 4 {
            let run = two_events(&kernel, &[first, second]);
            assert!(!run.stuck, "stuck after preemptions at {first} and {second}");
            assert_eq!(kernel.waiting(), 0);
        }
    }
}

#[test]
fn a_kernel_that_compares_before_it_marks_the_task_blocked_loses_a_wake() {
    let points = two_events(&Kernel::new(), &[]).points;
    let lost = (0..points + 4).any(|at| two_events(&Kernel::with(false, false), &[at]).stuck);
    assert!(lost, "the exploration finds what is wrong with such a kernel");
}

#[test]
fn a_relative_time_out_is_never_early_and_less_than_two_ticks_late() {
    for within in [0, 1, TICK / 3, TICK - 1] {
        for nanos in [0, 1, TICK - 1, TICK, TICK + 1, 10 * TICK] {
            let kernel = Kernel::new();
            kernel.machine.pass(5 * TICK + within);
            kernel.run(
                &[],
                [Box::new(|kernel| {
                    let before = kernel.machine.time();
                    assert_eq!(kernel.wait_for(0, nanos), TIMED_OUT);
                    let slept = kernel.machine.time() - before;
                    assert!(slept >= nanos, "{nanos} ns from {within} ns within a tick took {slept} ns");
                    assert!(slept < nanos + 2 * TICK, "{nanos} ns from {within} ns within a tick took {slept} ns");
                })],
            );
            assert_eq!(kernel.waiting(), 0);
        }
    }
}

fn wait_until(kernel: &Kernel, clock: Clock, at: u64) -> Wait {
    let until = Some(Deadline { clock, at });
    kernel.engine().wait(kernel.futexes.local(), kernel.word(0), 0, ANY, until).unwrap()
}

#[test]
fn a_deadline_ends_at_the_first_tick_that_is_not_before_it() {
    for (at, end) in [(1, 1), (TICK, 1), (TICK + 1, 2), (7 * TICK, 7)] {
        let kernel = Kernel::new();
        kernel.run(
            &[],
            [Box::new(move |kernel| {
                assert_eq!(wait_until(kernel, Clock::Monotonic, at), Wait::TimedOut);
                assert_eq!(kernel.machine.time(), end * TICK);
                // Past: at once.
                assert_eq!(wait_until(kernel, Clock::Monotonic, at), Wait::TimedOut);
                assert_eq!(kernel.machine.time(), end * TICK);
            })],
        );
    }
}

#[test]
fn a_clock_that_is_set_moves_the_deadlines_of_the_time_of_day_only() {
    let kernel = Kernel::new();
    kernel.machine.set_clock(100 * TICK);
    let ends = Mutex::new(Vec::new());
    let sleep = |clock, at| {
        let ends = &ends;
        Box::new(move |kernel: &Kernel| {
            assert_eq!(wait_until(kernel, clock, at), Wait::TimedOut);
            ends.lock().unwrap().push((clock, kernel.machine.time() / TICK));
        })
    };
    let set = Box::new(|kernel: &Kernel| kernel.machine.set_clock(40 * TICK));
    kernel.run(&[], [sleep(Clock::Realtime, 120 * TICK), sleep(Clock::Monotonic, 50 * TICK), set]);
    assert_eq!(*ends.lock().unwrap(), [(Clock::Monotonic, 50), (Clock::Realtime, 80)]);
}

#[test]
fn starryos_494_a_waiter_that_timed_out_eats_no_wake() {
    let kernel = Kernel::new();
    let woken = AtomicU32::new(0);
    let brief = |kernel: &Kernel| assert_eq!(kernel.wait_for(0, TICK), TIMED_OUT);
    let long = |kernel: &Kernel| {
        assert_eq!(kernel.wait(0), Wait::Woken);
        woken.fetch_add(1, SeqCst);
    };
    let wake = |kernel: &Kernel| {
        // Until the first has given up.
        assert_eq!(kernel.wait_for(8, 5 * TICK), TIMED_OUT);
        assert_eq!(kernel.waiting(), 1);
        assert_eq!(kernel.wake(0, 1), 1);
    };
    assert!(!kernel.run(&[], [Box::new(brief), Box::new(long), Box::new(wake)]).stuck);
    assert_eq!(woken.load(SeqCst), 1);
}

#[test]
fn a_wake_and_a_tick_at_once_count_one_waiter_as_one_thing() {
    let mut ends = [0, 0];
    for at in 0..80 {
        let kernel = Kernel::new();
        let answer = Mutex::new(0);
        let counted = AtomicU32::new(0);
        let wait = |kernel: &Kernel| *answer.lock().unwrap() = kernel.wait_for(0, TICK);
        let wake = |kernel: &Kernel| {
            kernel.machine.pass(3 * TICK);
            kernel.machine.point();
            counted.store(kernel.wake(0, 1), SeqCst);
        };
        assert!(!kernel.run(&[at], [Box::new(wait), Box::new(wake)]).stuck);
        let woken = *answer.lock().unwrap() == 0;
        assert_eq!(u32::from(woken), counted.load(SeqCst), "preempted at {at}");
        ends[usize::from(woken)] += 1;
        assert_eq!(kernel.waiting(), 0);
    }
    assert!(ends.iter().all(|&times| times > 0), "time-outs and wakes: {ends:?}");
}

#[test]
fn a_requeued_waiter_times_out_of_the_second_word() {
    let kernel = Kernel::new();
    let wait = |kernel: &Kernel| assert_eq!(kernel.wait_for(0, 2 * TICK), TIMED_OUT);
    let requeue = |kernel: &Kernel| {
        let words = (kernel.word(0), kernel.word(1));
        let moved = kernel.engine().requeue(kernel.futexes.local(), words.0, words.1, 0, 9, Some(0));
        assert_eq!(moved, Ok(Requeue::Done(1)));
        assert_eq!(kernel.wait_for(8, 9 * TICK), TIMED_OUT);
        assert_eq!(kernel.waiting(), 0);
        assert_eq!(kernel.wake(1, 1), 0);
    };
    assert!(!kernel.run(&[], [Box::new(wait), Box::new(requeue)]).stuck);
}

#[test]
fn a_killed_task_leaves_its_list_before_its_stack_is_freed() {
    let kernel = Kernel::new();
    let wait = |kernel: &Kernel| {
        assert_eq!(kernel.wait_for(0, 9 * TICK), INTERRUPTED);
        // Here the stack may go.
        assert_eq!(kernel.waiting(), 0);
        kernel.futexes.exit(0);
    };
    let kill = |kernel: &Kernel| {
        assert_eq!(kernel.waiting(), 1);
        kernel.machine.signal(0);
    };
    assert!(!kernel.run(&[], [Box::new(wait), Box::new(kill)]).stuck);
}

/// Makes a robust list of the words 32 and 48 at the words 16 and on: each lock is 8 bytes after
/// its entry.
fn robust_list(kernel: &Kernel) {
    let machine = &kernel.machine;
    for (at, value) in [(16, 30), (30, 46), (46, 16)] {
        machine.store_double(at, machine.address(value));
    }
    machine.store_double(18, 8);
    machine.store_double(20, 0);
    let answer = kernel.futexes.syscall(&Numbers::X86_64, 273, [machine.address(16), 24, 0, 0, 0, 0]);
    assert_eq!(answer, Some(0));
}

#[test]
fn starryos_545_an_exit_marks_the_locks_that_the_task_owns_and_no_others() {
    let kernel = Kernel::new();
    let die = |kernel: &Kernel| {
        robust_list(kernel);
        // Task 1 owns the first lock, and task 3 the second.
        kernel.machine.word(32).store(1 | FUTEX_WAITERS, SeqCst);
        kernel.machine.word(48).store(3 | FUTEX_WAITERS, SeqCst);
        // The other task waits meanwhile.
        assert_eq!(kernel.wait_for(8, TICK), TIMED_OUT);
        assert_eq!(kernel.futexes.exit(kernel.machine.address(9)).marked, 1);
    };
    let wait = |kernel: &Kernel| {
        let value = kernel.machine.word(32).load(SeqCst);
        assert_eq!(kernel.call([kernel.machine.address(32), 0, value.into(), 0, 0, 0]), 0);
        assert_eq!(kernel.machine.word(32).load(SeqCst), FUTEX_OWNER_DIED | FUTEX_WAITERS);
        assert_eq!(kernel.machine.word(48).load(SeqCst), 3 | FUTEX_WAITERS);
    };
    assert!(!kernel.run(&[], [Box::new(die), Box::new(wait)]).stuck);
}

#[test]
fn a_joining_task_is_woken_by_the_word_that_an_exit_clears() {
    let kernel = Kernel::new();
    kernel.machine.word(9).store(2, SeqCst);
    let join = |kernel: &Kernel| {
        let address = kernel.machine.address(9);
        while kernel.machine.word(9).load(SeqCst) != 0 {
            assert_eq!(kernel.call([address, 0, 2, 0, 0, 0]), 0);
        }
    };
    let end = |kernel: &Kernel| {
        assert_eq!(kernel.futexes.exit(kernel.machine.address(9)).marked, 0);
    };
    assert!(!kernel.run(&[], [Box::new(join), Box::new(end)]).stuck);
    // An address that is no program's is left alone.
    kernel.run(&[], [Box::new(|kernel| _ = kernel.futexes.exit(64))]);
}

#[test]
fn a_lock_with_inheritance_is_lent_for_and_handed_on_at_an_exit() {
    let kernel = Kernel::new();
    let lock = |kernel: &Kernel| kernel.engine().lock_pi(kernel.futexes.local(), kernel.word(0), None);
    let own = move |kernel: &Kernel| {
        assert_eq!(lock(kernel), Ok(LockPi::Acquired));
        assert_eq!(kernel.wait_for(8, TICK), TIMED_OUT);
        // The second task is urgent, and waits.
        let system = kernel.futexes.local().system();
        assert!(system.is_lent(0));
        system.set_owner(Owner::Exiting);
        kernel.futexes.exit(0);
        assert!(!system.is_lent(0));
        system.set_owner(Owner::Nobody);
    };
    let want = move |kernel: &Kernel| {
        // The lock is the first task's, which is blocked.
        assert!(matches!(lock(kernel), Ok(LockPi::Acquired)));
        assert_eq!(kernel.machine.word(0).load(SeqCst) & 0xff, 2);
    };
    assert!(!kernel.run(&[], [Box::new(own), Box::new(want)]).stuck);
}

#[test]
fn starryos_657_membarrier_commands_are_bits() {
    let kernel = Kernel::with(true, true);
    kernel.run(
        &[],
        [Box::new(|kernel| {
            let membarrier = |command| kernel.futexes.syscall(&Numbers::X86_64, 324, [command, 0, 0, 0, 0, 0]).unwrap();
            let (barrier, register) = (MEMBARRIER_CMD_PRIVATE_EXPEDITED, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
            assert_eq!(membarrier(0) & i64::from(barrier | register), i64::from(barrier | register));
            assert_eq!(membarrier(3), -22);
            assert_eq!(membarrier(barrier.into()), -1);
            assert_eq!(membarrier(register.into()), 0);
            assert_eq!(membarrier(barrier.into()), 0);
        })],
    );
}

#[test]
fn starryos_1225_without_processors_membarrier_is_absent_and_not_faked() {
    let kernel = Kernel::new();
    kernel.run(
        &[],
        [Box::new(|kernel| {
            for command in [0, 8, 16] {
                assert_eq!(kernel.futexes.syscall(&Numbers::X86_64, 324, [command, 0, 0, 0, 0, 0]), Some(-38));
            }
        })],
    );
}

#[test]
fn addresses_outside_of_the_programs_memory_are_refused() {
    let kernel = Kernel::new();
    kernel.run(
        &[],
        [Box::new(|kernel| {
            let end = kernel.machine.address(255) + 4;
            for address in [0, 4096, end, !3] {
                assert_eq!(kernel.call([address, 0, 0, 0, 0, 0]), -14, "wait at {address:#x}");
            }
            // A time that lies half outside.
            assert_eq!(kernel.call([kernel.machine.address(0), 128, 0, end - 8, 0, 0]), -14);
            assert_eq!(kernel.call([kernel.machine.address(0) + 2, 128, 0, 0, 0, 0]), -22);
        })],
    );
}
