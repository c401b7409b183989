//! An ordered map: a B+-tree whose leaves never change.
//!
//! A reader goes from the root to a leaf, and reads. A writer makes a new leaf, and puts it in the old
//! one's place by one store to the pointer above; a leaf that is split, emptied or merged takes a new
//! inner node as well. What was replaced is freed after a grace period. Readers and writers never wait
//! for one another, and readers never look twice.
//!
//! # Why readers find what is there
//! - **A leaf that readers can find never changes**; of an inner node only the pointers to its children
//!   do. So what a reader finds in a leaf is the content of one instant.
//! - **A node has the place of the nodes that it replaces.** What takes the place of a child has the keys
//!   between the same two separators; where separators change, the inner node that has them is replaced.
//!   So at each store the way to a key is the right one, above the store and below it.
//! - **An unlinked node is as it was.** A writer changes a pointer of a node only while that is linked,
//!   and a reader is in a section, so the node lives. By an inner node that was unlinked after the reader
//!   came there, the reader finds the leaf that was in place when the node was unlinked: an instant
//!   within its call. A walk over a range is a series of such look-ups, each leaf as of its own instant.
//!
//! # Why writers lose nothing
//! - A writer makes its new leaf of the one that it found, without the lock. Under the lock it compares
//!   each pointer of its path with what it followed. If all are the same, the leaf is still the key's, and
//!   has not changed; else nothing is published, and the writer looks again.
//! - No code of users runs under the lock: not `Ord`, no closure, no destructor.
//! - **Each store leaves a tree in order.** A change is one store: to a child's pointer, or the root's.
//!   Where it takes out a key that an inner node further up has as a separator, that node is replaced by
//!   a second store; in between, the separator is no greater than the keys behind it, and lives, since
//!   what was taken out is retired after both. So the child of a fork breaks the lock of a thread that it
//!   does not have, and only counts the entries again.
//!
//! After Bayer and McCreight ("Organization and maintenance of large ordered indexes", 1972), with
//! leaves that are copied as in Lehman and Yao's reading of it ("Efficient locking for concurrent
//! operations on B-trees", 1981: readers without locks), and paths that are checked before a change, as
//! in optimistic lock coupling (Leis et al., "The ART of practical synchronization", 2016).

// | file | what it holds |
// |---|---|
// | `store` | how keys and values lie in nodes |
// | `node`, `path` | the nodes; a way from the root to a leaf |
// | `plan`, `edit`, `lock` | a new leaf; its place in the tree, under the writers' lock |
// | `write`, `checked`, `attempt`, `bulk` | what writers call, and how that is done |
// | `memory`, `no_memory` | what is reserved for a change; its errors |
// | `read`, `seek`, `iter` | what readers call |
// | `waste`, `retired` | what is to be freed; an entry that was taken out |

mod attempt;
mod bulk;
mod checked;
mod edit;
mod iter;
mod lock;
#[cfg(all(test, leeward_loom))]
mod loom_tests;
mod map;
mod memory;
mod need;
mod no_memory;
mod node;
mod occupied;
mod path;
mod plan;
mod read;
mod retired;
mod seek;
mod store;
mod traits;
mod waste;
mod write;

pub use iter::{IntoIter, Range};
pub use map::OrderedMap;
pub use no_memory::{NoMemory, NotInserted};
pub use occupied::Occupied;
pub use retired::Retired;
