//! A `no_std` program with threads of the C library's, on leeward's feature `threads` alone: locks,
//! exits, signals, forks and the worker. `ci/nostd` and `ci/foreign` build and run it; each part
//! prints a line, and an assertion that fails ends the process. With any argument, no child of a
//! fork starts a thread, which qemu-user does not survive.

#![no_std]
#![no_main]

extern crate alloc;

mod exits;
mod locks;
mod runtime;
mod worker;

use runtime::say;

#[unsafe(no_mangle)]
pub extern "C" fn main(arguments: i32) -> i32 {
    let may_fork = arguments <= 1;
    // SAFETY: ends a program that hangs.
    unsafe { libc::alarm(300) };
    locks::all();
    exits::all(may_fork);
    worker::all(may_fork);
    say(c"no_std with threads: locked, exited, died, forked, interrupted and deferred");
    0
}
