//! Freeing: what waits for a grace period, who ends it, and what bounds the memory.
//!
//! | file | what it is |
//! |---|---|
//! | `head`, `callback` | a callback's two words, and its call |
//! | `defer`, `worker` | a domain's queue of callbacks, and the thread behind it |
//! | `limit` | how much may wait |
//! | `retired`, `reclaimed` | a value that no new reader can reach, and the same as a future |
//! | `bag`, `limbo`, `aside` | what the writers of a container have unlinked, which they free themselves |

// In a model only the links are used.
#[cfg(any(feature = "std", leeward_loom))]
#[cfg_attr(leeward_loom, allow(dead_code))]
pub(crate) mod aside;
#[cfg(not(leeward_loom))]
pub(super) mod bag;
pub(super) mod callback;
pub(super) mod defer;
pub(super) mod head;
#[cfg(feature = "std")]
pub(crate) mod limbo;
pub(super) mod limit;
#[cfg(feature = "threads")]
pub(super) mod reclaimed;
pub(super) mod retired;
pub(super) mod worker;
