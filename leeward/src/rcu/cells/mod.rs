//! Cells: one word each, by which readers find a value and writers replace it.
//!
//! | file | what it is |
//! |---|---|
//! | `word`, `from` | how a word names a value, sized or not; what a cell is made from |
//! | `cell`, `option` | a cell with a value, and one that may be empty |
//! | `reference` | a value with its section |
//! | `update`, `conflict` | the next value made of the current one; a compare-exchange that failed |
//! | `arc` | cells of an `Arc`, which readers may keep |

pub(super) mod arc;
pub(super) mod cell;
pub(super) mod conflict;
pub(super) mod from;
pub(super) mod option;
#[cfg(feature = "std")]
pub(super) mod reference;
#[cfg(feature = "std")]
pub(super) mod update;
pub(super) mod word;
