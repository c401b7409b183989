//! The torture of hazard pointers: readers that protect and check, hazard pointers that travel from
//! thread to thread, writers that replace, retire and reclaim, objects whose end retires others, and
//! one reader that is stuck; with each fence strategy in turn.
//!
//! The objects are those of `arena.rs`, which are poisoned and used again: what a broken library
//! makes readers do is defined here, and is detected. Nothing here waits, so there is no watchdog.

use std::fmt;
use std::ops::AddAssign;
use std::process::ExitCode;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use leeward::hazard::{self, HazardPointer};
use leeward::rcu::Head;

use super::arena::{Arena, Name};
use super::random::Random;
use super::storm;
use super::violation::{self, Kind, report};
use crate::args::Storm;

/// The number of objects: many more than are ever published, retired or protected.
const OBJECTS: usize = 1 << 14;
/// The number of places where objects are published.
const SOURCES: usize = 4;
/// The number of hazard pointers of a reader.
const HAZARDS: usize = 3;

/// What the threads share.
static SHARED: LazyLock<Shared> = LazyLock::new(|| {
    let node = || Node { head: Head::new(), name: AtomicU64::new(0) };
    let shared = Shared {
        arena: Arena::new(OBJECTS),
        nodes: std::iter::repeat_with(node).take(OBJECTS).collect(),
        sources: [const { AtomicPtr::new(ptr::null_mut()) }; SOURCES],
        post: Mutex::new(None),
    };
    shared.sources.iter().for_each(|source| _ = shared.replace(source));
    shared
});

/// What is published for an object of the arena, at the same index.
#[repr(C)]
struct Node {
    head: Head,
    /// The name of the object, while it is alive.
    name: AtomicU64,
}

/// A hazard pointer, and the name of the object that it protects.
type Held = (HazardPointer, Option<Name>);

struct Shared {
    arena: Arena,
    nodes: Box<[Node]>,
    /// Null only until the first object is published.
    sources: [AtomicPtr<Node>; SOURCES],
    /// A hazard pointer on its way from thread to thread.
    post: Mutex<Option<Held>>,
}

impl Shared {
    /// Publishes a new object and retires the old one. Returns false if all objects are in use.
    fn replace(&self, source: &AtomicPtr<Node>) -> bool {
        let Some(name) = self.arena.take() else { return false };
        let node = &self.nodes[name.place()];
        // Relaxed: the exchange publishes it.
        node.name.store(name.0, Ordering::Relaxed);
        // Release: the object is whole for its readers; partner: the acquire of `protect_raw`.
        // Acquire: the old object is whole for us.
        let old = source.swap(ptr::from_ref(node).cast_mut(), Ordering::AcqRel);
        if let Some(old) = NonNull::new(old) {
            self.arena.retire(name_of(old));
            // SAFETY: the exchange unlinked it for this thread alone; the head comes first, and the
            // node is never given back. All that `end` uses may be used anywhere.
            unsafe { hazard::retire_raw(old.cast(), end) };
        }
        true
    }

    /// Sends a hazard pointer to another thread, and takes one in its place that another sent.
    fn exchange(&self, held: &mut Held) {
        let mut post = self.post.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(held, post.get_or_insert_with(|| (HazardPointer::new(), None)));
    }
}

/// Returns the name of the object of a node that is published, or was.
fn name_of(node: NonNull<Node>) -> Name {
    // SAFETY: nodes are never given back.
    let node = unsafe { node.as_ref() };
    // Relaxed: the pointer was acquired.
    Name(node.name.load(Ordering::Relaxed))
}

/// Ends an object, and now and then publishes one, which retires another.
///
/// # Safety
/// The head is a node's, which was retired.
unsafe extern "C-unwind" fn end(head: NonNull<Head>) {
    let name = name_of(head.cast());
    SHARED.arena.free(name);
    if name.0 / OBJECTS as u64 % 32 == 0 {
        SHARED.replace(&SHARED.sources[0]);
    }
}

