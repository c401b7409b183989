//! Reading: a reader's slot, the section that it opens there, and the ways in which a thread comes to
//! have a slot.
//!
//! | file | what it is |
//! |---|---|
//! | `slot`, `for_c` | how one reader tells the writers whether it is inside, and since when |
//! | `guard`, `protects` | an open section as a value; what counts as the proof of one |
//! | `automatic`, `thread_local`, `local` | a thread's slot without a handle, and where the thread finds it |
//! | `reader`, `qsbr` | handles: of readers that enter and leave, and of readers that announce |
//! | `inlined` | readers whose sections were inlined from liburcu's headers |

#[cfg(feature = "std")]
pub(super) mod automatic;
pub(super) mod for_c;
pub(super) mod guard;
// Domains of C alone have such readers.
#[cfg_attr(not(feature = "c"), allow(dead_code))]
pub(super) mod inlined;
#[cfg(leeward_loom)]
#[path = "local/none.rs"]
pub(super) mod local;
#[cfg(not(leeward_loom))]
#[path = "local/words.rs"]
pub(super) mod local;
pub(super) mod protects;
pub mod qsbr;
pub(super) mod reader;
pub(super) mod slot;
#[cfg(feature = "std")]
pub(super) mod thread_local;
