//! Arrays for waitv, of any contents. The answer is that of a plain decoder. Where the call sleeps,
//! others wake and move its waiters, and it reports the last one that was woken, as a model of the
//! queues does. No waiter is left in a list.

use std::cell::RefCell;
use std::rc::Rc;

use leeward_engine::abi::{FUTEX2_PRIVATE, FUTEX2_SIZE_U32, Numbers};
use leeward_engine::{Config, Engine, Errno, Heap, Host, ParkEnd, Requeue, Word};

use crate::bytes::Bytes;
use crate::guest::{Guest, PAGE, WIDE};
use crate::scripts::{Model, Waiting};

/// The number of calls of one input.
const CALLS: u32 = 8;
/// The address of times: after the largest array.
const TIMES: u64 = WIDE + 3584;

pub fn run(data: &[u8]) {
    calls(data);
}

/// Makes the calls, and returns how many of them slept.
fn calls(data: &[u8]) -> u32 {
    let bytes = &mut Bytes::of(data);
    let guest = Guest::default();
    let engine = Rc::new(Engine::new(Config::small(3).with_private_tables(), Heap).expect("memory"));
    let mut sleeps = 0;
    for _ in 0..CALLS {
        if !bytes.are_left() {
            break;
        }
        let arguments = call(bytes, &guest);
        guest.end.set([ParkEnd::TimedOut, ParkEnd::Interrupted, ParkEnd::Unparked, ParkEnd::Recheck][bytes.below(4)]);
        guest.threads.set(u32::from(bytes.byte()));
        guest.swap_out();
        let plain = plain(&guest, arguments);
        let woken = Rc::new(RefCell::new(None));
        let others = others(bytes);
        if let Ok(keys) = &plain {
            let waiting = |(place, key): (usize, &u64)| Waiting { place, key: *key, bitset: u32::MAX };
            let model = Model { queue: keys.iter().enumerate().map(waiting).collect(), woken: Vec::new() };
            *guest.sleep.borrow_mut() = Some(Box::new(sleep(engine.clone(), model, others, woken.clone())));
        }
        let answer = engine.syscall(&guest, &Numbers::X86_64, Numbers::X86_64.futex_waitv, arguments).expect("waitv");
        let slept = guest.sleep.take().is_none();
        let expected = match plain {
            Err(errno) => errno.answer(),
            Ok(_) => {
                assert!(slept, "it did not sleep: {answer}");
                sleeps += 1;
                let end = if guest.end.get() == ParkEnd::Interrupted { Errno::EINTR } else { Errno::ETIMEDOUT };
                woken.take().map_or(end.answer(), |index: usize| index as i64)
            }
        };
        assert_eq!(answer, expected, "{arguments:#x?}");
        let waiters = guest.space().stats(&guest).waiters + engine.stats(&guest).waiters;
        assert_eq!(waiters, 0, "a waiter is left in a list");
    }
    assert!(guest.writes.borrow().is_empty(), "memory was written");
    sleeps
}

/// Does what others do while the thread sleeps, and records the last of its words at which it was
/// woken.
fn sleep(
    engine: Rc<Engine<Guest>>,
    mut model: Model,
    others: Vec<Other>,
    woken: Rc<RefCell<Option<usize>>>,
) -> impl FnMut(&Guest) {
    move |guest| {
        for other in &others {
            match *other {
                Other::Wake(word, count) => {
                    let Some(key) = key(word) else { continue };
                    assert_eq!(engine.wake(guest, word, count, u32::MAX), Ok(model.wake(key, count, u32::MAX)));
                }
                Other::Requeue(from, to, wake, requeue) => {
                    let (Some(first), Some(second), true) = (key(from), key(to), from.scope == to.scope) else {
                        continue;
                    };
                    let answer = engine.requeue(guest, from, to, wake, requeue, None);
                    assert_eq!(answer, Ok(Requeue::Done(model.requeue(first, second, wake, requeue))));
                }
            }
        }
        *woken.borrow_mut() = model.woken.iter().map(|this| this.0).max();
    }
}

#[derive(Clone, Copy)]
enum Other {
    Wake(Word, u32),
    Requeue(Word, Word, u32, u32),
}

fn others(bytes: &mut Bytes<'_>) -> Vec<Other> {
    let count = |bytes: &mut Bytes<'_>| [0, 1, 2, 17, u32::MAX][bytes.below(5)];
    let other = |bytes: &mut Bytes<'_>| match bytes.byte() % 3 {
        0 => Other::Requeue(word(bytes), word(bytes), count(bytes), count(bytes)),
        _ => Other::Wake(word(bytes), count(bytes)),
    };
    (0..bytes.below(5)).map(|_| other(bytes)).collect()
}

