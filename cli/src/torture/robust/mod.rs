//! `leeward torture robust`: processes that lock, write a record in two parts or read it, and are
//! killed: at random instants, just after a wake, and at every instruction of a lock and an unlock.
//! No lock may be lost, none may have two owners, or a reader beside a writer, and every
//! half-written record must be announced.

mod crew;
mod finding;
mod held;
mod phases;
mod step;
mod table;
mod worker;

use std::fmt;
use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use leeward::robust::LockError;

use super::random::Random;
use crate::args::Robust;
use crew::Crew;
use phases::Sweep;
use table::Table;

/// The work that was done, in numbers.
#[derive(Default)]
pub struct Tally {
    kills: u64,
    /// The number of kills at a chosen instruction.
    stepped: u64,
    /// The number of kills of waiters when one had been woken.
    woken: u64,
}

/// Runs the torture. An error is a sentence on what was asked for.
pub fn run(args: &Robust) -> Result<ExitCode, String> {
    let seed = args.seed.unwrap_or_else(Random::any_seed);
    let table = Table::map().map_err(|error| format!("there is no memory to share: {error}"))?;
    if let Err(LockError::NoList(error)) = table.places[0].mutex.try_lock() {
        return Err(error.to_string());
    }
    println!(
        "torture robust: seed {seed:#018x}, {} s, {} processes, {} locks",
        args.seconds,
        args.processes,
        table::PLACES
    );
    let patience = Duration::from_secs(args.seconds.clamp(4, 10).into());
    let mut crew = Crew::new(table, Random::new(seed), patience);
    let mut sweep = Sweep::default();
    let outcome = go_through(&mut crew, &mut sweep, args);
    let said = Said { tally: &crew.tally, table, sweep: &sweep };
    match (table.finding.found(), outcome) {
        (Some(violation), _) => {
            println!("{said}");
            println!("VIOLATION: {violation}; again with --seed {seed:#018x}");
            Ok(ExitCode::from(super::VIOLATION))
        }
        (None, Err(error)) => Err(format!("the torture could not go on: {error}")),
        (None, Ok(())) => {
            println!("passed: {said}");
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn go_through(crew: &mut Crew, sweep: &mut Sweep, args: &Robust) -> io::Result<()> {
    let time = Duration::from_secs(args.seconds.into());
    let start = Instant::now();
    let bar = super::progress(time);
    // First step through every instruction once, unless that takes more than half of the time.
    bar.set_message("every instruction");
    phases::stepped(crew, sweep, time / 2)?;
    for turn in 0_u64.. {
        let left = time.saturating_sub(start.elapsed());
        if crew.table.finding.is_any() || left.is_zero() {
            break;
        }
        bar.set_position(start.elapsed().as_millis() as u64);
        bar.set_message(format!("{} kills", crew.tally.kills));
        let slice = Duration::from_millis(200).min(left);
        match turn % 8 {
            2 | 5 => phases::woken(crew, slice)?,
            7 => phases::stepped(crew, sweep, slice)?,
            _ => phases::storm(crew, args.processes.into(), slice)?,
        }
    }
    bar.finish_and_clear();
    Ok(())
}

struct Said<'a> {
    tally: &'a Tally,
    table: &'a Table,
    sweep: &'a Sweep,
}

impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Tally { kills, stepped, woken } = self.tally;
        write!(f, "{kills} kills ({stepped} at a chosen instruction, {woken} of waiters when one was woken; ")?;
        write!(f, "{}), ", self.sweep)?;
        let (taken, told) = (self.table.sum(|place| &place.taken), self.table.sum(|place| &place.told));
        write!(f, "locks taken {taken} times, {told} of them with a report of the owner's death")
    }
}
