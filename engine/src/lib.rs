//! The kernel's half of futexes as a library, for authors of kernels, library OSes, sandboxes,
//! emulators, and wasm and green-thread runtimes.
//!
//! The crate is `no_std` with `alloc`. It has no dependency, no global state and no thread-local
//! storage. The system that embeds it implements [`Host`]; a value of that type stands for the
//! calling thread. An [`Engine`] has the table that all address spaces share; a [`Space`] has a
//! table of its own for private futexes. A waiter lies where it waits, on a stack
//! ([`Engine::wait`]) or in a future ([`Engine::wait_async`]), and both kinds are in one queue.
//!
//! | operation | here | decoded from |
//! |---|---|---|
//! | WAIT, WAIT_BITSET | [`Engine::wait`], [`Engine::wait_async`] | [`Engine::futex`] |
//! | WAKE, WAKE_BITSET | [`Engine::wake`] | [`Engine::futex`] |
//! | REQUEUE, CMP_REQUEUE | [`Engine::requeue`] | [`Engine::futex`] |
//! | WAKE_OP | [`Engine::wake_op`] | [`Engine::futex`] |
//! | waitv, and futex2's wait, wake, requeue | [`Engine::waitv`] and the above | [`Engine::futex2`] |
//! | LOCK_PI, LOCK_PI2, where the host has [`Inheritance`] | [`Engine::lock_pi`] | [`Engine::futex`] |
//! | TRYLOCK_PI, UNLOCK_PI | [`Engine::try_lock_pi`], [`Engine::unlock_pi`] | [`Engine::futex`] |
//! | a thread's exit with such locks | [`Engine::exit_pi`] | |
//! | WAIT_REQUEUE_PI, CMP_REQUEUE_PI | [`Engine::wait_requeue_pi`], [`Engine::requeue_pi`] | [`Engine::futex`] |
//! | robust lists, the walk at a thread's exit | [`Engine::exit_robust`] | [`Engine::robust_syscall`] |
//! | robust lists of 32-bit programs | [`Engine::exit_robust_compat`] | [`Engine::compat_robust_syscall`] |
//! | robust unlock in one call | [`Engine::robust_unlock`], [`Engine::robust_unlock_pi`] | [`Engine::robust_syscall`] |
//! | membarrier, with [`Processors`] | [`Engine::membarrier`], [`Engine::membarrier_2010`] | [`Engine::syscall`] |
//!
//! Answers, errnos and the order of wakes are those of Linux 6.18, and of 7.2 for the flags that it
//! added. Words have 32 bits, or 8, 16 or 64 where the host serves them ([`Size`]).
//!
//! # Porting
//! `examples/kernel_host.rs` is a complete host that explains itself: a kernel small enough to be
//! an example, with what takes the place of each part in a real kernel. [`Host`] has the smallest
//! example.
//!
//! A library OS in user space writes the methods of [`Host`] in this order. Each step works by
//! itself and can be tried before the next:
//!
//! | step | methods | what works with them |
//! |---|---|---|
//! | 1 | `space`, `threads`, `in_range`, `load`, `compare_exchange`, `read`, `fault_in` | user memory |
//! |  | `task`, `park`, `unpark`; `preempt_off`, whose guard is `()` | private futexes, without time |
//! | 2 | `now` | deadlines |
//! | 3 | `spin` | a lock whose holder lost its processor is not spun for in vain |
//! | 4 | `preempt_off` with a guard that blocks signals, or `defer_wake` | signal handlers that wake |
//! | 5 | `resolve_shared` | futexes that processes share |
//! | 6 | `priority` | real-time threads are woken first |
//! | 7 | `unpark_all`, `fetch_op` | wakes of many by fewer calls; WAKE_OP in one instruction |
//! | 8 | [`RobustHost`]; [`Inheritance`]; [`Nodes`]; [`Processors`] | robust lists; inheritance; NUMA; membarrier |
//!
//! A system whose threads are Linux threads takes parts of the module `parking`: `Parked` and
//! `park` for `task`, `park` and `unpark`; `now`; `spin`, which serves real-time threads, too; and
//! `Gathering` for `unpark_all`. `parking::user_memory` accesses memory that may not be there, for
//! `load` and its kin; `examples/library_os.rs` puts them together.
//!
//! Before its step, a method that the trait demands answers what ends the operation: `now` answers
//! 0 (no call with a deadline is served yet), `resolve_shared` answers `EFAULT`.
//!
//! # Features
//! `std` (Linux) adds the module `parking`, a host made of a process's own threads. `simulation`
//! adds a simulated machine on which a kernel's context switch can be tried.
//!
//! # Memory
//! On 64-bit systems, in bytes, with a task handle of one word:
//!
//! | what | bytes |
//! |---|---|
//! | a waiter | 112 on the waiting thread's stack; 144 in a future; 344 with priority inheritance |
//! | a word of waitv | 144, in the caller's array |
//! | a space | 64, and nothing else as long as it has one thread or no wait |
//! | a space's table | 128, and 128 a bucket: 16 buckets at first, later 4 a thread |
//! | a table that many waiters made large | 68 a bucket, up to 262,144 buckets |
//! | all tables that a space ever had | at most twice what the last one takes |
//! | an engine | 608, and for each node a table: 256 buckets a processor, or 16 in the small configuration |
//!
//! On a microcontroller (thumbv7em, [`Config::small`]) waits and wakes take 5 KB of code, everything
//! 28 KB; 16 threads that all wait take 10 KB of memory, their stacks included. `ci/small` checks it.
//!
//! An operation takes at most 2.4 KiB of stack, a wait's waiter included, and `futex_waitv` by its
//! number 2.8 KiB (measured on x86-64 with the parking host). `tests/costs/stack.rs` measures each
//! operation; a wake of one waiter takes 0.4 KiB.
//! What the host's own methods take comes on top.
//!
//! # Bad input
//! Any argument and any contents of user memory end in an [`Errno`]: no panic, and no lock is left
//! held.
//!
//! An operation on one word holds a bucket's lock for at most two passes over the waiters of that
//! bucket. An operation on two words holds the locks of both buckets for as much over both:
//! wake-op, and requeue with one pass more. With priority inheritance the locks are also held, for
//! each owner in a chain of at most 1,024, for a dozen steps in trees, each of the logarithm of all
//! threads that wait so; in a requeue, once for each waiter that it moves.

