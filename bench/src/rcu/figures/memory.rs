//! Memory: two producers that flood the deferral, without a reader and beside one that is stuck.
//! Each scheme runs in a fresh process, so that the figure is the growth of that process alone: its
//! peak less its memory before the flood.

use std::process::Command;
use std::time::Duration;

use leeward::rcu::{Domain, Global};

use super::conclude;
use crate::error::Error;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;
use crate::rcu::jobs::{Job, during};
use crate::rcu::roster::{self, AUTOMATIC, Contender, MEMB};
use crate::rcu::stage::Stage;
use crate::rounds::Rounds;

const PEERS: [&str; 6] = [MEMB, "crossbeam-epoch", "seize", "haphazard", "sdd", "kovan"];

/// The threads of the flood.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Case {
    /// Two producers and no reader.
    Flood,
    /// Two producers, and a reader that stays within one section.
    Stuck,
}

pub fn figures(plan: &Plan) -> Vec<Figure> {
    let cut = if plan.quick { 4.0 } else { 1.0 };
    let flood = format!("memory: two producers flooding defer for {} s, growth", 2.0 / cut);
    let stuck = format!("memory: two producers flooding defer, one reader stuck for {} s, growth", 1.0 / cut);
    let rounds = if plan.quick { 1 } else { plan.rounds };
    let mut figures = case(plan, rounds, Case::Flood, "memory.flood", &flood, 2.0 / cut);
    figures.extend(case(plan, rounds, Case::Stuck, "memory.stuck", &stuck, 1.0 / cut));
    figures
}

/// Measures one case: ours, then each peer, interleaved. Ours is the same in each of the figures.
fn case(plan: &Plan, rounds: usize, case: Case, id: &str, what: &str, seconds: f64) -> Vec<Figure> {
    plan.now(what);
    let mut ours = Ok(Vec::new());
    let mut theirs: Vec<Result<Vec<f64>, Error>> = vec![Ok(Vec::new()); PEERS.len()];
    for _ in 0..rounds {
        push(&mut ours, AUTOMATIC, case, seconds);
        PEERS.iter().zip(&mut theirs).for_each(|(peer, taken)| push(taken, peer, case, seconds));
    }
    let figure = |(peer, theirs): (&&'static str, Result<Vec<f64>, Error>)| {
        let title = Title::new(&format!("{id}.{}", short(peer)), what, "MB", Some(peer), limit());
        let taken = ours.clone().and_then(|ours| Ok(vec![Rounds { ours, theirs: theirs? }]));
        conclude(vec![title], taken)
    };
    PEERS.iter().zip(theirs).flat_map(figure).collect()
}

fn short(peer: &'static str) -> &'static str {
    peer.split('-').next().unwrap_or(peer)
}

/// Returns the limit of the domain that our row retires to, in MB, as the target.
fn limit() -> Target {
    Target::AtMost(Global::limit().bytes as f64 / 1e6)
}

/// Adds one round, unless the peer is absent.
fn push(taken: &mut Result<Vec<f64>, Error>, row: &str, case: Case, seconds: f64) {
    if roster::get(row).is_ok_and(|row| row.absent().is_some()) {
        return;
    }
    match (taken.as_mut(), in_child(row, case, seconds)) {
        (Ok(taken), Ok(value)) => taken.push(value),
        (Ok(_), Err(error)) => *taken = Err(error),
        (Err(_), _) => (),
    }
}

/// Runs this program again for one case.
pub(super) fn in_child(row: &str, case: Case, seconds: f64) -> Result<f64, Error> {
    let case = if case == Case::Flood { "flood" } else { "stuck" };
    let mut child = Command::new(std::env::current_exe()?);
    let output = child.args(["memory-child", row, case, &seconds.to_string()]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    text.trim().parse().map_err(|_| Error::new(format!("{row}: the flooded process failed: `{}`", said.trim())))
}

/// Does the child's work: floods, and prints the growth of its memory, in MB.
pub fn child(row: &str, case: Case, seconds: f64) -> Result<(), Error> {
    let row: &Contender = roster::get(row)?;
    let stage = row.open()?;
    let time = Duration::from_secs_f64(seconds);
    warm_up(&*stage)?;
    let before = status("VmRSS:")?;
    let producers = [Job::Retire; 2];
    let jobs = if case == Case::Stuck { [&[Job::Asleep(time)][..], &producers].concat() } else { producers.to_vec() };
    during(&*stage, &jobs, |_| std::thread::sleep(time))?;
    println!("{}", (status("VmHWM:")? - before) / 1000.0);
    // What is still queued has been measured, and need not be freed.
    std::process::exit(0)
}

/// Retires a few times, so that what a scheme sets up once does not count as growth.
fn warm_up(stage: &dyn Stage) -> Result<(), Error> {
    during(stage, &[Job::Retire], |_| std::thread::sleep(Duration::from_millis(1)))
}

/// Returns a line of this process's status file, which is in units of 1,024 bytes, in kB of 1,000.
fn status(field: &str) -> Result<f64, Error> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(field));
    let kibibytes: Option<f64> = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kibibytes.map(|kibibytes| kibibytes * 1.024).ok_or_else(|| Error::new(format!("/proc/self/status has no {field}")))
}
