//! Locks whose common path is a store: the thread that takes such a lock away from its usual user
//! pays the cost.
//!
//! | lock | common path, free | rare path, pays |
//! |---|---|---|
//! | [`RwLock`] | reading: a store into the thread's own slot | a writer: a heavy fence, a scan of all slots |
//! | [`Mutex`] | locking by the thread that nearly always does | another thread: a heavy fence, a wait for the owner |
//!
//! Take them where the rare path is rare: a heavy fence interrupts the processors that run the
//! process's threads, and takes microseconds on bare processors and up to milliseconds on some
//! virtual machines. [The guide](crate::guide::asymmetric) has the words, the pairs of fences and
//! the rules by which the bias comes and goes.
//!
//! ```
//! use leeward::asym::RwLock;
//! static PREFIXES: RwLock<Vec<&str>> = RwLock::new(Vec::new());
//!
//! PREFIXES.write().push("10.0.0.0/8");
//! std::thread::scope(|scope| {
//!     for _ in 0..4 {
//!         // No read-modify-write, no fence, no cache line that another thread writes.
//!         scope.spawn(|| assert_eq!(PREFIXES.read().len(), 1));
//!     }
//! });
//! ```
//!
//! # Slots
//! A thread has four slots, in a block of 128 bytes that is registered when the thread first needs
//! one (which may allocate) and given back when the thread exits. A slot says which lock its thread
//! is inside of. A thread takes the ordinary lock in each of these locks instead
//! - if it is inside of four such locks already;
//! - if it owns a [`Mutex`] and its first slot is another lock's;
//! - if its thread-local destructors have run, if there is no memory for its block, or while its
//!   block is being made.
//!
//! A global allocator may use these locks if it may be entered again at its first one: a thread's
//! first lock or first read may allocate the thread's block, before the thread has the lock. What
//! the thread locks within that allocation, it locks by the ordinary lock. Nothing is allocated
//! while one of these locks is held.
//!
//! Where no [heavy fence](crate::fence::heavy) is possible, these locks are never biased: they are
//! ordinary locks, at the price of ordinary locks and a few nanoseconds.
//!
//! # Where a lock lies
//! Readers and owners only look at the lock, so its cache line stays with all of them. Data beside
//! it that is written often takes the line away again and again, and a lock that lies across two
//! lines costs writers both: wrap such a lock, with the data that it guards, in a type of your own
//! with `#[repr(align(64))]`.
//!
//! # Guards
//! Guards belong to their thread (`!Send`). A leaked guard keeps its lock taken forever, also when
//! its thread has exited, and occupies one slot. Another lock that comes to lie at the same address
//! is not concerned.
//!
//! # Fork
//! In the child of a fork, locks that other threads read by their slots are no longer read-locked:
//! those threads are not there. Everything else that other threads had locked stays locked, as with
//! any lock. So does what a thread read that was exiting at the fork with a guard in a thread-local
//! variable whose destructor was yet to run: its slots are taken for those of a leaked guard.
//!
//! # Signals
//! These locks are not async-signal-safe.
//!
//! # Aborts
//! A thread that would wait for itself forever ends the process, with a sentence, where one of its
//! slots shows that. This is not a panic: a caller that caught it within `unlocked` would have a
//! guard without the lock.
//!
//! So does a thread that needs a heavy fence to get a lock which its owner or its readers hold by
//! their slots, where such fences have become impossible. Locks take no such owner or readers once a
//! heavy fence was refused.

mod account;
mod chance;
mod drain;
#[cfg(leeward_loom)]
#[path = "local/model.rs"]
mod local;
#[cfg(not(leeward_loom))]
#[path = "local/thread.rs"]
mod local;
#[cfg(not(leeward_loom))]
mod lock_api;
mod lock_id;
#[cfg(all(test, leeward_loom))]
mod loom_tests;
mod mutex;
mod rwlock;
mod rwlock_fair;
mod rwlock_upgrade;
mod rwlock_write;
mod slots;

pub use mutex::RawMutex;
pub use rwlock::RawRwLock;

