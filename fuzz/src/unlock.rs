//! Waits for words of all sizes, and robust locks that are unlocked in one call beside them. The
//! answers are those of a plain reading of the calls, with a model of the queues; so is what memory
//! holds afterwards. No waiter is left in a list.

use std::rc::Rc;

use leeward_engine::{Config, Engine, Errno, Heap, Host, ParkEnd, RobustUnlock, Size, WaitAny, WaitEntry, Word};

use crate::action::{Action, ENDS, beside_a_sleep, count};
use crate::guest::{Guest, PAGE};
use crate::model::name;
use crate::sequences::{Choices, check_input};

/// The number of calls of one input.
const CALLS: usize = 12;
const SIZES: [Size; 4] = [Size::U8, Size::U16, Size::U32, Size::U64];
const UNLOCKS: [RobustUnlock; 5] = [
    RobustUnlock::StoreZero,
    RobustUnlock::KeepWaiters,
    RobustUnlock::Absent,
    RobustUnlock::StoreZero,
    RobustUnlock::KeepWaiters,
];

/// What an input came to.
#[derive(Default, Clone, Copy)]
pub struct Reached {
    /// Waits that slept.
    pub sleeps: u32,
    /// Locks that were unlocked, and those that kept the waiters bit.
    pub unlocks: u32,
    pub kept: u32,
}

/// A wait, beside which others wake, move and unlock.
#[derive(Debug)]
struct Waits {
    end: ParkEnd,
    unlock: RobustUnlock,
    /// What is stored before.
    store: (u64, u64),
    words: Vec<Awaited>,
    others: Vec<Action>,
}

/// A word that is waited for, mostly with the value that it holds.
#[derive(Debug)]
struct Awaited {
    word: Word,
    /// The bit by which the value differs.
    differs_in: Option<u64>,
}

pub fn run(input: &[u8]) {
    check_input(
        input,
        CALLS,
        |_| (),
        waits,
        |(), waits| {
            play(waits);
        },
    );
}

fn waits(choices: &mut Choices) -> Waits {
    let words: Vec<_> = (0..choices.pick(&[1, 2, 3, 8])).map(|_| awaited(choices)).collect();
    Waits {
        end: choices.pick(&ENDS),
        unlock: choices.pick(&UNLOCKS),
        store: (choices.below(6) * PAGE + 8 * choices.below(2), choices.any_long()),
        others: (0..choices.below(5)).map(|_| other(choices, &words)).collect(),
        words,
    }
}

fn awaited(choices: &mut Choices) -> Awaited {
    Awaited { word: word(choices), differs_in: choices.chance(3).then(|| choices.below(64)) }
}

/// Returns an action, at words of which half are among those that are waited for.
fn other(choices: &mut Choices, words: &[Awaited]) -> Action {
    let word = |choices: &mut Choices| {
        if choices.chance(50) { words[choices.below(words.len() as u64) as usize].word } else { word(choices) }
    };
    choices.one_of(&[
        (1, &|choices| Action::of_queues(choices, word)),
        (1, &|choices| {
            let mut lock = word(choices);
            if !choices.chance(6) {
                (lock.size, lock.address) = (Size::U32, lock.address & !3);
            }
            Action::Unlock {
                lock,
                count: count(choices),
                bits: choices.pick(&[u32::MAX, 1, 0, u32::MAX, 1, 0, u32::MAX, 1, u32::MAX]),
                pending: (choices.below(8) * PAGE + choices.below(16)).wrapping_sub(3),
                entry: choices.pick(&[Size::U64, Size::U32, Size::U16, Size::U8, Size::U64, Size::U32]),
            }
        }),
    ])
}

/// Returns a word of any size near the begin of a page, or at no page at all; mostly aligned.
fn word(choices: &mut Choices) -> Word {
    let size = choices.pick(&SIZES);
    let mut address = choices.below(6) * PAGE + choices.below(16);
    match choices.below(256) {
        255 => address |= 1 << 47,
        240.. => {}
        _ => address &= !(size.bytes() - 1),
    }
    let word = if choices.chance(50) { Word::shared(address) } else { Word::private(address) };
    word.sized(size)
}

