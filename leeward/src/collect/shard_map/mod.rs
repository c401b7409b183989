//! [`ShardMap`]: hash tables behind asymmetric readers-writer locks, with dashmap's interface.
//!
//! | file | what |
//! |---|---|
//! | `shard`, `held`, `room` | one table and its lock; what a thread reads; room in a table |
//! | `map`, `read`, `write` | the map and its calls |
//! | `one`, `mapped`, `multiple`, `guard`, `entry`, `try_result` | guards and what calls return |
//! | `iter`, `traits`, `serde`, `set` | iterators, traits, the set |

mod entry;
mod guard;
mod held;
mod iter;
mod map;
mod mapped;
mod multiple;
mod one;
mod read;
mod room;
#[cfg(feature = "serde")]
mod serde;
mod set;
mod shard;
mod traits;
mod try_result;
mod write;

pub use entry::{Entry, OccupiedEntry, VacantEntry};
pub use iter::{IntoIter, Iter, IterMut};
pub use map::ShardMap;
pub use mapped::{MappedRef, MappedRefMut};
pub use multiple::{RefMulti, RefMutMulti};
pub use one::{Ref, RefMut};
pub use set::{SetRef, ShardSet};
pub use try_result::TryResult;
