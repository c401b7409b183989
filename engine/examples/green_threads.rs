//! Futexes under green threads: many threads with stacks of their own on few carriers, which are
//! threads of the system.
//!
//! `park` suspends the green thread (`green_parts/host.rs`), and its carrier goes on to the next
//! one that is ready (`green_parts/scheduler.rs`). The waiter lies on the green thread's stack. A
//! carrier sleeps only where no green thread is ready. `tests/ports/green_threads.rs` tries what is
//! difficult: migration, time-outs, cancellation, threads that wait for ever.

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
#[path = "green_parts/shown.rs"]
mod shown;

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
fn main() {
    shown::show().expect("no thread waits for ever, but the one that is to");
}

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))))]
fn main() {
    println!("green threads: the example has no switch of stacks for this machine");
}
