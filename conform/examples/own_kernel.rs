//! The scenarios in a kernel's own test harness, without a guest: its functions are called.
//!
//! The kernel of this example is `leeward-engine` in a Linux process, whose threads are the process's.
//! For another kernel exchange what [`Kernel`] does: the method `call` by the kernel's system calls,
//! `spawn` by its threads. Calls that a kernel does not serve it answers by `ENOSYS`; scenarios that
//! need them end as absent or unfit.

use std::process::ExitCode;

use leeward_conform::linux::Linux;
use leeward_conform::{Errno, Syscalls, Verdict, ask, numbers, report, scenarios};
use leeward_engine::abi::Numbers;
use leeward_engine::parking::ParkingLot;

/// The operations of the engine that need no other process, no signal and no page that is missing.
const OPERATIONS: [&str; 1] = ["wait"];

/// The kernel that is asked.
struct Kernel {
    lot: ParkingLot,
}

impl Syscalls for Kernel {
    unsafe fn call(&self, number: usize, arguments: [usize; 6]) -> isize {
        match number {
            // What the engine has no say in: memory, time, and the number of a thread.
            // SAFETY: the caller's promise.
            numbers::MMAP | numbers::NANOSLEEP | numbers::SCHED_YIELD | numbers::GETTID => unsafe {
                Linux.call(number, arguments)
            },
            _ => {
                // SAFETY: scenarios' words are atomics in memory that stays mapped.
                let (engine, process) = unsafe { self.lot.parts() };
                let numbers = Numbers { futex: numbers::FUTEX as u64, ..Numbers::X86_64 };
                let answer = engine.syscall(process, &numbers, number as u64, arguments.map(|word| word as u64));
                answer.map_or(-(Errno::NOSYS.0 as isize), |answer| answer as isize)
            }
        }
    }

    unsafe fn spawn(&self, body: extern "C" fn(usize), argument: usize) -> Result<(), Errno> {
        // A thread that a wrong kernel leaves asleep is never joined.
        std::thread::Builder::new().spawn(move || body(argument)).map(drop).map_err(|_| Errno::AGAIN)
    }
}

fn main() -> ExitCode {
    // It stays: threads that a wrong kernel does not wake outlive their scenario.
    let kernel: &'static Kernel = Box::leak(Box::new(Kernel { lot: ParkingLot::new(16).expect("no memory") }));
    let results: Vec<_> = scenarios()
        .filter(|scenario| OPERATIONS.contains(&scenario.operation()))
        .map(|scenario| (scenario, ask(scenario, kernel)))
        .collect();
    let mut text = String::new();
    report::table(&mut text, results.iter().map(|(scenario, verdict)| (*scenario, verdict))).unwrap();
    print!("{text}");
    let is_wrong = results.iter().any(|(_, verdict)| matches!(verdict, Verdict::Wrong(_)));
    if is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
