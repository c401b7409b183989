//! Cells of values without a size: text, slices and trait objects. What they hold is what they were
//! given, is dropped once whichever way it leaves, and leaves no memory behind.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::Command;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};
use std::thread;

use leeward::rcu::{Domain, Limit, Policy, RcuCell, RcuOption, Retired};

leeward::rcu_domain! { struct D; }

/// The alignment whose allocations are counted: of one test's values, and of no other's.
const COUNTED: usize = 512;
/// The alignment for which there is no memory, once that is said.
const REFUSED: usize = 1024;
static LIVE: AtomicIsize = AtomicIsize::new(0);
static REFUSES: AtomicBool = AtomicBool::new(false);

struct Watched;

// SAFETY: the system's allocator, or none.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() == REFUSED && REFUSES.load(Ordering::Relaxed) {
            return std::ptr::null_mut();
        }
        LIVE.fetch_add((layout.align() == COUNTED) as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        LIVE.fetch_sub((layout.align() == COUNTED) as isize, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

type Function = dyn Fn(u32) -> u32 + Send + Sync;

#[test]
fn a_cell_is_one_word_and_its_value_what_it_was_given() {
    fn holds<T: ?Sized + PartialEq + Debug + Send + Sync + 'static>(values: [Box<T>; 3], copy: impl Fn(&T) -> Box<T>) {
        let [one, two, three] = &values;
        let mut cell = RcuCell::<T, D>::from_in(copy(one));
        assert_eq!(size_of_val(&cell), size_of::<usize>());
        let guard = D::read();
        let seen = cell.load(&guard);
        assert_eq!((seen, &*cell.get()), (&**one, &**one));
        let old = cell.replace_box(copy(two));
        assert_eq!((&*old, seen, cell.load(&guard)), (&**one, &**one, &**two));
        let old = old.try_into_box().unwrap_err();
        drop(guard);
        assert_eq!(old.synchronize(), *one);
        cell.store_box(copy(three));
        assert!(cell.read(|now| now == &**three));
        assert_eq!(cell.update_box(|now| copy(if now == &**three { one } else { two })).synchronize(), *three);
        assert_eq!((cell.get_mut(), format!("{:?}", D::read()).is_empty()), (&mut *copy(one), false));
        assert_eq!(cell.try_update_box(|_| Err::<Box<T>, _>("no")).unwrap_err(), "no");
        assert_eq!(cell.into_inner(), *one);
    }
    holds::<str>(["".into(), "listen 80".into(), "ä".repeat(999).into()], |value| value.into());
    holds::<[u8]>([Box::new([]), Box::new([1, 2, 3]), Box::new([7; 4099])], |value| value.into());
    holds::<[u128]>([Box::new([]), Box::new([u128::MAX]), Box::new([7; 100])], |value| value.into());
    holds::<[String]>([Box::new([]), Box::new(["a".into()]), vec!["b".into(); 9].into()], |value| value.into());
    holds::<[()]>([Box::new([]), Box::new([(); 1]), Box::new([(); 9])], |value| value.into());
    // A type with a size is held as ever.
    holds::<u32>([Box::new(1), Box::new(2), Box::new(3)], |value| Box::new(*value));
}

#[test]
fn an_option_may_be_empty_and_static() {
    static NAME: RcuOption<str, D> = RcuOption::none_in();
    assert!(NAME.get().is_none() && NAME.take().is_none());
    assert!(NAME.replace_box(Some("a".into())).is_none());
    assert_eq!(NAME.update_box(|old| [old.unwrap(), "b"].concat().into()).unwrap().synchronize(), "a".into());
    assert_eq!(format!("{NAME:?}"), r#"RcuOption(Some("ab"))"#);
    assert_eq!(NAME.try_update_box(|old| old.map(|_| None).ok_or(())).unwrap().unwrap().synchronize(), "ab".into());
    assert!(NAME.try_update_box(|old| old.map(|_| None).ok_or(())).is_err());
    NAME.store_box(Some("c".into()));
    NAME.store_box(None);
    assert_eq!(format!("{NAME:?}"), "RcuOption(None)");
    let mut slice = RcuOption::<[u32], D>::from_in(vec![1, 2]);
    slice.get_mut().unwrap()[0] = 7;
    assert_eq!(slice.into_inner(), Some([7, 2].into()));
    assert!(RcuOption::<Function, D>::default().into_inner().is_none());
}

#[test]
fn functions() {
    let cell = RcuCell::<Function, D>::from_in(Box::new(|n: u32| n + 1) as Box<Function>);
    let (factor, guard) = (Arc::new(10), D::read());
    let first = cell.load(&guard);
    let captured = Arc::clone(&factor);
    let old = cell.replace_box(Box::new(move |n| n * *captured));
    assert_eq!((first(7), old(7), cell.load(&guard)(7), cell.get()(8)), (8, 8, 70, 80));
    drop(guard);
    assert_eq!(old.synchronize()(1), 2);
    let last = cell.into_inner();
    assert_eq!((last(3), Arc::strong_count(&factor)), (30, 2));
    drop(last);
    assert_eq!(Arc::strong_count(&factor), 1);
}

#[test]
fn from_what_boxes_are_made_of() {
    assert_eq!(&*RcuCell::<str, D>::from_in("a").get(), "a");
    assert_eq!(&*RcuCell::<str, D>::from_in(String::from("a")).get(), "a");
    assert_eq!(*RcuCell::<[u32], D>::from_in([1, 2].as_slice()).get(), [1, 2]);
    assert_eq!(*RcuCell::<[u32], D>::from_in(vec![1, 2]).get(), [1, 2]);
    assert_eq!(&*RcuOption::<str, D>::from_in("a").get().unwrap(), "a");
    // The domain is the global one, where none is named.
    let cell: RcuCell<str> = "a".into();
    assert_eq!((&*cell.get(), &*RcuCell::<str>::from("b").get()), ("a", "b"));
}

trait Place: Send + Sync {
    fn address(&self) -> usize;
    fn value(&self) -> u64;
}

macro_rules! aligned {
    ($($name:ident: $align:literal),*) => {$(
        #[repr(align($align))]
        struct $name<T>(T);
        impl Place for $name<u64> {
            fn address(&self) -> usize { &raw const *self as usize % $align }
            fn value(&self) -> u64 { self.0 }
        }
        impl Place for $name<()> {
            fn address(&self) -> usize { &raw const *self as usize % $align }
            fn value(&self) -> u64 { 0 }
        }
    )*};
}
aligned!(A2: 2, A8: 8, A16: 16, A32: 32, A64: 64, A4096: 4096);

/// One cell holds values of every alignment in turn, with bytes and without.
#[test]
fn every_alignment() {
    fn holds<P: Place + 'static>(cell: &RcuCell<dyn Place, D>, value: P, expected: u64) {
        let old = cell.replace_box(Box::new(value));
        let guard = D::read();
        assert_eq!((cell.load(&guard).address(), cell.load(&guard).value()), (0, expected));
        let seen = cell.load(&guard);
        let Ok(back) = cell.compare_exchange(seen, Box::new(A2(7_u64)), &guard) else { panic!("another value") };
        assert_eq!((back.address(), back.value(), cell.get().value()), (0, expected, 7));
        drop(guard);
        let back = back.synchronize();
        assert_eq!((back.address(), back.value()), (0, expected));
        drop(old);
    }
    let cell = RcuCell::<dyn Place, D>::from_in(Box::new(A2(1_u64)) as Box<dyn Place>);
    for turn in 0..50 {
        holds(&cell, A2(turn), turn);
        holds(&cell, A8(turn), turn);
        holds(&cell, A16(turn), turn);
        holds(&cell, A32(turn), turn);
        holds(&cell, A64(turn), turn);
        holds(&cell, A4096(turn), turn);
        holds(&cell, A2(()), 0);
        holds(&cell, A16(()), 0);
        holds(&cell, A64(()), 0);
        holds(&cell, A4096(()), 0);
    }
}

#[test]
fn compare_exchange_tells_values_apart_by_their_address() {
    let cell = RcuCell::<[u32], D>::from_in(vec![1, 2]);
    let guard = D::read();
    let seen = cell.load(&guard);
    let equal: Box<[u32]> = [1, 2].into();
    let conflict = cell.compare_exchange(&equal, [3].into(), &guard).unwrap_err();
    assert_eq!((conflict.current, &*conflict.new), (seen, [3].as_slice()));
    assert!(std::ptr::eq(conflict.current, seen));
    assert_eq!(*cell.compare_exchange(seen, conflict.new, &guard).unwrap(), [1, 2]);
    // Two empty slices in cells are two values.
    let (one, other) = (RcuCell::<[u32], D>::from_in(vec![]), RcuCell::<[u32], D>::from_in(vec![]));
    assert!(one.compare_exchange(other.load(&guard), [1].into(), &guard).is_err());
    assert!(one.compare_exchange(one.load(&guard), [1].into(), &guard).is_ok());
    let none = RcuOption::<str, D>::none_in();
    assert!(none.compare_exchange(Some("a"), Some("b".into()), &guard).unwrap_err().current.is_none());
    assert!(none.compare_exchange(None, Some("b".into()), &guard).unwrap().is_none());
}

/// A value that counts itself, and may panic when it is dropped.
#[repr(align(512))]
struct Counted {
    live: Arc<AtomicIsize>,
    panics: bool,
}

impl Counted {
    fn new(live: &Arc<AtomicIsize>) -> Counted {
        live.fetch_add(1, Ordering::Relaxed);
        Counted { live: Arc::clone(live), panics: false }
    }

    fn boxed(live: &Arc<AtomicIsize>) -> Box<[Counted]> {
        (0..3).map(|_| Counted::new(live)).collect()
    }

    fn bomb(live: &Arc<AtomicIsize>) -> Box<[Counted]> {
        let mut values = Self::boxed(live);
        values[1].panics = true;
        values
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
        if self.panics {
            panic!("the value's own");
        }
    }
}

/// Each way in which a value leaves its cell drops it once, also if that panics, and frees its memory.
/// (One test, since the allocations of all are counted.)
#[test]
fn each_value_is_dropped_once_and_its_memory_freed() {
    let live = Arc::new(AtomicIsize::new(0));
    let cell = RcuCell::<[Counted], D>::from_in(Counted::boxed(&live));
    let counts = || (live.load(Ordering::Relaxed), LIVE.load(Ordering::Relaxed));
    assert_eq!(counts(), (3, 1), "one block, and the box is freed");
    cell.replace_box(Counted::boxed(&live)).defer();
    cell.replace_box(Counted::boxed(&live)).defer_bytes(7);
    cell.replace_box(Counted::boxed(&live)).try_defer().unwrap();
    drop(cell.replace_box(Counted::boxed(&live)));
    D::barrier();
    assert_eq!(counts(), (3, 1), "deferred");
    let back = cell.replace_box(Counted::boxed(&live)).synchronize();
    assert_eq!(counts(), (6, 2), "a box and a block");
    cell.store_box(back);
    D::barrier();
    let guard = D::read();
    let equal = Counted::boxed(&live);
    let conflict = cell.compare_exchange(&equal, Counted::boxed(&live), &guard).map(drop).unwrap_err();
    assert_eq!(counts(), (9, 3), "given back");
    drop((conflict, equal));
    drop(guard);
    let option = RcuOption::<[Counted], D>::from_in(Counted::boxed(&live));
    drop(option.take().unwrap().try_into_box().map(drop).map_err(|old| old.synchronize()));
    drop(option);
    assert_eq!(counts(), (3, 1), "taken");
    drop(cell.into_inner());
    assert_eq!(counts(), (0, 0), "out of its cell");

    let panics = |work: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(work)).is_err());
    panics(&|| drop(RcuCell::<[Counted], D>::from_in(Counted::bomb(&live))));
    panics(&|| drop(RcuCell::<[Counted], D>::from_in(Counted::bomb(&live)).into_inner()));
    panics(&|| drop(RcuOption::<[Counted], D>::from_in(Counted::bomb(&live))));
    let cell = RcuCell::<[Counted], D>::from_in(Counted::bomb(&live));
    let before = D::stats().callback_panics;
    cell.store_box(Counted::boxed(&live));
    D::barrier();
    assert_eq!((D::stats().callback_panics, counts()), (before + 1, (3, 1)), "on the worker");
    drop(cell);
    assert_eq!(counts(), (0, 0), "whether or not it panicked");

    panics(&|| {
        let cell = RcuCell::<[Counted], D>::from_in(Counted::boxed(&live));
        cell.update_box(|_| panic!("no next value")).defer();
    });
    assert_eq!(counts(), (0, 0), "the update came to nothing");
}

