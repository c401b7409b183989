//! **Containers under RCU**: readers walk them without locks, fences or atomic read-modify-writes,
//! and a reference to what they found lives as long as their guard; writers put new values into the
//! place of old ones, and what they take out is freed when no reader can have it.
//!
//! ```
//! use leeward::{collect::HashMap, rcu};
//! let sessions = HashMap::new();
//! sessions.insert(7, String::from("alice"));
//! std::thread::scope(|scope| {
//!     scope.spawn(|| {
//!         let guard = rcu::read();
//!         let name: Option<&String> = sessions.get(&7, &guard);       // no lock, also while the table grows
//!         assert!(name.is_none_or(|name| name == "alice"));
//!     });
//!     scope.spawn(|| drop(sessions.remove(&7)));
//! });
//! ```
//!
//! [`Queue`], [`Bounded`] and [`Stack`] pass values on; they need no guard. Only [`Bounded`] has a capacity:
//! a queue of another kind whose producers are faster than its consumers grows until there is no memory.
//!
//! # Which one
//! | you have | use |
//! |---|---|
//! | keys to look up | [`HashMap`], [`HashSet`] |
//! | a map in dashmap's words; values that are changed in place; guards on entries | `ShardMap` (feature `hashbrown`) |
//! | values in an order of your own, few of them, or walked as a whole | [`List`] |
//! | values to pass from threads to threads, in order | [`Queue`] |
//! | the same, with a capacity for which producers wait | [`Bounded`] |
//! | the same, the latest first, or all at once | [`Stack`] |
//! | objects of your own to queue, without an allocation | [`raw::Queue`], [`raw::Stack`] |
//! | keys in order: ranges, predecessors, the longest prefix | [`OrderedMap`] |

#[cfg(all(feature = "std", not(leeward_loom)))]
#[path = "backend/std.rs"]
mod backend;
#[cfg(leeward_loom)]
#[path = "backend/model.rs"]
mod backend;
pub mod bounded;
#[cfg(feature = "std")]
mod equivalent;
mod error;
mod fork_lock;
#[cfg(feature = "std")]
pub mod hash_map;
#[cfg(feature = "std")]
pub mod hash_set;
#[cfg(any(feature = "std", leeward_loom))]
pub mod list;
#[cfg(any(feature = "std", leeward_loom))]
pub mod ordered_map;
#[cfg(feature = "std")]
mod pool;
pub mod queue;
pub mod raw;
#[cfg(all(feature = "serde", feature = "std"))]
mod serde;
#[cfg(feature = "hashbrown")]
pub mod shard_map;
pub mod stack;
#[cfg(any(feature = "std", feature = "c", leeward_loom))]
#[cfg_attr(any(leeward_loom, not(feature = "std")), allow(dead_code))]
mod table;
mod try_pop;

#[doc(inline)]
pub use bounded::Bounded;
#[cfg(feature = "std")]
pub use equivalent::Equivalent;
pub use error::TryReserveError;
#[cfg(feature = "std")]
#[doc(inline)]
pub use hash_map::HashMap;
#[cfg(feature = "std")]
#[doc(inline)]
pub use hash_set::HashSet;
#[cfg(any(feature = "std", leeward_loom))]
#[doc(inline)]
pub use list::List;
#[cfg(any(feature = "std", leeward_loom))]
#[doc(inline)]
pub use ordered_map::OrderedMap;

#[doc(inline)]
pub use queue::{Consumer, Queue};
#[cfg(feature = "hashbrown")]
#[doc(inline)]
pub use shard_map::{ShardMap, ShardSet};
#[doc(inline)]
pub use stack::Stack;
pub use try_pop::TryPop;
