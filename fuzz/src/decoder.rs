//! Any system call with any arguments: it returns a number, with no lock held, no waiter left in a
//! list, and memory within bounds.

use leeward_engine::abi::Numbers;
use leeward_engine::{Config, Engine, Heap, Host, ParkEnd};

use crate::action::ENDS;
use crate::guest::{Guest, PAGE};
use crate::sequences::{Choices, check_input};

const NUMBERS: [Numbers; 3] = [Numbers::X86_64, Numbers::GENERIC, Numbers::POWERPC64];
/// The number of calls of one input.
const CALLS: usize = 64;

/// The engine of the calls.
#[derive(Debug)]
struct Sized {
    is_small: bool,
}

/// A call, and what was done before it.
#[derive(Debug)]
struct Call {
    threads: u32,
    end: ParkEnd,
    swaps_out: bool,
    store: Option<(u64, u32)>,
    thread: u32,
    /// Which of [`NUMBERS`] the system has.
    numbers: usize,
    number: u64,
    arguments: [u64; 6],
}

pub fn run(input: &[u8]) {
    check_input(input, CALLS, sized, call, play);
}

fn sized(choices: &mut Choices) -> Sized {
    Sized { is_small: !choices.chance(50) }
}

fn call(choices: &mut Choices) -> Call {
    let numbers = choices.below(3) as usize;
    Call {
        threads: choices.below(256) as u32,
        end: choices.pick(&ENDS),
        swaps_out: choices.chance(25),
        store: choices.chance(50).then(|| (address(choices), choices.any())),
        thread: 1 + choices.below(9) as u32,
        numbers,
        number: match choices.below(256) {
            255 => choices.any_long(),
            200.. => choices.pick(&futex2(&NUMBERS[numbers])),
            _ => NUMBERS[numbers].futex,
        },
        arguments: arguments(choices),
    }
}

fn futex2(numbers: &Numbers) -> [u64; 4] {
    [numbers.futex_waitv, numbers.futex_wake, numbers.futex_wait, numbers.futex_requeue]
}

fn play(sized: &Sized, calls: &[Call]) {
    let config = if sized.is_small { Config::small(3) } else { Config::for_processors(1, 3) };
    let (engine, guest) = (Engine::new(config, Heap).expect("memory"), Guest::default());
    calls.iter().for_each(|call| call.play(&engine, &guest));
    // The statistics lock each bucket: `Guest::spin` would panic if one were held.
    let (own, global) = (guest.space().stats(&guest), engine.stats(&guest));
    assert_eq!(own.waiters + global.waiters, 0, "a waiter is left in a list");
    assert!(own.bytes <= 1 << 20, "a table of {} bytes for 255 threads", own.bytes);
}

impl Call {
    fn play(&self, engine: &Engine<Guest>, guest: &Guest) {
        guest.threads.set(self.threads);
        guest.end.set(self.end);
        if self.swaps_out {
            guest.swap_out();
        }
        if let Some((place, value)) = self.store {
            guest.cell(place).inspect(|word| word.set(value));
        }
        guest.thread.set(self.thread);
        let (numbers, number, arguments) = (&NUMBERS[self.numbers], self.number, self.arguments);
        match engine.syscall(guest, numbers, number, arguments) {
            None => assert_ne!(number, numbers.futex),
            // There is no thread to be woken.
            Some(answer) if number == numbers.futex || futex2(numbers).contains(&number) => {
                assert!((-133..=0).contains(&answer), "{answer} for {arguments:#x?}");
            }
            Some(answer) => assert!(answer >= -133, "{answer} for {arguments:#x?}"),
        }
    }
}

/// Returns arguments of the futex call, most of which mean something.
fn arguments(choices: &mut Choices) -> [u64; 6] {
    let operation = match choices.below(256) {
        255 => choices.any_long(),
        command => command | choices.below(8) << 7,
    };
    [address(choices), operation, value(choices), value_or_address(choices), address(choices), value(choices)]
}

fn address(choices: &mut Choices) -> u64 {
    match choices.below(256) {
        255 => choices.any_long(),
        page => page % 8 * PAGE + 4 * choices.below(80) + u64::from(page == 254),
    }
}

fn value(choices: &mut Choices) -> u64 {
    match choices.below(256) {
        254 | 255 => choices.any_long(),
        small => small % 8,
    }
}

fn value_or_address(choices: &mut Choices) -> u64 {
    if choices.chance(50) { address(choices) } else { value(choices) }
}

#[cfg(test)]
mod tests {
    use super::{call, play, sized};

    #[test]
    fn random_calls_end() {
        crate::sequences::check_headed(3_000, 1..32, sized, call, play);
    }
}
