//! The traits of `lock_api` for the asymmetric locks; `lock_api` supplies guards and data.

mod mutex;
mod rwlock;
#[cfg(feature = "std")]
mod timed;
#[cfg(feature = "lock_api_05")]
mod v05;
#[cfg(feature = "lock_api_05")]
mod v05_fair;
#[cfg(all(feature = "lock_api_05", feature = "std"))]
mod v05_timed;
