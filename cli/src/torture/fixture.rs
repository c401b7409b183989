//! The fixture of one flavour, which its readers and writers share: a domain, its published
//! objects, and lines that all threads dirty.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use leeward::rcu::{DetachedReader, Domain};

use super::arena::{Arena, Name};

/// The number of published objects. Each belongs to one writer, by its index modulo the number of
/// writers.
pub const ROOTS: usize = 64;
const OBJECTS: usize = 2048;
/// The number of stores that fill a store buffer: as many as the largest ones hold.
const JAM: usize = 48;
/// The most writers that the command line allows.
pub const WRITERS: usize = 65;

#[derive(Default)]
#[repr(align(64))]
pub struct Line(pub AtomicU64);

fn lines(count: usize) -> Box<[Line]> {
    (0..count).map(|_| Line::default()).collect()
}

pub struct Fixture<D: Domain> {
    pub arena: Arena,
    /// The name of the object that is published at each root.
    roots: Box<[Line]>,
    scratch: Box<[Line]>,
    /// The handles that migrate from thread to thread.
    pub migrating: Mutex<Vec<DetachedReader<D>>>,
    /// For each writer, the objects and callbacks that were deferred, and those that came back.
    pub deferred: Box<[Line]>,
    pub came_back: Box<[Line]>,
    /// The number of grace periods that a lone writer waited for.
    pub passed: Line,
    /// The number of callbacks that were made to panic.
    pub panics: AtomicU64,
}

/// A kind of reader, with a domain of its own.
pub trait Flavour: Domain {
    /// True if the child of a fork runs the callbacks that it inherits, as C's domains have it.
    const ADOPTS: bool = false;
    /// The number of workers that may be registered as readers.
    const WORKERS: u64 = 0;

    fn fixture() -> &'static Fixture<Self>;
}

macro_rules! flavours {
    ($($(#[$meta:meta])* $name:ident $(: $fence:ident)?;)*) => {
        leeward::rcu_domain! { $($(#[$meta])* pub struct $name $(: $fence)?;)* }
        $(impl Flavour for $name {
            fn fixture() -> &'static Fixture<Self> {
                static FIXTURE: OnceLock<Fixture<$name>> = OnceLock::new();
                FIXTURE.get_or_init(Fixture::new)
            }
        })*
    };
}

flavours! {
    /// The flavour of threads that are registered at their first section.
    Auto;
    /// The flavour of handles.
    Handle;
    /// The flavour of quiescent states.
    Qsbr;
    /// The flavour with a full fence in the reader.
    Mb: Full;
    /// The domain in which a guard is leaked, once, after which no grace period ends.
    Leak;
}

impl<D: Domain> Fixture<D> {
    pub fn new() -> Self {
        let arena = Arena::new(OBJECTS);
        let roots = lines(ROOTS);
        for root in &roots {
            // Release: partner of the acquire in `look`.
            root.0.store(arena.take().map_or(0, |name| name.0), Ordering::Release);
        }
        Fixture {
            arena,
            roots,
            scratch: lines(JAM),
            migrating: Mutex::new(Vec::new()),
            deferred: lines(WRITERS),
            came_back: lines(WRITERS),
            passed: Line::default(),
            panics: AtomicU64::new(0),
        }
    }

    /// Returns the published names, a line apart, for readers in C.
    #[cfg_attr(not(feature = "c"), allow(dead_code))]
    pub fn roots(&self) -> *const u64 {
        self.roots.as_ptr().cast()
    }

    /// Fills the calling processor's store buffer by stores to lines that other threads have just
    /// dirtied.
    #[inline(always)]
    pub fn jam(&self, value: u64) {
        for line in &self.scratch {
            // Relaxed: a plain store, which has to wait for its line.
            line.0.store(value, Ordering::Relaxed);
        }
    }

    /// Loads the name that is published at a root. The caller is in a section.
    #[inline(always)]
    pub fn look(&self, root: usize) -> Name {
        // Acquire: partner of the release in `publish`.
        Name(self.roots[root % ROOTS].0.load(Ordering::Acquire))
    }

    #[inline(always)]
    pub fn check(&self, name: Name) -> bool {
        self.arena.check(name)
    }

    /// Publishes another object and returns the old one, which readers find no more. Only the
    /// root's writer calls it. If `plainly`, it does so by a store, so that no locked instruction
    /// hides a missing fence, else by an exchange.
    pub fn publish(&self, root: usize, new: Name, plainly: bool) -> Name {
        let place = &self.roots[root % ROOTS].0;
        if plainly {
            // Relaxed: no other thread writes it.
            let old = place.load(Ordering::Relaxed);
            // Release: partner of the acquire in `look`.
            place.store(new.0, Ordering::Release);
            Name(old)
        } else {
            // AcqRel: partner of the acquire in `look`.
            Name(place.swap(new.0, Ordering::AcqRel))
        }
    }
}

/// Computes for about `steps` times ten nanoseconds, without memory or atomics.
#[inline(always)]
pub fn think(steps: u64) {
    let mut value = steps;
    for _ in 0..steps * 4 {
        value = std::hint::black_box(value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1);
    }
    std::hint::black_box(value);
}
