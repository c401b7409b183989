//! Readers and writers in Rust and in C, in one process, of one domain: sections of either language
//! within those of the other on one slot, values that one publishes and the other reads, and what
//! ends with a thread.

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use leeward::rcu::c::{Memb, Qsbr};
use leeward::rcu::{Domain, Guard, RcuCell};

#[cfg(has_inlined)]
mod inlined;

// The functions behind the C part's inline ones.
use leeward_capi as _;

/// `struct value` of the C part.
#[repr(C)]
struct Value {
    head: [usize; 2],
    number: AtomicU64,
    is_freed: AtomicU64,
}

unsafe extern "C" {
    safe fn part_enter();
    safe fn part_leave();
    safe fn part_is_inside() -> bool;
    safe fn part_unregister();
    safe fn part_synchronize() -> i32;
    fn part_read(place: *const AtomicPtr<Value>) -> u64;
    fn part_replace(place: *const AtomicPtr<Value>, next: *mut Value, waits: bool);
    safe fn part_freed() -> u64;
    safe fn part_online();
    safe fn part_offline();
    safe fn part_quiescent();
    safe fn part_is_online() -> bool;
}

const PATIENCE: Duration = Duration::from_secs(20);

#[track_caller]
fn eventually(mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "it never came to pass");
        thread::sleep(Duration::from_micros(50));
    }
}

#[track_caller]
fn never(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(10) {
        assert!(!is_so());
        thread::sleep(Duration::from_micros(100));
    }
}

fn is_protected() {
    let cookie = Memb::start_poll();
    never(|| Memb::poll_state(&cookie));
    assert!(part_is_inside());
}

fn is_outside() {
    assert!(!part_is_inside());
    let (rust, c) = (thread::spawn(Memb::synchronize), thread::spawn(|| part_synchronize()));
    eventually(|| rust.is_finished() && c.is_finished());
    assert_eq!((rust.join().unwrap(), c.join().unwrap()), ((), 0));
}

/// Sections of both languages on one slot, of a thread that either of them registers.
fn nesting() {
    for rust_first in [true, false] {
        thread::spawn(move || {
            let guard = rust_first.then(Memb::read);
            part_enter();
            let guard = guard.unwrap_or_else(Memb::read);
            assert_eq!(Memb::stats().readers, 1);
            part_leave();
            is_protected();
            part_enter();
            drop(guard);
            is_protected();
            part_leave();
            is_outside();
            // Deep, and ended in the order in which they began.
            let guards: Vec<_> = (0..5).map(|_| (Memb::read(), part_enter()).0).collect();
            for guard in guards {
                is_protected();
                drop(guard);
                part_leave();
            }
            is_outside();
        })
        .join()
        .unwrap();
    }
    assert_eq!(Memb::stats().readers, 0);
}

/// What C publishes, Rust reads in guards; what Rust publishes, C reads inline.
fn publishing() {
    let values: &'static [Value] = Vec::leak(
        (0..40_000)
            .map(|number| Value { head: [0; 2], number: AtomicU64::new(number + 1), is_freed: AtomicU64::new(0) })
            .collect(),
    );
    let place = AtomicPtr::new((&raw const values[0]).cast_mut());
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (place, stop) = (&place, &stop);
        scope.spawn(move || {
            let mut last = 0;
            while !stop.load(Ordering::Relaxed) {
                // SAFETY: a place that holds a value that lives forever.
                let now = unsafe { part_read(place) };
                assert!(now >= last && now != 0, "C read a value that was freed");
                last = now;
            }
        });
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let guard = Memb::read();
                // SAFETY: a value that lives forever.
                let value = unsafe { &*place.load(Ordering::Acquire) };
                let _inner = Memb::read();
                assert_eq!(value.is_freed.load(Ordering::Relaxed), 0, "Rust read a value that was freed");
                drop(guard);
                assert_eq!(value.is_freed.load(Ordering::Relaxed), 0, "Rust read a value that was freed");
            }
        });
        let end = Instant::now() + Duration::from_millis(500);
        let mut replaced = 0;
        for next in &values[1..] {
            let next = (&raw const *next).cast_mut();
            replaced += 1;
            match replaced % 4 {
                0 => {
                    let old = place.swap(next, Ordering::AcqRel);
                    Memb::synchronize();
                    // SAFETY: a value that lives forever.
                    unsafe { &*old }.is_freed.store(1, Ordering::Relaxed);
                    replaced -= 1;
                }
                // SAFETY: as above; each value is queued once.
                rest => unsafe { part_replace(place, next, rest == 1) },
            }
            if replaced > 1000 && Instant::now() > end {
                break;
            }
        }
        stop.store(true, Ordering::Relaxed);
        Memb::barrier();
        assert_eq!(part_freed(), replaced);
    });
}

