//! Calls that find nothing to do: a wake without waiters, a wait whose value has changed, an
//! unknown operation. futex(2)'s authors measured these in 2007; here they are the engine's.

use std::hint::black_box;
use std::sync::atomic::AtomicU32;
use std::time::Instant;

use leeward_engine::abi::FUTEX_BITSET_MATCH_ANY as ANY;
use leeward_engine::{Engine, Scope, Word, parking::Process};

use super::parker;
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::locks::contest::{Entrant, Outcome, contest};
use crate::locks::syscalls::system_call;
use crate::plan::Plan;

/// The number of calls in one round of one row.
const CALLS: u32 = 200_000;
/// A number that no futex operation has.
const UNKNOWN: usize = 99;

/// A word that shares its cache lines with nothing.
#[repr(C, align(128))]
struct Line(AtomicU32);

#[derive(Clone, Copy)]
enum What {
    Wake(Scope),
    Wait(Scope),
    Unknown,
    KernelWake(bool),
    KernelWait(bool),
    KernelUnknown,
    CoreUnparkOne,
}

const P: Scope = Scope::Private;
const S: Scope = Scope::Shared;
/// The rows: name, call, and the number of words on which it is made by turns.
const ROWS: [(&str, What, usize); 17] = [
    ("leeward-engine WAKE private, one word", What::Wake(P), 1),
    ("leeward-engine WAKE shared, one word", What::Wake(S), 1),
    ("leeward-engine WAKE private, two words in turn", What::Wake(P), 2),
    ("leeward-engine WAKE shared, two words in turn", What::Wake(S), 2),
    ("leeward-engine WAIT private, one word", What::Wait(P), 1),
    ("leeward-engine WAIT shared, one word", What::Wait(S), 1),
    ("leeward-engine WAIT private, two words in turn", What::Wait(P), 2),
    ("leeward-engine WAIT shared, two words in turn", What::Wait(S), 2),
    ("leeward-engine unknown operation, decoded", What::Unknown, 1),
    ("kernel WAKE private, one word", What::KernelWake(true), 1),
    ("kernel WAKE shared, one word", What::KernelWake(false), 1),
    ("kernel WAKE private, two words in turn", What::KernelWake(true), 2),
    ("kernel WAIT private, one word", What::KernelWait(true), 1),
    ("kernel WAIT shared, one word", What::KernelWait(false), 1),
    ("kernel WAIT private, two words in turn", What::KernelWait(true), 2),
    ("kernel unknown operation", What::KernelUnknown, 1),
    ("parking_lot_core unpark_one, one word", What::CoreUnparkOne, 1),
];

pub fn outcome(plan: &Plan) -> Outcome {
    let entrants = ROWS.map(|(name, what, words)| Entrant::new(name, (what, words)));
    let job = [("WAKE without waiters, WAIT with a changed value".to_string(), "ns")];
    let board =
        contest(plan, 3 * plan.rounds, &job, &entrants, |&(what, words)| Ok(vec![time(what, words)?])).remove(0);
    let mut outcome = Outcome::default();
    outcome.add(&board);
    let mut figure = |id: &str, what: &str, ours: &str, peer: &'static str, target| {
        outcome.figures.push(board.figure(ours, Title::new(id, what, "ns", Some(peer), target)));
    };
    let (wake, wait) = (ROWS[0].0, ROWS[4].0);
    figure(
        "wake.kernel",
        "WAKE, without waiters, beside the kernel's, private",
        wake,
        ROWS[9].0,
        Target::RatioAtMost(0.1),
    );
    figure("wake.core", "WAKE, without waiters, beside unpark_one", wake, ROWS[16].0, Target::RatioAtMost(1.0));
    figure(
        "wait.kernel",
        "WAIT, the value changed, beside the kernel's, private",
        wait,
        ROWS[12].0,
        Target::RatioAtMost(0.15),
    );
    let pairs = [("wake.one", 0), ("wake.two", 2), ("wait.one", 4), ("wait.two", 6)];
    for (id, row) in pairs {
        let what = format!("{}: beside the shared key", ROWS[row].0.trim_start_matches("leeward-engine "));
        figure(&format!("private.{id}"), &what, ROWS[row].0, ROWS[row + 1].0, Target::Open);
    }
    figure("unknown", "an operation that there is not", ROWS[8].0, ROWS[15].0, Target::Open);
    outcome
}

/// Returns the mean time of one call, in nanoseconds.
fn time(what: What, words: usize) -> Result<f64, Error> {
    let lines = [const { Line(AtomicU32::new(0)) }; 2];
    let lot = parker::lot()?;
    // There are one or two words: a division would take longer than some of the calls.
    let word = |turn: u32| &lines[turn as usize & (words - 1)].0;
    // A process gets its private table when a second thread waits.
    // SAFETY: the words outlive all uses: they are borrowed.
    let (engine, process) = unsafe { lot.parts() };
    engine.reserve(process, 2);
    let began = Instant::now();
    match what {
        What::Wake(scope) => calls(|turn| wake(engine, process, word(turn), scope)),
        What::Wait(scope) => calls(|turn| wait(engine, process, word(turn), scope)),
        What::Unknown => calls(|turn| {
            let _ = engine.futex(process, black_box([word(turn).as_ptr() as u64, UNKNOWN as u64, 0, 0, 0, 0]));
        }),
        What::KernelWake(private) => calls(|turn| kernel(libc::FUTEX_WAKE, private, word(turn))),
        What::KernelWait(private) => calls(|turn| kernel(libc::FUTEX_WAIT, private, word(turn))),
        What::KernelUnknown => calls(|turn| kernel(UNKNOWN as i32, false, word(turn))),
        What::CoreUnparkOne => calls(|turn| {
            let core: &dyn parker::Parker = &parker::Core;
            core.wake(word(turn), 1);
        }),
    }
    Ok(began.elapsed().as_nanos() as f64 / f64::from(CALLS))
}

fn calls(call: impl Fn(u32)) {
    (0..CALLS).for_each(call);
}

#[inline(always)]
fn named(word: &AtomicU32, scope: Scope) -> Word {
    let address = word.as_ptr().expose_provenance() as u64;
    black_box(if scope == P { Word::private(address) } else { Word::shared(address) })
}

fn wake(engine: &Engine<Process>, process: &Process, word: &AtomicU32, scope: Scope) {
    let _ = engine.wake(process, named(word, scope), 1, ANY);
}

fn wait(engine: &Engine<Process>, process: &Process, word: &AtomicU32, scope: Scope) {
    let _ = engine.wait(process, named(word, scope), 1, ANY, None);
}

/// Makes the kernel's call. The word holds 0, a wait expects 1, and a wake is for one waiter.
#[inline(always)]
fn kernel(operation: i32, private: bool, word: &AtomicU32) {
    let flag = if private { libc::FUTEX_PRIVATE_FLAG } else { 0 };
    system_call(libc::SYS_futex, [word.as_ptr() as usize, (operation | flag) as usize, 1, 0]);
}
