//! Models: the grace period, the slots, the tickets, the mutex and the queue, as they ship, under
//! loom. `ci/model` runs them, and demands that the mutants which it lists die.
//!
//! A use after free is a data race on a cell that loom watches: readers read the object that they
//! loaded, writers write to the object that they would free. A lost wake-up is a deadlock, which
//! loom reports as well. Each model states how many preemptions a schedule may have;
//! `LOOM_MAX_PREEMPTIONS` raises that for all. `atomic.rs`, at `fence`, and
//! `futex/backend/model.rs` say what loom cannot see.

mod inlined;
mod life;
mod worker;

use std::vec::Vec;

use loom::cell::UnsafeCell;
use loom::thread;

use super::grace::Steps;
use super::section::qsbr;
use super::{Backing as _, Domain, RcuCell, Reader};
use crate::atomic::{AtomicU32, AtomicUsize, Ordering};
use crate::fence;
use crate::models;
use crate::raw::Mutex;

crate::rcu_domain! {
    /// The models' domain, which is new in each execution.
    struct Model;
}

/// Explores `model` in the schedules with up to `preemptions` preemptions.
fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    models::explore(preemptions, set_up, model);
}

/// Makes all of loom's statics before there is a second thread. (The thread that uses one later
/// synchronizes with the thread that made it, which would hide a missing order.)
fn set_up() {
    let _ = (Model::state(), &*SHELF, &*OTHER, &*CELL);
    fence::light();
    crate::futex::wake(&AtomicU32::new(0), 1);
}

/// A few objects, one of which is published.
struct Shelf {
    published: AtomicUsize,
    objects: [UnsafeCell<bool>; 3],
}

// SAFETY: loom runs one thread at a time, and reports a race as a failure of the model.
unsafe impl Sync for Shelf {}

impl Shelf {
    fn new() -> Shelf {
        Shelf { published: AtomicUsize::new(0), objects: core::array::from_fn(|_| UnsafeCell::new(true)) }
    }

    /// Loads the published object and reads it, as a reader does inside its section.
    fn read(&self) {
        // Acquire: partner of the release in `unlink`.
        let object = self.published.load(Ordering::Acquire);
        // SAFETY: loom reports a thread that writes meanwhile.
        self.objects[object].with(|alive| assert!(unsafe { *alive }, "an object was read after it was freed"));
    }

    /// Publishes the next object, and returns the previous one, which its updater frees.
    ///
    /// A shelf has one updater, which publishes with a store: an exchange would hide a missing
    /// fence after it.
    fn unlink(&self) -> usize {
        // Relaxed: own store.
        let old = self.published.load(Ordering::Relaxed);
        // Release: partner of the acquire in `read`.
        self.published.store(old + 1, Ordering::Release);
        old
    }

    /// Writes to an object, as freeing it would.
    fn free(&self, object: usize) {
        // SAFETY: loom reports a thread that reads meanwhile.
        self.objects[object].with_mut(|alive| unsafe { *alive = false });
    }

    /// Publishes the next object, waits for a grace period and frees the previous one.
    fn update(&self) {
        let old = self.unlink();
        Model::synchronize();
        self.free(old);
    }

    /// Publishes the next object, and frees the previous one if no reader is in the way. Without a
    /// worker, the poll runs the grace period.
    fn try_update(&self) {
        let old = self.unlink();
        let cookie = Model::start_poll();
        if Model::poll_state(&cookie) {
            self.free(old);
        }
    }
}

loom::lazy_static! {
    static ref SHELF: Shelf = Shelf::new();
    static ref OTHER: Shelf = Shelf::new();
    static ref CELL: RcuCell<UnsafeCell<bool>, Model> = RcuCell::new_in(UnsafeCell::new(true));
}

/// A section that reads one shelf.
fn section(reader: &Reader<Model>) {
    let _guard = reader.read();
    SHELF.read();
}

/// A section that reads both shelves.
fn section_of_both(reader: &Reader<Model>) {
    let _guard = reader.read();
    SHELF.read();
    OTHER.read();
}

/// Starts a thread that runs `section` with a reader, which is registered before the thread starts.
fn spawn_reader(section: impl Fn(&Reader<Model>) + 'static) -> thread::JoinHandle<()> {
    let reader = Reader::<Model>::register_in().detach();
    thread::spawn(move || {
        let reader = reader.attach();
        section(&reader);
        // Unregistering has a model of its own.
        core::mem::forget(reader);
    })
}

