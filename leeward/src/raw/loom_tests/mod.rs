//! Models of the locks.

mod mutex;
mod small;
