//! Histories of calls that several threads made on one list: as a deque, and as a set of keys that
//! readers look for by walks.

use std::time::Duration;

use leeward::collect::List;
use leeward::rcu;

use super::common::Rng;
use super::linearize::*;
use super::recorded::{check_histories, history};

/// The threads, and the calls of each.
const EACH: [usize; 2] = [4, 12];
/// The keys of the set.
const KEYS: u64 = 4;

/// A sequential deque.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Deque(std::collections::VecDeque<u32>);

#[derive(Clone, Debug)]
enum Call {
    PushFront(u32),
    PushBack(u32),
    PopFront,
    PopBack,
    /// Replaces the first value.
    Replace(u32),
    First,
    IsEmpty,
    Clear,
    /// Appends these two.
    Append(u32, u32),
}

#[derive(Clone, PartialEq, Debug)]
enum Answer {
    Done,
    Was(Option<u32>),
    Is(bool),
}

impl Spec for Deque {
    type Call = Call;
    type Answer = Answer;

    fn accepts(&mut self, call: &Call, answer: &Answer) -> bool {
        let own = match *call {
            Call::PushFront(value) => {
                self.0.push_front(value);
                Answer::Done
            }
            Call::PushBack(value) => {
                self.0.push_back(value);
                Answer::Done
            }
            Call::Append(one, other) => {
                self.0.extend([one, other]);
                Answer::Done
            }
            Call::Clear => {
                self.0.clear();
                Answer::Done
            }
            Call::PopFront => Answer::Was(self.0.pop_front()),
            Call::PopBack => Answer::Was(self.0.pop_back()),
            Call::Replace(value) => Answer::Was(self.0.front_mut().map(|first| std::mem::replace(first, value))),
            Call::First => Answer::Was(self.0.front().copied()),
            Call::IsEmpty => Answer::Is(self.0.is_empty()),
        };
        own == *answer
    }
}

fn choose(rng: &mut Rng, value: u32) -> Call {
    match rng.below(16) {
        0..3 => Call::PushFront(value),
        3..5 => Call::PushBack(value),
        5..7 => Call::PopFront,
        7..9 => Call::PopBack,
        9 => Call::Replace(value),
        10..13 => Call::First,
        13 => Call::IsEmpty,
        14 => Call::Clear,
        _ => Call::Append(value, value + 50),
    }
}

fn make(list: &List<u32>, call: Call) -> Answer {
    match call {
        Call::PushFront(value) => list.push_front(value),
        Call::PushBack(value) => list.push_back(value),
        Call::Append(one, other) => list.append(List::from([one, other])),
        Call::Clear => list.clear(),
        Call::PopFront => return Answer::Was(list.pop_front().map(|value| *value)),
        Call::PopBack => return Answer::Was(list.pop_back().map(|value| *value)),
        Call::Replace(value) => {
            return Answer::Was(list.lock().cursor_front().replace(value).ok().map(|old| *old));
        }
        Call::First => return Answer::Was(list.first(&rcu::read()).copied()),
        Call::IsEmpty => return Answer::Is(list.is_empty()),
    }
    Answer::Done
}

/// One key of a set.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Variable(Option<u32>);

#[derive(Clone, Copy, Debug)]
enum OfKey {
    /// By a walk.
    Find(u32),
    /// Inserts, or replaces.
    Put(u32, u32),
    Remove(u32),
}

impl Spec for Variable {
    type Call = OfKey;
    type Answer = Option<u32>;

    fn accepts(&mut self, call: &OfKey, answer: &Option<u32>) -> bool {
        let own = match *call {
            OfKey::Find(_) => self.0,
            OfKey::Put(_, value) => self.0.replace(value),
            OfKey::Remove(_) => self.0.take(),
        };
        own == *answer
    }
}

fn key_of(call: &OfKey) -> u32 {
    match *call {
        OfKey::Find(key) | OfKey::Put(key, _) | OfKey::Remove(key) => key,
    }
}

fn make_of_key(list: &List<(u32, u32)>, call: OfKey) -> Option<u32> {
    let key = key_of(&call);
    if let OfKey::Find(_) = call {
        return list.find(|there| there.0 == key, &rcu::read()).map(|there| there.1);
    }
    let mut locked = list.lock();
    let mut cursor = locked.cursor_front();
    cursor.seek(|there| there.0 >= key);
    let is_there = cursor.current().is_some_and(|there| there.0 == key);
    let old = match call {
        OfKey::Put(_, value) if is_there => cursor.replace((key, value)).ok(),
        OfKey::Put(_, value) => {
            cursor.insert_before((key, value));
            None
        }
        _ if is_there => cursor.remove_current(),
        _ => None,
    };
    old.map(|old| old.1)
}

#[test]
fn histories_are_those_of_a_deque() {
    check_histories("histories of a deque", |seed| {
        let list = List::new();
        check::<Deque>(&history::<Deque>(seed, EACH, choose, |call| make(&list, call)), Duration::from_millis(200))
    });
}

#[test]
fn histories_of_walks_are_those_of_a_set() {
    let choose = |rng: &mut Rng, value| {
        let key = rng.below(KEYS) as u32;
        [OfKey::Find(key), OfKey::Find(key), OfKey::Put(key, value), OfKey::Remove(key)][rng.below(4) as usize]
    };
    check_histories("histories of a set", |seed| {
        // Other values are on the way, and stay.
        let list: List<_> = (10..20).map(|key| (key, 0)).collect();
        let history = history::<Variable>(seed, EACH, choose, |call| make_of_key(&list, call));
        check_by_key::<Variable, _>(&history, key_of, Duration::from_millis(200))
    });
}
