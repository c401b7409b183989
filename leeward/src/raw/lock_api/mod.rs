//! The raw locks as `lock_api` knows them, which supplies guards and data.

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

#[cfg(feature = "std")]
pub(crate) use timed::deadline;

/// What guards hold that says whether they are `Send`. These locks may be unlocked by any thread, but
/// a guard that is `Send` is held across an `await` unseen.
#[cfg(not(feature = "send_guard"))]
pub use ::lock_api::GuardNoSend as GuardMarker;
#[cfg(feature = "send_guard")]
pub use ::lock_api::GuardSend as GuardMarker;

/// The same for the guards of lock_api 0.5.
#[cfg(all(feature = "lock_api_05", not(feature = "send_guard")))]
use ::lock_api_05::GuardNoSend as Guard05;
#[cfg(all(feature = "lock_api_05", feature = "send_guard"))]
use ::lock_api_05::GuardSend as Guard05;
