//! Readers whose sections were inlined from liburcu's headers: the words that their code accesses,
//! which are a binary interface of liburcu's and not ours.
//!
//! A program that was compiled with those headers has the code of its sections compiled in. It runs on
//! the libraries that stand in for liburcu's (`capi/urcu`), which define the words and say in a
//! [`Served`] where they are. Such a reader and the slots of `slot.rs` are two kinds of readers of one
//! domain: a grace period waits for both.
//!
//! ```text
//! an inlined reader (code of the program)   the leader of a grace period
//! enter  count = copied                     advance  heavy
//!        light                        A              choose an epoch that no count shows
//!        load the pointer                            GLOBAL = epoch; copied = epoch and 1
//!        ... the section ...                scan     load each count; if none blocks: done
//! leave  count -= 1                         arm      futex = -1
//!        light                        C              heavy
//!        load futex; if -1, it is           sleep    load each count; if one blocks still,
//!        set to 0, and one is woken                  sleep while futex is -1
//! ```
//! The pairs A and C are those of `grace.rs`, with other words. Inlined code tests the lower half of a
//! count only, and adds or subtracts 1; so the upper half can hold 32 bits of our epoch, its *era*,
//! where liburcu keeps a phase of one bit and needs two scans. `Grace::unshown` has what happens when
//! eras begin anew. docs/orderings-rcu.md and decision 0067 describe it.

use core::ffi::c_void;

use crate::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering, const_fn, fence};
use crate::mutant::{check, mutated};

/// The value of [`Common::futex`] while the leader of a grace period sleeps, or is about to: -1.
const ASLEEP: u32 = u32::MAX;

/// Readers set [`Common::futex`] to 0 and wake, where they find it `ASLEEP`.
pub(in crate::rcu) const WAKE: u32 = 0;
/// Readers wake nobody: the leader looks again by itself. Threads have pointers to their counts.
pub(in crate::rcu) const WAKE_NOBODY: u32 = 1;
/// Readers announce quiescent states: a count is a copy while the thread is online, and 0 while it is
/// offline. They need wake nobody.
const QUIESCENT: u32 = 2;

/// How many sections a reader has open (lower half), and the era in which the outermost began (upper
/// half). Written by the inlined code of its thread, with plain moves.
#[derive(Debug)]
#[repr(transparent)]
pub struct Count(AtomicU64);

impl Count {
    const_fn! {
        pub(in crate::rcu) fn new(value: u64) -> Count {
            Count(AtomicU64::new(value))
        }
    }

    /// Returns the count if a section is open.
    fn open(&self) -> Option<u64> {
        // Acquire: what the reader did in earlier sections is over. Partner: the store of the inlined
        // code, which is a release as every store of x86-64.
        let seen = self.0.load(Ordering::Acquire);
        (seen as u32 != 0).then_some(seen)
    }

    /// Returns true if a section is open whose era is that of `epoch`.
    fn shows(&self, epoch: u64) -> bool {
        self.open().is_some_and(|seen| seen >> 32 == u64::from(epoch as u32))
    }

    /// Returns true if a grace period that advanced the epoch to `epoch` has to wait for the reader.
    ///
    /// The era is an older one if it is another one: nothing newer than `epoch` was ever published, and
    /// no count that the grace period has to wait for shows `epoch`'s own era (`Grace::unshown`).
    fn is_blocking(&self, epoch: u64) -> bool {
        self.open().is_some_and(|seen| seen >> 32 != u64::from(epoch as u32))
    }

    /// Announces, on the thread itself, that it is online and holds nothing from before `epoch`.
    pub(in crate::rcu) fn announce(&self, epoch: u64) {
        // Release: what the thread read before is over. Partner: the acquire in `open`.
        self.0.store(epoch << 32 | 1, Ordering::Release);
        // SeqCst. Pair A, light half: readers of QSBR execute full fences. Partner: the fence in `heavy`.
        // - If our store comes first, the scan sees this announcement.
        // - If the leader's fence comes first, we see what was unlinked.
        fence(Ordering::SeqCst);
    }

