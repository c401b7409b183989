//! [`ShardMap`]: hash tables behind asymmetric readers-writer locks, with dashmap's interface.
//!
//! | file | what |
//! |---|---|
//! | `shard`, `held`, `room` | one table and its lock; what a thread reads; room in a table |
//! | `map`, `by_hash`, `read`, `write`, `shards` | the map and its calls |
//! | `read_only` | the map without its locks |
//! | `one`, `mapped`, `multiple`, `guard`, `entry`, `try_result` | guards and what calls return |
//! | `iter`, `traits`, `serde`, `set` | iterators, traits, the set |

mod by_hash;
mod entry;
mod guard;
mod held;
mod iter;
mod map;
mod mapped;
mod multiple;
mod one;
mod read;
mod read_only;
mod room;
#[cfg(feature = "serde")]
mod serde;
mod set;
mod shard;
mod shards;
mod traits;
mod try_result;
mod write;

pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub use iter::{IntoIter, Iter, IterMut};
pub use map::ShardMap;
pub use mapped::{MappedRef, MappedRefMut};
pub use multiple::{RefMulti, RefMutMulti};
pub use one::{Ref, RefMut};
pub use read_only::ReadOnlyView;
pub use set::{SetRef, ShardSet};
pub use shard::Shard;
pub use try_result::TryResult;
