//! haphazard: hazard pointers in the global domain, one kept by each reader. Writes retire.

use haphazard::{AtomicPtr, HazardPointer};

use crate::rcu::scheme::{Node, Scheme};

pub struct Hazards(AtomicPtr<Node>);

impl Scheme for Hazards {
    type Reader<'a> = HazardPointer<'static>;
    type Writer<'a> = ();

    fn open() -> Self {
        Hazards(AtomicPtr::from(Box::new(Node::new())))
    }

    fn reader(&self) -> HazardPointer<'static> {
        HazardPointer::new()
    }

    fn writer(&self) {}

    #[inline(always)]
    fn section(&self, hazard: &mut HazardPointer<'static>, look: impl FnOnce(&Node)) {
        if let Some(node) = self.0.safe_load(hazard) {
            look(node);
        }
        hazard.reset_protection();
    }

    fn replace(&self, _: &mut ()) {
        if let Some(old) = self.0.swap(Box::new(Node::new())) {
            // SAFETY: the swap made it unreachable for new readers, and it is retired here only.
            unsafe { old.retire() };
        }
    }
}

impl Drop for Hazards {
    fn drop(&mut self) {
        // SAFETY: null is allowed.
        let none = unsafe { AtomicPtr::new(std::ptr::null_mut()) };
        let last = std::mem::replace(&mut self.0, none);
        // SAFETY: no thread is left that could read it, and it is retired here only.
        unsafe { last.retire() };
    }
}