    /// Announces, on the thread itself, that it is offline.
    pub(in crate::rcu) fn withdraw(&self) {
        // Release: as above.
        self.0.store(0, Ordering::Release);
    }

    #[cfg(all(test, leeward_loom))]
    pub(in crate::rcu) fn word(&self) -> &AtomicU64 {
        &self.0
    }

    #[cfg(all(test, leeward_loom))]
    pub(in crate::rcu) fn word_mut(&mut self) -> &mut AtomicU64 {
        &mut self.0
    }
}

/// The words that all inlined readers of a domain share: `urcu_memb_gp` and its like.
#[derive(Debug)]
#[repr(C)]
pub struct Common {
    /// What readers copy when they enter: one open section, and the era.
    copied: AtomicU64,
    /// `ASLEEP`: the leader sleeps. Readers wake it by a call for futexes that processes share.
    futex: AtomicU32,
}

impl Common {
    const_fn! {
        #[cfg_attr(not(leeward_loom), allow(dead_code))]
        pub(in crate::rcu) fn new(epoch: u64) -> Common {
            Common { copied: AtomicU64::new(epoch << 32 | 1), futex: AtomicU32::new(0) }
        }
    }

    /// Publishes the era of `epoch` to readers that enter.
    pub(in crate::rcu) fn publish(&self, epoch: u64) {
        // Relaxed: as the store of the epoch itself, after the heavy fence of pair A.
        self.copied.store(epoch << 32 | 1, Ordering::Relaxed);
    }

    /// Asks readers that leave to wake the leader.
    pub(in crate::rcu) fn raise(&self) {
        // Relaxed: the heavy fence that follows (pair C) orders it.
        self.futex.store(ASLEEP, Ordering::Relaxed);
    }

    /// Withdraws the request.
    pub(in crate::rcu) fn lower(&self) {
        // Relaxed: at worst a reader makes a wake that finds no sleeper.
        if self.futex.load(Ordering::Relaxed) != 0 {
            self.futex.store(0, Ordering::Relaxed);
        }
    }

    /// Returns the word on which the leader sleeps, and its value meanwhile.
    pub(in crate::rcu) fn futex(&self) -> (&AtomicU32, u32) {
        (&self.futex, ASLEEP)
    }

    #[cfg(all(test, leeward_loom))]
    pub(in crate::rcu) fn copied(&self) -> &AtomicU64 {
        &self.copied
    }
}

/// How a domain's inlined readers are served: what a library that stands in for one of liburcu's says
/// of its words, `struct lee_1_inlined` of C.
#[derive(Debug)]
#[repr(C)]
pub struct Served {
    /// The words that the readers share.
    pub common: *const Common,
    /// Finds the calling thread's count; with `WAKE_NOBODY` (1), the thread's pointer to its count, which
    /// is null until the thread is registered.
    pub reader: extern "C" fn() -> *mut c_void,
    /// `WAKE` (0), `WAKE_NOBODY` (1) or `QUIESCENT` (2).
    pub wakes: u32,
}

// SAFETY: never changed, and the words that it points to are atomic.
unsafe impl Sync for Served {}

impl Served {
    /// Returns the words that the readers share.
    pub(in crate::rcu) fn common(&self) -> &Common {
        // SAFETY: `Inlined::serve` is promised that they live as long as the process.
        unsafe { &*self.common }
    }

    /// Returns true if a reader that leaves wakes a leader that sleeps.
    pub(in crate::rcu) fn is_woken(&self) -> bool {
        self.wakes == WAKE
    }

    /// Returns true if readers announce quiescent states.
    pub(in crate::rcu) fn is_quiescent(&self) -> bool {
        self.wakes == QUIESCENT
    }

    /// Returns true if counts lie in the slots, and threads have pointers to them.
    pub(in crate::rcu) fn has_pointers(&self) -> bool {
        self.wakes == WAKE_NOBODY
    }
}

