//! Asymmetric locks in the child of a fork.

#![cfg(target_os = "linux")]
#![allow(missing_docs)]

#[path = "../common/bare.rs"]
mod bare;
#[path = "../common/mod.rs"]
mod common;
#[path = "../common/processes.rs"]
mod processes;

use bare::with_bare_threads;
use common::*;
use processes::is_fine_in_child;

use std::cell::RefCell;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use leeward::asym::{Mutex, RwLock, RwLockReadGuard};

const SHORT: Duration = Duration::from_millis(2);

/// What other threads read by their slots is free in the child; a mutex that they hold is not, nor
/// what exited threads leaked, nor what the forking thread holds.
#[test]
fn what_stays_locked() {
    let _dog = Watchdog::new("what_stays_locked");
    static READ: RwLock<u32> = RwLock::new(1);
    static MINE: RwLock<u32> = RwLock::new(2);
    static LEAKED: RwLock<u32> = RwLock::new(3);
    static LOCKED: Mutex<u32> = Mutex::new(4);
    static BIASED: Mutex<u32> = Mutex::new(5);
    [&READ, &MINE, &LEAKED].iter().for_each(|lock| drop(lock.read()));
    thread::spawn(|| std::mem::forget(LEAKED.read())).join().unwrap();
    let (to_main, ready) = channel();
    let (go, told) = channel::<()>();
    let other = thread::spawn(move || {
        drop((LOCKED.lock(), BIASED.lock()));
        let held = (READ.read(), LOCKED.lock());
        to_main.send(()).unwrap();
        told.recv().unwrap();
        drop(held);
    });
    ready.recv().unwrap();
    let mine = MINE.read();
    assert!(READ.is_locked() && LOCKED.is_locked());
    let is_fine = is_fine_in_child(|| {
        let mut all = vec![!READ.is_locked()];
        all.push(READ.try_write().is_some());
        all.push(*READ.write() == 1);
        all.push(*BIASED.lock() == 5);
        all.push(LOCKED.try_lock().is_none());
        all.push(LOCKED.try_lock_for(SHORT).is_none());
        all.push(LEAKED.try_write_for(SHORT).is_none());
        all.push(*LEAKED.read() == 3);
        all.push(MINE.try_write().is_none());
        let inner = MINE.read();
        drop(mine);
        drop(inner);
        all.push(MINE.try_write().is_some());
        // Threads of the child find blocks.
        let works = || assert!((0..100).all(|_| *READ.read() == 1 && *BIASED.lock() == 5 && MINE.try_read().is_some()));
        all.push(with_bare_threads(20, works, || ()));
        println!("{all:?}");
        all.iter().all(|is_so| *is_so)
    });
    assert!(is_fine);
    // The parent goes on.
    assert!(READ.try_write().is_none() && LOCKED.try_lock().is_none());
    go.send(()).unwrap();
    other.join().unwrap();
    assert!(READ.try_write().is_some() && LOCKED.try_lock().is_some());
}

/// A guard whose thread is past its slots' destructor, and waits there for a message.
struct Late(RefCell<Option<(RwLockReadGuard<'static, u32>, Sender<()>, Receiver<()>)>>);

impl Drop for Late {
    fn drop(&mut self) {
        let Some((guard, exiting, told)) = self.0.take() else { return };
        exiting.send(()).unwrap();
        told.recv().unwrap();
        drop(guard);
    }
}

/// A thread that is exiting, with the guard's destructor yet to run, keeps its read: the child
/// cannot tell it from a leaked guard.
#[test]
fn what_an_exiting_thread_reads() {
    let _dog = Watchdog::new("what_an_exiting_thread_reads");
    static READ: RwLock<u32> = RwLock::new(1);
    thread_local! { static LATE: Late = const { Late(RefCell::new(None)) }; }
    drop(READ.read());
    let ((exiting, is_exiting), (go, told)) = (channel(), channel());
    let other = thread::spawn(move || {
        // Registered before the slots, so destroyed after them.
        LATE.with(|_| ());
        let guard = READ.read();
        LATE.with(|late| *late.0.borrow_mut() = Some((guard, exiting, told)));
    });
    is_exiting.recv().unwrap();
    assert!(READ.is_locked());
    assert!(is_fine_in_child(|| READ.try_write_for(SHORT).is_none() && *READ.read() == 1));
    go.send(()).unwrap();
    other.join().unwrap();
    assert!(READ.try_write().is_some());
}