/// A readers-writer lock whose readers pay what an RCU section pays: a store into their own slot.
///
/// # Cost
/// - Reading, while the lock is open to slots: a store into the thread's own slot and a look at the
///   lock; on leaving, a store and a look at the slot. No fence, no locked instruction, no cache
///   line that others write.
/// - Reading, while it is closed: an ordinary lock ([`raw::RwLock`](crate::raw::RwLock)), a look at
///   the lock before it and a store into the thread's slot.
/// - Writing: an ordinary lock. If readers have opened the lock since the last write, also a
///   [heavy fence](crate::fence::heavy) and a look at each thread's slots.
/// - The lock is closed by a write, and opened by readers once that pays: when the reads since have
///   cost, by the ordinary lock, what makes up for the fence of the next write at least twice, and
///   the reads between two writes do so on average. What a fence takes is measured. So where writes
///   are frequent the lock is an ordinary one, at up to a fifth more than the price of one.
/// - An upgradable read: an ordinary lock, open or closed. Its upgrade: as a write.
///
/// # Fairness
/// A writer closes the way in, and takes the ordinary lock ([`raw::RwLock`](crate::raw::RwLock),
/// whose fairness this one has): readers that come later wait there, however many they are. While
/// its fence is under way, others read by the ordinary lock. Writers that come meanwhile need no
/// fence of their own if they meet it in time.
///
/// # Nested reads
/// A thread may read a lock that it reads already, even if a writer waits: it finds the lock in its
/// slots and counts one more guard. A thread that holds more locks than it has slots cannot tell
/// which they are, so it passes waiting writers in all of them, as
/// [`raw::RwLock::lock_shared_recursive`](crate::raw::RwLock::lock_shared_recursive) does.
///
/// # Upgradable reads
/// One reader at a time may be upgradable: it takes the ordinary lock (a compare-exchange, and one to
/// unlock), shares with readers in their slots, and pays a writer's price when it becomes one. No
/// other writer comes between. Where a thread often reads first to see whether it must write, read
/// first by `read`, then look again by `upgradable_read`.
///
/// # Memory ordering
/// What a writer did under the lock happens before what later readers and writers do under it. What
/// readers did happens before what later writers do.
///
/// # Aborts
/// Writing a lock, or becoming its writer, while the calling thread reads it besides
/// [ends the process](crate::asym#aborts), if a slot shows it; otherwise it waits forever, as does a
/// writer that locks it again. `try_write` and `try_read` return `None` instead.
///
/// # Differences from std
/// - No poisoning: a writer that panics unlocks, and `read` and `write` return guards.
/// - Reads nest, as above. A nested read of std's lock may panic or deadlock.
/// - There are timed variants (`try_read_for`, ...).
/// - The lock has 32 bytes beside the value, and each thread that uses such locks has 128. The
///   lock's id is given at its first slow path, so a lock that was moved stays itself.
///
/// # Differences from `parking_lot`
/// The interface is the same (`lock_api`). A fair unlock of a thread that has the bias is the plain
/// one: the thread that waits for it has the ordinary lock, and newcomers wait behind that.
///
/// # Other locks of this kind
/// - BRAVO (Dave Dice and Alex Kogan, 2019), from which the algorithm is: its readers enter one
///   table, which all locks share, by a compare-exchange. Here each thread has slots of its own,
///   and a heavy fence by the writer makes the reader's store enough.
/// - Folly's `SharedMutex` (4 bytes) keeps its readers in an area that all locks share as well, and
///   begins to do so when it has met concurrent readers. It may be unlocked by another thread; this
///   lock may not.
/// - Linux' `percpu_rw_semaphore` also has no atomic instruction in the reader's path. Its writer
///   waits for an RCU grace period, and each lock has memory for each processor.
/// - Linux' former `brlock` was one lock a processor: readers took their processor's, writers all.
///
/// # Fork, signals
/// [As the module says](crate::asym#fork).
///
/// ```
/// use leeward::asym::{RwLock, RwLockWriteGuard};
/// let lock = RwLock::new(1);
/// {
///     let (one, two) = (lock.read(), lock.read());
///     assert_eq!(*one + *two, 2);
///     assert!(lock.try_write().is_none());
/// }
/// let mut writer = lock.write();
/// *writer = 2;
/// let reader = RwLockWriteGuard::downgrade(writer);
/// assert_eq!(*reader, 2);
/// ```
#[cfg(not(leeward_loom))]
pub type RwLock<T> = ::lock_api::RwLock<RawRwLock, T>;
/// A shared reference to the value of a [`RwLock`] that the thread has locked for reading; dropping
/// it unlocks.
///
/// ```
/// use leeward::asym::{RwLock, RwLockReadGuard};
/// let names = RwLock::new(vec!["one", "two"]);
/// let first = RwLockReadGuard::map(names.read(), |names| &names[0]);
/// assert_eq!(*first, "one");
/// ```
#[cfg(not(leeward_loom))]
pub type RwLockReadGuard<'a, T> = ::lock_api::RwLockReadGuard<'a, RawRwLock, T>;
/// An exclusive reference to the value of a [`RwLock`] that the thread has locked for writing;
/// dropping it unlocks.
///
/// ```
/// use leeward::asym::{RwLock, RwLockWriteGuard};
/// let lock = RwLock::new(1);
/// let mut guard: RwLockWriteGuard<'_, i32> = lock.write();
/// *guard += 1;
/// drop(guard);
/// assert_eq!(*lock.read(), 2);
/// ```
#[cfg(not(leeward_loom))]
pub type RwLockWriteGuard<'a, T> = ::lock_api::RwLockWriteGuard<'a, RawRwLock, T>;

