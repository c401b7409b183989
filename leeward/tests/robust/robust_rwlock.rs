//! The robust readers-writer lock: who is let in beside whom, what the next locker gets after each
//! kind of death, and what a lock is when its memory is garbage.

#![cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64", not(leeward_symmetric)))]
#![allow(missing_docs)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/robust.rs"]
mod robust;
#[path = "../common/robust_rwlock.rs"]
mod rwlock;

use common::*;
use robust::{child, for_ever, gettid, is_in_futex, kill, must_end_well, reap, shared, value, walk};
use rwlock::*;

use std::sync::Mutex as Lock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use leeward::robust::{RwLock, RwLockError};

/// Held by each test that forks: children copy what other tests' threads hold.
static ALONE: Lock<()> = Lock::new(());

const SHORT: Duration = Duration::from_millis(20);

/// Runs `work` on a thread that ends with what it holds, and waits until the kernel has seen it.
fn dies(work: impl FnOnce() + Send) {
    thread::scope(|scope| {
        scope.spawn(work).join().unwrap();
    });
}

#[test]
fn layout() {
    let lock = shared_rwlock::<u64, 2>();
    assert_eq!((size_of::<RwLock<u64, 2>>(), align_of::<RwLock<u64, 2>>()), (256, 64));
    assert_eq!(size_of::<RwLock<u64>>(), 64 * 34);
    assert_eq!(words(lock).len(), 3);
    let mut guard = lock.write().unwrap();
    guard.set(0x1122_3344_5566_7788);
    assert_eq!(held_by(lock), [gettid() as u32, 0, 0]);
    assert_eq!(walk(), [core::ptr::from_ref(lock) as usize]);
    // SAFETY: within the lock, which this thread has.
    assert_eq!(unsafe { core::ptr::from_ref(lock).cast::<u64>().wrapping_add(24).read() }, 0x1122_3344_5566_7788);
    drop(guard);
    assert_eq!(held_by(lock), [0; 3]);
    let (first, second) = (lock.read().unwrap(), lock.read().unwrap());
    assert_eq!(held_by(lock), [0, gettid() as u32, gettid() as u32]);
    assert_eq!(walk().len(), 2);
    // Not in the opposite order.
    drop(first);
    assert_eq!(walk().len(), 1);
    assert_eq!(second.get(), 0x1122_3344_5566_7788);
    drop(second);
    assert_eq!((held_by(lock), walk().len()), (vec![0; 3], 0));
}

#[test]
fn a_writer_keeps_readers_out() {
    static LOCK: RwLock<u64> = RwLock::new(0);
    let mut guard = LOCK.write().unwrap();
    assert_eq!((read(LOCK.read()), write(LOCK.write())), ("would deadlock", "would deadlock"));
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!((read(LOCK.try_read()), write(LOCK.try_write())), ("would block", "would block"));
            assert_eq!(read(LOCK.try_read_for(SHORT)), "timed out");
            assert_eq!(write(LOCK.try_write_for(SHORT)), "timed out");
            assert!(walk().is_empty());
        });
    });
    assert_eq!(walk().len(), 1);
    guard.set(1);
    drop(guard);
    assert_eq!(LOCK.read().unwrap().get(), 1);
    assert_eq!((read(LOCK.try_read()), write(LOCK.try_write())), ("ok", "ok"));
    assert!(walk().is_empty());
}

#[test]
fn readers_keep_a_writer_out() {
    static LOCK: RwLock<u64> = RwLock::new(3);
    let guard = LOCK.read().unwrap();
    assert_eq!((write(LOCK.write()), write(LOCK.try_write())), ("would deadlock", "would deadlock"));
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(write(LOCK.try_write()), "would block");
            assert_eq!(write(LOCK.try_write_for(SHORT)), "timed out");
            assert_eq!(LOCK.try_read().unwrap().get(), 3, "beside another reader");
            assert!(walk().is_empty());
        });
    });
    drop(guard);
    assert_eq!(write(LOCK.try_write()), "ok");
}

