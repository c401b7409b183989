//! A model: slots that are claimed and given back at the same time.

use core::sync::atomic::Ordering;
use std::sync::Arc;
use std::vec::Vec;

use loom::thread;

use super::{Registry, RegistrySlot};
use crate::atomic::AtomicU64;
use crate::models;

struct Owned(AtomicU64);

impl RegistrySlot for Owned {
    fn fresh() -> Owned {
        Owned(AtomicU64::new(0))
    }

    fn is_free(&self) -> bool {
        // Relaxed: `claim` decides.
        self.0.load(Ordering::Relaxed) == 0
    }

    fn claim(&self, owner: u64, _: u32) -> bool {
        // Acquire: partner of the release in `free`.
        self.0.compare_exchange(0, owner, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn free(&self) {
        // Release: partner of the acquire in `claim`.
        self.0.store(0, Ordering::Release);
    }
}

/// Five slots are claimed, two of them only for a time. Never more than three are claimed at once,
/// so the fourth slot is never touched.
#[test]
fn a_slot_given_back_meanwhile() {
    models::explore(
        3,
        || (),
        || {
            let registry = Arc::new(Registry::<Owned>::new());
            let place_of = |slot: &Owned| registry.slots().position(|other| core::ptr::eq(other, slot)).unwrap();
            let places: Vec<_> = (1..=3).map(|owner| place_of(registry.claim(owner, 0).unwrap())).collect();
            assert_eq!(places, [0, 1, 2]);
            // From now on the search begins at the first slot.
            registry.release(registry.slots().nth(2).unwrap());
            let other = Arc::clone(&registry);
            let gives_back = thread::spawn(move || other.release(other.slots().next().unwrap()));
            let meanwhile = place_of(registry.claim(4, 0).unwrap());
            gives_back.join().unwrap();
            let behind = place_of(registry.claim(5, 0).unwrap());
            assert_eq!(meanwhile + behind, 2, "the slot that was given back is forgotten");
        },
    );
}
