//! The robust readers-writer lock, stopped or killed at every instruction: a child is single-stepped
//! by ptrace through its reading or writing, a step further each time. Dead readers are no news and
//! hold nothing; half-written data is announced; waiters are woken; and no reader is inside beside a
//! writer, wherever either was stopped.

#![cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/robust.rs"]
mod robust;
#[path = "../common/robust_rwlock.rs"]
mod rwlock;
#[path = "../common/step.rs"]
mod step;

use common::{Watchdog, eventually, patience};
use robust::{OWNER_DIED, child, gettid, is_in_futex, kill, reap, shared, value};
use rwlock::*;
use step::Trail;

use std::sync::atomic::{AtomicU32, Ordering, compiler_fence};
use std::thread;
use std::time::Duration;

use leeward::robust::{RwLock, RwLockError, WriteGuard};

type Record = RwLock<[u32; 2], 2>;

/// Starts a child that stops where its `work` says so.
fn traced_child(work: impl FnOnce()) -> i32 {
    let child = child(|| {
        assert!(step::let_the_parent_trace());
        // What a thread asks once is asked before.
        drop(shared_rwlock::<u32, 1>().read().unwrap());
        work();
        0
    });
    assert_eq!(step::wait(child).unwrap(), Some(libc::SIGSTOP));
    child
}

/// Stores a mark that processor and compiler leave where it stands among the lock's own accesses,
/// as a debugger sees it.
fn mark(word: &AtomicU32, value: u32) {
    compiler_fence(Ordering::SeqCst);
    word.store(value, Ordering::SeqCst);
    compiler_fence(Ordering::SeqCst);
}

/// Steps the child `count` instructions, or until it stops itself, then kills it.
fn step_and_kill(trail: &mut Trail, child: i32, count: usize) {
    trail.steps(child, count).unwrap();
    kill(child);
    reap(child);
}

/// The state of the lock before a child reads.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Free,
    /// A thread died in the turnstile: the reader goes through it.
    DiedInTurnstile,
    /// Readers died: the reader takes one of their slots.
    DiedReading,
}

impl Before {
    const ALL: [Before; 3] = [Before::Free, Before::DiedInTurnstile, Before::DiedReading];

    fn prepare(self, lock: &'static Record) {
        let words = words(lock);
        // What the one before has left is forgotten: all children find the same.
        words.iter().for_each(|word| word.store(0, Ordering::SeqCst));
        let marked = match self {
            Before::Free => &words[..0],
            Before::DiedInTurnstile => &words[..1],
            Before::DiedReading => &words[1..],
        };
        marked.iter().for_each(|word| word.store(OWNER_DIED, Ordering::SeqCst));
    }
}

/// A reader that is killed holds nothing and is no news, wherever it was.
#[test]
fn a_reader_is_killed() {
    let _dog = Watchdog::within("a_reader_is_killed", 30 * patience());
    let lock = shared_rwlock::<[u32; 2], 2>();
    let soon = Duration::from_millis(100);
    for before in Before::ALL {
        // The slot that a reader tries first is its number's to say, so there are two ways.
        let mut ways = [Trail::default(), Trail::default()];
        while !ways.iter().all(Trail::is_over) {
            before.prepare(lock);
            let reader = traced_child(|| {
                step::stop();
                drop(lock.read().unwrap());
                step::stop();
            });
            let way = &mut ways[reader as usize % 2];
            let at = way.next(1).unwrap_or(1);
            step_and_kill(way, reader, at);
            assert_eq!(write(lock.try_write_for(soon)), "ok", "a reader killed at instruction {at}");
            assert_eq!(read(lock.try_read()), "ok", "a reader killed at instruction {at}");
        }
        let [one, other] = ways.map(|way| way.place());
        println!("{one} and {other} instructions");
        assert!(one > 50 && other > 50);
    }
}

/// A writer that is killed is announced if its record may be half-written, and only then.
#[test]
fn a_writer_is_killed() {
    let _dog = Watchdog::within("a_writer_is_killed", 30 * patience());
    let lock = shared_rwlock::<[u32; 2], 2>();
    let inside = shared::<AtomicU32>();
    let mut told = 0;
    let mut trail = Trail::default();
    while let Some(at) = trail.next(1) {
        mark(inside, 0);
        let writer = traced_child(|| {
            step::stop();
            let mut guard = lock.write().unwrap();
            mark(inside, 1);
            guard.with(|record| {
                // SAFETY: a place of ours; the compiler must not make one store of the two.
                unsafe { (&raw mut record[0]).write_volatile(at as u32) };
                // SAFETY: as above.
                unsafe { (&raw mut record[1]).write_volatile(at as u32) };
            });
            mark(inside, 2);
            drop(guard);
            step::stop();
        });
        step_and_kill(&mut trail, writer, at);
        // By a reader and by a writer, in turn.
        let soon = Duration::from_millis(100);
        let died = match at % 2 {
            0 => lock.try_read_for(soon).err(),
            _ => lock.try_write_for(soon).err(),
        };
        match died {
            Some(RwLockError::OwnerDied(mut guard)) => {
                told += 1;
                guard.set([0, 0]);
                guard.mark_consistent();
            }
            Some(error) => panic!("killed at instruction {at}: {error}"),
            None => {
                assert_ne!(value(inside), 1, "killed at instruction {at}, inside: no thread was told");
                let [one, other] = lock.read().unwrap().get();
                assert_eq!(one, other, "killed at instruction {at}: half a record and no word of it");
            }
        }
        assert_eq!((read(lock.try_read()), write(lock.try_write())), ("ok", "ok"));
        if trail.is_over() {
            println!("{at} instructions, {told} of them with news");
            assert!(told > 10 && at > 100, "{told} of {at}");
            return;
        }
    }
}

