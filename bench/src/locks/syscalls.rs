//! The cost of the kernel's part: futex calls that find nothing to do, by private and by shared
//! key, beside the cheapest calls that there are. futex(2)'s authors measured these in 2007. Every
//! call is made by the same few instructions.

use std::sync::atomic::AtomicU32;
use std::time::Instant;

use super::contest::{Entrant, Outcome, contest};
use super::mapped::Mapped;
use crate::figure::{Target, Title};
use crate::plan::Plan;

/// The number of calls in one round of one row.
const CALLS: u32 = 20_000;
const PRIVATE: i32 = libc::FUTEX_PRIVATE_FLAG;
/// A number that no futex operation has.
const UNKNOWN: i32 = 99;

/// Two words on cache lines of their own, in a shared mapping, so that both kinds of key are of the
/// same words.
#[repr(C)]
struct Words([Word; 2]);

#[repr(C, align(128))]
struct Word(AtomicU32);

/// A call: a futex operation and the number of words on which it is made by turns, or getppid.
#[derive(Clone, Copy)]
enum Call {
    Futex(i32, u32),
    Getppid,
}

/// The rows. Private and shared are beside each other, so "ours" is the private one in a figure's
/// sense only.
const CALL: [(&str, Call); 10] = [
    ("WAIT private, one word", Call::Futex(libc::FUTEX_WAIT | PRIVATE, 1)),
    ("WAIT shared, one word", Call::Futex(libc::FUTEX_WAIT, 1)),
    ("WAIT private, two words in turn", Call::Futex(libc::FUTEX_WAIT | PRIVATE, 2)),
    ("WAIT shared, two words in turn", Call::Futex(libc::FUTEX_WAIT, 2)),
    ("WAKE private, one word", Call::Futex(libc::FUTEX_WAKE | PRIVATE, 1)),
    ("WAKE shared, one word", Call::Futex(libc::FUTEX_WAKE, 1)),
    ("WAKE private, two words in turn", Call::Futex(libc::FUTEX_WAKE | PRIVATE, 2)),
    ("WAKE shared, two words in turn", Call::Futex(libc::FUTEX_WAKE, 2)),
    ("unknown futex operation", Call::Futex(UNKNOWN, 1)),
    ("getppid", Call::Getppid),
];

pub fn outcome(plan: &Plan) -> Outcome {
    // SAFETY: zeroes are two words of 0.
    let words = unsafe { Mapped::<Words>::zeroed() };
    let entrants = CALL.map(|(name, call)| Entrant::new(name, call));
    let job = "system call: futex WAIT with a changed value, WAKE without waiters";
    let board =
        contest(plan, 3 * plan.rounds, &[(job.to_string(), "ns")], &entrants, |&call| Ok(vec![time(&words, call)]))
            .remove(0);
    let mut outcome = Outcome::default();
    outcome.add(&board);
    for (operation, what) in [("WAIT", "futex WAIT, the value changed"), ("WAKE", "futex WAKE, without waiters")] {
        for (id, on) in [("one", "one word"), ("two", "two words in turn")] {
            let peer = CALL.iter().map(|call| call.0).find(|name| *name == format!("{operation} shared, {on}"));
            let id = format!("syscall.{}.{id}", operation.to_lowercase());
            let title = Title::new(
                &id,
                format!("{what}, {on}: the private key beside the shared one"),
                "ns",
                peer,
                Target::Open,
            );
            let mut figure = board.figure(&format!("{operation} private, {on}"), title);
            figure.peer = Some("shared");
            outcome.figures.push(figure);
        }
    }
    let alone =
        Title::new("syscall.unknown", "unknown futex operation, beside getppid", "ns", Some("getppid"), Target::Open);
    outcome.figures.push(board.figure("unknown futex operation", alone));
    outcome
}

/// Returns the mean time of one call, in nanoseconds.
fn time(words: &Words, call: Call) -> f64 {
    let began = Instant::now();
    match call {
        Call::Futex(operation, 1) => (0..CALLS).for_each(|_| futex(&words.0[0], operation)),
        Call::Futex(operation, _) => (0..CALLS).for_each(|turn| futex(&words.0[turn as usize % 2], operation)),
        Call::Getppid => (0..CALLS).for_each(|_| {
            system_call(libc::SYS_getppid, [0; 4]);
        }),
    }
    began.elapsed().as_nanos() as f64 / f64::from(CALLS)
}

/// Makes a futex call. The word holds 0, a wait expects 1, and a wake is for one waiter.
fn futex(word: &Word, operation: i32) {
    system_call(libc::SYS_futex, [word.0.as_ptr() as usize, operation as usize, 1, 0]);
}

/// Makes a system call and nothing else: no wrapper, no errno.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn system_call(number: libc::c_long, arguments: [usize; 4]) -> isize {
    let [first, second, third, fourth] = arguments;
    let answer;
    // SAFETY: only futex and getppid are called so. They read a word of ours at most.
    unsafe {
        std::arch::asm!("syscall", inlateout("rax") number as isize => answer,
            in("rdi") first, in("rsi") second, in("rdx") third, in("r10") fourth,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    answer
}

/// Makes a system call through libc's wrapper, which is the same for all calls.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
pub fn system_call(number: libc::c_long, arguments: [usize; 4]) -> isize {
    let [first, second, third, fourth] = arguments;
    // SAFETY: only futex and getppid are called so. They read a word of ours at most.
    unsafe { libc::syscall(number, first, second, third, fourth) as isize }
}
