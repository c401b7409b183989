//! The work of the fuzz targets: each makes a sequence of steps from an input's bytes, and plays it.
//! The same steps are made from seeds by an ordinary test. A sequence that fails is made as short as
//! it gets, and printed (`leeward/tests/common/sequences.rs`).

pub mod action;
pub mod decoder;
pub mod guest;
pub mod model;
pub mod robust;
pub mod scripts;
#[path = "../../leeward/tests/common/sequences.rs"]
pub mod sequences;
pub mod unlock;
pub mod waitv;
