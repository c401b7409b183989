//! crossbeam-epoch's names, as a program of 2026 and one of 2020 use them.

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use std::thread;

use crossbeam_epoch::{
    self as epoch, Atomic, Collector, CompareExchangeError, Guard, LocalHandle, Owned, Pointable, Pointer, Shared,
};

/// Counts its drops.
struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Takes whatever points to a value.
fn put<T: ?Sized + Pointable, P: Pointer<T>>(cell: &Atomic<T>, pointer: P) {
    cell.store(pointer, Release);
}

#[test]
fn all_names_are_there_and_what_is_retired_is_dropped_once() {
    static EMPTY: Atomic<u32> = Atomic::null();
    assert!(EMPTY.load(Acquire, &epoch::pin()).is_null());
    let (collector, dropped) = (Collector::new(), Arc::new(AtomicUsize::new(0)));
    let handle: LocalHandle = collector.register();
    assert!(!handle.is_pinned() && handle.collector() == &collector);
    let cell = Atomic::null();
    put(&cell, Owned::new(Dropped(dropped.clone())));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let handle = collector.register();
                for _ in 0..500 {
                    let guard: Guard = handle.pin();
                    let old: Shared<'_, Dropped> = cell.swap(Owned::new(Dropped(dropped.clone())), AcqRel, &guard);
                    // SAFETY: unlinked above, by this thread alone.
                    unsafe { guard.defer_destroy(old) };
                }
            });
        }
    });
    // SAFETY: no other thread has the cell.
    drop(unsafe { cell.into_owned() });
    drop(handle);
    drop(collector);
    assert_eq!(dropped.load(SeqCst), 1001);
}

#[test]
fn exchanges_of_both_ages_and_slices() {
    let guard = epoch::pin();
    assert!(epoch::is_pinned() && guard.collector() == Some(epoch::default_collector()));
    let cell = Atomic::new(1);
    let one = cell.load(Acquire, &guard);
    let error: CompareExchangeError<'_, i32, Owned<i32>> =
        cell.compare_exchange(Shared::null(), Owned::new(2), AcqRel, Acquire, &guard).unwrap_err();
    assert_eq!((error.current, *error.new), (one, 2));
    #[allow(deprecated)]
    let two = cell.compare_and_set(one, error.new, AcqRel, &guard).unwrap();
    assert_eq!(two.with_tag(1).tag(), 1);
    // SAFETY: no other thread has the cell.
    assert_eq!(*unsafe { one.into_owned() }, 1);
    // SAFETY: as above.
    assert_eq!(*unsafe { cell.into_owned() }, 2);
    let mut slice = Owned::<[MaybeUninit<u32>]>::init(3);
    slice[2].write(7);
    assert_eq!(slice.len(), 3);
    // SAFETY: no other thread has what is shared here.
    let shared = slice.into_shared(unsafe { epoch::unprotected() });
    // SAFETY: made of an owner above, and not shared any more.
    assert!(unsafe { shared.try_into_owned() }.is_some());
}
