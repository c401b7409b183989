//! One container of each kind, and what threads do with them.

use std::hash::RandomState;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use leeward::collect::hash_map::Operation;
use leeward::collect::{Bounded, HashMap, List, OrderedMap, Queue, Stack, list};
use leeward::rcu::Domain;

use super::super::random::Random;
use super::value::{Value, forget};

/// The keys that all threads write.
const KEYS: u64 = 64;
/// The keys above, which let the maps grow and shrink.
const MANY: u64 = 4000;
/// The key of values in queues and stacks.
const PASSED: u64 = u64::MAX;
/// The room of the bounded queue: full or empty now and then.
const ROOM: usize = 7;

pub struct Containers<D: Domain> {
    pub map: HashMap<u64, Value, RandomState, D>,
    pub ordered: OrderedMap<u64, Value, D>,
    /// In the order of keys.
    list: List<Value, D>,
    queue: Queue<Value>,
    bounded: Bounded<Value>,
    stack: Stack<Value>,
}

impl<D: Domain> Containers<D> {
    pub fn new() -> Self {
        Containers {
            map: HashMap::with_hasher_in(RandomState::new()),
            ordered: OrderedMap::new_in(),
            list: List::new_in(),
            queue: Queue::new(),
            bounded: Bounded::with_capacity(ROOM),
            stack: Stack::new(),
        }
    }

    /// Looks keys up and walks until told to stop. Returns how many values were checked.
    pub fn read(&self, mut random: Random, stop: &AtomicBool) -> u64 {
        let mut checked = 0;
        // Relaxed: the flag orders nothing.
        while !stop.load(Ordering::Relaxed) {
            let guard = D::read();
            let key = random.below(KEYS);
            let found = [self.map.get(&key, &guard), self.ordered.get(&key, &guard)];
            match random.below(64) {
                0 => self.map.iter(&guard).for_each(|(key, value)| value.check(*key)),
                1 => self.ordered.range(key.., &guard).for_each(|(key, value)| value.check(*key)),
                2 => self.ordered.range(..KEYS + key, &guard).rev().for_each(|(key, value)| value.check(*key)),
                3 => crate::sys::sleep(Duration::from_micros(random.below(200))),
                4 => thread::yield_now(),
                5 => self.list.iter(&guard).for_each(Value::check_own),
                _ => {}
            }
            found.into_iter().flatten().for_each(|value| value.check(key));
            checked += 2;
        }
        checked
    }

    /// Stays in one section until told to stop, and checks what it found at first.
    pub fn stay(&self, stop: &AtomicBool) {
        let guard = D::read();
        let found: Vec<_> = self.map.iter(&guard).chain(self.ordered.iter(&guard)).collect();
        // Relaxed: the flag orders nothing.
        while !stop.load(Ordering::Relaxed) {
            found.iter().for_each(|(key, value)| value.check(**key));
            crate::sys::sleep(Duration::from_millis(1));
        }
    }

    /// Lets the maps grow and shrink until told to stop.
    pub fn resize(&self, mut random: Random, stop: &AtomicBool) {
        // Relaxed, here and below: the flag orders nothing.
        while !stop.load(Ordering::Relaxed) {
            let keys = KEYS..KEYS + random.below(MANY);
            for key in keys.clone().take_while(|_| !stop.load(Ordering::Relaxed)) {
                drop(self.map.insert(key, Value::new(key)));
                drop(self.ordered.insert(key, Value::new(key)));
            }
            for key in keys {
                drop(self.map.remove(&key));
                drop(self.ordered.remove(&key));
            }
        }
    }

    /// Starts threads that write a little and exit, until told to stop.
    pub fn come_and_go(&self, mut random: Random, stop: &AtomicBool) {
        // Relaxed: the flag orders nothing.
        while !stop.load(Ordering::Relaxed) {
            let random = random.split();
            thread::scope(|scope| drop(scope.spawn(move || self.write_some(random, 50))));
        }
    }

    /// Writes until told to stop.
    pub fn write(&self, mut random: Random, stop: &AtomicBool) {
        // Relaxed: the flag orders nothing.
        while !stop.load(Ordering::Relaxed) {
            self.write_some(random.split(), 1000);
        }
    }