/// A writer that is killed while it becomes a reader, wherever it was: the data is whole, and the
/// news are for those only that come before it has said so. A reader dies after that.
#[test]
fn a_writer_is_killed_that_becomes_a_reader() {
    let _dog = Watchdog::within("a_writer_is_killed_that_becomes_a_reader", 30 * patience());
    let lock = shared_rwlock::<[u32; 2], 2>();
    let (mut told, mut is_over) = (0, false);
    let mut trail = Trail::default();
    while let Some(at) = trail.next(1) {
        let writer = traced_child(|| {
            let mut guard = lock.write().unwrap();
            guard.set([at as u32; 2]);
            step::stop();
            let guard = WriteGuard::downgrade(guard).unwrap();
            step::stop();
            drop(guard);
        });
        step_and_kill(&mut trail, writer, at);
        let soon = Duration::from_millis(100);
        match if at % 2 == 0 { lock.try_read_for(soon).err() } else { lock.try_write_for(soon).err() } {
            Some(RwLockError::OwnerDied(mut guard)) => {
                assert!(!is_over, "killed at instruction {at}: news after a death that was none");
                told += 1;
                assert_eq!(guard.get(), [at as u32; 2], "killed at instruction {at}");
                guard.mark_consistent();
            }
            Some(error) => panic!("killed at instruction {at}: {error}"),
            None => is_over |= !trail.has_missed(),
        }
        assert_eq!(lock.read().unwrap().get(), [at as u32; 2], "killed at instruction {at}");
        assert_eq!((read(lock.try_read()), write(lock.try_write())), ("ok", "ok"));
        if trail.is_over() {
            println!("{at} instructions, {told} of them with news");
            assert!(is_over && told > 10 && at > told + 10, "{told} of {at}");
            return;
        }
    }
}

/// What the child does that is killed, or stopped, while others wait.
#[derive(Clone, Copy, PartialEq)]
enum Holder {
    Reads,
    Writes,
    /// It writes, and becomes a reader.
    Downgrades,
}

/// The child is killed at every instruction of its unlock, or of its becoming a reader, while a writer
/// and a reader sleep.
fn unlock_with_waiters(holder_does: Holder) {
    let _dog = Watchdog::within("unlock_with_waiters", 30 * patience());
    let lock = shared_rwlock::<[u32; 2], 2>();
    let mut trail = Trail::default();
    while let Some(at) = trail.next(1) {
        let holder = traced_child(|| {
            if holder_does == Holder::Reads {
                let guard = lock.read().unwrap();
                step::stop();
                drop(guard);
            } else {
                let guard = lock.write().unwrap();
                step::stop();
                if holder_does == Holder::Downgrades {
                    drop(WriteGuard::downgrade(guard).unwrap());
                } else {
                    drop(guard);
                }
            }
            step::stop();
        });
        let (names, through) = ([const { AtomicU32::new(0) }; 2], AtomicU32::new(0));
        thread::scope(|scope| {
            let sleeps = |at: usize| {
                let name = value(&names[at]);
                name != 0 && is_in_futex(name as i32)
            };
            scope.spawn(|| {
                mark(&names[0], gettid() as u32);
                write(lock.write());
                through.fetch_add(1, Ordering::SeqCst);
            });
            eventually("it sleeps", || sleeps(0));
            scope.spawn(|| {
                mark(&names[1], gettid() as u32);
                read(lock.read());
                through.fetch_add(1, Ordering::SeqCst);
            });
            eventually("it sleeps", || sleeps(1));
            step_and_kill(&mut trail, holder, at);
            let start = std::time::Instant::now();
            while value(&through) != 2 {
                if start.elapsed() > patience() {
                    eprintln!("killed at instruction {at}: a waiter sleeps on");
                    std::process::exit(101);
                }
                thread::sleep(Duration::from_micros(50));
            }
        });
        assert_eq!((read(lock.try_read()), write(lock.try_write())), ("ok", "ok"));
        if trail.is_over() {
            println!("{at} instructions");
            assert!(at > 50);
            return;
        }
    }
}

