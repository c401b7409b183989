//! Models of the mutexes and the condition variable, as they ship, under loom. `ci/model` runs
//! them, and demands that the mutants that it lists die.
//!
//! Two holders at a time are a data race on a cell that loom watches; a lost wake-up is a deadlock.

use std::vec::Vec;

use core::time::Duration;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;

use super::super::{Condvar, LightMutex, Lock, Mutex, Plain, Requeue, Scheme, WakeOp};
use crate::atomic::AtomicU32;
use crate::futex::{Deadline, Private, Timeout};
use crate::models;

fn explore(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let set_up = || {
        crate::fence::light();
        crate::futex::wake(&AtomicU32::new(0), 1);
    };
    models::explore(preemptions, set_up, model);
}

/// A lock and the value that it guards.
struct Guarded<L> {
    lock: L,
    value: UnsafeCell<u32>,
}

// SAFETY: loom reports a thread that touches the value without the lock.
unsafe impl<L: Sync> Sync for Guarded<L> {}
// SAFETY: as above.
unsafe impl<L: Send> Send for Guarded<L> {}

impl<L> Guarded<L> {
    fn new(lock: L) -> Arc<Self> {
        Arc::new(Guarded { lock, value: UnsafeCell::new(0) })
    }

    /// Adds one to the value. The caller holds the lock.
    fn add(&self) {
        // SAFETY: loom reports a second holder.
        self.value.with_mut(|value| unsafe { *value += 1 });
    }

    fn get(&self) -> u32 {
        // SAFETY: as above.
        self.value.with(|value| unsafe { *value })
    }
}

impl<L: Lock<Private>> Guarded<L> {
    /// Adds one to the value under the lock.
    fn locked(&self) {
        self.lock.lock();
        self.add();
        // SAFETY: held.
        unsafe { self.lock.unlock() };
    }
}

/// Has `count` threads add `rounds` times each under `lock`, and checks the sum.
fn threads<L: Lock<Private> + Send + Sync + 'static>(lock: L, count: u32, rounds: u32) {
    let guarded = Guarded::new(lock);
    let others: Vec<_> = (1..count)
        .map(|_| {
            let guarded = guarded.clone();
            thread::spawn(move || (0..rounds).for_each(|_| guarded.locked()))
        })
        .collect();
    (0..rounds).for_each(|_| guarded.locked());
    others.into_iter().for_each(|other| other.join().unwrap());
    assert_eq!(guarded.get(), count * rounds);
}

#[test]
fn mutex_two_threads_twice() {
    explore(4, || threads(Mutex::<Private>::new(), 2, 2));
}

#[test]
fn mutex_three_threads() {
    explore(3, || threads(Mutex::<Private>::new(), 3, 1));
}

/// A waiter whose time is up takes no other waiter's wake-up along.
fn one_gives_up<L: Lock<Private> + Send + Sync + 'static>(new: fn() -> L, try_until: fn(&L, Deadline) -> bool) {
    explore(3, move || {
        let guarded = Guarded::new(new());
        let other = {
            let guarded = guarded.clone();
            thread::spawn(move || guarded.locked())
        };
        let hasty = {
            let guarded = guarded.clone();
            thread::spawn(move || {
                if try_until(&guarded.lock, Deadline::at(Duration::ZERO)) {
                    guarded.add();
                    // SAFETY: held.
                    unsafe { guarded.lock.unlock() };
                }
            })
        };
        guarded.locked();
        other.join().unwrap();
        hasty.join().unwrap();
    });
}

#[test]
fn mutex_giving_up() {
    one_gives_up(Mutex::<Private>::new, |lock, deadline| lock.try_lock_until(deadline));
}

#[test]
fn mutex_fair() {
    explore(3, || {
        let guarded = Guarded::new(Mutex::<Private>::new());
        let others: Vec<_> = (0..2)
            .map(|_| {
                let guarded = guarded.clone();
                thread::spawn(move || guarded.locked())
            })
            .collect();
        guarded.lock.lock();
        guarded.add();
        // SAFETY: held.
        unsafe { guarded.lock.unlock_fair() };
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(guarded.get(), 3);
    });
}

#[test]
fn light_mutex_two_threads_twice() {
    explore(4, || threads(LightMutex::new(), 2, 2));
}

#[test]
fn light_mutex_three_threads() {
    explore(3, || threads(LightMutex::new(), 3, 1));
}

#[test]
fn light_mutex_giving_up() {
    one_gives_up(LightMutex::new, |lock, deadline| lock.try_lock_until(deadline));
}

/// A lock, a number of tokens under it, and a condition that there is one.
struct Tokens<S: Scheme, L> {
    tokens: Guarded<L>,
    condition: Condvar<S>,
}

