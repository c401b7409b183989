//! **Synchronization for Linux that moves its cost off the common path**: asymmetric fences and
//! userspace RCU, and locks on futexes. An RCU reader, a reader or usual owner of an asymmetric
//! lock, and the unlock of a `LightMutex` execute no fence and no locked instruction; the rare
//! writer, waiter or dying thread pays. For those who write databases, proxies, DNS servers,
//! allocators, language runtimes and kernels, in Rust.
//!
//! **A configuration that every request reads** and that is seldom changed:
//!
//! ```
//! use leeward::rcu::RcuCell;
//! use leeward::sync::LazyLock;
//!
//! struct Config { listen: String, limit: u32 }
//! static CONFIG: LazyLock<RcuCell<Config>> =
//!     LazyLock::new(|| RcuCell::new(Config { listen: "[::]:80".into(), limit: 10 }));
//!
//! // A reader, on any thread: no lock, no fence, no atomic read-modify-write.
//! let config = CONFIG.get();
//! assert_eq!((config.listen.as_str(), config.limit), ("[::]:80", 10));
//!
//! // A writer publishes; the old value is freed once no reader can hold it.
//! CONFIG.update(|now| Config { listen: now.listen.clone(), limit: 20 }).defer();
//! assert_eq!((config.limit, CONFIG.get().limit), (10, 20));
//! ```
//!
//! **Locks** behind parking_lot's interface, and in `sync::poison` behind std's: only the `use` line
//! changes. Those of [`asym`] are for data that is nearly always read, or nearly always used by one
//! thread:
//!
//! ```
//! use leeward::asym::RwLock;
//! use leeward::sync::{Condvar, Mutex};
//!
//! static LIMIT: RwLock<u32> = RwLock::new(10);
//! // After a thread's first: a store into a slot of its own; readers share no cache line.
//! assert_eq!(*LIMIT.read(), 10);
//! // A heavy fence, and a look at every thread's slots.
//! *LIMIT.write() = 20;
//!
//! static JOBS: Mutex<Vec<u32>> = Mutex::new(Vec::new());
//! static MORE: Condvar = Condvar::new();
//! std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         JOBS.lock().push(7);
//!         MORE.notify_one();
//!     });
//!     let mut jobs = JOBS.lock();
//!     MORE.wait_while(&mut jobs, |jobs| jobs.is_empty());
//!     assert_eq!(jobs.pop(), Some(7));
//! });
//! ```
//!
//! **Memory that processes share**, and a lock in it that survives a process which is killed while it
//! holds the lock:
//!
//! ```
//! use leeward::robust::{LockError, Mutex};
//! use leeward::shared::Region;
//!
//! // By a name (`Region::open`), or without one, for the children of forks.
//! let accounts = Region::<Mutex<[u64; 2]>>::create(1, |new| *new = Mutex::new([100, 0]))?.leak();
//!
//! let mut pair = accounts.lock().or_else(|error| {
//!     // Its last owner died, perhaps between the two stores below.
//!     error.repair(|pair| pair[1] = 100 - pair[0])
//! })?;
//! pair.with(|pair| {
//!     pair[0] -= 10;
//!     pair[1] += 10;
//! });
//! assert_eq!(pair.get(), [90, 10]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`guide`] is the book: how each part works, why it is right, and what it costs;
//! [`guide::caveats`] has what to know before the first call, in one place.
//!
//! # You have, you use
//! | you have | use |
//! |---|---|
//! | read-mostly data, any threads | [`rcu::RcuCell`], by `get()` or in a section of [`rcu::read()`](rcu::read) |
//! | an event loop that can say "I hold nothing" in each iteration | [`rcu::qsbr::Reader`] |
//! | no thread-local storage, or the last nanosecond | [`rcu::Reader`] |
//! | several sets of data whose readers should not wait for each other | [`rcu_domain!`] |
//! | an `Arc` that is replaced, and kept by its readers | [`rcu::ArcCell`], [`rcu::ArcOption`] |
//! | keys that many threads look up beside writers | [`collect`]`::{HashMap, HashSet}` |
//! | the same, in order: ranges, predecessors | [`collect`]`::OrderedMap` |
//! | a program on `dashmap` | [`collect`]`::ShardMap` (feature `hashbrown`) |
//! | a linked list that many threads walk | [`collect`]`::List` |
//! | values to pass from threads to threads | [`collect`]`::{Queue, Bounded, Stack}` |
//! | lists, maps, trees of your own | [`guide::structures`]; [`rcu::epoch`] for crossbeam-epoch's |
//! | readers that stay with an object for long, and bounded memory all the same | [`hazard::HazardPointer`] |
//! | a task that must not block while readers leave | [`rcu::Domain::synchronize_async`] |
//! | an `RwLock` that is nearly always read | [`asym::RwLock`] |
//! | a mutex that one thread takes nearly always | [`asym::Mutex`] |
//! | `parking_lot` or `std::sync` locks | [`sync`]`::{Mutex, RwLock, Condvar, Once}`, or those of [`sync`]`::poison` |
//! | any of several events to wait for | [`sync::Event`]`::{wait_any, wait_any_for}` |
//! | locks that tasks hold across an `.await`, as by `tokio::sync` | [`task`]`::{Mutex, RwLock, Semaphore, Notify}` |
//! | real-time threads of several priorities | [`pi::Mutex`] |
//! | several processes that share memory | [`shared::Region`] and the locks of [`shared`] |
//! | the same, and processes that may be killed | [`robust::Mutex`], [`robust::RwLock`] |
//! | a lock of your own to write | [`fence`], [`futex`], and [`raw`] for the locks without data |
//! | a kernel, a sandbox or a runtime without Linux underneath | the crate `leeward-engine`, which has ports to copy |
//! | a WebAssembly runtime's `wait32`, `wait64`, `notify` | the crate `leeward-wasm` |
//! | a kernel whose futexes and membarrier are to be Linux's | `leeward-conform`; the engine's `kernel_membarrier.rs` |
//!
//! # Who pays
//! | module | common path | rare path, pays |
//! |---|---|---|
//! | [`fence`] | a reader's barrier: no instruction | one `membarrier` by the writer |
//! | [`rcu`] | a read section: two stores | a grace period |
//! | [`collect`] | a look-up: a read section, no lock | a lock of one line, and later the freeing |
//! | [`hazard`] | protecting an object: two stores | a heavy fence for 256 objects |
//! | [`asym`] | reading, or the usual owner's locking: stores | a heavy fence |
//! | [`sync`] | a compare-exchange each way | a futex sleep |
//! | [`task`] | a compare-exchange each way | a task's wake |
//! | [`shared`] | a compare-exchange each way | a futex sleep, with a look-up |
//! | [`robust`] | a compare-exchange each way, no system call | the walk when a thread dies |
//! | [`pi`] | a compare-exchange each way | a system call, in which the owner is given the priority |
//!
//! A heavy fence is one `membarrier` call: about a microsecond to a few on bare processors,
//! hundreds of microseconds to milliseconds on virtual machines whose interrupts are slow. Each
//! interrupts the process's running threads once. `leeward doctor` measures it.
//!
//! # Features
//! - `full` (default): all of `asym`, `collect`, `epoch` ([`rcu::epoch`]), `hazard`, `robust` and
//!   `task`. Each is a module that no other part needs, and half of the crate's lines together: a
//!   program that wants a mutex names `std` only.
//! - `std` (default): thread-local registration ([`rcu::read`]), [`sync::Condvar`], `sync::poison`,
//!   timed calls of mutexes and `RwLock`s, and all that `threads` brings.
//! - `threads` (part of `std`): what [`asym`] needs, the worker behind [`rcu::defer`], stall reports on standard
//!   error, [`robust`] locks without system calls. Without `std` it takes threads and thread-local
//!   storage from the C library: on Linux, on x86-64, aarch64, riscv64 and (with Rust 1.95)
//!   powerpc64le. There, a callback's panic on the worker ends the process, and a shared library
//!   with this crate must stay loaded (`-z nodelete`).
//! - Without both, the crate is `no_std` with `alloc`: handles ([`rcu::Reader`],
//!   [`rcu::qsbr::Reader`]), cells, grace periods and polling, with callbacks run by `barrier` and
//!   at the limit; and the locks of [`sync`], [`pi`], [`shared`] and [`robust`].
//! - `engine`: `futex::Hosted`, the locks on `leeward-engine` instead of the kernel's futexes, and
//!   (with `std`) `futex::Parking`, which is that engine on this process's own threads.
//! - `c`: domains that programs in C share (`rcu::c`), for the crate `leeward-capi`.
//! - `lock_api_05`: the raw and asymmetric locks implement the traits of lock_api 0.5 as well as
//!   those of 0.4. Asks for Rust 1.95; everything else for 1.85.
//! - `send_guard`: the guards of [`sync`] are `Send` where the data allows it. Without it the compiler
//!   refuses a guard that a task would hold across an `await`.
//! - `derive`: `#[derive(AnyBytes)]`, for values in shared memory and behind robust locks.
//! - `hashbrown`: `collect::ShardMap`, on the tables of the crate of that name; brings `std`, `asym`
//!   and `collect`.
//! - `serde`, `arc_lock`, `owning_ref`: lock_api's features of these names, for the locks of
//!   [`sync`] and [`asym`]: serialization, guards that own an `Arc` of their lock, stable addresses.
//!   With `serde` the maps, sets and lists of [`collect`] are written and read, too.
//!
//! # Safety
//! Everything that is safe to call is sound: in any order, from any thread, with guards leaked, in
//! signal handlers where a function's documentation allows it, during thread exit, and in the child
//! of a fork.
//!
//! # What it does not do
//! - A reader that never leaves its section stalls grace periods, as in every RCU; the stall is
//!   reported with its thread.
//! - `asym` locks and `rcu` are for data that is read, or owned by one thread, far more often than
//!   it is written; `LightMutex` is for locks that are seldom contended.
//! - Locks of `sync` do not poison (those of `sync::poison` do); [`Poison<T>`](sync::Poison) marks data
//!   that a panic left half-changed.
//! - The explicit-state models have the [pairs](crate::guide::orderings) A to D, G to J, L to N and S
//!   under the rules of x86, Arm and RISC-V, and K with store buffers and deaths; E, F, O to Q and W
//!   by loom only. POWER is tested, but in no model.
//!
//! # Platforms
//! Linux on x86-64 is what all checks run on; aarch64 and powerpc64le run the tests under qemu.
//! Other systems compile, with full fences on both sides; [`pi`] and [`shared`] are on Linux only,
//! [`robust`] on 64-bit Linux. Where the kernel or a sandbox lacks a call, this happens instead:
//!
//! | call | since Linux | without it |
//! |---|---|---|
//! | `membarrier` private expedited | 4.14 | `membarrier` global (4.3), in milliseconds; else |
//! | | | a signal to each thread, or a visit to every processor |
//! | `membarrier` global expedited | 4.16 | `robust::LightMutex` unlocks as `robust::Mutex` does |
//! | `futex_waitv` | 5.16 | `wait_any`, and readers of a full `robust::RwLock`, nap 50 µs to 1.5 ms and recheck |
//! | `FUTEX_LOCK_PI2` | 5.14 | time limits of `pi::Mutex` move when the clock is set |
//! | robust lists | 2.6.17 | locking a `robust` lock is an error that says so |