/// Makes the calls of an input.
fn play(waits: &[Waits]) -> Reached {
    let engine = Rc::new(Engine::new(Config::small(3).with_private_tables(), Heap).expect("memory"));
    let (guest, mut reached) = (Guest::default(), Reached::default());
    guest.sizes.set(true);
    for wait in waits {
        guest.end.set(wait.end);
        guest.unlock.set(wait.unlock);
        guest.swap_out();
        guest.put(wait.store.0, wait.store.1);
        wait.play(&engine, &guest, &mut reached);
        let waiters = guest.space().stats(&guest).waiters + engine.stats(&guest).waiters;
        assert_eq!(waiters, 0, "a waiter is left in a list");
    }
    reached
}

impl Waits {
    fn play(&self, engine: &Rc<Engine<Guest>>, guest: &Guest, reached: &mut Reached) {
        let words: Vec<_> = self.words.iter().map(|awaited| (awaited.word, awaited.value(guest))).collect();
        let mut entries: Vec<_> = words.iter().map(|(word, expected)| WaitEntry::new(*word, *expected)).collect();
        let plain = plain(guest, &words);
        let model = match &plain {
            Ok(Some(keys)) => Some(beside_a_sleep(engine, guest, keys, &self.others)),
            _ => None,
        };
        let parks = guest.parks.get();
        let answer = engine.waitv(guest, &mut entries, None);
        let slept = guest.sleep.take().is_none() && guest.parks.get() != parks;
        let expected = match (plain, model) {
            (Err(errno), _) => Err(errno),
            (Ok(_), None) => Ok(WaitAny::Changed),
            (Ok(_), Some(model)) => {
                assert!(slept, "it did not sleep: {answer:?}");
                let model = model.borrow();
                reached.sleeps += 1;
                reached.unlocks += model.unlocks;
                reached.kept += model.kept;
                match model.last_woken() {
                    Some(index) => Ok(WaitAny::Woken(index)),
                    // A word may have been unlocked, and then a second look finds that.
                    None if guest.end.get() == ParkEnd::Recheck && answer == Ok(WaitAny::Changed) => {
                        assert!(words.iter().any(|(word, expected)| guest.held(*word) != Some(*expected)));
                        answer
                    }
                    None if guest.end.get() == ParkEnd::Interrupted => Ok(WaitAny::Interrupted),
                    None => Ok(WaitAny::TimedOut),
                }
            }
        };
        assert_eq!(answer, expected, "{words:x?}");
    }
}

impl Awaited {
    /// Returns the value that is waited for.
    fn value(&self, guest: &Guest) -> u64 {
        guest.held(self.word).unwrap_or(0) ^ self.differs_in.map_or(0, |bit| 1 << bit)
    }
}

/// Reads a wait as its description says: returns the names of its words, none if a word holds
/// another value, or its error.
fn plain(guest: &Guest, words: &[(Word, u64)]) -> Result<Option<Vec<u64>>, Errno> {
    let mut keys = Vec::new();
    for (word, expected) in words {
        keys.push(name(*word)?);
        if word.size != Size::U64 && expected >> (8 * word.size.bytes()) != 0 {
            return Err(Errno::EINVAL);
        }
    }
    for (word, expected) in words {
        if guest.held(*word).ok_or(Errno::EFAULT)? != *expected {
            return Ok(None);
        }
    }
    Ok(Some(keys))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{Reached, play, waits};

    #[test]
    fn random_calls_get_a_models_answers() {
        let all = Cell::new(Reached::default());
        crate::sequences::check(20_000, 1..13, waits, |waits| {
            let (one, mut sum) = (play(waits), all.get());
            sum.sleeps += one.sleeps;
            sum.unlocks += one.unlocks;
            sum.kept += one.kept;
            all.set(sum);
        });
        let Reached { sleeps, unlocks, kept } = all.get();
        assert!(sleeps > 1_000 && unlocks > 1_000 && kept > 100, "{sleeps} {unlocks} {kept}");
    }
}
