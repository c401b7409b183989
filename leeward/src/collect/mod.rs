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
//! # Which one
//! | you have | use |
//! |---|---|
//! | keys to look up | [`HashMap`], [`HashSet`] |
//! | keys in order: ranges, predecessors, the longest prefix | [`OrderedMap`] |

mod error;
#[cfg(feature = "std")]
pub mod hash_map;
#[cfg(feature = "std")]
mod hash_set;
mod ordered_map;
#[cfg(feature = "std")]
mod pool;
mod table;

pub use error::TryReserveError;
#[cfg(feature = "std")]
pub use hash_map::HashMap;
#[cfg(feature = "std")]
pub use hash_set::HashSet;
pub use ordered_map::{Occupied, OrderedMap, Range, Removed};

/// Iterators of ordered maps that were taken apart.
pub mod ordered {
    pub use super::ordered_map::IntoIter;
}
