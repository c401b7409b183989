//! A model of the engine's queues: the waiters of all words as one list.

use leeward_engine::{Errno, Priority, Scope, Word};

use crate::guest::Guest;

/// A waiter of the model.
pub struct Waiting {
    pub place: usize,
    pub key: u64,
    pub bitset: u32,
    pub priority: Priority,
}

/// The waiters of each word.
#[derive(Default)]
pub struct Model {
    /// The waiters by their priority, and those of one priority in the order in which they came or
    /// were moved.
    queue: Vec<Waiting>,
    /// The waiters that were woken and have not been polled since: the last word of each, and the
    /// bits of the wake.
    pub woken: Vec<(usize, u64, u32)>,
    /// How many locks were unlocked in one call, and how many of them kept the waiters bit.
    pub unlocks: u32,
    pub kept: u32,
}

impl Model {
    /// Returns the model of a thread that waits for each of these words, in this order.
    pub fn of(keys: &[u64]) -> Model {
        let mut model = Model::default();
        for (place, key) in keys.iter().enumerate() {
            model.wait(Waiting { place, key: *key, bitset: u32::MAX, priority: Priority::NORMAL });
        }
        model
    }

    /// Returns how many waiters there are.
    pub fn waiters(&self) -> usize {
        self.queue.len()
    }

    /// Adds a waiter behind those that are as urgent.
    pub fn wait(&mut self, waiting: Waiting) {
        let at = self.queue.partition_point(|this| this.priority <= waiting.priority);
        self.queue.insert(at, waiting);
    }

    /// Returns how many waiters a wake of all would find.
    pub fn count(&self, key: u64, bits: u32) -> u32 {
        self.queue.iter().filter(|this| this.key == key && this.bitset & bits != 0).count() as u32
    }

    pub fn wake(&mut self, key: u64, count: u32, bits: u32) -> u32 {
        let mut woken = 0;
        let mut at = 0;
        while at < self.queue.len() && woken < count {
            let this = &self.queue[at];
            if this.key == key && this.bitset & bits != 0 {
                let this = self.queue.remove(at);
                self.woken.push((this.place, key, bits));
                woken += 1;
            } else {
                at += 1;
            }
        }
        woken
    }

    pub fn requeue(&mut self, from: u64, to: u64, wake: u32, requeue: u32) -> u32 {
        let most = wake.saturating_add(requeue);
        let woken = self.wake(from, wake, u32::MAX);
        let moved = self.count(from, u32::MAX).min(most - woken);
        if from != to {
            for _ in 0..moved {
                let at = self.queue.iter().position(|this| this.key == from).expect("counted");
                let mut this = self.queue.remove(at);
                this.key = to;
                self.wait(this);
            }
        }
        woken + moved
    }

    /// Takes a waiter away, which passes its wake on if it was woken.
    pub fn drop(&mut self, place: usize) {
        self.queue.retain(|this| this.place != place);
        if let Some((key, bits)) = self.polled(place) {
            self.wake(key, 1, bits);
        }
    }

    /// Forgets that a waiter was woken. Returns the word and the bits by which it was, if it was.
    pub fn polled(&mut self, place: usize) -> Option<(u64, u32)> {
        let at = self.woken.iter().position(|this| this.0 == place)?;
        let (_, key, bits) = self.woken.remove(at);
        Some((key, bits))
    }

    /// Returns the last of the places whose waiters were woken.
    pub fn last_woken(&self) -> Option<usize> {
        self.woken.iter().map(|this| this.0).max()
    }
}

/// Returns the name of a word, which does not depend on its size. Names of the two scopes differ.
pub fn name(word: Word) -> Result<u64, Errno> {
    if word.address % word.size.bytes() != 0 {
        return Err(Errno::EINVAL);
    }
    match word.scope {
        _ if word.address >> 47 != 0 => Err(Errno::EFAULT),
        Scope::Private => Ok(1 << 61 | word.address),
        Scope::Shared => Guest::name(word.address).ok_or(Errno::EFAULT),
    }
}
