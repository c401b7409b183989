//! What an operation has at hand: the engine, the calling thread, its space; and how it comes to
//! the bucket of a key.

use core::ptr::NonNull;

use crate::atomic::fence_after_exchange;
use crate::engine::Engine;
use crate::mutant::{mutated, step};
use crate::table::Table;
use crate::table::key::Key;
use crate::table::locked::{BucketRef, Locked};
use crate::table::plan::{BUCKETS_A_THREAD, MOST_BUCKETS, wanted};
use crate::table::resize::LOCK_WORDS_A_LINE;
use crate::table::space::{PrivateTable, TablePin};
use crate::waiter::{Handle, Waiter};
use crate::{Access, Errno, Host, Node, Scope, Space, Word};

/// One call: the engine, the calling thread, its space. Operations are its methods.
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

/// A bucket's lock, and what keeps the bucket the right one.
pub(crate) struct Held<'a, H: Host> {
    // First: given up before the table pin is.
    pub(crate) locked: Locked<'a, H>,
    pub(crate) pin: Option<TablePin<'a, H>>,
}

/// The locks of two keys' buckets, taken in order.
pub(crate) struct HeldTwo<'a, H: Host> {
    pub(crate) first: Locked<'a, H>,
    /// None where both keys have the same bucket.
    pub(crate) second: Option<Locked<'a, H>>,
    pub(crate) pin: Option<TablePin<'a, H>>,
}

impl<'a, H: Host> Call<'a, H> {
    #[inline]
    pub(crate) fn new(engine: &'a Engine<H>, host: &'a H) -> Call<'a, H> {
        Call { engine, host, space: host.space() }
    }

    /// What a word is known by. May sleep, for shared words.
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
        // At most 64 nodes.
        Ok(node.map_or(key, |node| key.at(node % self.engine.config.nodes)))
    }

    /// What an operation on two words, of which the second is written, answers before it does
    /// anything.
    pub(crate) fn check_two(&self, word: Word, on: Word) -> Result<(), Errno> {
        self.key(word, Access::Read)?;
        self.key(on, Access::Write)?;
        Ok(())
    }

    #[inline]
    pub(crate) fn check(&self, word: &Word) -> Result<(), Errno> {
        if word.address & word.node.alignment_mask() != 0 {
            return Err(Errno::EINVAL);
        }
        if !self.host.in_range(word.address) {
            return Err(Errno::EFAULT);
        }
        Ok(())
    }

    /// The table that a key is in, or was, and its hash there: to be looked at, and no more.
    #[inline(always)]
    pub(crate) fn table(&self, key: &Key) -> (&'a Table<H>, u64) {
        if key.is_private() {
            if let PrivateTable::Present(table) = self.space.private_table() {
                return (table, self.space.hash(key));
            }
        }
        self.global(key)
    }

    /// The global table of a key, and its hash there.
    #[inline(always)]
    fn global(&self, key: &Key) -> (&'a Table<H>, u64) {
        let hash = key.hash(self.engine.config.seed);
        (self.engine.node(key, hash).latest(), hash)
    }

    /// Pins the table of private keys; nothing for others.
    #[inline]
    pub(crate) fn pin_table(&self, key: &Key) -> Option<TablePin<'a, H>> {
        key.is_private().then(|| self.space.pin_table())
    }

    /// Where a key is that is to be locked.
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
    pub(crate) fn lock(&self, key: &Key) -> Held<'a, H> {
        self.lock_pinned(self.pin_table(key), key)
    }

    /// Locks a key's bucket, by a call that has pinned the table of private keys.
    #[inline(always)]
    pub(crate) fn lock_pinned(&self, pin: Option<TablePin<'a, H>>, key: &Key) -> Held<'a, H> {
        loop {
            let locked = self.bucket_ref(pin.as_ref(), key).lock(self.host, self.space);
            if !locked.filter().has_migrated() || mutated!(migrated_recheck) {
                return Held { locked, pin };
            }
        }
    }

    /// Locks a key's bucket, in one step with telling wakers that somebody is about to queue there.
    #[inline]
    pub(crate) fn enter(&self, key: &Key) -> Entered<'a, H> {
        let pin = self.pin_table(key);
        loop {
            let locked = self.bucket_ref(pin.as_ref(), key).enter(self.host, self.space);
            if !locked.filter().has_migrated() || mutated!(migrated_recheck) {
                // Pair W (`wake`), the waiter's half, between the exchange that set the filter bit
                // in the lock word and the load of the futex word.
                // - If our fence comes first, the waker sees the bit, takes the lock after us, and
                //   finds the waiter.
                // - If the waker's fence comes first, we see its store to the futex word, and do
                //   not sleep.
                step!(wait_fence, fence_after_exchange());
                return Entered { locked, _pin: pin };
            }
        }
    }

    /// Locks two keys' buckets: smaller ranks first, then by address.
    pub(crate) fn lock_two(&self, first: &Key, second: &Key) -> HeldTwo<'a, H> {
        let pin = self.pin_table(first).or_else(|| self.pin_table(second));
        loop {
            let (a, b) = (self.bucket_ref(pin.as_ref(), first), self.bucket_ref(pin.as_ref(), second));
            let lock = |bucket_ref: BucketRef<'a, H>| bucket_ref.lock(self.host, self.space);
            let (first, second) = match a.order().cmp(&b.order()) {
                core::cmp::Ordering::Equal => (lock(a), None),
                core::cmp::Ordering::Less => {
                    let first = lock(a);
                    (first, Some(lock(b)))
                }
                core::cmp::Ordering::Greater => {
                    let second = lock(b);
                    (lock(a), Some(second))
                }
            };
            let second_migrated = second.as_ref().is_some_and(|second| second.filter().has_migrated());
            if !first.filter().has_migrated() && !second_migrated {
                return HeldTwo { first, second, pin };
            }
        }
    }

    /// Sees to it that the space's table fits its threads.
    #[inline]
    pub(crate) fn fit(&self, key: &Key) {
        if key.is_private() {
            let threads = self.host.threads();
            let enough = (threads as usize).saturating_mul(BUCKETS_A_THREAD);
            match self.space.private_table() {
                // As a rule.
                PrivateTable::Present(table) if table.len() >= enough => (),
                _ => self.engine.reserve_for(self.host, self.space, threads),
            }
        }
    }

    /// A bucket of the key looked crowded: perhaps the table is too small.
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

/// An entered and locked bucket.
pub(crate) struct Entered<'a, H: Host> {
    // In this order: lock, table pin.
    pub(crate) locked: Locked<'a, H>,
    _pin: Option<TablePin<'a, H>>,
}

impl<H: Host> Entered<'_, H> {
    /// Queues a node; whether the bucket looks crowded. If it is not called, the filter bit is gone
    /// with this.
    ///
    /// # Safety
    /// It is idle, and stays where it is until it was woken or has been taken out.
    pub(crate) unsafe fn queue(mut self, node: &Waiter<H>, handle: Handle<H>, key: Key) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.locked.queue(node, handle, key) }
    }

    /// [`queue`](Self::queue) for a node that keeps its handle elsewhere; `beside`: behind that
    /// one, if it is given.
    ///
    /// # Safety
    /// The same.
    pub(crate) unsafe fn place(mut self, node: &Waiter<H>, key: Key, beside: Option<NonNull<Waiter<H>>>) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.locked.place(node, key, beside) }
    }
}