#![no_std]

extern crate alloc;
#[cfg(any(feature = "std", feature = "simulation", test, leeward_loom))]
extern crate std;

mod atomic;
mod engine;
mod errno;
#[cfg(any(doc, doctest))]
pub mod guide;
mod host;
mod linux;
#[cfg(all(test, leeward_loom))]
mod loom;
mod membarrier;
mod mutant;
mod ops;
#[cfg(all(feature = "std", target_os = "linux", not(leeward_loom)))]
pub mod parking;
mod pi;
mod robust;
#[cfg(all(feature = "simulation", not(leeward_loom)))]
pub mod simulation;
mod stats;
mod table;
#[cfg(all(test, not(leeward_loom)))]
mod tests;
mod waiter;

pub use engine::{Config, Engine, MOST_NODES, NoEngine};
pub use errno::Errno;
pub use host::flag::Flag;
pub use host::inheritance::{Inheritance, Owner, Thread};
pub use host::memory::{Heap, Memory};
pub use host::nodes::Nodes;
pub use host::processors::{Abilities, Interrupt, Processors};
pub use host::robust::{RobustHost, RobustUnlock};
pub use host::{Access, Arithmetic, Clock, Deadline, Fault, Host, ParkEnd, Part, Priority};
pub use linux::abi;
pub use ops::requeue::Requeue;
pub use ops::wait::Wait;
pub use ops::wait_async::WaitAsync;
pub use ops::waitv::{MOST_WORDS, WaitAny, WaitEntry};
pub use ops::wake_op::{Comparison, WakeOp};
pub use pi::graph::MOST_CHAIN;
pub use pi::lock::LockPi;
pub use pi::requeue::WaitPi;
pub use robust::ROBUST_LIST_LIMIT;
pub use robust::walk::{RobustExit, WalkEnd};
pub use stats::Stats;
pub use table::plan::MOST_BUCKETS;
pub use table::space::Space;
pub use table::word::{Address, NO_NODE, Node, Scope, SharedKey, Size, Word};
