//! seize 0.3's names, and the end of a collector.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::thread;

use seize::{AsLink, Collector, Guard, Link, Linked, reclaim};

/// Counts its drops.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// An object with its link, and no `Linked` around it.
#[repr(C)]
struct Own {
    link: Link,
    value: Dropped,
}

// SAFETY: `repr(C)`, and the link comes first.
unsafe impl AsLink for Own {}

#[test]
fn all_names_are_there_and_what_is_retired_is_dropped_once() {
    fn sends<T: Send + Sync>(_: &T) {}
    let (collector, dropped) = (Collector::new().batch_size(4).epoch_frequency(None), Arc::new(AtomicUsize::new(0)));
    sends(&collector);
    let cell = AtomicPtr::new(collector.link_boxed(Dropped(dropped.clone())));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let mut guard: Guard<'_> = collector.enter();
                    let new: *mut Linked<Dropped> = collector.link_boxed(Dropped(dropped.clone()));
                    let old = cell.swap(new, Ordering::AcqRel);
                    // SAFETY: unlinked above, and retired once.
                    unsafe { guard.defer_retire(old, reclaim::boxed::<Linked<Dropped>>) };
                    guard.flush();
                    guard.refresh();
                    assert!(guard.collector().is_some_and(|own| Collector::ptr_eq(own, &collector)));
                    assert_ne!(guard.thread_id(), 0);
                }
            });
        }
    });
    let own = Own { link: collector.link(), value: Dropped(dropped.clone()) };
    assert!(ptr::eq((&raw const own.link).cast(), &raw const own) && Arc::ptr_eq(&own.value.0, &dropped));
    // SAFETY: no other thread has it.
    unsafe { collector.retire(Box::into_raw(Box::new(own)), reclaim::boxed::<Own>) };
    // SAFETY: no other thread has the cell.
    let alone = unsafe { Guard::unprotected() };
    let before = dropped.load(Ordering::SeqCst);
    // SAFETY: as above.
    unsafe { alone.defer_retire(alone.protect(&cell, Ordering::Acquire), reclaim::boxed::<Linked<Dropped>>) };
    assert!(alone.collector().is_none() && dropped.load(Ordering::SeqCst) == before + 1);
    let other = collector.clone();
    assert!(!Collector::ptr_eq(&collector, &other));
    drop(collector);
    assert_eq!(dropped.load(Ordering::SeqCst), 1002);
}

#[test]
fn values_deref_and_show() {
    let mut linked = Collector::new().link_value(7);
    *linked += 1;
    assert_eq!((linked.value, format!("{linked} {linked:?}")), (8, "8 8".to_owned()));
    assert!(linked == Collector::new().link_value(8));
}
