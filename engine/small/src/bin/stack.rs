//! How much stack an operation takes, under Linux's user-mode emulator of the same processor: each
//! operation runs on a painted stack, and where the paint is gone it has written. Prints a line for
//! each, and the sizes of what is kept. One thread runs, so that each ordering is Relaxed.

#![no_std]
#![no_main]

use core::arch::asm;
use core::mem::size_of;
use core::sync::atomic::Ordering;

use leeward_engine::{Clock, Deadline, Engine, Space, Word};
use leeward_engine_small::{Mcu, ON_PARK, TABLE_BYTES, WORDS, start};

/// The bytes of stack that are painted.
const PAINTED: usize = 8 << 10;
const PAINT: u32 = 0x5ca1_ab1e;

type Parts = (Engine<Mcu<true>>, Mcu<true>);
static PARTS: core::sync::atomic::AtomicPtr<Parts> = core::sync::atomic::AtomicPtr::new(core::ptr::null_mut());

fn parts() -> &'static Parts {
    // SAFETY: `_start` has stored a value that lives until the program ends.
    unsafe { &*PARTS.load(Ordering::Relaxed) }
}

/// Makes a system call of the emulator's Linux.
fn call(number: usize, first: usize, second: usize, third: usize) {
    // SAFETY: `write` of a string, or `exit`. The frame pointer, by which the number goes, is kept.
    unsafe {
        asm!("push {{r7}}", "mov r7, {}", "svc 0", "pop {{r7}}", in(reg) number, inlateout("r0") first => _,
            in("r1") second, in("r2") third)
    };
}

fn print(text: &str) {
    call(4, 1, text.as_ptr() as usize, text.len());
}

/// Prints a number and what it counts.
fn report(mut number: usize, what: &str) {
    let mut digits = [b' '; 7];
    for digit in digits.iter_mut().rev().skip(1) {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    print(core::str::from_utf8(&digits).unwrap_or_default());
    print(what);
    print("\n");
}

/// Returns how many bytes below its own frame an operation writes.
#[inline(never)]
fn depth(operation: fn()) -> usize {
    let bottom: *mut u32;
    // SAFETY: reads the stack pointer.
    unsafe { asm!("mov {}, sp", out(reg) bottom, options(nomem, nostack)) };
    // The lowest address is first.
    let lowest = bottom.wrapping_byte_sub(PAINTED);
    for i in 0..PAINTED / 4 {
        // SAFETY: below the stack pointer, where nothing is kept and the stack has room.
        unsafe { lowest.wrapping_add(i).write_volatile(PAINT) };
    }
    operation();
    // SAFETY: as above.
    let kept = (0..PAINTED / 4).take_while(|i| unsafe { lowest.wrapping_add(*i).read_volatile() } == PAINT).count();
    PAINTED - 4 * kept
}

/// Waits until a deadline that has come.
fn wait() {
    let (engine, thread) = parts();
    let until = Deadline { clock: Clock::Monotonic, at: 0 };
    let _ = core::hint::black_box(engine.wait(thread, Word::private(0), 0, u32::MAX, Some(until)));
}

fn wake() {
    let (engine, thread) = parts();
    let _ = core::hint::black_box(engine.wake(thread, Word::private(0), 1, u32::MAX));
}

fn requeue() {
    let (engine, thread) = parts();
    let _ = core::hint::black_box(engine.requeue(thread, Word::private(0), Word::private(4), 0, 1, Some(0)));
}

fn lock() {
    let (engine, thread) = parts();
    let until = Deadline { clock: Clock::Monotonic, at: 0 };
    let _ = core::hint::black_box(engine.lock_pi(thread, Word::private(8), Some(until)));
}

/// Runs while a thread sleeps on word 0.
fn during_a_wait() {
    ON_PARK.store(core::ptr::null_mut(), Ordering::Relaxed);
    report(depth(requeue), "stack of a requeue of one");
    report(depth(|| _ = parts().0.wake(&parts().1, Word::private(4), 1, u32::MAX)), "stack of a wake of one");
}

#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    let mut made = start::<true>();
    if let Some(made) = &mut made {
        PARTS.store(made, Ordering::Relaxed);
        report(size_of::<Engine<Mcu<true>>>(), "engine");
        report(size_of::<Space<Mcu<true>>>(), "space");
        report(TABLE_BYTES.load(Ordering::Relaxed) as usize, "table");
        report(depth(wait), "stack of a wait that ends by time");
        report(depth(wake), "stack of a wake of none");
        WORDS[2].store(5, Ordering::Relaxed);
        report(depth(lock), "stack of a wait for a lock that inherits");
        ON_PARK.store(during_a_wait as *mut (), Ordering::Relaxed);
        let (engine, thread) = made;
        let _ = core::hint::black_box(engine.wait(thread, Word::private(0), 0, u32::MAX, None));
    }
    call(1, 0, 0, 0);
    loop {}
}