/// A shared reference to the value of a [`RwLock`] that the thread has locked for reading, and may
/// lock for writing before any other thread; dropping it unlocks.
///
/// ```
/// use leeward::asym::{RwLock, RwLockUpgradableReadGuard};
/// static NAMES: RwLock<Vec<&str>> = RwLock::new(Vec::new());
/// let names: RwLockUpgradableReadGuard<'_, _> = NAMES.upgradable_read();
/// if names.is_empty() {
///     RwLockUpgradableReadGuard::upgrade(names).push("one");
/// }
/// assert_eq!(*NAMES.read(), ["one"]);
/// ```
#[cfg(not(leeward_loom))]
pub type RwLockUpgradableReadGuard<'a, T> = ::lock_api::RwLockUpgradableReadGuard<'a, RawRwLock, T>;

/// A shared reference to a part of the value of a [`RwLock`] that the thread has locked for reading;
/// dropping it unlocks.
///
/// ```
/// use leeward::asym::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
/// let names = RwLock::new(vec!["one", "two"]);
/// let first: MappedRwLockReadGuard<'_, str> = RwLockReadGuard::map(names.read(), |names| names[0]);
/// assert_eq!(&*first, "one");
/// ```
#[cfg(not(leeward_loom))]
pub type MappedRwLockReadGuard<'a, T> = ::lock_api::MappedRwLockReadGuard<'a, RawRwLock, T>;
/// An exclusive reference to a part of the value of a [`RwLock`] that the thread has locked for
/// writing; dropping it unlocks.
///
/// ```
/// use leeward::asym::{MappedRwLockWriteGuard, RwLock, RwLockWriteGuard};
/// let limits = RwLock::new([1, 2]);
/// let mut last: MappedRwLockWriteGuard<'_, i32> = RwLockWriteGuard::map(limits.write(), |limits| &mut limits[1]);
/// *last = 3;
/// drop(last);
/// assert_eq!(*limits.read(), [1, 3]);
/// ```
#[cfg(not(leeward_loom))]
pub type MappedRwLockWriteGuard<'a, T> = ::lock_api::MappedRwLockWriteGuard<'a, RawRwLock, T>;

