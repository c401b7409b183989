//! membarrier's answers, the kernel's beside the engine's: sequences of commands from a seed, each
//! in a process of its own.

#![cfg(target_pointer_width = "64")]

use std::sync::Arc;

use leeward_engine::abi::Numbers;
use leeward_engine::simulation::{Machine, Setup, Spawn, Start, Thread};
use leeward_engine::{Config, Engine};

/// Returns commands and flags that both sides are asked: those that the machine can do, and
/// nonsense. (The simulated machine refuses what it cannot do; the kernel might not.)
fn calls(seed: u64) -> Vec<[u64; 3]> {
    let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut below = |n: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random % n
    };
    let commands = [1, 2, 4, 8, 16, 512, 3, 6, 1 << 10, 1 << 31, u64::from(u32::MAX)];
    let flags = [0, 0, 0, 0, 1, 2, 1 << 31];
    (0..12)
        .map(|_| [commands[below(11) as usize], flags[below(7) as usize], [0, 1, 4096, u64::MAX][below(4) as usize]])
        .collect()
}

/// Returns what the kernel answers in a new process; `None`: it has no such call here.
fn kernel(calls: &[[u64; 3]]) -> Option<Vec<i64>> {
    let mut pipe = [0; 2];
    // SAFETY: two descriptors of ours.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    // SAFETY: the child makes system calls only.
    let child = unsafe { libc::fork() };
    if child == 0 {
        for [command, flags, cpu] in calls {
            // SAFETY: a call without memory.
            let mut answer = unsafe { libc::syscall(libc::SYS_membarrier, *command, *flags, *cpu) };
            if answer < 0 {
                // SAFETY: the calling thread's.
                let errno = unsafe { libc::__errno_location() };
                // SAFETY: as above.
                answer = -libc::c_long::from(unsafe { errno.read() });
            }
            // SAFETY: the number's bytes.
            unsafe { libc::write(pipe[1], (&raw const answer).cast(), size_of_val(&answer)) };
        }
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    assert!(child > 0);
    let mut answers = Vec::new();
    for _ in calls {
        let mut answer: libc::c_long = 0;
        // SAFETY: the number's bytes.
        let read = unsafe { libc::read(pipe[0], (&raw mut answer).cast(), size_of_val(&answer)) };
        assert_eq!(read, size_of_val(&answer) as isize);
        answers.push(answer);
    }
    for end in pipe {
        // SAFETY: ours.
        unsafe { libc::close(end) };
    }
    // SAFETY: our child.
    unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) };
    (answers[0] != -38).then_some(answers)
}

#[test]
fn one_thread_is_answered_as_by_the_kernel() {
    let (mut compared, sequences) = (0, 100);
    for seed in 1..=sequences {
        let calls = calls(seed);
        let Some(expected) = kernel(&calls) else { return };
        let mut setup = Setup::new(&[Start::Runs(0), Start::Idle]);
        let engine = Arc::new(Engine::<Thread>::new(Config::small(0), setup.bank.clone()).unwrap());
        let answers = Arc::new(std::sync::Mutex::new(Vec::new()));
        let (told, asked) = (Arc::clone(&answers), calls.clone());
        setup.threads = vec![Spawn::new("caller", 0, move |thread| {
            for [command, flags, cpu] in &asked {
                let arguments = [*command, *flags, *cpu, 0, 0, 0];
                told.lock().unwrap().extend(engine.syscall(thread, &Numbers::X86_64, 324, arguments));
            }
            0
        })];
        Machine::new(setup).run(seed, 100_000);
        let answers = answers.lock().unwrap();
        for ((call, kernel), engine) in calls.iter().zip(&expected).zip(&*answers) {
            // A machine with nohz_full has no GLOBAL; memory may be short.
            let excused = (call[0] == 1 && *kernel == -22) || *kernel == -12;
            assert!(kernel == engine || excused, "seed {seed}, {call:?}: kernel {kernel}, engine {engine}\n{calls:?}");
            compared += 1;
        }
        assert_eq!(answers.len(), calls.len());
    }
    println!("{sequences} sequences, {compared} answers compared");
}
