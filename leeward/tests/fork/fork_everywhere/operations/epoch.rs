//! The operations of epochs: of the default collector, and of one of the program's own.

use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use leeward::rcu::epoch::{self, Atomic, Collector, Owned};

use super::Operation;

operations! {
    "epoch";
    pin: || drop(epoch::pin()) => left(is_usable);
    repin: || epoch::pin().repin() => left(is_usable);
    defer: || epoch::pin().defer(ran) => left(is_usable);
    defer_much: || {
        let guard = epoch::pin();
        (0..200).for_each(|_| guard.defer(ran));
    } => left(is_usable);
    flush: || {
        let guard = epoch::pin();
        guard.defer(ran);
        guard.flush();
    } => left(is_usable);
    replace: || {
        let guard = epoch::pin();
        let old = ATOMIC.swap(Owned::new(1), Ordering::AcqRel, &guard);
        if !old.is_null() {
            // SAFETY: taken out above, by this thread alone.
            unsafe { guard.defer_destroy(old) };
        }
    } => left(is_usable);
    enter: || drop(lasting().enter()) => left(is_usable);
    register: || drop(lasting().register().pin()) => left(is_usable);
    synchronize: || lasting().synchronize() => left(is_usable);
    own_collector: || {
        let own = Collector::new();
        let guard = own.enter();
        guard.defer(ran);
        drop(guard);
        own.synchronize();
    } => left(is_usable);
    try_end: || {
        let own = Collector::new();
        own.enter().defer(ran);
        assert!(own.try_end().is_ok());
    } => left(is_usable);
    end_of_an_entered: || drop(lasting().enter()) => left(is_usable).until_the_thread_ends();
}

static ATOMIC: Atomic<u32> = Atomic::null();
static RUN: AtomicU32 = AtomicU32::new(0);

/// Returns the program's collector. Who makes it waits for nobody: a fork may come in between.
fn lasting() -> &'static Collector {
    static OWN: AtomicPtr<Collector> = AtomicPtr::new(ptr::null_mut());
    if OWN.load(Ordering::Acquire).is_null() {
        let made = Box::into_raw(Box::new(Collector::new()));
        if OWN.compare_exchange(ptr::null_mut(), made, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: made above, and given to nobody.
            drop(unsafe { Box::from_raw(made) });
        }
    }
    // SAFETY: never freed.
    unsafe { &*OWN.load(Ordering::Acquire) }
}

fn ran() {
    RUN.fetch_add(1, Ordering::Relaxed);
}

/// Uses both collectors; false if what is deferred there is not done.
fn is_usable() -> bool {
    let before = RUN.load(Ordering::Relaxed);
    let own = Collector::new();
    own.enter().defer(ran);
    lasting().enter().defer(ran);
    (0..1000).for_each(|_| epoch::pin().flush());
    own.synchronize();
    lasting().synchronize();
    let guard = own.enter();
    guard.flush();
    drop(guard);
    drop(own);
    RUN.load(Ordering::Relaxed) > before
}
