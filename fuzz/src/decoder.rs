//! Any system call with any arguments: it returns a number, with no lock held, no waiter left in a
//! list, and memory within bounds.

use leeward_engine::abi::Numbers;
use leeward_engine::{Config, Engine, Heap, Host, ParkEnd};

use crate::bytes::Bytes;
use crate::guest::{Guest, PAGE};

const NUMBERS: [Numbers; 3] = [Numbers::X86_64, Numbers::GENERIC, Numbers::POWERPC64];
/// The number of calls of one input.
const CALLS: u32 = 64;

pub fn run(data: &[u8]) {
    let bytes = &mut Bytes::of(data);
    let config = if bytes.byte() % 2 == 0 { Config::small(3) } else { Config::for_processors(1, 3) };
    let (engine, guest) = (Engine::new(config, Heap).expect("memory"), Guest::default());
    for _ in 0..CALLS {
        if !bytes.are_left() {
            break;
        }
        guest.threads.set(u32::from(bytes.byte()));
        guest.end.set([ParkEnd::TimedOut, ParkEnd::Interrupted, ParkEnd::Unparked, ParkEnd::Recheck][bytes.below(4)]);
        if bytes.byte() % 4 == 0 {
            guest.swap_out();
        }
        if bytes.byte() % 2 == 0 {
            let (place, value) = (address(bytes), bytes.number() as u32);
            guest.cell(place).inspect(|word| word.set(value));
        }
        guest.thread.set(1 + bytes.below(9) as u32);
        let numbers = &NUMBERS[bytes.below(3)];
        let futex2 = [numbers.futex_waitv, numbers.futex_wake, numbers.futex_wait, numbers.futex_requeue];
        let number = match bytes.byte() {
            255 => bytes.number(),
            choice @ 200.. => futex2[usize::from(choice) % 4],
            _ => numbers.futex,
        };
        let arguments = arguments(bytes);
        match engine.syscall(&guest, numbers, number, arguments) {
            None => assert_ne!(number, numbers.futex),
            // There is no thread to be woken.
            Some(answer) if number == numbers.futex || futex2.contains(&number) => {
                assert!((-133..=0).contains(&answer), "{answer} for {arguments:#x?}");
            }
            Some(answer) => assert!(answer >= -133, "{answer} for {arguments:#x?}"),
        }
    }
    // The statistics lock each bucket: `Guest::spin` would panic if one were held.
    let (own, global) = (guest.space().stats(&guest), engine.stats(&guest));
    assert_eq!(own.waiters + global.waiters, 0, "a waiter is left in a list");
    assert!(own.bytes <= 1 << 20, "a table of {} bytes for 255 threads", own.bytes);
}

/// Returns arguments of the futex call, most of which mean something.
fn arguments(bytes: &mut Bytes<'_>) -> [u64; 6] {
    let operation = match bytes.byte() {
        255 => bytes.number(),
        byte => u64::from(byte) | u64::from(bytes.byte() % 8) << 7,
    };
    [address(bytes), operation, value(bytes), value_or_address(bytes), address(bytes), value(bytes)]
}

fn address(bytes: &mut Bytes<'_>) -> u64 {
    match bytes.byte() {
        255 => bytes.number(),
        page => u64::from(page % 8) * PAGE + 4 * u64::from(bytes.byte() % 80) + u64::from(page == 254),
    }
}

fn value(bytes: &mut Bytes<'_>) -> u64 {
    match bytes.byte() {
        254 | 255 => bytes.number(),
        small => u64::from(small % 8),
    }
}

fn value_or_address(bytes: &mut Bytes<'_>) -> u64 {
    if bytes.byte() % 2 == 0 { value(bytes) } else { address(bytes) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn random_calls_end() {
        for seed in 0..3_000 {
            super::run(&crate::bytes::random(seed, 600));
        }
    }
}
