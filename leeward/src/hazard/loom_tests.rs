//! Models: protecting, retiring and reclaiming, as they ship, under loom. `ci/model` runs them, and
//! demands that the mutants which it lists die.
//!
//! A use after free is a data race on a cell that loom watches: readers read the object that they
//! protect, and its end writes to it.

use core::ptr::NonNull;
use std::boxed::Box;

use loom::cell::UnsafeCell;
use loom::thread;

use super::{HazardPointer, reclaim, retire_raw, waiting};
use crate::atomic::{AtomicPtr, Ordering};
use crate::fence;
use crate::models;
use crate::rcu::Head;

/// An object that is never given back to the allocator, so that a use after its end can be told.
#[repr(C)]
struct Object {
    head: Head,
    alive: UnsafeCell<bool>,
}

// SAFETY: loom runs one thread at a time, and reports a race as a failure of the model.
unsafe impl Send for Object {}
// SAFETY: as above.
unsafe impl Sync for Object {}

impl Object {
    /// Makes an object. The write is one that loom watches: who reads must have synchronized with
    /// the publication.
    fn new() -> *mut Object {
        let object = Box::new(Object { head: Head::new(), alive: UnsafeCell::new(false) });
        // SAFETY: nobody else's.
        object.alive.with_mut(|alive| unsafe { *alive = true });
        Box::into_raw(object)
    }

    /// Ends an object, as freeing it would.
    ///
    /// # Safety
    /// The head is an object's.
    unsafe extern "C-unwind" fn end(head: NonNull<Head>) {
        // SAFETY: the caller's promise; objects live as long as the execution.
        let object = unsafe { head.cast::<Object>().as_ref() };
        // SAFETY: loom reports a thread that reads meanwhile.
        object.alive.with_mut(|alive| unsafe { *alive = false });
    }
}

loom::lazy_static! {
    static ref SOURCE: AtomicPtr<Object> = AtomicPtr::new(Object::new());
}

/// Makes all of loom's statics before there is a second thread.
fn set_up() {
    let _ = (&*SOURCE, super::state::state());
    fence::light();
}

/// Protects the published object and reads it, by one of the execution's objects.
fn read(hazard: &mut HazardPointer) {
    let object = hazard.protect_raw(&SOURCE);
    // SAFETY: objects live as long as the execution.
    let object = unsafe { &*object };
    // SAFETY: loom reports a thread that writes meanwhile.
    object.alive.with(|alive| assert!(unsafe { *alive }, "an object was read after it was freed"));
}

/// Publishes a new object and retires the old one. A store: an exchange would hide a missing fence.
fn replace() {
    // Relaxed: the only updater's own store.
    let old = SOURCE.load(Ordering::Relaxed);
    // Release: partner of the acquire in `HazardSlot::protect`.
    SOURCE.store(Object::new(), Ordering::Release);
    // SAFETY: unlinked, and nobody else's.
    unsafe { retire_raw(NonNull::new(old).unwrap().cast(), Object::end) };
}

#[test]
fn a_reader_and_a_reclaimer() {
    models::explore(3, set_up, || {
        let reader = thread::spawn(|| {
            let mut hazard = HazardPointer::new();
            read(&mut hazard);
            hazard.reset_protection();
        });
        replace();
        reclaim();
        reader.join().unwrap();
        reclaim();
        assert_eq!(waiting(), 0);
    });
}

/// The object that the second load finds is retired in its turn: it is used only if it was
/// announced.
#[test]
fn a_reader_and_two_replacements() {
    models::explore(3, set_up, || {
        let reader = thread::spawn(|| read(&mut HazardPointer::new()));
        replace();
        replace();
        reclaim();
        reader.join().unwrap();
    });
}

/// The second protection takes the place of the first one, without a reset.
#[test]
fn one_protection_after_the_other() {
    models::explore(3, set_up, || {
        let reader = thread::spawn(|| {
            let mut hazard = HazardPointer::new();
            read(&mut hazard);
            read(&mut hazard);
        });
        replace();
        reclaim();
        reader.join().unwrap();
    });
}

/// What a thread did with an object before it retired it happens before the object's end on another
/// thread.
#[test]
fn what_another_thread_retired() {
    models::explore(3, set_up, || {
        let reclaimer = thread::spawn(reclaim);
        let object = NonNull::new(Object::new()).unwrap();
        // SAFETY: nobody else's.
        unsafe { retire_raw(object.cast(), Object::end) };
        assert!(reclaimer.join().unwrap() + reclaim() == 1);
        assert_eq!(waiting(), 0, "the count is exact once all threads are through");
    });
}

/// Two threads reclaim: one of them frees what one of them retired.
#[test]
fn two_reclaimers() {
    models::explore(2, set_up, || {
        let mut hazard = HazardPointer::new();
        let reader = thread::spawn(move || read(&mut hazard));
        let reclaimer = thread::spawn(reclaim);
        replace();
        let freed = reclaim();
        let freed = freed + reclaimer.join().unwrap();
        reader.join().unwrap();
        assert_eq!(freed + reclaim(), 1);
    });
}