fn word(bytes: &mut Bytes<'_>) -> Word {
    let address = u64::from(bytes.byte() % 6) * PAGE + 4 * u64::from(bytes.byte() % 4);
    if bytes.byte() % 2 == 0 { Word::private(address) } else { Word::shared(address) }
}

/// Returns the name of a word, or none if it is not present. Names of the two scopes differ.
fn key(word: Word) -> Option<u64> {
    match word.scope {
        leeward_engine::Scope::Private => Some(1 << 61 | word.address),
        leeward_engine::Scope::Shared => Guest::name(word.address),
    }
}

/// Writes an array, mostly a good one, and the call's arguments.
fn call(bytes: &mut Bytes<'_>, guest: &Guest) -> [u64; 6] {
    let length = [1, 2, 3, 5, 30, 128][bytes.below(6)];
    for i in 0..length {
        let word = word(bytes);
        let scope = if word.scope == leeward_engine::Scope::Private { FUTEX2_PRIVATE } else { 0 };
        let there = guest.cell(word.address).map_or(0, std::cell::Cell::get);
        let mut element = [u64::from(there), word.address, u64::from(FUTEX2_SIZE_U32 | scope)];
        if bytes.byte() >= 252 {
            element[bytes.below(3)] ^= [1, 2, 4, 1 << 31, 1 << 32, bytes.number()][bytes.below(6)];
        }
        for (place, number) in element.into_iter().enumerate() {
            guest.put(WIDE + 24 * i + 8 * place as u64, number);
        }
    }
    let late = 0 == bytes.byte() % 4;
    for (place, number) in [5, if late { 1_000_000_000 } else { 999_999_999 }].into_iter().enumerate() {
        guest.put(TIMES + 8 * place as u64, number);
    }
    let mut arguments = [WIDE, length, 0, if bytes.byte() % 2 == 0 { 0 } else { TIMES }, bytes.byte().into(), 0];
    arguments[4] %= 4;
    if bytes.byte() >= 224 {
        arguments[bytes.below(5)] = match bytes.byte() % 6 {
            0 => bytes.number(),
            // The array runs past the page, where there is no memory.
            1 => WIDE + PAGE - 40,
            2 => 0,
            3 => 129,
            4 => 8 * PAGE,
            _ => 1 << (bytes.byte() % 64),
        };
    }
    arguments
}

/// Decodes a call as its description says: returns the names of its words, or its answer if it does
/// not sleep.
fn plain(guest: &Guest, [array, length, flags, time, clock, _]: [u64; 6]) -> Result<Vec<u64>, Errno> {
    let length = u64::from(length as u32);
    if flags as u32 != 0 || length == 0 || length > 128 || array == 0 {
        return Err(Errno::EINVAL);
    }
    if time != 0 {
        if clock as u32 > 1 {
            return Err(Errno::EINVAL);
        }
        let number = |at: u64| time.checked_add(at).and_then(|at| guest.number(at, 8)).ok_or(Errno::EFAULT);
        let (seconds, nanos) = (number(0)?, number(8)?);
        if (seconds as i64) < 0 || nanos >= 1_000_000_000 {
            return Err(Errno::EINVAL);
        }
    }
    let mut elements = Vec::new();
    for i in 0..length {
        let at = array.wrapping_add(24 * i);
        let number = |place: u64| at.checked_add(place).and_then(|at| guest.number(at, 8)).ok_or(Errno::EFAULT);
        let (value, address, flags) = (number(0)?, number(8)?, number(16)?);
        if !matches!(flags, 2 | 0x82) || value >> 32 != 0 {
            return Err(Errno::EINVAL);
        }
        elements.push((value as u32, if flags == 2 { Word::shared(address) } else { Word::private(address) }));
    }
    let mut keys = Vec::new();
    for (_, word) in &elements {
        if word.address % 4 != 0 {
            return Err(Errno::EINVAL);
        }
        if word.address >> 47 != 0 {
            return Err(Errno::EFAULT);
        }
        keys.push(key(*word).ok_or(Errno::EFAULT)?);
    }
    for (value, word) in &elements {
        if guest.cell(word.address).ok_or(Errno::EFAULT)?.get() != *value {
            return Err(Errno::EAGAIN);
        }
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    #[test]
    fn random_arrays_get_a_plain_decoders_answers() {
        let sleeps: u32 = (0..10_000).map(|seed| super::calls(&crate::bytes::random(seed, 800))).sum();
        assert!(sleeps > 1_000, "{sleeps}");
    }
}