/// A writer that waits holds up the readers after it, and a reader that reads already is not let
/// wait for it.
#[test]
fn a_writer_that_waits_is_not_overtaken() {
    let _dog = Watchdog::new("a_writer_that_waits_is_not_overtaken");
    static LOCK: RwLock<u64> = RwLock::new(0);
    let guard = LOCK.read().unwrap();
    let names = [const { AtomicU32::new(0) }; 2];
    thread::scope(|scope| {
        scope.spawn(|| {
            names[0].store(gettid() as u32, Ordering::SeqCst);
            LOCK.write().unwrap().set(1);
        });
        eventually("it sleeps", || value(&names[0]) != 0 && is_in_futex(value(&names[0]) as i32));
        assert_eq!((read(LOCK.read()), read(LOCK.try_read())), ("would deadlock", "would deadlock"));
        scope.spawn(|| {
            assert_eq!(read(LOCK.try_read()), "would block");
            names[1].store(gettid() as u32, Ordering::SeqCst);
            assert_eq!(LOCK.read().unwrap().get(), 1);
        });
        eventually("it sleeps", || value(&names[1]) != 0 && is_in_futex(value(&names[1]) as i32));
        assert_eq!(guard.get(), 0);
        drop(guard);
    });
    assert!(held_by(&LOCK).iter().all(|owner| *owner == 0));
}

/// One reader more than there are slots waits for one that leaves.
#[test]
fn more_readers_than_slots() {
    let _dog = Watchdog::new("more_readers_than_slots");
    static LOCK: RwLock<u64, 2> = RwLock::with_readers(5);
    let guards = (LOCK.read().unwrap(), LOCK.read().unwrap());
    assert_eq!(read(LOCK.read()), "would deadlock");
    let name = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(read(LOCK.try_read()), "would block");
            assert_eq!(read(LOCK.try_read_for(SHORT)), "timed out");
            name.store(gettid() as u32, Ordering::SeqCst);
            assert_eq!(LOCK.read().unwrap().get(), 5);
        });
        eventually("it sleeps", || value(&name) != 0 && is_in_futex(value(&name) as i32));
        drop(guards);
    });
    assert_eq!(write(LOCK.try_write()), "ok");
}

/// A reader that came while all slots were held gets the one that is given up first, whichever that
/// is: its holder unlocks, or dies. The other reader stays, since it may wait for the one that came.
#[test]
fn any_slot_will_do() {
    static LOCK: RwLock<u64, 2> = RwLock::with_readers(5);
    for (is_home, dies) in [(false, false), (true, false), (false, true), (true, true)] {
        let _dog = Watchdog::new("any_slot_will_do");
        let leaves = [const { AtomicU32::new(0) }; 2];
        let [inside, name] = [const { AtomicU32::new(0) }; 2];
        thread::scope(|scope| {
            let holders = leaves.each_ref().map(|leaves| {
                scope.spawn(|| {
                    let guard = LOCK.read().unwrap();
                    inside.fetch_add(1, Ordering::SeqCst);
                    // Which slot it has is seen from outside, so it is told by the slot's number.
                    let slot = held_by(&LOCK)[1..].iter().position(|owner| *owner == gettid() as u32).unwrap();
                    leaves.store(slot as u32 + 2, Ordering::SeqCst);
                    eventually("it may leave", || value(leaves) == 1);
                    if dies {
                        std::mem::forget(guard);
                    }
                })
            });
            eventually("both are inside", || leaves.iter().all(|leaves| value(leaves) >= 2));
            let comer = scope.spawn(|| {
                name.store(gettid() as u32, Ordering::SeqCst);
                let guard = LOCK.read().unwrap();
                assert_eq!(guard.get(), 5);
                inside.fetch_add(1, Ordering::SeqCst);
                let own = held_by(&LOCK)[1..].iter().position(|owner| *owner == gettid() as u32).unwrap();
                own == gettid() as usize % 2
            });
            eventually("it sleeps", || value(&name) != 0 && is_in_futex(value(&name) as i32));
            let home = value(&name) % 2;
            let goes = leaves.iter().position(|leaves| (value(leaves) - 2 == home) == is_home).unwrap();
            leaves[goes].store(1, Ordering::SeqCst);
            eventually("it is inside", || value(&inside) == 3);
            assert_eq!(comer.join().unwrap(), is_home);
            assert!(!holders[1 - goes].is_finished());
            leaves[1 - goes].store(1, Ordering::SeqCst);
            // A slot that was forgotten is free when its thread is gone, which the scope does not wait for.
            holders.into_iter().for_each(|holder| holder.join().unwrap());
        });
        assert_eq!((read(LOCK.try_read()), write(LOCK.try_write())), ("ok", "ok"));
    }
}

