//! The system call `futex` with all its operations but those of priority inheritance, which this
//! host refuses.

#![no_std]
#![no_main]

use leeward_engine_small::{arguments, start};

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    let parts = start::<false>();
    loop {
        let (_, arguments) = arguments();
        let Some((engine, thread)) = &parts else { continue };
        let _ = core::hint::black_box(engine.futex(thread, arguments));
    }
}