/// A domain's inlined readers, but for what is in its slots. All zeros at first: C programs write a
/// domain's first bytes.
pub(in crate::rcu) struct Inlined {
    /// How they are served; null: there are none.
    served: AtomicPtr<Served>,
    /// Pair S: odd while a leader looks at counts; changed by leaders, one after the other.
    looks: AtomicU64,
    /// The thread that looked last.
    looker: AtomicU64,
}

impl Inlined {
    const_fn! {
        pub(in crate::rcu) fn new() -> Inlined {
            Inlined {
                served: AtomicPtr::new(core::ptr::null_mut()),
                looks: AtomicU64::new(0),
                looker: AtomicU64::new(0),
            }
        }
    }

    /// Returns how inlined readers are served, if they are.
    #[inline]
    pub(in crate::rcu) fn served(&self) -> Option<&'static Served> {
        // Acquire: partner of the release in `serve`.
        let served = self.served.load(Ordering::Acquire);
        // SAFETY: null, or what `serve` stored, which lives as long as the process.
        unsafe { served.cast_const().as_ref() }
    }

    /// Serves inlined readers from now on. A second call changes nothing: the words have one place in
    /// a process.
    ///
    /// # Safety
    /// All that `served` points to lives as long as the process.
    pub(in crate::rcu) unsafe fn serve(&self, served: &'static Served) {
        let this = core::ptr::from_ref(served).cast_mut();
        // Release: what `served` holds. Relaxed on failure: nothing is done.
        let _ = self.served.compare_exchange(core::ptr::null_mut(), this, Ordering::Release, Ordering::Relaxed);
    }

    /// Begins a look at counts, for the leader of a grace period.
    pub(in crate::rcu) fn look(&self, me: u64) -> Look<'_> {
        // Relaxed: only leaders write it, one after the other.
        let number = self.looks.load(Ordering::Relaxed) + 1;
        // Relaxed: ordered by the release below.
        self.looker.store(me, Ordering::Relaxed);
        // Release: a thread that finds the number odd finds who looks. Partner: the acquire in
        // `look_by_another`.
        self.looks.store(number, Ordering::Release);
        Look { inlined: self, number }
    }

    /// Returns the number of the look that another thread than `me` is about.
    pub(in crate::rcu) fn look_by_another(&self, me: u64) -> Option<u64> {
        // Acquire: partner of the release in `look`, for the looker; and of the one in `Look::drop`.
        let number = self.looks.load(Ordering::Acquire);
        // Relaxed: as above. (A handler that interrupted a look of its own thread waits for nothing.)
        (number % 2 == 1 && self.looker.load(Ordering::Relaxed) != me).then_some(number)
    }

    /// Returns true while the look of that number goes on.
    pub(in crate::rcu) fn is_looking(&self, number: u64) -> bool {
        // Acquire: partner of the release in `Look::drop`.
        self.looks.load(Ordering::Acquire) == number
    }

    /// Forgets, in the child of a fork, what leaders of the parent were about.
    pub(in crate::rcu) fn after_fork(&self) {
        // Relaxed: the child has one thread. (If that one is within a look, the end of that stores an
        // even number too.)
        self.looks.store(0, Ordering::Relaxed);
        if let Some(served) = self.served() {
            served.common().lower();
        }
    }
}

/// A look at the counts of inlined readers: meanwhile no count goes whose address the slots held.
pub(in crate::rcu) struct Look<'a> {
    inlined: &'a Inlined,
    number: u64,
}

impl Drop for Look<'_> {
    fn drop(&mut self) {
        // Release: the leader's loads of counts are over. Partner: the acquire in `is_looking`.
        self.inlined.looks.store(self.number + 1, Ordering::Release);
    }
}

/// What a slot has for the inlined sections of its thread. The libraries that stand in for liburcu's look
/// at the first word.
#[repr(C)]
pub(in crate::rcu) struct Reader {
    /// The thread's count; null: the thread has not registered as an inlined reader.
    count: AtomicPtr<Count>,
    /// The count itself, where threads have pointers.
    own: Count,
}

