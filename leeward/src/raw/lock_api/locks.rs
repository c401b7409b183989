//! The raw locks under `lock_api`.

use super::super::{FairMutex, LightMutex, Mutex, RwLock};
use super::*;
use crate::futex::Futex;

mutex! { [F: Futex] Mutex<F>, F, unlock_fair, GuardMarker, Guard05 }
// Each of its unlocks is fair.
mutex! { [F: Futex] FairMutex<F>, F, unlock, GuardMarker, Guard05 }
mutex! { [] LightMutex, crate::futex::Private, unlock_fair, GuardMarker, Guard05 }
rwlock! { [F: Futex] RwLock<F>, F, try_lock_exclusive, GuardMarker, Guard05 }
