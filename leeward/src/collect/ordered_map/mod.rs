//! An ordered map: a B+-tree whose leaves never change.
//!
//! A reader goes from the root to a leaf, and reads. A writer makes a new leaf, and puts it in the old
//! one's place by one store to the pointer above; a leaf that is split, emptied or merged takes a new
//! inner node as well. What was replaced is freed after a grace period. Readers and writers never wait
//! for one another, and readers never look twice.
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
// | `write`, `attempt`, `bulk` | what writers call, and how that is done |
// | `read`, `seek`, `iter` | what readers call |
// | `waste`, `retired` | what is to be freed; an entry that was taken out |

mod attempt;
mod bulk;
mod edit;
mod iter;
mod lock;
#[cfg(all(test, leeward_loom))]
mod loom_tests;
mod map;
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
pub use occupied::Occupied;
pub use retired::Retired;
