//! Waits, wakes and requeues: what a kernel takes first (docs/engine/first-three.md).

#![no_std]
#![no_main]

use leeward_engine::Word;
use leeward_engine_small::{arguments, start};

/// The most that one call moves.
const MOVED: u32 = i32::MAX as u32;

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    let parts = start::<false>();
    loop {
        let (number, [address, value, to, ..]) = arguments();
        let Some((engine, thread)) = &parts else { continue };
        let word = Word::private(address);
        match number {
            0 => drop(core::hint::black_box(engine.wait(thread, word, value, u32::MAX, None))),
            1 => drop(core::hint::black_box(engine.wake(thread, word, value as u32, u32::MAX))),
            _ => drop(core::hint::black_box(engine.requeue(thread, word, Word::private(to), 1, MOVED, Some(value)))),
        }
    }
}