impl Reader {
    const_fn! {
        pub(in crate::rcu) fn new() -> Reader {
            Reader { count: AtomicPtr::new(core::ptr::null_mut()), own: Count::new(0) }
        }
    }

    /// Returns the thread's count, for a leader.
    fn seen<'a>(&self, _: &'a Look<'_>) -> Option<&'a Count> {
        // Acquire: partner of the release in `attach`.
        let count = self.count.load(Ordering::Acquire);
        // SAFETY: null, or a count that lives at least until `Grace::detach` has seen the end of every
        // look that may have found its address (pair S).
        unsafe { count.cast_const().as_ref() }
    }

    /// Returns true if a section of the era of `epoch` is open.
    pub(in crate::rcu) fn shows(&self, look: &Look<'_>, epoch: u64) -> bool {
        self.seen(look).is_some_and(|count| check!(inlined_eras, count.shows(epoch)))
    }

    /// Returns true if a grace period that advanced the epoch to `epoch` has to wait for the reader.
    pub(in crate::rcu) fn is_blocking(&self, look: &Look<'_>, epoch: u64) -> bool {
        self.seen(look)
            .is_some_and(|count| count.is_blocking(epoch) || mutated!(wait_for_zero_only) && count.open().is_some())
    }

    /// Returns true if a section is open. For the slot's own thread.
    pub(in crate::rcu) fn is_inside(&self) -> bool {
        self.open().is_some()
    }

    /// Returns the thread's count if a section is open, or the thread is online. For the slot's own
    /// thread.
    pub(in crate::rcu) fn open(&self) -> Option<&Count> {
        // Relaxed: own word.
        let count = self.count.load(Ordering::Relaxed);
        // SAFETY: null, or the calling thread's count.
        unsafe { count.cast_const().as_ref() }.filter(|count| count.open().is_some())
    }

    /// Announces that the thread is online and holds nothing from before `epoch`. Does nothing unless it
    /// has registered as an inlined reader. For the slot's own thread.
    pub(in crate::rcu) fn announce(&self, epoch: u64) {
        // Relaxed: own word.
        let count = self.count.load(Ordering::Relaxed);
        // SAFETY: null, or the calling thread's count.
        if let Some(count) = unsafe { count.cast_const().as_ref() } {
            count.announce(epoch);
        }
    }

    /// Returns true if the thread has registered as an inlined reader. For the slot's own thread.
    pub(in crate::rcu) fn is_attached(&self) -> bool {
        // Relaxed: own word.
        !self.count.load(Ordering::Relaxed).is_null()
    }

    /// Lets leaders find the calling thread's count.
    ///
    /// # Safety
    /// The count lives until `Grace::detach` was called for the slot.
    pub(in crate::rcu) unsafe fn attach(&self, count: *const Count) {
        // Release: whatever the count holds. Partner: the acquire in `seen`. A leader that misses this
        // store has issued its heavy fence before it, so the reader sees what was unlinked (pair A).
        self.count.store(count.cast_mut(), Ordering::Release);
    }

    /// Lets leaders find the count in the slot itself, and returns it.
    pub(in crate::rcu) fn attach_own(&self) -> *const Count {
        if !self.is_attached() {
            // Relaxed: ordered by the release in `attach`.
            self.own.0.store(0, Ordering::Relaxed);
            // SAFETY: slots live forever.
            unsafe { self.attach(&self.own) };
        }
        &self.own
    }

    /// Lets no leader find the count any more that begins its look from now on. Returns false if
    /// none was to be found before.
    pub(in crate::rcu) fn hide(&self) -> bool {
        // Relaxed: own word.
        let was_attached = !self.count.load(Ordering::Relaxed).is_null();
        // Release: the thread's sections are over for a leader that finds no count. Partner: the acquire in
        // `seen`.
        self.count.store(core::ptr::null_mut(), Ordering::Release);
        was_attached
    }
}
