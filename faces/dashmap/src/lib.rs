//! dashmap 6 by name, and leeward's sharded map underneath: a program and all that it depends on change
//! over by a line of its `Cargo.toml`.
//!
//! ```toml
//! [patch.crates-io]
//! dashmap = { git = "https://github.com/leeward-rs/leeward" }
//! ```
//!
//! The public names of dashmap 6.2.1 are here, but for what is listed below. A [`DashMap`] is a
//! [`ShardMap`](leeward::collect::ShardMap), where the costs and the promises are; guards and entries are its own.
//!
//! ```
//! use dashmap::DashMap;
//! let map = DashMap::new();
//! map.insert("a", 1);
//! *map.get_mut("a").unwrap() += 1;
//! assert_eq!(map.get("a").map(|value| *value), Some(2));
//! ```
//!
//! # What it lacks
//! - **Guards are not `Send`**: a guard that is held across an `await` of a task that moves between threads does not
//!   compile.
//! - Feature `raw-api`: `shards`, `shards_mut`, `into_shards` and the types of locks. Numbers of shards and
//!   `SharedValue` are there. [`ShardMap::get_by_hash`](leeward::collect::ShardMap::get_by_hash) and its kin, by
//!   [`DashMap::as_shard_map`], are what programs take `shards` for.
//! - Feature `rayon`: `par_iter` and `par_iter_mut` of a borrowed map, set or view, since guards are not `Send`.
//!   Extending by a parallel iterator, collecting one, and `into_par_iter` of what is given up are there.
//! - The functions of the trait [`Map`], which is an implementation detail there: the name is here.
//!
//! # Differences
//! - **Reading twice in one thread never deadlocks.** A write while the same thread has a guard of the shard panics
//!   with a sentence, where dashmap waits forever.
//! - A closure of `alter` that panics loses its entry, where dashmap ends the process.
//! - A map may have one shard.
//! - `try_reserve` makes room for so many entries in the map, and not in each shard.
//! - In the child of a fork, shards that other threads read are free.
//!
//! # Features
//! `serde`, `arbitrary` and `typesize` do what they do there; a map's size is an estimate, as leeward's tables do
//! not tell theirs. `inline` does nothing. `raw-api` and `rayon`: see above.

#[cfg(feature = "arbitrary")]
mod arbitrary;
pub mod iter;
pub mod iter_set;
mod map;
pub mod mapref;
mod operators;
#[cfg(feature = "rayon")]
pub mod rayon;
mod read_only;
#[cfg(feature = "serde")]
mod serde;
mod set;
pub mod setref;
#[cfg(feature = "raw-api")]
mod shared_value;
mod traits;
#[cfg(feature = "typesize")]
mod typesize;

/// What look-ups return that do not wait.
pub mod try_result {
    pub use leeward::collect::shard_map::TryResult;
}

pub use map::{DashMap, TryReserveError};
pub use mapref::entry::{Entry, OccupiedEntry, VacantEntry};
pub use read_only::ReadOnlyView;
pub use set::DashSet;
#[cfg(feature = "raw-api")]
pub use shared_value::SharedValue;
pub use traits::Map;