/// Protects, checks and hands over until told to stop. Returns how often it protected.
fn read(mut random: Random, stop: &AtomicBool) -> u64 {
    let mut held: [Held; HAZARDS] = std::array::from_fn(|_| (HazardPointer::new(), None));
    let mut protected = 0;
    // Relaxed: the flag orders nothing.
    while !stop.load(Ordering::Relaxed) {
        let mine = &mut held[random.below(HAZARDS as u64) as usize];
        match random.below(256) {
            0 => *mine = (HazardPointer::new(), None),
            1 => {
                mine.0.reset_protection();
                mine.1 = None;
            }
            2 => SHARED.exchange(mine),
            3 => thread::yield_now(),
            4 => crate::sys::sleep(Duration::from_micros(random.below(100))),
            _ => {
                // What was protected before is so no longer.
                let node = mine.0.protect_raw(&SHARED.sources[random.below(SOURCES as u64) as usize]);
                mine.1 = NonNull::new(node).map(name_of);
                protected += 1;
            }
        }
        held.iter().filter_map(|held| held.1).for_each(|name| _ = SHARED.arena.check(name));
    }
    protected
}

/// Replaces and reclaims until told to stop.
fn write(mut random: Random, stop: &AtomicBool) {
    // Relaxed: the flag orders nothing.
    while !stop.load(Ordering::Relaxed) {
        let source = &SHARED.sources[random.below(SOURCES as u64) as usize];
        if !SHARED.replace(source) || random.one_in(200) {
            hazard::reclaim();
        }
    }
}

/// What the torture counts.
#[derive(Default)]
struct Tally {
    rounds: u64,
    protected: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.rounds += other.rounds;
        self.protected += other.protected;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: the threads have been joined.
        let freed = SHARED.arena.freed.load(Ordering::Relaxed);
        write!(f, "{} rounds, {} protections, {freed} objects freed", self.rounds, self.protected)
    }
}

/// Runs all threads for about so long, beside a reader that is stuck; then reclaims everything.
fn round(args: &Storm, random: &mut Random, time: Duration) -> Tally {
    let (stop, start) = (AtomicBool::new(false), Instant::now());
    let mut stuck = HazardPointer::new();
    let name = NonNull::new(stuck.protect_raw(&SHARED.sources[1])).map(name_of);
    let protected = thread::scope(|scope| {
        let stop = &stop;
        let reader = |random| scope.spawn(move || read(random, stop));
        let readers: Vec<_> = (0..args.readers).map(|_| reader(random.split())).collect();
        for _ in 0..args.writers {
            let random = random.split();
            scope.spawn(move || write(random, stop));
        }
        while start.elapsed() < time && violation::found().is_none() {
            crate::sys::sleep(Duration::from_millis(5));
            name.map(|name| SHARED.arena.check(name));
        }
        // Relaxed: the flag orders nothing.
        stop.store(true, Ordering::Relaxed);
        readers.into_iter().map(|reader| reader.join().unwrap_or_else(|_| panicked())).sum()
    });
    drop(stuck);
    *SHARED.post.lock().unwrap_or_else(PoisonError::into_inner) = None;
    drain();
    Tally { rounds: 1, protected }
}

fn panicked() -> u64 {
    report(Kind::Panicked, [0, 0]);
    0
}

/// Frees all that is retired, which nothing protects any more, and counts it.
fn drain() {
    // Objects that end may retire others, fewer each time.
    while hazard::waiting() != 0 && hazard::reclaim() != 0 {}
    // Relaxed, both: the threads have been joined.
    let counts = [&SHARED.arena.retired, &SHARED.arena.freed].map(|count| count.load(Ordering::Relaxed));
    if counts[0] != counts[1] {
        report(Kind::NotFreed, counts);
    }
}

/// Runs the torture. An error is a sentence on what was asked for.
pub fn run(args: &Storm) -> Result<ExitCode, String> {
    storm("hazard", args, round)
}