/// A cell of Rust's, whose value a section of C keeps alive.
fn a_cell_in_a_section_of_c() {
    struct Noisy<'a>(&'a AtomicU64);
    impl Drop for Noisy<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    static DROPS: AtomicU64 = AtomicU64::new(0);
    let cell: RcuCell<Noisy<'static>, Memb> = RcuCell::new_in(Noisy(&DROPS));
    part_enter();
    let word: *const AtomicU64 = cell.read(|value| &raw const *value.0);
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            drop(cell.replace(Noisy(&DROPS)).synchronize());
            cell.replace(Noisy(&DROPS)).defer();
        });
        never(|| writer.is_finished() || DROPS.load(Ordering::SeqCst) != 0);
        // SAFETY: a static.
        assert_eq!(unsafe { &*word }.load(Ordering::SeqCst), 0);
        part_leave();
    });
    Memb::barrier();
    assert_eq!(DROPS.load(Ordering::SeqCst), 2);
}

/// A section of C ends with its thread. (A leaked guard does not: it comes last, since no grace
/// period of the domain ends after it.)
fn threads_that_end() {
    part_unregister();
    for _ in 0..20 {
        thread::spawn(|| (part_enter(), drop(Memb::read()), part_enter())).join().unwrap();
        is_outside();
    }
    thread::spawn(|| {
        part_enter();
        let guard = Memb::read();
        part_unregister();
        is_protected();
        drop(guard);
        is_outside();
    })
    .join()
    .unwrap();
    assert_eq!((Memb::stats().readers, Memb::stats().leaked), (0, 0));
    let cell: &'static RcuCell<AtomicU64, Memb> = Box::leak(Box::new(RcuCell::new_in(AtomicU64::new(5))));
    let seen = thread::spawn(|| {
        part_enter();
        let guard: &'static Guard<'static, Memb> = Box::leak(Box::new(Memb::read()));
        part_leave();
        part_enter();
        cell.load(guard)
    })
    .join()
    .unwrap();
    cell.replace(AtomicU64::new(6)).defer();
    let cookie = Memb::start_poll();
    never(|| Memb::poll_state(&cookie));
    assert_eq!((seen.load(Ordering::SeqCst), Memb::stats().leaked), (5, 1));
}

/// A guard protects at a quiescent state of C.
fn quiescent_states() {
    part_online();
    let guard = Qsbr::read();
    let cookie = Qsbr::start_poll();
    for _ in 0..3 {
        part_quiescent();
        never(|| Qsbr::poll_state(&cookie));
    }
    part_offline();
    never(|| Qsbr::poll_state(&cookie));
    part_online();
    drop(guard);
    never(|| Qsbr::poll_state(&cookie));
    eventually(|| {
        part_quiescent();
        Qsbr::poll_state(&cookie)
    });
    assert!(part_is_online());
    part_offline();
    assert!(!part_is_online());
    Qsbr::synchronize();
}

fn main() {
    nesting();
    publishing();
    a_cell_in_a_section_of_c();
    quiescent_states();
    #[cfg(has_inlined)]
    inlined::all();
    threads_that_end();
    println!("mixed: ok");
}
