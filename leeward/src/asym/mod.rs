//! Locks whose common path is a store: the cost of taking one is moved to who takes it away.
//!
//! | lock | its common path, free | who pays |
//! |---|---|---|
//! | [`RwLock`] | reading: a store into a slot of one's own thread | a writer: a heavy fence, and a look at every thread's slots |
//! | [`Mutex`] | locking by the thread that does so nearly always: the same | another thread: a heavy fence, once; and who had it then |
//!
//! ```
//! use leeward::asym::RwLock;
//! static PREFIXES: RwLock<Vec<&str>> = RwLock::new(Vec::new());
//!
//! PREFIXES.write().push("10.0.0.0/8");
//! std::thread::scope(|scope| {
//!     for _ in 0..4 {
//!         // No read-modify-write, no fence, no line that another thread writes.
//!         scope.spawn(|| assert_eq!(PREFIXES.read().len(), 1));
//!     }
//! });
//! ```
//!
//! # Slots
//! A thread has four slots, in a block of its own that is registered when it first needs one (which
//! may allocate) and given back when it exits. A slot says which lock its thread is inside of.
//! Whoever is inside of four such locks takes further ones by way of the ordinary lock in each; so
//! does the owner of a [`Mutex`] that locks it while its first slot is another lock's, a thread
//! past its thread-local destructors, one for whose block there is no memory, and one whose block
//! is being made.
//!
//! So these locks serve inside a global allocator that may be entered again where it takes its
//! first one: a thread's first lock or first read, before it has the lock, may allocate its block;
//! what it locks within that allocation is locked by way of the ordinary lock. Nothing is allocated
//! while one of them is held.
//!
//! # Guards
//! They belong to their thread (`!Send`). One that is leaked keeps its lock taken for ever, also when its thread has
//! exited, and one slot with it; a lock that comes to lie where the other one was is not concerned.
//!
//! # Forks and signals
//! In the child of a fork, what other threads read by their slots is not locked any more: they are not there. Whatever else
//! they had locked stays so, as with any lock; and what a thread read that was exiting just then, with a guard in a
//! thread-local variable whose destructor was yet to run: its slots are taken for those of a leaked guard. Not async-signal-safe.

mod drain;
#[cfg(leeward_loom)]
#[path = "local/model.rs"]
mod local;
#[cfg(not(leeward_loom))]
#[path = "local/std.rs"]
mod local;
#[cfg(not(leeward_loom))]
mod lock_api;
#[cfg(all(test, leeward_loom))]
mod loom_tests;
mod mutex;
mod rwlock;
mod slots;

pub use mutex::RawMutex;
pub use rwlock::RawRwLock;

/// A readers-writer lock whose readers pay what an RCU section pays.
///
/// # Cost
/// Reading, free path: a store into a slot of one's own thread, a look at the lock, and on leaving a store and a look at
/// the slot; no fence, no locked instruction, no line that is written by others. Writing: what an ordinary lock costs,
/// and if readers came since the last write, a [`heavy`](crate::fence::heavy) fence and a look at each thread's
/// slots. Then readers take the ordinary lock for nine times as long as the fence took (at least 10 µs, at most 100 µs), so
/// that frequent writers pay at most a tenth more than they would without, where a fence takes up to 11 µs. Where it takes a
/// millisecond, as on virtual machines whose interrupts are slow, they pay a fence every tenth of a millisecond.
///
/// # Fairness
/// A writer first has the ordinary lock ([`raw::RwLock`](crate::raw::RwLock), whose fairness this one has), then closes
/// the way in: readers that come later wait there, however many they are.
///
/// # Nested reads
/// A thread may read a lock that it reads already, though a writer waits: it finds the lock in its slots and counts one
/// more guard. A thread that is inside of more locks than it has slots, so that nothing tells which they are,
/// passes waiting writers in all of them, as [`raw::RwLock::lock_shared_recursive`](crate::raw::RwLock::lock_shared_recursive)
/// does.
///
/// # Memory ordering
/// Everything done under the lock by writers before happens before what a reader does, and what readers did before what a
/// writer does after.
///
/// # Aborts
/// Writing a lock that the calling thread reads, if a slot tells so (else it waits for ever). Not a panic: whoever caught
/// it within `unlocked` would have a guard without the lock. Where no [heavy fence](crate::fence::heavy) is possible
/// readers take the ordinary lock, always.
///
/// The algorithm is BRAVO's (Dave Dice and Alex Kogan, 2019), with slots instead of a table, and an asymmetric fence.
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
/// A [`RwLock`] open for reading.
#[cfg(not(leeward_loom))]
pub type RwLockReadGuard<'a, T> = ::lock_api::RwLockReadGuard<'a, RawRwLock, T>;
/// A [`RwLock`] open for writing.
#[cfg(not(leeward_loom))]
pub type RwLockWriteGuard<'a, T> = ::lock_api::RwLockWriteGuard<'a, RawRwLock, T>;

/// A mutex for a lock that one thread takes nearly always.
///
/// # Bias
/// The first thread that takes it is its owner. Its second lock and all that follow are a store into a slot of its own.
/// Another thread that wants the lock revokes that, and it is an ordinary one ([`raw::Mutex`](crate::raw::Mutex)) until
/// some thread has taken it 512 times more in a row without having to wait; that one is the owner then. The number
/// doubles with each revocation, up to 65,536: a lock that threads share ends as an ordinary one, which is revoked once in
/// 65,536 locks at most. An owner that exits leaves its bias to be revoked (or to the next thread that is given its slots).
///
/// # Cost
/// By its owner: a store into the thread's first slot and a look at the lock, and to unlock a store and a look at the slot;
/// no fence, no locked instruction. Inside of another of these locks the owner, too, takes the ordinary one. Revoking: a
/// [`heavy`](crate::fence::heavy) fence, and waiting for the owner to leave. Otherwise: what an ordinary lock costs and
/// some nanoseconds more.
///
/// # Fairness
/// Whoever revokes waits for the owner to leave once; then as [`raw::Mutex`](crate::raw::Mutex).
///
/// # Memory ordering
/// Everything done under the lock before happens before the return.
///
/// # Aborts
/// Locking what the calling thread holds as its owner (in any other way it waits for ever). Not a panic: whoever caught it
/// within `unlocked` would have a guard without the lock. Where no [heavy fence](crate::fence::heavy) is possible it has
/// no owner, and is an ordinary lock.
///
/// # Debug
/// Showing it locks it if that is possible at once: another thread's look takes the bias away.
///
/// ```
/// use leeward::asym::Mutex;
/// static JOURNAL: Mutex<Vec<u32>> = Mutex::new(Vec::new());
/// for entry in 0..1000 {
///     JOURNAL.lock().push(entry);     // stores
/// }
/// // Another thread now and then.
/// std::thread::spawn(|| assert_eq!(JOURNAL.lock().len(), 1000)).join().unwrap();
/// ```
#[cfg(not(leeward_loom))]
pub type Mutex<T> = ::lock_api::Mutex<RawMutex, T>;
/// A locked [`Mutex`].
#[cfg(not(leeward_loom))]
pub type MutexGuard<'a, T> = ::lock_api::MutexGuard<'a, RawMutex, T>;
