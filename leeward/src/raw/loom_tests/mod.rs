//! Models of the locks, for loom. `ci/model` runs them.

mod mutex;
mod small;