/// The bytes of the value count, of which its type does not tell.
#[test]
fn the_limit_counts_the_values_bytes() {
    leeward::rcu_domain! { struct Jobs; }
    Jobs::set_limit(Limit { callbacks: 100, bytes: 10_000, policy: Policy::Wait(std::time::Duration::ZERO) });
    let guard = Jobs::read();
    let cell = RcuCell::<[u64], Jobs>::from_in(vec![0; 1_000]);
    cell.store_box([].into());
    assert_eq!(Jobs::stats().bytes_queued, 8_000);
    cell.replace_box([0; 2_000].into()).defer_bytes(5);
    assert_eq!(Jobs::stats().bytes_queued, 8_005);
    let refused = cell.replace_box([].into()).try_defer().unwrap_err();
    assert_eq!(refused.len(), 2_000);
    drop(guard);
    drop(refused);
    Jobs::barrier();
    assert_eq!((Jobs::stats().bytes_queued, Jobs::stats().callbacks_queued), (0, 0));
}

/// A slice that a function frees, as any value of one's own.
#[test]
fn a_slice_from_raw() {
    unsafe fn free(value: NonNull<[u32]>) {
        // SAFETY: from a box, and the caller's alone.
        drop(unsafe { Box::from_raw(value.as_ptr()) });
    }
    let raw = |value: Box<[u32]>| NonNull::from(Box::leak(value));
    // SAFETY: no reader can find it, and it is retired once.
    let retired = unsafe { Retired::<[u32], D>::from_raw_in(raw([1, 2].into()), free) };
    assert_eq!(*retired, [1, 2]);
    retired.defer();
    // SAFETY: as above.
    let value = unsafe { Retired::<[u32], D>::from_raw_in(raw([3].into()), free) }.synchronize();
    // SAFETY: no reader is left.
    unsafe { free(value) };
    D::barrier();
}