/// More slots than the kernel waits for at once, of which one is given up that it does not wait for.
#[test]
fn more_slots_than_can_be_waited_for() {
    let _dog = Watchdog::new("more_slots_than_can_be_waited_for");
    let lock = shared_rwlock::<u64, 130>();
    let mut guards: Vec<_> = (0..130).map(|_| Some(lock.read().unwrap())).collect();
    let name = AtomicU32::new(0);
    thread::scope(|scope| {
        let comer = scope.spawn(|| {
            name.store(gettid() as u32, Ordering::SeqCst);
            lock.read().unwrap().get()
        });
        eventually("it sleeps", || value(&name) != 0 && is_in_futex(value(&name) as i32));
        // The guards of this thread began at its own home.
        let last = (value(&name) as usize + 129 + 130 - gettid() as usize % 130) % 130;
        drop(guards[last].take());
        assert_eq!(comer.join().unwrap(), 0);
    });
    drop(guards);
    assert_eq!(write(lock.try_write()), "ok");
}

/// Readers of this very process and of others: their slots are free again, and no thread is told.
#[test]
fn a_reader_is_killed() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_reader_is_killed");
    let lock = shared_rwlock::<[u64; 2], 2>();
    for _ in 0..20 {
        let inside = shared::<AtomicU32>();
        let readers: Vec<_> = (0..2)
            .map(|_| {
                child(|| {
                    let _guard = lock.read().unwrap();
                    inside.fetch_add(1, Ordering::SeqCst);
                    for_ever()
                })
            })
            .collect();
        eventually("they are inside", || value(inside) == 2);
        assert_eq!((write(lock.try_write()), read(lock.try_read())), ("would block", "would block"));
        readers.iter().for_each(|reader| kill(*reader));
        // Without waiting for their end first: the kernel wakes this thread.
        assert_eq!(write(lock.write()), "ok");
        for reader in readers {
            reap(reader);
        }
        assert_eq!((read(lock.read()), write(lock.write())), ("ok", "ok"));
    }
    dies(|| (0..2).for_each(|_| std::mem::forget(lock.read())));
    assert_eq!((read(lock.read()), write(lock.write())), ("ok", "ok"));
}

/// Slots of readers that died are used again, also by readers that find no writer there.
#[test]
fn slots_of_the_dead() {
    static LOCK: RwLock<u64, 2> = RwLock::with_readers(0);
    for _ in 0..3 {
        dies(|| (0..2).for_each(|_| std::mem::forget(LOCK.read().unwrap())));
        let guards = (LOCK.try_read().unwrap(), LOCK.try_read().unwrap());
        drop(guards);
    }
}

#[test]
fn a_writer_is_killed() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("a_writer_is_killed");
    let lock = shared_rwlock::<[u64; 2], 32>();
    for turn in 0..20 {
        let inside = shared::<AtomicU32>();
        let writer = child(|| {
            let mut guard = lock.write().unwrap();
            guard.with(|record| record[0] = turn + 1);
            inside.store(1, Ordering::SeqCst);
            for_ever()
        });
        eventually("it is inside", || value(inside) == 1);
        assert_eq!((write(lock.try_write()), read(lock.try_read())), ("would block", "would block"));
        kill(writer);
        // Readers and writers get the lock for writing.
        let news = if turn % 2 == 0 { lock.read().err() } else { lock.write().err() };
        let Some(RwLockError::OwnerDied(mut guard)) = news else { panic!("its death was not told") };
        assert_eq!(guard.get(), [turn + 1, turn]);
        assert!(guard.is_inconsistent());
        thread::scope(|scope| {
            scope.spawn(|| assert_eq!(read(lock.try_read()), "would block"));
        });
        guard.with(|record| record[1] = record[0]);
        guard.mark_consistent();
        drop(guard);
        reap(writer);
        assert_eq!((read(lock.read()), write(lock.write())), ("ok", "ok"));
    }
}

#[test]
fn a_writer_that_repairs_is_killed() {
    static LOCK: RwLock<u64> = RwLock::new(0);
    dies(|| std::mem::forget(LOCK.write()));
    dies(|| std::mem::forget(LOCK.write()));
    dies(|| std::mem::forget(LOCK.read()));
    assert_eq!(read(LOCK.read()), "owner died", "and repaired");
    assert_eq!((read(LOCK.read()), write(LOCK.write())), ("ok", "ok"));
}

