//! What ends with a thread, or with its registration, and what does not: sections of C end, guards that
//! another part of the thread holds protect on.

use super::*;

/// An unregistration ends sections of C, and no guard; also where the guard came first.
#[test]
fn an_unregistration_ends_no_guard() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("unregistered");
    thread::spawn(|| {
        for is_first in [true, false] {
            let first = is_first.then(Memb::read);
            c::lee_memb.enter();
            c::lee_memb.enter();
            let guard = first.unwrap_or_else(Memb::read);
            let other = Memb::read();
            c::lee_memb.unregister();
            is_protected::<Memb>();
            c::lee_memb.unregister();
            drop(other);
            is_protected::<Memb>();
            drop(guard);
            // The sections of C ended when the thread unregistered.
            is_outside::<Memb>();
            c::lee_memb.unregister();
            assert!(!c::lee_memb.is_registered());
        }
    })
    .join()
    .unwrap();
}

/// Threads that exit: sections of C end, also those around a guard that a thread-local destructor
/// drops, before the exit or after it.
#[test]
fn sections_of_c_end_with_their_thread() {
    thread_local! {
        static KEPT: RefCell<Vec<Guard<'static, Memb>>> = const { RefCell::new(Vec::new()) };
    }
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("exits");
    for guards in 0..3 {
        thread::spawn(move || {
            c::lee_memb.enter();
            KEPT.with(|kept| kept.borrow_mut().extend((0..guards).map(|_| Memb::read())));
            c::lee_memb.enter();
        })
        .join()
        .unwrap();
        assert_eq!(Memb::stats().leaked, 0, "{guards} guards");
        has_readers::<Memb>(0);
        is_outside::<Memb>();
    }
}

/// A key of the program's, whose destructor drops guards after the library's exit has run.
#[test]
fn guards_that_are_dropped_after_the_exit() {
    extern "C" fn drops(guards: *mut libc::c_void) {
        // SAFETY: made below, and given up to this destructor.
        let guards: Box<Vec<Guard<'static, Mb>>> = unsafe { Box::from_raw(guards.cast()) };
        SEEN.store(Mb::stats().leaked, Ordering::SeqCst);
        // Sections of C nest in what is left.
        c::lee_mb.enter();
        drop(guards);
        c::lee_mb.leave();
        assert!(!c::lee_mb.is_inside());
    }
    static SEEN: AtomicU64 = AtomicU64::new(0);
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("late guards");
    let mut key = 0;
    // SAFETY: a local variable, and a function that lives as long as the program.
    assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(drops)) }, 0);
    for guards in 1..4 {
        thread::spawn(move || {
            c::lee_mb.enter();
            let guards: Vec<_> = (0..guards).map(|_| Mb::read()).collect();
            c::lee_mb.enter();
            let guards = Box::into_raw(Box::new(guards)).cast();
            // SAFETY: a key that is not deleted; the destructor takes the value.
            assert_eq!(unsafe { libc::pthread_setspecific(key, guards) }, 0);
        })
        .join()
        .unwrap();
        assert_eq!(SEEN.load(Ordering::SeqCst), 1);
        assert_eq!(Mb::stats().leaked, 0, "{guards} guards");
        has_readers::<Mb>(0);
        is_outside::<Mb>();
    }
}

/// A leaked guard protects for ever, whatever sections of C its thread had; and grace periods of
/// this domain end never again, so no other test uses it.
#[test]
fn a_leaked_guard_protects_for_ever() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("leaked");
    nested::<Bp>();
    c::lee_bp.unregister();
    has_readers::<Bp>(0);
    let cell: &'static RcuCell<AtomicU64, Bp> = Box::leak(Box::new(RcuCell::new_in(AtomicU64::new(7))));
    let seen = thread::spawn(|| {
        c::lee_bp.enter();
        let guard: &'static Guard<'static, Bp> = Box::leak(Box::new(Bp::read()));
        c::lee_bp.enter();
        cell.load(guard)
    })
    .join()
    .unwrap();
    assert_eq!(Bp::stats().leaked, 1);
    has_readers::<Bp>(1);
    cell.replace(AtomicU64::new(8)).defer();
    let cookie = Bp::start_poll();
    never("a value was dropped under a leaked guard", || Bp::poll_state(&cookie));
    assert_eq!(seen.load(Ordering::SeqCst), 7);
    // Other threads read, unregister and exit as ever.
    thread::spawn(|| {
        c::lee_bp.enter();
        drop(Bp::read());
        c::lee_bp.unregister();
        c::lee_bp.enter();
    })
    .join()
    .unwrap();
    assert_eq!(Bp::stats().leaked, 1);
    has_readers::<Bp>(1);
}

/// What a handle leaves on its slot says nothing of the thread of C that has the slot next.
#[test]
fn a_slot_that_a_handle_had() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a slot of a handle");
    thread::spawn(|| {
        let reader = Reader::<Memb>::register_in();
        std::mem::forget(reader.read());
        std::mem::forget(reader.read());
        drop(reader);
    })
    .join()
    .unwrap();
    // It takes the first slot, which the handle had.
    thread::spawn(|| c::lee_memb.enter()).join().unwrap();
    assert_eq!(Memb::stats().leaked, 0);
    has_readers::<Memb>(0);
    is_outside::<Memb>();
    thread::spawn(|| {
        c::lee_memb.enter();
        c::lee_memb.unregister();
        is_outside::<Memb>();
    })
    .join()
    .unwrap();
}
