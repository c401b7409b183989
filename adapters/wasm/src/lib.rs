//! `memory.atomic.wait32`, `memory.atomic.wait64` and `memory.atomic.notify` for WebAssembly
//! runtimes, served by `leeward-engine`.
//!
//! A runtime implements [`LinearMemory`] for its memories: the length, and two atomic loads. It
//! makes one [`Runtime`] for all, and one [`GuestMemory`] for each linear memory. The three
//! instructions are methods of the latter. Guest threads that are threads of a Linux process sleep
//! by `Threads` (feature `std`); other runtimes implement [`Parker`].
//!
//! ```
//! use leeward_engine::Config;
//! use leeward_wasm::{Outcome, Runtime, Threads, Trap};
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
//!
//! let runtime = Runtime::new(Config::for_processors(4, 0x5eed), Threads::default()).unwrap();
//! // A shared memory of 32 bytes. A real one lies in the runtime's own mapping.
//! let words: Arc<[AtomicU64; 4]> = Arc::default();
//! let memory = runtime.memory(words.clone());
//!
//! std::thread::scope(|threads| {
//!     // i32.const 8, i32.const 0, i64.const -1, memory.atomic.wait32 offset=8
//!     threads.spawn(|| assert_eq!(memory.wait32(8, 8, 0, -1), Ok(Outcome::Woken)));
//!     // Until the waiter is there: memory.atomic.notify offset=16
//!     while memory.notify(0, 16, 1) == Ok(0) {}
//! });
//!
//! words[2].store(1 << 32, SeqCst);
//! // The upper half has changed.
//! assert_eq!(memory.wait64(16, 0, 0, -1), Ok(Outcome::NotEqual));
//! assert_eq!(memory.wait32(16, 0, 0, 1000), Ok(Outcome::TimedOut));
//! assert_eq!(memory.wait32(2, 0, 0, 0), Err(Trap::Unaligned));
//! assert_eq!(memory.notify(u64::MAX, 1, 1), Err(Trap::OutOfBounds));
//! ```
//!
//! The crate contains no `unsafe`. It is `no_std` with `alloc`, and depends on the engine alone.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod guest;
mod interrupt;
mod linear;
mod memory;
mod parker;
mod runtime;
#[cfg(all(feature = "std", target_os = "linux"))]
mod threads;
mod trap;
#[cfg(target_has_atomic = "64")]
mod words;

pub use interrupt::Interrupt;
pub use linear::LinearMemory;
pub use memory::GuestMemory;
pub use parker::Parker;
pub use runtime::Runtime;
#[cfg(all(feature = "std", target_os = "linux"))]
pub use threads::Threads;
pub use trap::{Outcome, Trap};
