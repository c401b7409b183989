//! Tags, slices, and the exchanges of pointers.

use super::*;

#[test]
fn a_tag_has_the_bits_that_the_alignment_leaves() {
    #[repr(align(8))]
    struct Eight;
    let cell: Atomic<Eight> = Owned::new(Eight).with_tag(0b1111_0101).into();
    let guard = epoch::pin();
    let loaded = cell.load(Relaxed, &guard);
    assert_eq!(loaded.tag(), 0b101);
    assert_eq!(cell.fetch_or(0b010, AcqRel, &guard), loaded);
    assert_eq!(cell.fetch_and(0b110, Release, &guard).tag(), 0b111);
    assert_eq!(cell.fetch_xor(usize::MAX, Acquire, &guard).tag(), 0b110);
    let last = cell.load(Relaxed, &guard);
    assert_eq!((last.tag(), last.as_raw()), (0b001, loaded.as_raw()));
    assert_ne!(last, loaded);
    assert_eq!(last.with_tag(loaded.tag()), loaded);
    assert_eq!(Owned::new(1_u8).with_tag(7).tag(), 0, "a byte has no bit to spare");
    // SAFETY: no other thread has it.
    drop(unsafe { cell.into_owned() });
}

#[test]
fn a_failed_exchange_gives_the_new_value_back() {
    let cell = Atomic::new(1);
    let guard = epoch::pin();
    let error = cell.compare_exchange(Shared::null(), Owned::new(2), AcqRel, Acquire, &guard).unwrap_err();
    // SAFETY: the cell has it.
    assert_eq!((unsafe { *error.current.deref() }, *error.new), (1, 2));
    let put = cell.compare_exchange(error.current, error.new, AcqRel, Acquire, &guard).unwrap();
    // SAFETY: the cell has it, and the first one is this thread's.
    assert_eq!((unsafe { *put.deref() }, unsafe { *error.current.into_owned() }), (2, 1));
    // The tag counts.
    assert!(cell.compare_exchange(put.with_tag(1), Shared::null(), AcqRel, Acquire, &guard).is_err());
    let seen = cell.fetch_update(AcqRel, Acquire, &guard, |now| Some(now.with_tag(1))).unwrap();
    assert_eq!((seen, cell.load(Relaxed, &guard)), (put, put.with_tag(1)));
    assert_eq!(cell.fetch_update(AcqRel, Acquire, &guard, |_| None), Err(put.with_tag(1)));
    // SAFETY: no other thread has it.
    assert_eq!(*unsafe { cell.into_owned() }.into_box(), 2);
}

#[test]
fn null_is_null_whatever_its_tag() {
    let cell = Atomic::<u64>::default();
    let guard = epoch::pin();
    cell.store(Shared::null().with_tag(3), Relaxed);
    let null = cell.load(Relaxed, &guard);
    assert!(null.is_null() && null.tag() == 3 && null != Shared::null());
    // SAFETY: null.
    assert!(unsafe { null.as_ref() }.is_none() && unsafe { null.try_into_owned() }.is_none());
    // SAFETY: null.
    assert!(unsafe { cell.try_into_owned() }.is_none());
}

#[test]
fn slices_have_one_word_pointers() {
    let mut slice = Owned::<[MaybeUninit<u16>]>::init(1000);
    for (at, element) in slice.iter_mut().enumerate() {
        element.write(at as u16);
    }
    let cell: Atomic<[MaybeUninit<u16>]> = slice.with_tag(1).into();
    let guard = epoch::pin();
    let loaded = cell.load(Acquire, &guard);
    // SAFETY: the cell has it.
    let elements = unsafe { loaded.deref() };
    // SAFETY: written above.
    assert!(elements.iter().enumerate().all(|(at, element)| unsafe { element.assume_init() } == at as u16));
    assert_eq!((elements.len(), loaded.tag(), Owned::<[MaybeUninit<u64>]>::init(0).len()), (1000, 1, 0));
    // SAFETY: unlinked, and retired once.
    unsafe { guard.defer_destroy(loaded) };
}

#[test]
#[should_panic(expected = "a slice of")]
fn a_slice_that_no_memory_holds_is_refused() {
    drop(Owned::<[MaybeUninit<u64>]>::init(usize::MAX / 2));
}

#[test]
#[should_panic(expected = "not aligned")]
fn a_pointer_that_is_not_aligned_is_refused() {
    let _ = Shared::<u64>::from(std::ptr::without_provenance::<u64>(12));
}

#[test]
fn an_unprotected_guard_calls_at_once() {
    let count = Arc::default();
    // SAFETY: the structure is this thread's.
    let guard = unsafe { epoch::unprotected() };
    defer_counting(guard, 3, &count);
    assert_eq!(count.load(SeqCst), 3);
    assert!(guard.collector().is_none());
    guard.flush();
    let cell = Atomic::new(Counted(Arc::clone(&count)));
    // SAFETY: as above.
    unsafe { guard.defer_destroy(cell.load(Relaxed, guard)) };
    assert_eq!(count.load(SeqCst), 4);
}

#[test]
fn large_and_aligned_closures_are_boxed() {
    #[repr(align(64))]
    struct Aligned(u8);
    let (collector, sum) = (Collector::new(), Arc::new(AtomicUsize::new(0)));
    let handle = collector.register();
    let guard = handle.pin();
    for value in 0..100 {
        let (into, aligned) = (Arc::clone(&sum), Aligned(value));
        guard.defer(move || {
            assert_eq!((&raw const aligned).addr() % 64, 0);
            into.fetch_add(usize::from({ aligned }.0), SeqCst)
        });
        let (into, large) = (Arc::clone(&sum), [1_usize; 20]);
        guard.defer(move || into.fetch_add(large.iter().sum(), SeqCst));
    }
    drop((guard, handle));
    assert_eq!(sum.load(SeqCst), 99 * 50 + 100 * 20);
}

/// Programs of crossbeam's rely on the bound: a pointer of a section says that its value outlives the section.
#[test]
fn a_values_type_outlives_the_section_of_its_pointers() {
    fn outlives<'g, T: 'g>(_: &'g ()) -> usize {
        size_of::<T>()
    }
    fn of<'g, T>(_: Shared<'g, T>, section: &'g ()) -> usize {
        outlives::<'g, T>(section)
    }
    assert_eq!(of(Shared::<u32>::null(), &()), 4);
}

#[test]
#[allow(deprecated)]
fn older_programs_compare_and_set() {
    let (cell, guard) = (Atomic::null(), epoch::pin());
    let one = cell.compare_and_set(Shared::null(), Owned::new(1), Release, &guard).unwrap();
    let failed = cell.compare_and_set(Shared::null(), Owned::new(2), (AcqRel, Acquire), &guard).unwrap_err();
    assert_eq!((failed.current, *failed.new), (one, 2));
    let mut two = failed.new;
    let two = loop {
        match cell.compare_and_set_weak(one, two, SeqCst, &guard) {
            Ok(two) => break two,
            Err(failed) => two = failed.new,
        }
    };
    assert_eq!(cell.load(Acquire, &guard), two);
    for value in [one, two] {
        // SAFETY: no other thread knows the cell.
        drop(unsafe { value.into_owned() });
    }
    use epoch::CompareAndSetOrdering;
    let failures = [Relaxed, Release, Acquire, AcqRel, SeqCst].map(|order| order.failure());
    assert_eq!(failures, [Relaxed, Relaxed, Acquire, Acquire, SeqCst]);
}
