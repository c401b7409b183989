//! Readers and writers without pause, at the thread counts of the target table, whatever those of
//! the rows are.

use super::against;
use crate::error::Error;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;
use crate::rcu::jobs::{Job, rates};
use crate::rcu::roster::{AUTOMATIC, Contender, MEMB};

pub fn figures(plan: &Plan) -> Vec<Figure> {
    let take = |readers, writers, titles| {
        against(plan, plan.rounds, AUTOMATIC, titles, |row| {
            let (reads, writes) = sums(row, readers, writers, plan.slice())?;
            Ok(if writers == 0 { vec![reads] } else { vec![reads, writes] })
        })
    };
    [
        take(6, 2, pair("flat.6r2w", "6 readers + 2 writers", 2.2, 2.5)),
        take(1, 1, pair("flat.1r1w", "1 reader + 1 writer", 1.6, 1.6)),
        take(
            2,
            0,
            vec![Title::new("flat.2r", "2 readers alone: reads", "reads/s", Some(MEMB), Target::RatioAtLeast(1.5))],
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn pair(id: &str, what: &str, reads: f64, writes: f64) -> Vec<Title> {
    vec![
        Title::new(
            &format!("{id}.reads"),
            format!("{what}: reads"),
            "reads/s",
            Some(MEMB),
            Target::RatioAtLeast(reads),
        ),
        Title::new(
            &format!("{id}.writes"),
            format!("{what}: writes"),
            "writes/s",
            Some(MEMB),
            Target::RatioAtLeast(writes),
        ),
    ]
}

/// Returns the reads and the writes of a row, per second, of all threads together.
pub fn sums(row: &Contender, readers: usize, writers: usize, time: std::time::Duration) -> Result<(f64, f64), Error> {
    let stage = row.open()?;
    let jobs = [vec![Job::Read; readers], vec![Job::Write; writers]].concat();
    let rates = rates(&*stage, &jobs, time)?;
    let (reads, writes) = rates.split_at(readers);
    Ok((reads.iter().sum(), writes.iter().sum()))
}
