//! Values for containers: some that count, panic or do something in their destructors, and some of
//! odd shapes.

#![allow(dead_code, missing_docs, unused_imports, unused_macros)]

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed};

/// A number that counts the living of its kind. It is compared by the number alone.
#[derive(Debug)]
pub struct Living(pub u32, Arc<AtomicIsize>);

impl Living {
    pub fn new(number: u32, count: &Arc<AtomicIsize>) -> Living {
        count.fetch_add(1, Relaxed);
        Living(number, count.clone())
    }
}

impl Drop for Living {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Relaxed);
    }
}

impl PartialEq for Living {
    fn eq(&self, other: &Living) -> bool {
        self.0 == other.0
    }
}

impl Eq for Living {}

impl PartialOrd for Living {
    fn partial_cmp(&self, other: &Living) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Living {
    fn cmp(&self, other: &Living) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl std::borrow::Borrow<u32> for Living {
    fn borrow(&self) -> &u32 {
        &self.0
    }
}

/// Counts its drops, for tests of one thread, and may panic in its destructor.
pub struct Panics<'a>(pub &'a Cell<u32>, pub bool);

impl Drop for Panics<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
        assert!(!self.1, "a destructor");
    }
}

/// Counts its drops; may do something, or panic, in its destructor.
pub struct Dropped {
    drops: Arc<AtomicUsize>,
    panics: bool,
    then: Option<Box<dyn FnOnce() + Send>>,
}

impl Dropped {
    pub fn new(drops: &Arc<AtomicUsize>) -> Dropped {
        Dropped { drops: drops.clone(), panics: false, then: None }
    }

    /// As [`new`](Dropped::new), and panics if `panics`.
    pub fn may_panic(drops: &Arc<AtomicUsize>, panics: bool) -> Dropped {
        Dropped { drops: drops.clone(), panics, then: None }
    }

    /// As [`new`](Dropped::new), and calls `then`.
    pub fn and_then(drops: &Arc<AtomicUsize>, then: impl FnOnce() + Send + 'static) -> Dropped {
        Dropped { drops: drops.clone(), panics: false, then: Some(Box::new(then)) }
    }
}

impl Drop for Dropped {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Relaxed);
        if let Some(then) = self.then.take() {
            then();
        }
        assert!(!self.panics, "as the test wants");
    }
}

/// A value that is more aligned than what a container allocates for others.
#[repr(align(512))]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Aligned(pub u8);

impl Aligned {
    pub fn is_aligned(&self) -> bool {
        std::ptr::from_ref(self).addr() % 512 == 0
    }
}

/// Calls `$each` with values without a size, a small one, a large one, one that is aligned, and one
/// that owns memory.
macro_rules! each_shape {
    ($each:ident) => {
        $each(());
        $each(1_u8);
        $each([7_u64; 512]);
        $each($crate::values::Aligned(3));
        $each("text".to_string());
    };
}
pub(crate) use each_shape;
