//! A linked list that readers walk under RCU, in the order in which its writers put it: [`List`].
//!
//! A node's `next` is all that readers look at. Writers take the list's lock, and keep a link back
//! and the last node for themselves, so that a [`Cursor`] inserts and removes anywhere in a few
//! stores. Of these, one is for readers: the store to the one `next` that leads elsewhere from then
//! on. What was removed is freed after a grace period.
//!
//! | file | what it holds |
//! |---|---|
//! | `lock` | the writers' lock, which knows its owner |
//! | `node` | a node, and a chain of new ones |
//! | `links` | what a writer changes under the lock |
//! | `list` | the list: how it is made, read, and how it ends |
//! | `write`, `locked`, `cursor`, `edit` | what writers call: single steps, the locked list, a place in it |
//! | `iter`, `retired`, `traits` | iterators; what was removed; std's traits |

mod cursor;
mod edit;
mod iter;
mod links;
#[allow(clippy::module_inception)]
mod list;
mod lock;
mod locked;
#[cfg(all(test, leeward_loom))]
mod loom_tests;
mod node;
mod retired;
mod traits;
mod write;

pub use cursor::Cursor;
pub use iter::{IntoIter, Iter, IterMut};
pub use list::List;
pub use locked::Locked;
pub use retired::Retired;
