//! All that the engine serves: `futex` with priority inheritance, futex2, robust lists, membarrier,
//! and a thread's exit.

#![no_std]
#![no_main]

use leeward_engine::abi::Numbers;
use leeward_engine_small::{arguments, start};

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    let parts = start::<true>();
    loop {
        let (number, arguments) = arguments();
        let Some((engine, thread)) = &parts else { continue };
        if number == 0 {
            core::hint::black_box(engine.exit_robust(thread, 2048));
            core::hint::black_box(engine.exit_pi(thread));
            continue;
        }
        let robust = engine.robust_syscall(thread, &Numbers::GENERIC, number, arguments);
        core::hint::black_box(robust.or_else(|| engine.syscall(thread, &Numbers::GENERIC, number, arguments)));
    }
}