#[test]
fn readers_see_whole_values_while_writers_replace_them() {
    const ROUNDS: usize = 2_000;
    let cell = RcuCell::<[usize], D>::from_in(vec![0]);
    let (done, total) = (AtomicBool::new(false), AtomicIsize::new(0));
    thread::scope(|scope| {
        let readers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let mut seen = 0_usize;
                    while !done.load(Ordering::Relaxed) || seen == 0 {
                        let now = cell.get();
                        assert!(now.len() == now[0] % 17 + 1 && now.iter().all(|one| *one == now[0]));
                        seen += 1;
                    }
                })
            })
            .collect();
        let writers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        cell.update_box(|old| vec![old[0] + 1; (old[0] + 1) % 17 + 1].into()).defer();
                        total.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        done.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
    assert_eq!((cell.get()[0], total.into_inner()), (2 * ROUNDS, 2 * ROUNDS as isize));
    D::barrier();
}

#[repr(align(1024))]
struct Large(#[expect(dead_code, reason = "only its memory counts")] u8);

/// Where there is no memory, the process ends as it does for `Box`: it does not go on with a wild
/// pointer. Called again by itself, in processes of their own, with the way in the environment.
#[test]
fn without_memory_the_process_ends() {
    const WAY: &str = "LEEWARD_UNSIZED_WITHOUT_MEMORY";
    let values = || -> Box<[Large]> { Box::new([Large(7)]) };
    let Ok(way) = std::env::var(WAY) else {
        for way in ["in", "out"] {
            let mut this = Command::new(std::env::current_exe().unwrap());
            this.args(["--exact", "without_memory_the_process_ends", "--nocapture"]).env(WAY, way);
            let output = this.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && said.contains("memory allocation of"), "{way}: {said}");
        }
        return;
    };
    let value = values();
    if way == "in" {
        REFUSES.store(true, Ordering::Relaxed);
        drop(RcuCell::<[Large], D>::from_in(value));
    } else {
        let cell = RcuCell::<[Large], D>::from_in(value);
        REFUSES.store(true, Ordering::Relaxed);
        drop(cell.into_inner());
    }
}
