//! What every operation works with: the engine, the calling thread and its space; and how it finds
//! and locks the bucket of a key. Made by the operations; calls `table`.

use core::ptr::NonNull;

use crate::atomic::fence_after_update;
use crate::engine::Engine;
use crate::mutant::{check, mutated, step};
use crate::table::Table;
use crate::table::key::Key;
use crate::table::locked::{BucketRef, LockedBucket};
use crate::table::plan::{BUCKETS_A_THREAD, MOST_BUCKETS, wanted};
use crate::table::resize::LOCK_WORDS_A_LINE;
use crate::table::space::{PrivateTable, TablePin};
use crate::waiter::{Handle, Waiter};
use crate::{Access, Errno, Fault, Host, Node, Scope, Size, Space, Word};

/// A call of the engine: the engine, the calling thread, its space. Operations are its methods.
pub(crate) struct Call<'a, H: Host> {
    pub(crate) engine: &'a Engine<H>,
    pub(crate) host: &'a H,
    pub(crate) space: &'a Space<H>,
}

impl<H: Host> Clone for Call<'_, H> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<H: Host> Copy for Call<'_, H> {}

/// A held lock of a bucket, and the pin that keeps the bucket's table the right one.
pub(crate) struct HeldOne<'a, H: Host> {
    // The first field: the lock is released before the table pin is.
    pub(crate) locked: LockedBucket<'a, H>,
    pub(crate) pin: Option<TablePin<'a, H>>,
}

/// The held locks of two keys' buckets. The first one is given up first.
pub(crate) struct HeldTwo<'a, H: Host> {
    pub(crate) first: LockedBucket<'a, H>,
    /// `None` where both keys have the same bucket.
    pub(crate) second: Option<LockedBucket<'a, H>>,
    pub(crate) pin: Option<TablePin<'a, H>>,
}