#![no_std]
// The documentation's page says what each feature brings, and nothing of the builds for checks.
#![cfg_attr(docsrs, feature(doc_cfg), doc(auto_cfg(hide(leeward_loom, leeward_symmetric, leeward_mutants, miri))))]
// Without std, without threads or without one of the modules of `full`, what serves them only (the
// worker, thread exit, a writer's bag) has no caller.
#![cfg_attr(
    not(all(feature = "std", feature = "full")),
    allow(dead_code, unused_imports, clippy::extra_unused_type_parameters)
)]

extern crate alloc;
#[cfg(any(feature = "std", test, leeward_loom))]
extern crate std;

#[cfg(any(all(feature = "asym", feature = "threads"), leeward_loom))]
pub mod asym;
mod atomic;
#[cfg(all(target_os = "linux", not(leeward_loom)))]
mod bytes;
#[cfg(any(feature = "collect", leeward_loom))]
pub mod collect;
pub mod fence;
pub mod futex;
#[cfg(any(feature = "task", target_os = "linux", leeward_loom))]
mod guard;
#[cfg(any(doc, doctest))]
pub mod guide;
#[cfg(any(feature = "hazard", leeward_loom))]
pub mod hazard;
#[cfg(any(feature = "std", feature = "c", leeward_loom))]
mod inherited;
mod marker;
#[cfg(all(test, leeward_loom))]
mod models;
mod mutant;
mod no_unwind;
#[cfg(all(target_os = "linux", not(leeward_loom)))]
pub mod pi;
#[cfg_attr(any(leeward_symmetric, miri, leeward_loom, not(target_os = "linux")), allow(dead_code))]
mod process;
pub mod raw;
pub mod rcu;
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
mod registry;
#[cfg(all(
    feature = "robust",
    target_os = "linux",
    target_pointer_width = "64",
    not(any(leeward_loom, leeward_symmetric, miri))
))]
pub mod robust;
#[cfg(all(target_os = "linux", not(leeward_loom)))]
pub mod shared;
#[cfg(not(leeward_loom))]
pub mod sync;
#[cfg(any(feature = "task", leeward_loom))]
pub mod task;
#[cfg(any(feature = "collect", leeward_loom))]
mod threads;
#[cfg(any(feature = "std", feature = "c", leeward_loom))]
mod writer;