#[test]
fn a_reader_may_leave_the_repair_to_others() {
    let _dog = Watchdog::new("a_reader_may_leave_the_repair_to_others");
    static LOCK: RwLock<u64> = RwLock::new(0);
    dies(|| std::mem::forget(LOCK.write()));
    for _ in 0..3 {
        let Err(RwLockError::OwnerDied(guard)) = LOCK.read() else { panic!("no news") };
        let name = AtomicU32::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                name.store(gettid() as u32, Ordering::SeqCst);
                // The error is dropped.
                assert!(matches!(LOCK.read(), Err(RwLockError::OwnerDied(_))));
            });
            eventually("it sleeps", || value(&name) != 0 && is_in_futex(value(&name) as i32));
            drop(guard);
        });
    }
    assert!(!LOCK.is_unrecoverable());
    assert_eq!((write(LOCK.write()), read(LOCK.read())), ("owner died", "ok"));
}

/// Also one that gives up on its way in leaves the news.
#[test]
fn the_news_are_kept_by_a_writer_that_gives_up() {
    static LOCK: RwLock<u64> = RwLock::new(0);
    dies(|| std::mem::forget(LOCK.write()));
    // What does not happen while a lock is used as it is meant to be: a reader beside dead writers.
    let slot = words(&LOCK)[1 + gettid() as usize % 32];
    slot.store(gettid() as u32, Ordering::SeqCst);
    assert_eq!(write(LOCK.write()), "would deadlock");
    slot.store(0, Ordering::SeqCst);
    assert_eq!((read(LOCK.read()), read(LOCK.read())), ("owner died", "ok"));
}

#[test]
fn a_writer_that_does_not_repair_makes_it_unusable() {
    let _dog = Watchdog::new("a_writer_that_does_not_repair_makes_it_unusable");
    static LOCK: RwLock<u64> = RwLock::new(0);
    dies(|| std::mem::forget(LOCK.write()));
    let Err(RwLockError::OwnerDied(guard)) = LOCK.write() else { panic!("no news") };
    let names = [const { AtomicU32::new(0) }; 3];
    thread::scope(|scope| {
        for (at, name) in names.iter().enumerate() {
            scope.spawn(move || {
                name.store(gettid() as u32, Ordering::SeqCst);
                let said = if at == 0 { write(LOCK.write()) } else { read(LOCK.read()) };
                assert_eq!(said, "not recoverable");
            });
        }
        eventually("they sleep", || names.iter().all(|name| value(name) != 0 && is_in_futex(value(name) as i32)));
        assert!(!LOCK.is_unrecoverable());
        drop(guard);
    });
    assert!(LOCK.is_unrecoverable());
    assert_eq!((read(LOCK.try_read()), write(LOCK.try_write_for(SHORT))), ("not recoverable", "not recoverable"));
    assert!(walk().is_empty());
}

/// A writer that dies before it is inside, and a reader that dies in the turnstile, changed
/// nothing: the one after them is not told.
#[test]
fn deaths_on_the_way_are_no_news() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("deaths_on_the_way_are_no_news");
    let lock = shared_rwlock::<u64, 1>();
    for is_writer in [true, false] {
        let guard = lock.read().unwrap();
        // It has the writers' lock, and waits for the slot.
        let dead = child(|| match is_writer {
            true => i32::from(write(lock.write()) != "ok"),
            false => i32::from(read(lock.read()) != "ok"),
        });
        eventually("it sleeps", || is_in_futex(dead) && held_by(lock)[0] == dead as u32);
        let after = child(|| i32::from(read(lock.read()) != "ok" || write(lock.write()) != "ok"));
        eventually("it sleeps", || is_in_futex(after));
        kill(dead);
        reap(dead);
        drop(guard);
        must_end_well(after);
    }
}

