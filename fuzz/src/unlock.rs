//! Waits for words of all sizes, and robust locks that are unlocked in one call beside them. The
//! answers are those of a plain reading of the calls, with a model of the queues; so is what memory
//! holds afterwards. No waiter is left in a list.

use std::cell::RefCell;
use std::rc::Rc;

use leeward_engine::abi::FUTEX_WAITERS;
use leeward_engine::{
    Config, Engine, Errno, Heap, Host, ParkEnd, Requeue, RobustUnlock, Scope, Size, WaitAny, WaitEntry, Word,
};

use crate::bytes::Bytes;
use crate::guest::{Guest, PAGE};
use crate::scripts::{Model, Waiting};

/// The number of calls of one input.
const CALLS: u32 = 8;
const SIZES: [Size; 4] = [Size::U8, Size::U16, Size::U32, Size::U64];
const ENDS: [ParkEnd; 4] = [ParkEnd::TimedOut, ParkEnd::Interrupted, ParkEnd::Unparked, ParkEnd::Recheck];
const UNLOCKS: [RobustUnlock; 3] = [RobustUnlock::StoreZero, RobustUnlock::KeepWaiters, RobustUnlock::Absent];

/// What an input came to.
#[derive(Default, Clone, Copy)]
pub struct Reached {
    /// Waits that slept.
    pub sleeps: u32,
    /// Locks that were unlocked, and those that kept the waiters bit.
    pub unlocks: u32,
    pub kept: u32,
}

pub fn run(data: &[u8]) {
    calls(data);
}

/// Makes the calls of an input.
fn calls(data: &[u8]) -> Reached {
    let bytes = &mut Bytes::of(data);
    let engine = Rc::new(Engine::new(Config::small(3).with_private_tables(), Heap).expect("memory"));
    let reached = Rc::new(RefCell::new(Reached::default()));
    let guest = Guest::default();
    guest.sizes.set(true);
    for _ in 0..CALLS {
        if !bytes.are_left() {
            break;
        }
        guest.end.set(ENDS[bytes.below(4)]);
        guest.unlock.set(UNLOCKS[bytes.below(5) % 3]);
        guest.swap_out();
        guest.put(u64::from(bytes.byte() % 6) * PAGE + 8 * u64::from(bytes.byte() % 2), bytes.number());
        wait(bytes, &engine, &guest, &reached);
        let waiters = guest.space().stats(&guest).waiters + engine.stats(&guest).waiters;
        assert_eq!(waiters, 0, "a waiter is left in a list");
    }
    *reached.borrow()
}

/// Makes one wait, beside which others wake, move and unlock.
fn wait(bytes: &mut Bytes<'_>, engine: &Rc<Engine<Guest>>, guest: &Guest, reached: &Rc<RefCell<Reached>>) {
    let length = [1, 2, 3, 8][bytes.below(4)];
    let words: Vec<_> = (0..length).map(|_| awaited(bytes, guest)).collect();
    let others: Vec<_> = (0..bytes.below(5)).map(|_| other(bytes)).collect();
    let mut entries: Vec<_> = words.iter().map(|(word, expected)| WaitEntry::new(*word, *expected)).collect();
    let plain = plain(guest, &words);
    let woken = Rc::new(RefCell::new(None));
    if let Ok(Some(keys)) = &plain {
        let waiting = |(place, key): (usize, &u64)| Waiting { place, key: *key, bitset: u32::MAX };
        let mut model = Model { queue: keys.iter().enumerate().map(waiting).collect(), woken: Vec::new() };
        let (engine, reached, woken) = (engine.clone(), reached.clone(), woken.clone());
        *guest.sleep.borrow_mut() = Some(Box::new(move |guest| {
            reached.borrow_mut().sleeps += 1;
            others.iter().for_each(|other| act(other, &engine, guest, &mut model, &mut reached.borrow_mut()));
            *woken.borrow_mut() = model.woken.iter().map(|this| this.0).max();
        }));
    }
    let parks = guest.parks.get();
    let answer = engine.waitv(guest, &mut entries, None);
    let slept = guest.sleep.take().is_none() && guest.parks.get() != parks;
    let expected = match plain {
        Err(errno) => Err(errno),
        Ok(None) => Ok(WaitAny::Changed),
        Ok(Some(_)) => {
            assert!(slept, "it did not sleep: {answer:?}");
            match woken.take() {
                Some(index) => Ok(WaitAny::Woken(index)),
                // A word may have been unlocked, and then a second look finds that.
                None if guest.end.get() == ParkEnd::Recheck && answer == Ok(WaitAny::Changed) => {
                    assert!(words.iter().any(|(word, expected)| value(guest, *word) != Some(*expected)));
                    answer
                }
                None if guest.end.get() == ParkEnd::Interrupted => Ok(WaitAny::Interrupted),
                None => Ok(WaitAny::TimedOut),
            }
        }
    };
    assert_eq!(answer, expected, "{words:x?}");
}

