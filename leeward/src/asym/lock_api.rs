//! The asymmetric locks under `lock_api`. Guards stay on their thread, whose slots stand for them.

use super::{RawMutex, RawRwLock};
use crate::raw::lock_api::*;

mutex! { [] RawMutex, crate::futex::Private, unlock_fair, ::lock_api::GuardNoSend, ::lock_api_05::GuardNoSend }
// To try a lock that is open to slots would be a heavy fence before the wait's own.
rwlock! {
    [] RawRwLock, crate::futex::Private, lock_exclusive_closed, ::lock_api::GuardNoSend, ::lock_api_05::GuardNoSend
}
