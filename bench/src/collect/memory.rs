//! The bytes of an entry. Each map is filled in a fresh process, and grows by itself; the figure is
//! what the process then has resident (/proc/self/statm) more than before, by its entries.

use std::process::Command;

use super::peers;
use super::size;
use crate::error::Error;
use crate::figure::{Target, Title};
use crate::locks::contest::{Entrant, Outcome, contest};
use crate::plan::Plan;

pub fn outcome(plan: &Plan, entries: usize) -> Outcome {
    let what = format!("map, {} entries, resident bytes an entry", size::text(entries));
    let entrants: Vec<Entrant<&str>> = peers::maps()
        .iter()
        .filter(|map| map.name != peers::LOOP)
        .map(|map| Entrant::new(map.name, map.name))
        .collect();
    // Nothing else runs in those processes, so the figure hardly varies.
    let rounds = plan.rounds.min(2);
    let boards = contest(plan, rounds, &[(what.clone(), "bytes")], &entrants, |name| in_child(name, entries));
    let mut outcome = Outcome::default();
    outcome.add(&boards[0]);
    for (ours, id) in peers::ours().iter().zip(peers::OUR_IDS) {
        let peer = Some(peers::PAPAYA);
        let title = Title::new(
            &format!("bytes.{id}"),
            format!("{}, {what}", ours.name),
            "bytes",
            peer,
            Target::RatioAtMost(1.0),
        );
        outcome.figures.push(boards[0].figure(ours.name, title));
    }
    outcome
}

/// Runs this program again for one map.
fn in_child(name: &str, entries: usize) -> Result<Vec<f64>, Error> {
    let mut child = Command::new(std::env::current_exe()?);
    let output = child.args(["entries-child", name, &entries.to_string()]).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    let bytes: Result<f64, _> = text.trim().parse();
    bytes.map(|bytes| vec![bytes]).map_err(|_| Error::new(format!("{name}: the process failed: `{}`", said.trim())))
}

/// Does the child's work: fills the map, and prints the bytes of an entry.
pub fn child(name: &str, entries: usize) -> Result<(), Error> {
    let maps = peers::maps();
    let map = maps.iter().find(|map| map.name == name).ok_or_else(|| Error::new(format!("there is no map {name}")))?;
    let open = map.open.map_err(Error::new)?;
    let before = resident()?;
    let map = open(entries);
    println!("{:.2}", (resident()? - before) / entries as f64);
    drop(map);
    Ok(())
}

/// Returns the bytes of this process that are in memory.
fn resident() -> Result<f64, Error> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: Option<f64> = text.split_whitespace().nth(1).and_then(|pages| pages.parse().ok());
    // SAFETY: the call takes a number and returns one.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as f64;
    pages.map(|pages| pages * page).ok_or_else(|| Error::new("/proc/self/statm has no second number"))
}