#[derive(Debug)]
enum Other {
    Wake(Word, u32),
    Requeue(Word, Word, u32, u32),
    /// A word, a count, bits, and the pending entry with its size.
    Unlock(Word, u32, u32, u64, Size),
}

/// Does what others do, and asserts that the engine answers what the model does.
fn act(other: &Other, engine: &Engine<Guest>, guest: &Guest, model: &mut Model, reached: &mut Reached) {
    match *other {
        Other::Wake(word, count) => {
            let expected = name(word).map(|key| model.wake(key, count, u32::MAX));
            assert_eq!(engine.wake(guest, word, count, u32::MAX), expected, "{other:x?}");
        }
        Other::Requeue(from, to, wake, requeue) => {
            let expected = match (name(from), name(to)) {
                _ if from.scope != to.scope => return,
                (Ok(first), Ok(second)) => Ok(Requeue::Done(model.requeue(first, second, wake, requeue))),
                (Err(errno), _) | (_, Err(errno)) => Err(errno),
            };
            assert_eq!(engine.requeue(guest, from, to, wake, requeue, None), expected, "{other:x?}");
        }
        Other::Unlock(word, count, bits, pending, entry) => {
            let twin = Guest::default();
            twin.copy(guest);
            let expected = unlock(guest.unlock.get(), &twin, model, reached, (word, count, bits), (pending, entry));
            assert_eq!(engine.robust_unlock(guest, word, count, bits, pending, entry), expected, "{other:x?}");
            assert_eq!(guest.contents(), twin.contents(), "{other:x?}: memory");
        }
    }
}

/// Unlocks as the call's description says, in a guest of its own.
fn unlock(
    kind: RobustUnlock,
    guest: &Guest,
    model: &mut Model,
    reached: &mut Reached,
    (word, count, bits): (Word, u32, u32),
    (pending, entry): (u64, Size),
) -> Result<u32, Errno> {
    if kind == RobustUnlock::Absent {
        return Err(Errno::ENOSYS);
    }
    if bits == 0 || !matches!(entry, Size::U32 | Size::U64) || word.size != Size::U32 {
        return Err(Errno::EINVAL);
    }
    let key = name(word)?;
    if !Guest::is_writable(word.address) {
        return Err(Errno::EFAULT);
    }
    let waiting = model.queue.iter().filter(|this| this.key == key && this.bitset & bits != 0).count() as u32;
    let all = model.queue.iter().filter(|this| this.key == key).count() as u32;
    let is_kept = kind == RobustUnlock::KeepWaiters && all > waiting.min(count);
    reached.unlocks += 1;
    reached.kept += u32::from(is_kept);
    guest.cell(word.address).expect("writable").set(if is_kept { FUTEX_WAITERS } else { 0 });
    let cleared = clear(guest, pending, entry.bytes());
    if kind == RobustUnlock::StoreZero {
        cleared?;
    }
    let woken = model.wake(key, count, bits);
    cleared.map(|()| woken)
}

