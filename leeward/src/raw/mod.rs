//! Lock words without data.

mod mutex;

pub(crate) use mutex::Mutex;
