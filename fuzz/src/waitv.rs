//! Arrays for waitv, of any contents. The answer is that of a plain decoder. Where the call sleeps,
//! others wake and move its waiters, and it reports the last one that was woken, as a model of the
//! queues does. No waiter is left in a list.

use std::rc::Rc;

use leeward_engine::abi::{FUTEX2_PRIVATE, FUTEX2_SIZE_U32, Numbers};
use leeward_engine::{Config, Engine, Errno, Heap, Host, ParkEnd, Scope, Word};

use crate::action::{Action, ENDS, beside_a_sleep};
use crate::guest::{Guest, PAGE, WIDE};
use crate::model::name;
use crate::sequences::{Choices, check_input};

/// The number of calls of one input.
const CALLS: usize = 8;
/// The address of times: after the largest array.
const TIMES: u64 = WIDE + 3584;

/// A call, beside which others wake and move.
#[derive(Debug)]
struct Call {
    end: ParkEnd,
    threads: u32,
    elements: Vec<Element>,
    /// The nanoseconds of the time, which is too many or not.
    nanos: u64,
    arguments: [u64; 6],
    others: Vec<Action>,
}

/// An element of the array, mostly with the value that its word holds.
#[derive(Debug)]
struct Element {
    word: Word,
    /// Bits by which one of its three numbers differs.
    damage: Option<(usize, u64)>,
}

pub fn run(input: &[u8]) {
    check_input(
        input,
        CALLS,
        |_| (),
        call,
        |(), calls| {
            play(calls);
        },
    );
}

fn call(choices: &mut Choices) -> Call {
    let end = choices.pick(&ENDS);
    let threads = choices.below(256) as u32;
    let length = choices.pick(&[1, 2, 3, 5, 30, 128]);
    let nanos = if choices.chance(25) { 1_000_000_000 } else { 999_999_999 };
    let mut arguments = [WIDE, length, 0, choices.pick(&[0, TIMES]), choices.below(4), 0];
    if choices.chance(12) {
        arguments[choices.below(5) as usize] = match choices.below(6) {
            0 => choices.any_long(),
            // The array runs past the page, where there is no memory.
            1 => WIDE + PAGE - 40,
            2 => 0,
            3 => 129,
            4 => 8 * PAGE,
            _ => 1 << choices.below(64),
        };
    }
    let elements: Vec<_> = (0..length).map(|_| element(choices)).collect();
    let others = (0..choices.below(5)).map(|_| other(choices, &elements)).collect();
    Call { end, threads, elements, nanos, arguments, others }
}

fn element(choices: &mut Choices) -> Element {
    let word = word(choices);
    let damage = (choices.below(256) >= 252).then(|| {
        let any = choices.any_long();
        (choices.below(3) as usize, choices.pick(&[1, 2, 4, 1 << 31, 1 << 32, any]))
    });
    Element { word, damage }
}

/// Returns an action, at words of which half are among those that are waited for.
fn other(choices: &mut Choices, elements: &[Element]) -> Action {
    let word = |choices: &mut Choices| {
        if choices.chance(50) { elements[choices.below(elements.len() as u64) as usize].word } else { word(choices) }
    };
    Action::of_queues(choices, word)
}

fn word(choices: &mut Choices) -> Word {
    let address = choices.below(6) * PAGE + 4 * choices.below(4);
    if choices.chance(50) { Word::shared(address) } else { Word::private(address) }
}

/// Makes the calls, and returns how many of them slept.
fn play(calls: &[Call]) -> u32 {
    let guest = Guest::default();
    let engine = Rc::new(Engine::new(Config::small(3).with_private_tables(), Heap).expect("memory"));
    let sleeps = calls.iter().filter(|call| call.sleeps(&engine, &guest)).count();
    assert!(guest.writes.borrow().is_empty(), "memory was written");
    sleeps as u32
}

impl Call {
    /// Makes the call; returns true if it slept.
    fn sleeps(&self, engine: &Rc<Engine<Guest>>, guest: &Guest) -> bool {
        self.write(guest);
        guest.end.set(self.end);
        guest.threads.set(self.threads);
        guest.swap_out();
        let model = plain(guest, self.arguments).map(|keys| beside_a_sleep(engine, guest, &keys, &self.others));
        let number = Numbers::X86_64.futex_waitv;
        let answer = engine.syscall(guest, &Numbers::X86_64, number, self.arguments).expect("waitv");
        let slept = guest.sleep.take().is_none();
        let expected = match &model {
            Err(errno) => errno.answer(),
            Ok(model) => {
                assert!(slept, "it did not sleep: {answer}");
                let end = if self.end == ParkEnd::Interrupted { Errno::EINTR } else { Errno::ETIMEDOUT };
                model.borrow().last_woken().map_or(end.answer(), |index| index as i64)
            }
        };
        assert_eq!(answer, expected);
        let waiters = guest.space().stats(guest).waiters + engine.stats(guest).waiters;
        assert_eq!(waiters, 0, "a waiter is left in a list");
        model.is_ok()
    }

    /// Writes the array and the time.
    fn write(&self, guest: &Guest) {
        for (Element { word, damage }, at) in self.elements.iter().zip((WIDE..).step_by(24)) {
            let scope = if word.scope == Scope::Private { FUTEX2_PRIVATE } else { 0 };
            let held = guest.held(*word).unwrap_or(0);
            let mut numbers = [held, word.address, u64::from(FUTEX2_SIZE_U32 | scope)];
            if let Some((which, bits)) = damage {
                numbers[*which] ^= bits;
            }
            put(guest, at, &numbers);
        }
        put(guest, TIMES, &[5, self.nanos]);
    }
}

fn put(guest: &Guest, at: u64, numbers: &[u64]) {
    numbers.iter().zip((at..).step_by(8)).for_each(|(number, at)| guest.put(at, *number));
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
        elements.push((value, if flags == 2 { Word::shared(address) } else { Word::private(address) }));
    }
    let keys = elements.iter().map(|(_, word)| name(*word)).collect::<Result<Vec<_>, _>>()?;
    for (value, word) in &elements {
        if guest.held(*word).ok_or(Errno::EFAULT)? != *value {
            return Err(Errno::EAGAIN);
        }
    }
    Ok(keys)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{call, play};

    #[test]
    fn random_arrays_get_a_plain_decoders_answers() {
        let sleeps = Cell::new(0);
        crate::sequences::check(10_000, 1..9, call, |calls| sleeps.set(sleeps.get() + play(calls)));
        assert!(sleeps.get() > 1_000, "{}", sleeps.get());
    }
}
