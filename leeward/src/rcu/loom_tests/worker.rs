//! Models of the worker: threads that queue or wait while it works and goes to sleep. It is the
//! code that ships, round by round, on a thread of the model.

use super::*;
use crate::futex;
use crate::rcu::Backing as _;
use crate::rcu::{Limit, Policy};

loom::lazy_static! {
    pub(super) static ref STOP: AtomicU32 = AtomicU32::new(0);
    pub(super) static ref BELLS: [Bell; 2] = [Bell::new(), Bell::new()];
}

/// A word by which a callback tells the thread that queued it that it runs. That thread does not
/// call `barrier`, which would call the worker again.
pub(super) struct Bell(AtomicU32);

impl Bell {
    fn new() -> Bell {
        Bell(AtomicU32::new(0))
    }

    pub(super) fn ring(&self) {
        // Release: partner of the acquire in `hear`.
        self.0.store(1, Ordering::Release);
        futex::wake(&self.0, 1);
    }

    pub(super) fn hear(&self) {
        // Acquire: partner of the release in `ring`.
        while self.0.load(Ordering::Acquire) == 0 {
            futex::wait(&self.0, 0, futex::Timeout::Never);
        }
    }
}

/// Explores `model` beside a worker, in the schedules with up to `preemptions` preemptions.
fn explore_with_worker(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    explore(preemptions, move || {
        let _ = (&*STOP, &*BELLS);
        let state = Model::state();
        let worker = &state.queue.worker;
        worker.is_there();
        let thread = thread::spawn(move || {
            // Acquire: partner of the release below.
            while STOP.load(Ordering::Acquire) == 0 {
                worker.work_once(state, &state.queue);
            }
        });
        model();
        // Release: partner of the acquire above.
        STOP.store(1, Ordering::Release);
        worker.wake(state, &state.queue);
        thread.join().unwrap();
    });
}

/// Publishes the next object, and frees the previous one in a callback.
fn defer_free(shelf: &'static Shelf) {
    let old = shelf.unlink();
    Model::defer(move || shelf.free(old));
}

/// Asserts that the callback of `defer_free` has run.
fn assert_freed(shelf: &Shelf) {
    // SAFETY: loom reports a callback that runs meanwhile, or that the `barrier` before does not
    // order.
    shelf.objects[0].with(|alive| assert!(!unsafe { *alive }, "barrier() returned before the callback had run"));
}

/// What is queued runs, though no thread asks again: whether the worker works, looks for the last
/// time or sleeps.
#[test]
fn no_call_is_lost() {
    explore_with_worker(2, || {
        let other = thread::spawn(|| {
            Model::defer(|| BELLS[1].ring());
            BELLS[1].hear();
        });
        Model::defer(|| BELLS[0].ring());
        BELLS[0].hear();
        other.join().unwrap();
    });
}

/// Two threads wait for what they queued.
#[test]
fn barriers() {
    explore_with_worker(1, || {
        let other = thread::spawn(|| {
            defer_free(&OTHER);
            Model::barrier();
            assert_freed(&OTHER);
        });
        defer_free(&SHELF);
        Model::barrier();
        assert_freed(&SHELF);
        other.join().unwrap();
    });
}

/// One thread waits again and again: the end of a batch and the thread's going to sleep meet in
/// every way.
#[test]
fn barrier_after_barrier() {
    explore_with_worker(2, || {
        defer_free(&SHELF);
        Model::barrier();
        assert_freed(&SHELF);
        defer_free(&OTHER);
        Model::barrier();
        assert_freed(&OTHER);
    });
}

/// Callers at the limit are woken when there is room.
#[test]
fn at_the_limit() {
    explore_with_worker(2, || {
        Model::set_limit(Limit { callbacks: 1, policy: Policy::WaitForever, ..Limit::default() });
        for _ in 0..2 {
            Model::defer(|| {});
            assert!(Model::stats().callbacks_queued <= 1);
        }
        assert_eq!(Model::stats().over_limit, 0);
    });
}

/// Callers at the limit are woken when the limit is raised.
#[test]
fn raising_the_limit() {
    explore_with_worker(1, || {
        Model::set_limit(Limit { callbacks: 1, policy: Policy::WaitForever, ..Limit::default() });
        let reader = Reader::<Model>::register_in().detach();
        let other = thread::spawn(move || {
            let reader = reader.attach();
            let guard = reader.read();
            Model::set_limit(Limit { callbacks: 2, policy: Policy::WaitForever, ..Limit::default() });
            // Only now may the worker run the first callback: the caller below must not need that.
            BELLS[0].hear();
            drop(guard);
            core::mem::forget(reader);
        });
        Model::defer(|| {});
        Model::defer(|| {});
        BELLS[0].ring();
        other.join().unwrap();
    });
}

/// The worker runs the grace period that is polled for.
#[test]
fn polling() {
    explore_with_worker(3, || {
        let cookie = Model::start_poll();
        while !Model::poll_state(&cookie) {
            thread::yield_now();
        }
    });
}
