//! Models of the worker's life: it is started where a thread needs it, its work fails, it ends or tries
//! again, and another is started; beside threads that queue, wait and await. It is the code that ships,
//! but for the start of the thread and the failure (`worker/model.rs`).

use core::cell::RefCell;

use std::boxed::Box;
use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::worker::{BELLS, STOP};
use super::*;
use crate::futex::{self, Timeout};
use crate::rcu::free::defer::Queue;
use crate::rcu::free::worker::{Start, arrange, fail_next};

loom::lazy_static! {
    static ref WAKES: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];
}

std::thread_local! {
    /// The workers' threads. Not loom's: loom runs one thread at a time, on this one of the system.
    static WORKERS: RefCell<Vec<thread::JoinHandle<()>>> = const { RefCell::new(Vec::new()) };
}

/// Starts a worker on a thread of the model.
fn start(queue: &'static Queue) -> bool {
    let worker = thread::spawn(move || {
        // Acquire: partner of the release in `explore_lives`.
        queue.live(|| STOP.load(Ordering::Acquire) == 0);
    });
    WORKERS.with_borrow_mut(|workers| workers.push(worker));
    true
}

/// Explores `model`, in which workers are started by `start` and the next `failures` turns of their work
/// fail, which ends the worker if it `ends`.
fn explore_lives(
    preemptions: usize,
    start: Start,
    (failures, ends): (u32, bool),
    model: impl Fn() + Send + Sync + 'static,
) {
    explore(preemptions, move || {
        let _ = (&*STOP, &*BELLS, &*WAKES);
        // Those of an execution that was broken off.
        WORKERS.take();
        arrange(Some(start));
        fail_next(failures, ends);
        model();
        // The worker that is there now ends, and no other begins. Release: partner of the acquire in
        // `start`.
        STOP.store(1, Ordering::Release);
        arrange(None);
        let state = Model::state();
        state.queue.worker.wake(state, &state.queue);
        WORKERS.take().into_iter().for_each(|worker| worker.join().unwrap());
    });
}

/// Wakes the thread that sleeps on a word.
struct Rings(usize);

impl Wake for Rings {
    fn wake(self: Arc<Self>) {
        // Release: partner of the acquire in `block_on`.
        WAKES[self.0].fetch_add(1, Ordering::Release);
        futex::wake(&WAKES[self.0], 1);
    }
}

/// Runs a future on this thread, which sleeps on the word `at` while the future is pending.
fn block_on<F: Future>(future: F, at: usize) -> F::Output {
    let mut future = Box::pin(future);
    let waker = Waker::from(Arc::new(Rings(at)));
    loop {
        // Acquire, both: partner of the release in `wake`.
        let seen = WAKES[at].load(Ordering::Acquire);
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return output;
        }
        while WAKES[at].load(Ordering::Acquire) == seen {
            futex::wait(&WAKES[at], seen, Timeout::Never);
        }
        // A task that was woken by its own poll is busy: loom must be told to let others run.
        thread::yield_now();
    }
}

/// A worker whose work fails tries again: what was announced to it is not forgotten.
#[test]
fn a_worker_that_fails_and_stays() {
    explore_lives(3, start, (1, false), || {
        Model::defer(|| BELLS[0].ring());
        BELLS[0].hear();
    });
}

/// A worker ends, and the thread that it was started for goes on without it, or starts another.
#[test]
fn a_worker_that_ends() {
    explore_lives(3, start, (1, true), || {
        let cookie = Model::start_poll();
        while !Model::poll_state(&cookie) {
            thread::yield_now();
        }
    });
}

/// A worker ends while the task that it was started for goes to sleep.
#[test]
fn a_task_and_a_worker_that_ends() {
    explore_lives(3, start, (1, true), || block_on(Model::synchronize_async(), 0));
}

/// No worker can be started: two tasks, each of which may find the other about it.
#[test]
fn tasks_without_a_worker() {
    explore_lives(
        2,
        |_| false,
        (0, false),
        || {
            let other = thread::spawn(|| {
                let old = OTHER.unlink();
                block_on(Model::synchronize_async(), 1);
                OTHER.free(old);
            });
            let reader = spawn_reader(section_of_both);
            let old = SHELF.unlink();
            block_on(Model::synchronize_async(), 0);
            SHELF.free(old);
            other.join().unwrap();
            reader.join().unwrap();
        },
    );
}

/// A task, served by a worker that is started for it.
#[test]
fn a_task() {
    explore_lives(2, start, (0, false), || {
        let reader = spawn_reader(section);
        let old = SHELF.unlink();
        block_on(Model::synchronize_async(), 0);
        SHELF.free(old);
        reader.join().unwrap();
    });
}
