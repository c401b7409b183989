//! Models of the locks, for loom. `ci/model` runs them.

mod fair;
mod mutex;
mod small;