impl<S: Scheme, L: Lock<Private> + Send + Sync + 'static> Tokens<S, L> {
    fn new(lock: L) -> Arc<Self> {
        Arc::new(Tokens { tokens: Guarded { lock, value: UnsafeCell::new(0) }, condition: Condvar::new_in() })
    }

    /// Takes a token, waiting for one.
    fn take(&self) {
        self.tokens.lock.lock();
        while self.tokens.get() == 0 {
            // SAFETY: held; one lock.
            unsafe { self.condition.wait(&self.tokens.lock, Timeout::Never) };
        }
        // SAFETY: loom reports a second holder.
        self.tokens.value.with_mut(|value| unsafe { *value -= 1 });
        // SAFETY: held.
        unsafe { self.tokens.lock.unlock() };
    }

    /// Waits for a notification until the time is up, which is at once.
    fn glance(&self) {
        self.tokens.lock.lock();
        // SAFETY: held; one lock.
        unsafe { self.condition.wait(&self.tokens.lock, Timeout::Now) };
        self.tokens.get();
        // SAFETY: held.
        unsafe { self.tokens.lock.unlock() };
    }

    /// Adds `count` tokens and notifies, with the lock `held` or after unlocking.
    fn give(&self, count: u32, held: bool, notify: impl Fn(&Condvar<S>)) {
        self.tokens.lock.lock();
        (0..count).for_each(|_| self.tokens.add());
        if held {
            notify(&self.condition);
        }
        // SAFETY: held.
        unsafe { self.tokens.lock.unlock() };
        if !held {
            notify(&self.condition);
        }
    }

    fn spawn(tokens: &Arc<Self>, work: fn(&Self)) -> thread::JoinHandle<()> {
        let tokens = tokens.clone();
        thread::spawn(move || work(&tokens))
    }
}

/// Two threads wait and are notified together, with the lock held or after unlocking.
fn notify_all<S: Scheme, L: Lock<Private> + Send + Sync + 'static>(lock: fn() -> L, held: bool) {
    explore(2, move || {
        let tokens = Tokens::<S, L>::new(lock());
        let takers = [Tokens::spawn(&tokens, Tokens::take), Tokens::spawn(&tokens, Tokens::take)];
        tokens.give(2, held, |condition| {
            condition.notify_all();
        });
        takers.into_iter().for_each(|taker| taker.join().unwrap());
    });
}

/// Two threads wait and get one notification each.
fn notify_each<S: Scheme, L: Lock<Private> + Send + Sync + 'static>(lock: fn() -> L, held: bool) {
    explore(2, move || {
        let tokens = Tokens::<S, L>::new(lock());
        let takers = [Tokens::spawn(&tokens, Tokens::take), Tokens::spawn(&tokens, Tokens::take)];
        for _ in 0..2 {
            tokens.give(1, held, |condition| {
                condition.notify_one();
            });
        }
        takers.into_iter().for_each(|taker| taker.join().unwrap());
    });
}

/// One thread waits and one gives up. The notification is for the first. The second may take it
/// only if it was there before the notification, and was all that the notifier saw.
fn giving_up<S: Scheme>() {
    explore(2, || {
        let tokens = Tokens::<S, _>::new(Mutex::<Private>::new());
        let hasty = Tokens::spawn(&tokens, Tokens::glance);
        let taker = Tokens::spawn(&tokens, Tokens::take);
        tokens.give(1, true, |condition| {
            condition.notify_all();
        });
        taker.join().unwrap();
        hasty.join().unwrap();
    });
}

fn heavy_lock() -> Mutex<Private> {
    Mutex::new()
}

macro_rules! models {
    ($($name:ident: $model:ident::<$($argument:ty),*>($($value:expr),*);)*) => {$(
        #[test]
        fn $name() {
            $model::<$($argument),*>($($value),*);
        }
    )*};
}

models! {
    condvar_plain_all_held: notify_all::<Plain, _>(heavy_lock, true);
    condvar_plain_each_held: notify_each::<Plain, _>(heavy_lock, true);
    condvar_plain_giving_up: giving_up::<Plain>();
    condvar_requeue_all_held: notify_all::<Requeue, _>(heavy_lock, true);
    condvar_requeue_all_free: notify_all::<Requeue, _>(heavy_lock, false);
    condvar_requeue_each_held: notify_each::<Requeue, _>(heavy_lock, true);
    condvar_requeue_each_free: notify_each::<Requeue, _>(heavy_lock, false);
    condvar_requeue_giving_up: giving_up::<Requeue>();
    condvar_wake_op_all_held: notify_all::<WakeOp, _>(heavy_lock, true);
    condvar_wake_op_each_free: notify_each::<WakeOp, _>(heavy_lock, false);
    condvar_wake_op_giving_up: giving_up::<WakeOp>();
    condvar_with_a_light_mutex: notify_all::<Requeue, _>(LightMutex::new, true);
}