/// A mutex for a lock that one thread takes nearly always: that thread locks and unlocks by stores.
///
/// # Bias
/// The first thread that takes the lock becomes its *owner*: its second lock and all that follow
/// are a store into its own slot. A thread other than the owner takes the bias away, and the lock
/// is an ordinary one ([`raw::Mutex`](crate::raw::Mutex)) until that pays again: until the owner
/// has taken it so often that the stores would have saved twice what the fence cost. Each visit by
/// another thread in the meantime adds a fence's worth. A thread that comes more often than the
/// owner takes its place. What a fence takes is measured, so a lock that threads share ends as an
/// ordinary one, and a lock that is visited rarely, for what a fence costs here, stays biased. An
/// owner that exits leaves its bias to be revoked, or to the next thread that is given its slots.
///
/// # Cost
/// - By the owner: a store into its first slot and a look at the lock; to unlock, a store and a
///   look at the slot. No fence, no locked instruction. An owner that is inside of another lock of
///   this module takes the ordinary lock.
/// - Revoking the bias: a [heavy fence](crate::fence::heavy), and a wait until the owner has left.
/// - Otherwise: an ordinary lock, a store into the thread's slot and a look at the lock before it:
///   up to a fifth more than an ordinary lock.
///
/// # Fairness
/// A revoker waits for the owner to leave once; afterwards as [`raw::Mutex`](crate::raw::Mutex).
///
/// # Memory ordering
/// Everything that was done under the lock before happens before the return of a call that locks.
///
/// # Aborts
/// Locking a mutex that the calling thread holds as its owner [ends the
/// process](crate::asym#aborts). A thread that holds it in any other way waits for itself forever.
/// `try_lock` returns `None`.
///
/// # Debug
/// Formatting the mutex locks it if that is possible at once, so formatting by a thread that is not
/// the owner takes the bias away.
///
/// # Differences from std
/// - No poisoning: a thread that panics unlocks, and `lock` returns a guard.
/// - There are timed variants (`try_lock_for`, ...).
/// - The lock has 40 bytes beside the value, and each thread that uses such locks has 128.
///
/// # Differences from `parking_lot`
/// The interface is the same (`lock_api`). A fair unlock of a thread that has the bias is the plain
/// one: the thread that waits for it has the ordinary lock, and newcomers wait behind that.
///
/// # Fork, signals
/// [As the module says](crate::asym#fork). In the child of a fork, a mutex that another thread was
/// inside of stays locked.
///
/// ```
/// use leeward::asym::Mutex;
/// static JOURNAL: Mutex<Vec<u32>> = Mutex::new(Vec::new());
/// for entry in 0..1000 {
///     JOURNAL.lock().push(entry);     // stores
/// }
/// // Another thread, now and then.
/// std::thread::spawn(|| assert_eq!(JOURNAL.lock().len(), 1000)).join().unwrap();
/// ```
#[cfg(not(leeward_loom))]
pub type Mutex<T> = ::lock_api::Mutex<RawMutex, T>;
/// An exclusive reference to the value of a [`Mutex`] that the thread has locked; dropping it
/// unlocks.
///
/// ```
/// use leeward::asym::{Mutex, MutexGuard};
/// let mutex = Mutex::new(vec![1]);
/// let mut guard: MutexGuard<'_, Vec<i32>> = mutex.lock();
/// guard.push(2);
/// // Unlocks while the closure runs.
/// MutexGuard::unlocked(&mut guard, || assert_eq!(mutex.lock().len(), 2));
/// ```
#[cfg(not(leeward_loom))]
pub type MutexGuard<'a, T> = ::lock_api::MutexGuard<'a, RawMutex, T>;
/// An exclusive reference to a part of the value of a [`Mutex`] that the thread has locked; dropping
/// it unlocks.
///
/// ```
/// use leeward::asym::{MappedMutexGuard, Mutex, MutexGuard};
/// let pair = Mutex::new((1, "one"));
/// let mut number: MappedMutexGuard<'_, i32> = MutexGuard::map(pair.lock(), |pair| &mut pair.0);
/// *number = 2;
/// drop(number);
/// assert_eq!(pair.lock().0, 2);
/// ```
#[cfg(not(leeward_loom))]
pub type MappedMutexGuard<'a, T> = ::lock_api::MappedMutexGuard<'a, RawMutex, T>;