#[test]
fn a_readers_unlock_with_waiters() {
    unlock_with_waiters(Holder::Reads);
}

#[test]
fn a_writers_unlock_with_waiters() {
    unlock_with_waiters(Holder::Writes);
}

#[test]
fn a_writers_becoming_a_reader_with_waiters() {
    unlock_with_waiters(Holder::Downgrades);
}

/// No process is killed: a child is stopped before each instruction of a call that comes in and
/// does not wait; this thread comes in if it can, and the child goes on. Returns how often this
/// thread came in while the child was on its way.
fn stopped_on_its_way(before: Before, is_reader: bool) -> usize {
    let _dog = Watchdog::within("stopped_on_its_way", 30 * patience());
    let mut came_in = 0;
    let mut trail = Trail::default();
    while let Some(at) = trail.next(1) {
        let lock = shared_rwlock::<[u32; 2], 2>();
        before.prepare(lock);
        let said = shared::<AtomicU32>();
        let other = traced_child(|| {
            step::stop();
            let guards = if is_reader { (lock.try_read().ok(), None) } else { (None, lock.try_write().ok()) };
            mark(said, if guards.0.is_some() || guards.1.is_some() { 1 } else { 2 });
            step::stop();
            drop(guards);
            step::stop();
        });
        let on_its_way = trail.steps(other, at).unwrap();
        // The other way round.
        let guards = if is_reader { (None, lock.try_write().ok()) } else { (lock.try_read().ok(), None) };
        if on_its_way {
            assert_eq!(step::go_on(other).unwrap(), Some(libc::SIGSTOP));
        }
        let are_we_in = guards.0.is_some() || guards.1.is_some();
        assert_ne!(value(said), 0);
        assert!(!(are_we_in && value(said) == 1), "stopped at instruction {at}: a reader beside a writer");
        came_in += usize::from(are_we_in);
        drop(guards);
        assert_eq!(step::go_on(other).unwrap(), Some(libc::SIGSTOP));
        assert_eq!((read(lock.try_read()), write(lock.try_write())), ("ok", "ok"));
        kill(other);
        reap(other);
        if trail.is_over() {
            println!("{at} instructions, before {came_in} of which the other came in");
            assert!(at > 20);
            return came_in;
        }
    }
    unreachable!()
}

#[test]
fn a_writer_comes_while_a_reader_enters() {
    assert_ne!(stopped_on_its_way(Before::Free, true), 0);
}

#[test]
fn a_writer_comes_while_a_reader_is_in_the_turnstile() {
    assert_ne!(stopped_on_its_way(Before::DiedInTurnstile, true), 0);
}

#[test]
fn a_writer_comes_while_a_reader_takes_a_dead_ones_slot() {
    assert_ne!(stopped_on_its_way(Before::DiedReading, true), 0);
}

#[test]
fn a_reader_comes_while_a_writer_enters() {
    assert_ne!(stopped_on_its_way(Before::Free, false), 0);
}

/// A child is stopped before each instruction of its becoming a reader; no writer comes in, and readers
/// do once the child is one.
#[test]
fn a_writer_comes_while_another_becomes_a_reader() {
    let _dog = Watchdog::within("a_writer_comes_while_another_becomes_a_reader", 30 * patience());
    let mut came_in = 0;
    let mut trail = Trail::default();
    while let Some(at) = trail.next(1) {
        let lock = shared_rwlock::<[u32; 2], 2>();
        let other = traced_child(|| {
            let mut guard = lock.write().unwrap();
            guard.set([1, 2]);
            step::stop();
            let guard = WriteGuard::downgrade(guard).unwrap();
            step::stop();
            drop(guard);
            step::stop();
        });
        let on_its_way = trail.steps(other, at).unwrap();
        assert_eq!(write(lock.try_write()), "would block", "stopped at instruction {at}: a writer between");
        let reader = lock.try_read();
        came_in += usize::from(reader.is_ok());
        reader.iter().for_each(|reader| assert_eq!(reader.get(), [1, 2]));
        if on_its_way {
            assert_eq!(step::go_on(other).unwrap(), Some(libc::SIGSTOP));
        }
        drop(reader);
        assert_eq!((read(lock.try_read()), write(lock.try_write())), ("ok", "would block"));
        assert_eq!(step::go_on(other).unwrap(), Some(libc::SIGSTOP));
        assert_eq!((read(lock.try_read()), write(lock.try_write())), ("ok", "ok"));
        kill(other);
        reap(other);
        if trail.is_over() {
            println!("{at} instructions, after {came_in} of which a reader came in");
            assert!(at > 20 && came_in > 0);
            return;
        }
    }
}
