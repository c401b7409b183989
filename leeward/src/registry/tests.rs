//! The registry alone: which slot is claimed next.

use core::sync::atomic::{AtomicU64, Ordering};
use std::boxed::Box;
use std::sync::Mutex;
use std::vec::Vec;

use super::{Registry, RegistrySlot};

/// A slot that lets the test act while it is claimed.
struct Stepped(AtomicU64);

/// A step that runs within the next claim, before the claim is decided.
static MEANWHILE: Mutex<Option<Box<dyn FnOnce() + Send>>> = Mutex::new(None);

impl RegistrySlot for Stepped {
    #[allow(clippy::declare_interior_mutable_const)]
    const NEW: Stepped = Stepped(AtomicU64::new(0));

    fn fresh() -> Stepped {
        Stepped::NEW
    }

    fn is_free(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }

    fn claim(&self, owner: u64, _: u32) -> bool {
        let meanwhile = MEANWHILE.lock().unwrap().take();
        meanwhile.into_iter().for_each(|act| act());
        self.0.compare_exchange(0, owner, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn free(&self) {
        self.0.store(0, Ordering::Release);
    }
}

static REGISTRY: Registry<Stepped> = Registry::new();

/// Returns the place of a slot in the registry.
fn place_of(slot: &Stepped) -> usize {
    REGISTRY.slots().position(|other| core::ptr::eq(other, slot)).unwrap()
}

/// A slot that is given back while another is claimed is not forgotten, though the hint says "begin
/// at the first slot" both before and after.
#[test]
fn a_slot_given_back_while_another_is_claimed() {
    let slots: Vec<&'static Stepped> = (1..=6).map(|owner| REGISTRY.claim(owner, 0).unwrap()).collect();
    assert_eq!(slots.iter().map(|slot| place_of(slot)).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    // Now the search begins at the first slot.
    REGISTRY.release(slots[5]);
    let second = slots[1];
    *MEANWHILE.lock().unwrap() = Some(Box::new(move || REGISTRY.release(second)));
    assert_eq!(place_of(REGISTRY.claim(7, 0).unwrap()), 5);
    assert_eq!(place_of(REGISTRY.claim(8, 0).unwrap()), 1, "the one that was given back is forgotten");
    assert_eq!(place_of(REGISTRY.claim(9, 0).unwrap()), 6);
    assert_eq!(REGISTRY.slots().filter(|slot| !slot.is_free()).count(), 7);
}
