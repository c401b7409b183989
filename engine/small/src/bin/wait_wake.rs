//! Waits and wakes alone.

#![no_std]
#![no_main]

use leeward_engine::Word;
use leeward_engine_small::{arguments, start};

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    let parts = start::<false>();
    loop {
        let (number, [address, value, ..]) = arguments();
        let Some((engine, thread)) = &parts else { continue };
        let word = Word::private(address);
        if number == 0 {
            let _ = core::hint::black_box(engine.wait(thread, word, value, u32::MAX, None));
        } else {
            let _ = core::hint::black_box(engine.wake(thread, word, value as u32, u32::MAX));
        }
    }
}
