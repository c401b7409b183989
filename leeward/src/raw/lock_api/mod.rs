//! The raw locks as `lock_api` knows them, which supplies guards and data. Called by the types of
//! `sync`; each function forwards to the raw lock.

mod mutex;
mod rwlock;
#[cfg(feature = "std")]
mod timed;
#[cfg(feature = "lock_api_05")]
mod v05;
#[cfg(all(feature = "lock_api_05", feature = "std"))]
mod v05_timed;

#[cfg(feature = "std")]
pub(crate) use timed::deadline;