/// Stores zeroes as far as memory may be written.
fn clear(guest: &Guest, pending: u64, bytes: u64) -> Result<(), Errno> {
    for place in (0..bytes).map(|byte| pending.wrapping_add(byte)) {
        let word = guest.cell(place).filter(|_| Guest::is_writable(place)).ok_or(Errno::EFAULT)?;
        let mut bytes = word.get().to_ne_bytes();
        bytes[place as usize % 4] = 0;
        word.set(u32::from_ne_bytes(bytes));
    }
    Ok(())
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
        if value(guest, *word).ok_or(Errno::EFAULT)? != *expected {
            return Ok(None);
        }
    }
    Ok(Some(keys))
}

fn value(guest: &Guest, word: Word) -> Option<u64> {
    guest.number(word.address, word.size.bytes())
}

/// Returns the name of a word, which does not depend on its size. Names of the two scopes differ.
fn name(word: Word) -> Result<u64, Errno> {
    if word.address % word.size.bytes() != 0 {
        return Err(Errno::EINVAL);
    }
    match word.scope {
        _ if word.address >> 47 != 0 => Err(Errno::EFAULT),
        Scope::Private => Ok(1 << 61 | word.address),
        Scope::Shared => Guest::name(word.address).ok_or(Errno::EFAULT),
    }
}

/// Returns a word and the value that it is waited for with, which it mostly holds.
fn awaited(bytes: &mut Bytes<'_>, guest: &Guest) -> (Word, u64) {
    let word = word(bytes);
    let held = value(guest, word).unwrap_or(0);
    (word, if bytes.byte() >= 248 { held ^ 1 << (bytes.byte() % 64) } else { held })
}

fn other(bytes: &mut Bytes<'_>) -> Other {
    let count = |bytes: &mut Bytes<'_>| [0, 1, 2, 17, u32::MAX][bytes.below(5)];
    match bytes.byte() % 4 {
        0 => Other::Wake(word(bytes), count(bytes)),
        1 => Other::Requeue(word(bytes), word(bytes), count(bytes), count(bytes)),
        _ => {
            let mut lock = word(bytes);
            if bytes.byte() < 240 {
                (lock.size, lock.address) = (Size::U32, lock.address & !3);
            }
            let pending = u64::from(bytes.byte() % 8) * PAGE;
            let pending = pending.wrapping_add(u64::from(bytes.byte() % 16)).wrapping_sub(3);
            let bits = [u32::MAX, 1, 0][bytes.below(9) % 8 % 3];
            Other::Unlock(lock, count(bytes), bits, pending, SIZES[3 - bytes.below(6) % 4])
        }
    }
}

/// Returns a word of any size near the begin of a page, or at no page at all; mostly aligned.
fn word(bytes: &mut Bytes<'_>) -> Word {
    let size = SIZES[bytes.below(4)];
    let mut address = u64::from(bytes.byte() % 6) * PAGE + u64::from(bytes.byte() % 16);
    match bytes.byte() {
        255 => address |= 1 << 47,
        240..=254 => {}
        _ => address &= !(size.bytes() - 1),
    }
    let word = if bytes.byte() % 2 == 0 { Word::private(address) } else { Word::shared(address) };
    word.sized(size)
}

#[cfg(test)]
mod tests {
    #[test]
    fn random_calls_get_a_models_answers() {
        let (mut sleeps, mut unlocks, mut kept) = (0, 0, 0);
        for seed in 0..20_000 {
            let reached = super::calls(&crate::bytes::random(seed, 600));
            sleeps += reached.sleeps;
            unlocks += reached.unlocks;
            kept += reached.kept;
        }
        assert!(sleeps > 1_000 && unlocks > 1_000 && kept > 100, "{sleeps} {unlocks} {kept}");
    }
}