/// Starts a thread that updates the shelf.
fn spawn_updater(updates: usize) -> thread::JoinHandle<()> {
    thread::spawn(move || (0..updates).for_each(|_| SHELF.update()))
}

#[test]
fn two_sections_and_two_updates() {
    explore(4, || {
        let reader = Reader::<Model>::register_in();
        let updater = spawn_updater(2);
        section(&reader);
        section(&reader);
        core::mem::forget(reader);
        updater.join().unwrap();
    });
}

#[test]
fn two_readers() {
    explore(3, || {
        let readers = [spawn_reader(section), spawn_reader(section)];
        SHELF.update();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

/// Two threads take steps towards one grace period, and whichever finds its ticket served frees.
#[test]
fn steps() {
    loom::lazy_static! { static ref STEPS: Steps = Steps::new(); }
    fn step(ticket: u64) -> bool {
        let grace = &Model::state().grace;
        assert_eq!(grace.step(&STEPS, ticket, || true, |_| ()), Ok(()));
        grace.tickets.is_served(ticket)
    }
    models::explore(
        3,
        || {
            set_up();
            let _ = &*STEPS;
        },
        || {
            let reader = spawn_reader(section);
            let old = SHELF.unlink();
            let ticket = Model::state().grace.tickets.take();
            let other = thread::spawn(move || step(ticket));
            let is_served = step(ticket);
            // The other thread may still be about its step; only one of the two frees.
            if other.join().unwrap() || is_served {
                SHELF.free(old);
            }
            reader.join().unwrap();
        },
    );
}

/// Explores `update`, which updates the first shelf, beside a reader of both shelves and an updater
/// of the other shelf.
fn explore_beside_an_updater(update: impl Fn() + Send + Sync + 'static) {
    explore(3, move || {
        let reader = spawn_reader(section_of_both);
        let updater = thread::spawn(|| OTHER.update());
        update();
        updater.join().unwrap();
        reader.join().unwrap();
    });
}

/// Two callers of `synchronize`, each of which takes the other's grace period for its own where the
/// ticket allows it.
#[test]
fn two_updaters() {
    explore_beside_an_updater(|| SHELF.update());
}

#[test]
fn nested_sections() {
    explore(4, || {
        let reader = Reader::<Model>::register_in();
        let updater = spawn_updater(1);
        {
            let _outer = reader.read();
            drop(reader.read());
            SHELF.read();
        }
        core::mem::forget(reader);
        updater.join().unwrap();
    });
}

/// A reader registers, reads and unregisters while grace periods run; the next takes its slot.
#[test]
fn registering_meanwhile() {
    explore(3, || {
        let updater = spawn_updater(2);
        (0..2).for_each(|_| section(&Reader::register_in()));
        updater.join().unwrap();
    });
}

#[test]
fn quiescent_states() {
    explore(4, || {
        let mut reader = qsbr::Reader::<Model>::register_in();
        let updater = spawn_updater(2);
        SHELF.read();
        reader.quiescent();
        SHELF.read();
        // The reader is offline while its thread waits.
        reader.offline(|| updater.join().unwrap());
        SHELF.read();
    });
}

/// Readers see what a cell publishes whole, and it is its writer's alone after a grace period.
#[test]
fn publishing() {
    explore(4, || {
        let reader = spawn_reader(|reader| {
            let guard = reader.read();
            // SAFETY: loom reports a thread that writes meanwhile.
            CELL.load(&guard).with(|alive| assert!(unsafe { *alive }));
        });
        let new = UnsafeCell::new(false);
        // SAFETY: loom reports a thread that reads before this. (It does not notice `new`.)
        new.with_mut(|alive| unsafe { *alive = true });
        let old = CELL.replace(new).synchronize();
        // SAFETY: loom reports a thread that reads meanwhile.
        old.with_mut(|alive| unsafe { *alive = false });
        reader.join().unwrap();
    });
}

/// No wake-up is lost when three threads call at once.
#[test]
fn three_callers() {
    explore(3, || {
        // Without a registered reader there would be no grace period.
        let reader = Reader::<Model>::register_in();
        let callers: Vec<_> = (0..2).map(|_| thread::spawn(Model::synchronize)).collect();
        Model::synchronize();
        callers.into_iter().for_each(|caller| caller.join().unwrap());
        drop(reader);
    });
}

/// A caller of `synchronize`, and a thread that polls and so runs the grace period if no other
/// thread does.
#[test]
fn polling() {
    explore_beside_an_updater(|| SHELF.try_update());
}

#[test]
fn polling_past_sections() {
    explore(4, || {
        let reader = Reader::<Model>::register_in();
        let updater = thread::spawn(|| (0..2).for_each(|_| SHELF.try_update()));
        section(&reader);
        section(&reader);
        drop(reader);
        updater.join().unwrap();
    });
}

#[test]
fn polling_past_quiescent_states() {
    explore(4, || {
        let mut reader = qsbr::Reader::<Model>::register_in();
        let updater = thread::spawn(|| (0..2).for_each(|_| SHELF.try_update()));
        SHELF.read();
        reader.quiescent();
        SHELF.read();
        drop(reader);
        updater.join().unwrap();
    });
}

/// The slot alone, under a writer reduced to its order of steps. Loom, which takes shortcuts where
/// preemptions are bounded, finds the quiescent store without its release here, and misses it in
/// the models with the whole grace period.
#[test]
fn scanning_past_a_quiescent_state() {
    explore(4, || {
        let reader = qsbr::Reader::<Model>::register_in();
        let updater = thread::spawn(|| {
            let grace = &Model::state().grace;
            let old = SHELF.unlink();
            fence::heavy();
            // Relaxed: as in `Grace::advance`.
            grace.epoch().store(2, Ordering::Relaxed);
            if !grace.registry.slots().any(|slot| slot.is_blocking(2)) {
                fence::heavy();
                SHELF.free(old);
            }
        });
        SHELF.read();
        // This is what `quiescent` does when the epoch has changed. With the comparison before it,
        // loom explores too little.
        reader.slot.quiesce::<fence::Full>(Model::state().grace.epoch());
        SHELF.read();
        drop(reader);
        updater.join().unwrap();
    });
}

#[test]
fn mutual_exclusion() {
    explore(3, || {
        struct Counter(Mutex, UnsafeCell<u32>);
        loom::lazy_static! { static ref COUNTER: Counter = Counter(<Mutex>::new(), UnsafeCell::new(0)); }
        fn count() {
            COUNTER.0.lock();
            // SAFETY: loom reports a thread that is here meanwhile.
            COUNTER.1.with_mut(|count| unsafe { *count += 1 });
            // SAFETY: locked above.
            unsafe { COUNTER.0.unlock() };
        }
        let others: Vec<_> = (0..2).map(|_| thread::spawn(count)).collect();
        count();
        count();
        others.into_iter().for_each(|other| other.join().unwrap());
        // SAFETY: the other threads have ended.
        COUNTER.1.with(|count| assert_eq!(unsafe { *count }, 4));
    });
}

/// What is deferred runs after the readers have left, and before `barrier` returns. (Without a
/// worker, as in `no_std`, a thread that defers or waits runs it.)
#[test]
fn deferring() {
    explore(2, || {
        let reader = spawn_reader(section_of_both);
        let other = thread::spawn(|| {
            let old = OTHER.unlink();
            Model::defer(move || OTHER.free(old));
        });
        let old = SHELF.unlink();
        Model::defer(move || SHELF.free(old));
        Model::barrier();
        // SAFETY: loom reports a callback that runs meanwhile, or that the barrier does not order.
        SHELF.objects[0].with(|alive| assert!(!unsafe { *alive }, "barrier() returned before the callback had run"));
        other.join().unwrap();
        reader.join().unwrap();
    });
}

/// A callback finds what its caller did before it queued it, on any thread, first or after others.
#[test]
fn what_callbacks_carry() {
    fn defer_look(shelf: &'static Shelf) {
        // SAFETY: loom reports a callback that looks meanwhile.
        shelf.objects[1].with_mut(|alive| unsafe { *alive = true });
        // SAFETY: loom reports a callback that does not find what is above.
        Model::defer(|| shelf.objects[1].with(|alive| assert!(unsafe { *alive })));
    }
    explore(3, || {
        let other = thread::spawn(|| defer_look(&OTHER));
        defer_look(&SHELF);
        Model::barrier();
        other.join().unwrap();
    });
}
