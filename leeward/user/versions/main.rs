//! Two versions of leeward in one program, as when two of its dependencies ask for one each: `ci/user`
//! builds it with this tree's library and with a copy of it that has another version. Each works, beside
//! the other and in one another's sections; what is the process's is shared, and what is a version's stays.

use std::thread;

/// The same for each of the two.
macro_rules! version {
    ($module:ident of $version:ident) => {
        mod $module {
            use ::$version::collect::{HashMap, ShardMap};
            use ::$version::fence::{self, Strategy};
            use ::$version::rcu::{self, RcuCell};
            use ::$version::{asym, hazard, sync, task};
            use std::sync::atomic::{AtomicU64, Ordering};
            use std::thread;

            pub static DROPPED: AtomicU64 = AtomicU64::new(0);
            pub static MUTEX: ::$version::robust::Mutex<u64> = ::$version::robust::Mutex::new(0);

            struct Counted(u64);
            impl Drop for Counted {
                fn drop(&mut self) {
                    DROPPED.fetch_add(1, Ordering::Relaxed);
                }
            }

            /// Reads and writes by each part, on two threads.
            pub fn work() {
                let cell = RcuCell::new(Counted(0));
                let (map, shards) = (HashMap::new(), ShardMap::new());
                let (journal, table) = (asym::Mutex::new(0), asym::RwLock::new(0));
                let (mutex, permits, hazards) = (sync::Mutex::new(0), task::Semaphore::new(1), hazard::Cell::new(0));
                let before = DROPPED.load(Ordering::Relaxed);
                thread::scope(|scope| {
                    for _ in 0..2 {
                        scope.spawn(|| {
                            for turn in 0..20 {
                                cell.replace(Counted(turn)).defer();
                                assert!(cell.load(&rcu::read()).0 < 20);
                                drop(map.insert(turn, turn));
                                shards.insert(turn, turn);
                                *journal.lock() += 1;
                                *table.write() += 1;
                                *mutex.lock() += 1;
                                drop(permits.try_acquire());
                                hazards.store(turn);
                                assert!(*hazard::HazardPointer::new().protect(&hazards).unwrap() < 20);
                            }
                        });
                    }
                });
                rcu::barrier();
                assert_eq!(DROPPED.load(Ordering::Relaxed) - before, 40);
                assert_eq!((*journal.lock(), *table.read(), *mutex.lock()), (40, 40, 40));
                assert_eq!((map.len(), shards.len()), (20, 20));
            }

            /// Has another thread inside a section while `work` runs.
            pub fn with_a_reader(work: impl FnOnce()) {
                let guard = rcu::read();
                work();
                drop(guard);
            }

            /// Heavy fences by each strategy that works here.
            pub fn each_strategy() {
                for &strategy in Strategy::ALL {
                    if fence::force(strategy).is_ok() {
                        work();
                    }
                }
            }
        }
    };
}

version! { by_one of one }
version! { by_two of two }

/// A thread that dies with a robust lock of each: both entries are in the thread's one list.
fn robust_locks() {
    thread::spawn(|| {
        std::mem::forget(by_one::MUTEX.lock());
        std::mem::forget(by_two::MUTEX.lock());
    })
    .join()
    .unwrap();
    let (first, second) = (by_one::MUTEX.lock(), by_two::MUTEX.lock());
    assert!(matches!(first, Err(one::robust::LockError::OwnerDied(_))));
    assert!(matches!(second, Err(two::robust::LockError::OwnerDied(_))));
}

/// A region that one makes and the other opens: they agree about its layout.
fn regions() {
    let made = one::shared::Region::<one::shared::Mutex<u64>>::create(1, |_| {}).unwrap();
    let file = made.raw_fd().unwrap();
    // SAFETY: the file is open, and what both have in it is laid out alike.
    let opened = unsafe { two::shared::Region::<two::shared::Mutex<u64>>::from_raw_fd(file, 1) }.unwrap();
    thread::scope(|scope| {
        scope.spawn(|| (0..1_000).for_each(|_| *made.lock() += 1));
        (0..1_000).for_each(|_| *opened.lock() += 1);
    });
    assert_eq!(*made.lock(), 2_000);
    assert_eq!(*opened.lock(), 2_000);
}

/// A child of a fork: both have repaired what is theirs.
fn forks() {
    // SAFETY: the parent has joined its threads.
    match unsafe { fork() } {
        0 => {
            by_one::work();
            by_two::work();
            std::process::exit(0);
        }
        child => {
            let mut status = -1;
            // SAFETY: `status` is ours to write.
            assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0, "the child of a fork");
        }
    }
}

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(child: i32, status: *mut i32, options: i32) -> i32;
}

fn main() {
    by_one::work();
    by_two::work();
    // A section of one is in no grace period's way of the other.
    by_one::with_a_reader(by_two::work);
    by_two::with_a_reader(by_one::work);
    // The signal of one's fences is another than that of the other's.
    by_one::each_strategy();
    by_two::each_strategy();
    by_one::each_strategy();
    robust_locks();
    regions();
    forks();
    println!("two versions: each works beside the other");
}