    /// Makes so many calls. What was removed is kept for a while, waited for, or forgotten.
    pub fn write_some(&self, mut random: Random, count: u64) {
        let (mut kept, mut kept_ordered, mut kept_list) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..count {
            let key = random.below(KEYS);
            let new = || Value::new(key);
            match random.below(16) {
                0..4 => {
                    kept.extend(self.map.insert(key, new()));
                    kept_ordered.extend(self.ordered.insert(key, new()));
                    kept_list.extend(self.list(key, Some(new())));
                }
                4..8 => {
                    kept.extend(self.map.remove(&key));
                    kept_ordered.extend(self.ordered.remove(&key));
                    kept_list.extend(self.list(key, None));
                }
                8 => {
                    kept.extend(self.map.update(key, |_| new()));
                    kept_ordered.extend(self.ordered.update(key, |_| new()));
                }
                9 => self.decide(key, &mut random),
                10 => {
                    self.map.get_or_insert_with(key, new, &D::read()).check(key);
                    drop(self.ordered.try_insert(key, new()));
                }
                11..13 => self.pass(&mut random),
                13 => {
                    kept.drain(..).for_each(|removed| removed.check(*removed.key()));
                    kept_ordered.drain(..).for_each(|removed| removed.check(*removed.key()));
                    kept_list.drain(..).for_each(|removed| removed.check_own());
                }
                14 if random.one_in(20) => kept.pop().into_iter().for_each(forget),
                14 if random.one_in(20) => kept_ordered.pop().into_iter().for_each(forget),
                15 if random.one_in(50) => {
                    kept.pop().into_iter().for_each(|removed| removed.synchronize().1.check_own());
                    kept_ordered.pop().into_iter().for_each(|removed| removed.synchronize().1.check_own());
                    kept_list.pop().into_iter().for_each(|removed| removed.synchronize().check_own());
                    self.map.reclaim();
                    self.list.reclaim();
                }
                _ => {
                    self.map.retain(|other, value| {
                        value.check(*other);
                        *other != key
                    });
                }
            }
        }
    }

    /// Puts a value into its place in the list, or takes that of the key out. Returns what was there.
    fn list(&self, key: u64, value: Option<Value>) -> Option<list::Retired<'_, Value, D>> {
        let mut list = self.list.lock();
        let mut cursor = list.cursor_front();
        cursor.seek(|there| there.key() >= key);
        let is_there = cursor.current().is_some_and(|there| there.key() == key);
        match value {
            Some(value) if is_there => cursor.replace(value).ok(),
            Some(value) => {
                cursor.insert_before(value);
                None
            }
            None if is_there => cursor.remove_current(),
            None => None,
        }
    }

    fn decide(&self, key: u64, random: &mut Random) {
        let operation = random.below(3);
        let decide = |found: Option<(&u64, &Value)>| {
            found.into_iter().for_each(|(key, value)| value.check(*key));
            match operation {
                0 => Operation::Insert(Value::new(key)),
                1 => Operation::Remove,
                _ => Operation::Abort(()),
            }
        };
        self.map.compute(key, decide, &D::read());
    }

    /// Pushes and pops, one as often as the other, or takes all.
    fn pass(&self, random: &mut Random) {
        match random.below(64) {
            0 => self.queue.pop_all().for_each(|value| value.check(PASSED)),
            1 => self.stack.pop_all().for_each(|value| value.check(PASSED)),
            2 => self.bounded.force_push(Value::new(PASSED)).into_iter().for_each(|value| value.check(PASSED)),
            3..32 => {
                let limit = Duration::from_micros(random.below(50));
                let refused = self.bounded.push_for(Value::new(PASSED), limit).err();
                refused.into_iter().for_each(|refused| refused.into_inner().check(PASSED));
                self.queue.push(Value::new(PASSED));
                self.stack.push(Value::new(PASSED));
            }
            _ => {
                let limit = Duration::from_micros(random.below(50));
                let popped = [self.queue.try_pop().value(), self.stack.pop(), self.bounded.pop_for(limit)];
                popped.into_iter().flatten().for_each(|value| value.check(PASSED));
            }
        }
    }

    /// Runs in the child of a fork: uses everything. Returns false if what it wrote is not there.
    pub fn live_on(&self, random: Random) -> bool {
        const OWN: u64 = 1 << 40;
        self.write_some(random, 200);
        for key in OWN..OWN + 200 {
            drop(self.map.insert(key, Value::new(key)));
            drop(self.ordered.insert(key, Value::new(key)));
        }
        let guard = D::read();
        let in_map = self.map.iter(&guard).filter(|(key, _)| **key >= OWN).count();
        let in_ordered = self.ordered.range(OWN.., &guard).count();
        drop(guard);
        let is_there = |key| self.map.remove(&key).is_some() && self.ordered.remove(&key).is_some();
        let are_there = (OWN..OWN + 200).all(is_there);
        self.map.reclaim();
        self.list.reclaim();
        let list = self.list.lock();
        let is_listed = list.iter().inspect(|value| value.check_own()).count() == list.len();
        (in_map, in_ordered, are_there && is_listed) == (200, 200, true)
    }
}
