//! What a look-up returns that does not wait.

/// The outcome of [`ShardMap::try_get`](super::ShardMap::try_get) and
/// [`try_get_mut`](super::ShardMap::try_get_mut).
///
/// ```
/// use leeward::collect::ShardMap;
/// let map = ShardMap::<_, _>::from_iter([("a", 1)]);
/// assert_eq!(*map.try_get("a").unwrap(), 1);
/// assert!(map.try_get("b").is_absent());
/// let _reader = map.get("a");
/// assert!(map.try_get_mut("a").is_locked());
/// ```
#[derive(Debug)]
pub enum TryResult<R> {
    /// The key is there, and this is the guard of its entry.
    Present(R),
    /// The shard was not locked, and the key is not there.
    Absent,
    /// The shard is locked: by another thread, or by this one.
    Locked,
}

impl<R> TryResult<R> {
    /// Returns true if the key is there.
    pub fn is_present(&self) -> bool {
        matches!(self, TryResult::Present(_))
    }

    /// Returns true if the key is not there.
    pub fn is_absent(&self) -> bool {
        matches!(self, TryResult::Absent)
    }

    /// Returns true if the shard is locked.
    pub fn is_locked(&self) -> bool {
        matches!(self, TryResult::Locked)
    }

    /// Returns the guard.
    ///
    /// # Panics
    /// If the key is not there or the shard is locked.
    #[track_caller]
    pub fn unwrap(self) -> R {
        match self {
            TryResult::Present(guard) => guard,
            TryResult::Absent => panic!("leeward: `unwrap` of a TryResult that is Absent"),
            TryResult::Locked => panic!("leeward: `unwrap` of a TryResult that is Locked"),
        }
    }

    /// Returns the guard, or none if there is none.
    pub fn try_unwrap(self) -> Option<R> {
        match self {
            TryResult::Present(guard) => Some(guard),
            _ => None,
        }
    }
}