/// The counts of readers and writers beside one another, in three processes.
#[test]
fn nothing_is_torn_and_nothing_lost() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("nothing_is_torn_and_nothing_lost");
    const EACH: u64 = 4_000;
    let lock = shared_rwlock::<[u64; 2], 2>();
    let work = || {
        for turn in 0..EACH {
            lock.write().unwrap().with(|[one, other]| {
                *one += 1;
                *other += 1;
            });
            for _ in 0..turn % 4 {
                lock.read().unwrap().with(|[one, other]| assert_eq!(one, other));
            }
        }
    };
    let children: Vec<_> = (0..2)
        .map(|_| {
            child(|| {
                work();
                0
            })
        })
        .collect();
    thread::scope(|scope| {
        scope.spawn(work);
        work();
    });
    children.into_iter().for_each(must_end_well);
    assert_eq!(lock.read().unwrap().get(), [4 * EACH; 2]);
    assert!(words(lock).iter().all(|word| value(word) == 0), "no thread is left");
}

/// A word with any value gives an error or a guard, soon.
#[test]
fn garbage() {
    let _dog = Watchdog::new("garbage");
    let lock = shared_rwlock::<u64, 1>();
    let me = gettid() as u32;
    let mut rng = Rng::new(6);
    // More than the kernel gives out, so that no thread has it.
    let nobody = 0x2000_0000;
    let mut garbage = vec![0, 1 << 31, 1 << 30, 3 << 30, nobody, nobody | 1 << 31, (1 << 30) - 1, u32::MAX, me];
    garbage.extend((0..20).map(|_| nobody | rng.next() as u32));
    for word in garbage {
        let is_held = word & ((1 << 30) - 1) != 0;
        let said = if word & ((1 << 30) - 1) == me { "would deadlock" } else { "owner lost" };
        for at in 0..2 {
            words(lock)[at].store(word, Ordering::SeqCst);
            let soon = Duration::from_millis(1);
            let expected = if is_held { said } else { "ok" };
            assert_eq!(write(lock.try_write_for(soon)), expected, "word {at} {word:#x}");
            words(lock)[at].store(word, Ordering::SeqCst);
            assert_eq!(read(lock.try_read_for(soon)), expected, "word {at} {word:#x}");
            assert!(walk().is_empty());
            let owner = word & ((1 << 30) - 1);
            if is_held && owner != me {
                // SAFETY: no thread has that number.
                assert_eq!(unsafe { lock.declare_owner_dead(owner) }, Ok(true));
                assert_eq!((read(lock.read()), write(lock.write())), ("ok", "ok"));
            }
            words(lock).iter().for_each(|word| word.store(0, Ordering::SeqCst));
        }
    }
}

/// The words are overwritten while they are held: their owner takes them off its list.
#[test]
fn overwritten() {
    let lock = shared_rwlock::<u64, 1>();
    for word in [0, 1 << 31, 1 << 30, 0x2000_0000, u32::MAX] {
        for is_writer in [true, false] {
            let guards = if is_writer { (lock.write().ok(), None) } else { (None, lock.read().ok()) };
            assert_eq!(walk().len(), 1);
            words(lock).iter().for_each(|place| place.store(word, Ordering::SeqCst));
            drop(guards);
            assert_eq!((value(words(lock)[usize::from(!is_writer)]), walk().len()), (word, 0));
            words(lock).iter().for_each(|place| place.store(0, Ordering::SeqCst));
        }
    }
}

/// Copies of guards in the child of a fork open nothing.
#[test]
fn copies_of_a_fork() {
    let _alone = alone(&ALONE);
    let _dog = Watchdog::new("copies_of_a_fork");
    let lock = shared_rwlock::<u64, 2>();
    let mut writer = Some(lock.write().unwrap());
    must_end_well(child(|| {
        let mut copy = writer.take().unwrap();
        let panic = panic_of(|| copy.set(666));
        drop(copy);
        let held = read(lock.try_read()) == "would block" && write(lock.try_write()) == "would block";
        i32::from(!(panic.contains("a fork's copy") && held && walk().is_empty()))
    }));
    assert_eq!(writer.take().unwrap().get(), 0);
    let mut reader = Some(lock.read().unwrap());
    must_end_well(child(|| {
        let copy = reader.take().unwrap();
        let panic = panic_of(|| assert_eq!(copy.get(), 0));
        drop(copy);
        let held = read(lock.try_read()) == "ok" && write(lock.try_write()) == "would block";
        i32::from(!(panic.contains("a fork's copy") && held && walk().is_empty()))
    }));
    drop(reader);
    assert_eq!(write(lock.try_write()), "ok");
}