impl<'a, H: Host> Call<'a, H> {
    #[inline]
    pub(crate) fn new(engine: &'a Engine<H>, host: &'a H) -> Call<'a, H> {
        Call { engine, host, space: host.space() }
    }

    /// Returns the key of a word, after the checks of [`check`](Self::check). May sleep, if the
    /// word is shared or names a node.
    #[inline]
    pub(crate) fn key(&self, word: Word, access: Access) -> Result<Key, Errno> {
        self.check(&word)?;
        let node = if word.node == Node::Hashed { None } else { self.named_node(&word)? };
        let key = match word.scope {
            Scope::Private => Key::private(self.space.number(), word.address),
            Scope::Shared => {
                let what = self.host.resolve_shared(word.address, access)?;
                Key::shared(self.space.number(), word.address, what)
            }
        };
        // The configuration has 1 to 64 nodes.
        Ok(node.map_or(key, |node| key.at(node % self.engine.config.nodes)))
    }

    /// Returns the error that an operation on two words, of which the second is written, returns
    /// before it does anything.
    pub(crate) fn check_two(&self, word: Word, on: Word) -> Result<(), Errno> {
        self.key(word, Access::Read)?;
        self.key(on, Access::Write)?;
        Ok(())
    }

    /// Returns the key of a word that must have 32 bits, after the checks of
    /// [`check`](Self::check); a word of another size is `EINVAL`. May sleep like
    /// [`key`](Self::key).
    #[inline]
    pub(crate) fn key_of_u32(&self, word: Word, access: Access) -> Result<Key, Errno> {
        if check!(one_size, word.size != Size::U32) {
            return Err(Errno::EINVAL);
        }
        self.key(word, access)
    }

    /// Returns `EINVAL` for a misaligned word and for one whose size the host does not serve, and
    /// `EFAULT` for an address that is not [in range](Host::in_range).
    #[inline]
    pub(crate) fn check(&self, word: &Word) -> Result<(), Errno> {
        if word.size != Size::U32 && check!(size_served, !self.host.serves(word.size)) {
            return Err(Errno::EINVAL);
        }
        if word.address & word.alignment_mask() != 0 {
            return Err(Errno::EINVAL);
        }
        if !self.host.in_range(word.address) {
            return Err(Errno::EFAULT);
        }
        Ok(())
    }

    /// Reads a word that [`check`](Self::check) has let pass.
    #[inline(always)]
    pub(crate) fn load(&self, word: &Word) -> Result<u64, Fault> {
        // The second condition never holds here. It lets the compiler drop the first one where the
        // host serves 32 bits alone.
        if word.size == Size::U32 || !self.host.serves(word.size) || mutated!(load_size) {
            return self.host.load(word.address).map(u64::from);
        }
        self.host.load_sized(word.address, word.size)
    }

    /// Returns a table that a key is in, or was in before a resize, and the key's hash there.
    /// Callers only read it; a call that locks uses [`bucket_ref`](Self::bucket_ref).
    #[inline(always)]
    pub(crate) fn table(&self, key: &Key) -> (&'a Table<H>, u64) {
        if key.is_private() {
            if let PrivateTable::Present(table) = self.space.private_table() {
                return (table, self.space.hash(key));
            }
        }
        self.global(key)
    }

    /// Returns the global table of a key, and the key's hash there.
    #[inline(always)]
    fn global(&self, key: &Key) -> (&'a Table<H>, u64) {
        let hash = key.hash(self.engine.config.seed);
        (self.engine.node(key, hash).latest(), hash)
    }

    /// Pins the space's table if the key is private; returns `None` for a shared key.
    #[inline]
    pub(crate) fn pin_table(&self, key: &Key) -> Option<TablePin<'a, H>> {
        key.is_private().then(|| self.space.pin_table())
    }

    /// Returns the bucket of a key that the caller is about to lock. A call that takes locks
    /// several times passes the same pin each time.
    #[inline]
    pub(crate) fn bucket_ref(&self, pin: Option<&TablePin<'a, H>>, key: &Key) -> BucketRef<'a, H> {
        match pin {
            _ if mutated!(table_pin) => {
                let (table, hash) = self.table(key);
                table.follow(hash)
            }
            Some(&TablePin::Private(table)) if key.is_private() => table.follow(self.space.hash(key)),
            _ => self.global_bucket_ref(key),
        }
    }

    #[inline(never)]
    fn global_bucket_ref(&self, key: &Key) -> BucketRef<'a, H> {
        let (table, hash) = self.global(key);
        table.follow(hash)
    }

    /// Locks a key's bucket.
    #[inline(never)]
    pub(crate) fn lock(&self, key: &Key) -> HeldOne<'a, H> {
        self.lock_pinned(self.pin_table(key), key)
    }

    /// Locks a key's bucket, for a call that has pinned the table of private keys.
    #[inline(always)]
    pub(crate) fn lock_pinned(&self, pin: Option<TablePin<'a, H>>, key: &Key) -> HeldOne<'a, H> {
        loop {
            let locked = self.bucket_ref(pin.as_ref(), key).lock(self.host, self.space);
            if !check!(migrated_recheck, locked.filter().has_migrated()) {
                return HeldOne { locked, pin };
            }
        }
    }

    /// Locks a key's bucket and, in the same atomic step, sets the key's filter bit: from then on
    /// wakers know that a thread is about to queue there.
    #[inline]
    pub(crate) fn enter(&self, key: &Key) -> Entered<'a, H> {
        let pin = self.pin_table(key);
        loop {
            let locked = self.bucket_ref(pin.as_ref(), key).enter(self.host, self.space);
            if !check!(migrated_recheck, locked.filter().has_migrated()) {
                // Pair W (`wake`), the waiter's half, between the exchange that set the filter bit
                // in the lock word and the load of the futex word.
                // - If our fence comes first, the waker sees the bit, takes the lock after us, and
                //   finds the waiter.
                // - If the waker's fence comes first, we see its store to the futex word, and do
                //   not sleep.
                step!(wait_fence, fence_after_update());
                return Entered { locked, _pin: pin };
            }
        }
    }

    /// Locks two keys' buckets, in the same order in every call: smaller ranks first, then by
    /// address.
    pub(crate) fn lock_two(&self, first: &Key, second: &Key) -> HeldTwo<'a, H> {
        let mut pin = self.pin_table(first).or_else(|| self.pin_table(second));
        loop {
            let (a, b) = (self.bucket_ref(pin.as_ref(), first), self.bucket_ref(pin.as_ref(), second));
            let lock = |bucket_ref: BucketRef<'a, H>| bucket_ref.lock(self.host, self.space);
            let (first, second) = match a.order().cmp(&b.order()) {
                core::cmp::Ordering::Equal => (lock(a), None),
                core::cmp::Ordering::Less => {
                    let mut first = lock(a);
                    let mut second = lock(b);
                    step!(preemption_order, first.ends_before(&mut second));
                    (first, Some(second))
                }
                core::cmp::Ordering::Greater => {
                    let second = lock(b);
                    (lock(a), Some(second))
                }
            };
            let held = HeldTwo { first, second, pin };
            let second_migrated = held.second.as_ref().is_some_and(|second| second.filter().has_migrated());
            if !held.first.filter().has_migrated() && !second_migrated {
                return held;
            }
            // One after the other, as they are given up by the callers.
            let HeldTwo { first, second, pin: same } = held;
            drop(first);
            drop(second);
            pin = same;
        }
    }

    /// Makes the space's private table large enough for its threads, if the key is private.
    #[inline]
    pub(crate) fn fit(&self, key: &Key) {
        if key.is_private() {
            let threads = self.host.threads();
            let enough = (threads as usize).saturating_mul(BUCKETS_A_THREAD);
            match self.space.private_table() {
                // The usual case.
                PrivateTable::Present(table) if table.len() >= enough => (),
                _ => self.engine.reserve_for(self.host, self.space, threads),
            }
        }
    }

    /// Enlarges the table of a key if it is too small. Called where the key's bucket looked
    /// crowded.
    #[cold]
    #[inline(never)]
    pub(crate) fn fit_waiters(&self, key: &Key) {
        match self.space.private_table() {
            PrivateTable::Present(table) if key.is_private() => {
                let enough = wanted(self.host.threads());
                let resize = self.space.resize();
                if table.len() < MOST_BUCKETS && resize.is_crowded(table, self.space.hash(key) as usize) {
                    self.space.enlarge(self.host, 2 * table.len(), 2 * table.len() >= LOCK_WORDS_A_LINE * enough);
                }
            }
            _ => self.engine.fit_global(self.host, key),
        }
    }
}

/// A bucket that was locked to queue a waiter there ([`Call::enter`]).
pub(crate) struct Entered<'a, H: Host> {
    // In this order: the lock is released before the table pin is.
    pub(crate) locked: LockedBucket<'a, H>,
    _pin: Option<TablePin<'a, H>>,
}

impl<H: Host> Entered<'_, H> {
    /// Queues a node, and returns true if the bucket looks crowded. Where `self` is dropped
    /// instead, nothing is queued, and the filter bit goes with the lock.
    ///
    /// # Safety
    /// The node is idle, and is not moved until it was woken or has been taken out.
    pub(crate) unsafe fn queue(mut self, node: &Waiter<H>, handle: Handle<H>, key: Key) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.locked.queue(node, handle, key) }
    }

    /// Queues a node like [`queue`](Self::queue), but one that has its handle already or keeps it
    /// elsewhere. `beside` is a waiter of the same list: the node is put after it, with the same
    /// priority.
    ///
    /// # Safety
    /// The node is idle, and is not moved until it was woken or has been taken out.
    pub(crate) unsafe fn place(mut self, node: &Waiter<H>, key: Key, beside: Option<NonNull<Waiter<H>>>) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.locked.place(node, key, beside) }
    }
}
