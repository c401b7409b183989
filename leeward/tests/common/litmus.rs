//! The store-buffer litmus on the real code: everything that must go wrong where a heavy fence is
//! missing.
//!
//! A reader fills its store buffer (stores to lines that the writer dirties), enters, loads the
//! pointer, computes for a while without touching memory, and checks whether the object is alive. If
//! its announcement is still in the store buffer when the writer scans the slots, the object is
//! dead by then. Objects lie in an arena that is never freed, so a violation is an ordinary read of
//! poison.

#![allow(dead_code, missing_docs)]

use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use leeward::rcu::{Domain, Reader, qsbr};

use super::{Rng, compute, pin};

const ALIVE: u64 = 0xA11E;
const POISON: u64 = 0xDEAD;
/// How many objects one pointer uses in rotation, so that each stays poisoned for long. (A reader
/// that outlasts a whole rotation takes a reused object for alive.)
pub const OBJECTS: usize = 64;
/// How many lines reader and writer write alternately.
const JAM: usize = 48;

#[repr(align(128))]
pub struct Line(AtomicU64);

impl Line {
    #[allow(clippy::declare_interior_mutable_const)]
    const NEW: Line = Line(AtomicU64::new(0));
}

/// Objects that are never freed.
pub struct Arena {
    objects: [Line; OBJECTS],
    jam: [Line; JAM],
}

impl Arena {
    pub const fn new() -> Arena {
        Arena { objects: [Line::NEW; OBJECTS], jam: [Line::NEW; JAM] }
    }

    pub fn revive(&self, object: usize) {
        self.objects[object % OBJECTS].0.store(ALIVE, Ordering::Relaxed);
    }

    pub fn poison(&self, object: usize) {
        self.objects[object % OBJECTS].0.store(POISON, Ordering::Relaxed);
    }

    #[inline(always)]
    pub fn is_alive(&self, object: usize) -> bool {
        self.objects[object % OBJECTS].0.load(Ordering::Relaxed) == ALIVE
    }

    /// Takes the lines away from the other processor (as the writer), or makes stores wait for them
    /// in the store buffer (as the reader).
    #[inline(always)]
    pub fn jam(&self, value: u64) {
        for line in &self.jam {
            line.0.store(value, Ordering::Relaxed);
        }
    }
}

/// The way in which a reader of the test announces itself.
pub trait Flavour {
    fn new() -> Self;
    /// Runs one section, immediately after `before`.
    fn section<R>(&mut self, before: impl FnOnce(), body: impl FnOnce() -> R) -> R;
}

/// A reader by `Domain::read`.
pub struct Automatic<D: Domain>(PhantomData<D>);

impl<D: Domain> Flavour for Automatic<D> {
    fn new() -> Self {
        D::register().unwrap();
        Automatic(PhantomData)
    }

    #[inline(always)]
    fn section<R>(&mut self, before: impl FnOnce(), body: impl FnOnce() -> R) -> R {
        before();
        let _guard = D::read();
        body()
    }
}

/// A reader by a handle.
pub struct Handle<D: Domain>(Reader<D>);

impl<D: Domain> Flavour for Handle<D> {
    fn new() -> Self {
        Handle(Reader::register_in())
    }

    #[inline(always)]
    fn section<R>(&mut self, before: impl FnOnce(), body: impl FnOnce() -> R) -> R {
        before();
        let _guard = self.0.read();
        body()
    }
}

/// A reader by quiescent states, alternating with stretches offline. (A quiescent state that is
/// seen late makes the writer wait needlessly; coming online is what must be seen in time.)
pub struct Quiescent<D: Domain>(qsbr::Reader<D>, bool);

impl<D: Domain> Flavour for Quiescent<D> {
    fn new() -> Self {
        Quiescent(qsbr::Reader::register_in(), false)
    }

    #[inline(always)]
    fn section<R>(&mut self, before: impl FnOnce(), body: impl FnOnce() -> R) -> R {
        self.1 = !self.1;
        if self.1 {
            self.0.offline(before);
        } else {
            before();
            self.0.quiescent();
        }
        body()
    }
}

/// What a run found.
#[derive(Debug, Default, Clone, Copy)]
pub struct Findings {
    pub sections: u64,
    pub updates: u64,
    pub violations: u64,
}

impl Findings {
    #[track_caller]
    pub fn must_be_sound(self, name: &str) {
        println!("{name}: {self:?}");
        assert_eq!(self.violations, 0, "{name}: {} reads of freed objects in {self:?}", self.violations);
        assert!(self.sections > 0 && self.updates > 0, "{name}: nothing was tested: {self:?}");
    }
}

/// Runs a reader's loop; `load` returns the published object.
pub fn read<F: Flavour>(arena: &Arena, stop: &AtomicBool, seed: u64, load: impl Fn() -> usize) -> Findings {
    let mut rng = Rng::new(seed);
    let mut reader = F::new();
    let mut found = Findings::default();
    // At least once, however late the thread begins.
    while !stop.load(Ordering::Relaxed) || found.sections == 0 {
        for _ in 0..64 {
            // Mostly short: a violation needs the section to outlast the writer's grace period, and
            // no more.
            let turns = if rng.below(8) == 0 { rng.below(10_000) } else { rng.below(2_000) };
            let alive = reader.section(
                || arena.jam(found.sections),
                || {
                    let object = load();
                    compute(turns);
                    arena.is_alive(object)
                },
            );
            found.sections += 1;
            found.violations += u64::from(!alive);
        }
        if found.violations > 0 {
            stop.store(true, Ordering::Relaxed);
        }
    }
    found
}

/// Runs a writer's loop; `update` publishes an object, waits for a grace period and returns the one
/// that may be poisoned.
pub fn write(arena: &Arena, stop: &AtomicBool, seed: u64, end: Instant, mut update: impl FnMut(usize) -> usize) -> u64 {
    let mut rng = Rng::new(seed);
    let mut updates = 0;
    while updates == 0 || !stop.load(Ordering::Relaxed) && Instant::now() < end {
        let next = updates as usize + 1;
        arena.revive(next);
        arena.jam(updates);
        compute(rng.below(1_000));
        let old = update(next);
        arena.poison(old);
        updates += 1;
    }
    updates
}

/// A pointer and what it points to.
pub struct Shared {
    pub arena: Arena,
    pub pointer: AtomicUsize,
}

impl Shared {
    pub fn new() -> Shared {
        let shared = Shared { arena: Arena::new(), pointer: AtomicUsize::new(0) };
        shared.arena.revive(0);
        shared
    }

    /// Publishes with a release store, and not with an exchange, which would drain the writer's
    /// store buffer.
    pub fn update<D: Domain>(&self, next: usize) -> usize {
        let old = self.pointer.load(Ordering::Relaxed);
        self.pointer.store(next, Ordering::Release);
        D::synchronize();
        old
    }
}

/// Runs one reader and one writer that publishes with a release store.
pub fn one_writer<F: Flavour, D: Domain>((reader_on, writer_on): (usize, usize), time: Duration) -> Findings {
    let shared = Shared::new();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            pin(reader_on);
            read::<F>(&shared.arena, &stop, 1, || shared.pointer.load(Ordering::Acquire))
        });
        let writer = scope.spawn(|| {
            pin(writer_on);
            let updates = write(&shared.arena, &stop, 2, Instant::now() + time, |next| shared.update::<D>(next));
            stop.store(true, Ordering::Relaxed);
            updates
        });
        let updates = writer.join().unwrap();
        Findings { updates, ..reader.join().unwrap() }
    })
}
