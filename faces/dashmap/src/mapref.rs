//! Guards of entries: leeward's.

/// Guards of one entry.
pub mod one {
    pub use leeward::collect::shard_map::{MappedRef, MappedRefMut, Ref, RefMut};
}

/// Guards of the entries that iterators give.
pub mod multiple {
    pub use leeward::collect::shard_map::{RefMulti, RefMutMulti};
}

/// The place of a key.
pub mod entry {
    pub use leeward::collect::shard_map::{Entry, OccupiedEntry, VacantEntry};
}
