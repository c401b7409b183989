//! The asymmetric locks as `lock_api` knows them, which supplies guards and data.

mod mutex;
mod rwlock;
