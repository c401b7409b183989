//! The traits of `lock_api` for the asymmetric locks; `lock_api` supplies guards and data.

mod mutex;
mod rwlock;
#[cfg(feature = "lock_api_05")]
mod v05;
