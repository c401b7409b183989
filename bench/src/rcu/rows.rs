//! The main job: every scheme with the same readers and writers, without pause, and its section
//! alone in one thread.

use std::fmt::Write as _;

use serde::Serialize;

use crate::error::Error;
use crate::markdown::{number, table};
use crate::plan::Plan;
use crate::rcu::figures::{flat, section};
use crate::rcu::roster::{self, Contender};
use crate::report::{optional, short};
use crate::rounds::{max, median, min};

/// One row. Its fields are the JSON's; the numbers are medians over the rounds.
#[derive(Serialize)]
pub struct Row {
    pub scheme: &'static str,
    pub ours: bool,
    /// The reason why there are no numbers.
    pub absent: Option<String>,
    pub readers: usize,
    pub writers: usize,
    pub seconds: f64,
    pub reads_per_second: Option<f64>,
    pub reads_min: Option<f64>,
    pub reads_max: Option<f64>,
    pub writes_per_second: Option<f64>,
    pub writes_min: Option<f64>,
    pub writes_max: Option<f64>,
    /// What a write does with the old node: `waits`, `retires` or `locks`.
    pub write: &'static str,
    pub section_ns: Option<f64>,
    /// The cheapest round, at the best alignment of its loop.
    pub section_best_ns: Option<f64>,
    #[serde(skip)]
    pub failed: bool,
}

/// The number of sections in one round: fewer than for a figure, since every row takes them.
const SECTIONS: u64 = section::SECTIONS / 4;

#[derive(Default)]
struct Taken {
    reads: Vec<f64>,
    writes: Vec<f64>,
    section: Vec<f64>,
    cheapest: Vec<f64>,
    error: Option<Error>,
}

/// Measures every row. The rounds of one are interleaved with those of all others.
pub fn all(plan: &Plan) -> Vec<Row> {
    let rows = roster::all();
    plan.expect(plan.rounds * rows.len());
    let mut taken: Vec<Taken> = rows.iter().map(|_| Taken::default()).collect();
    for _ in 0..plan.rounds {
        for (row, taken) in rows.iter().zip(&mut taken) {
            plan.now(row.name);
            if row.absent().is_none() && taken.error.is_none() {
                taken.error = round(plan, row, taken).err();
            }
            plan.step();
        }
    }
    rows.iter().zip(taken).map(|(row, taken)| conclude(plan, row, taken)).collect()
}

fn round(plan: &Plan, row: &Contender, taken: &mut Taken) -> Result<(), Error> {
    let (reads, writes) = flat::sums(row, plan.readers, plan.writers, plan.slice())?;
    taken.reads.push(reads);
    taken.writes.push(writes);
    let section = section::nanoseconds(row, SECTIONS)?;
    taken.section.push(section.mean);
    taken.cheapest.push(section.cheapest);
    Ok(())
}

fn conclude(plan: &Plan, row: &'static Contender, taken: Taken) -> Row {
    let failed = taken.error.is_some();
    Row {
        scheme: row.name,
        ours: row.ours,
        absent: row.absent().map(str::to_string).or(taken.error.map(|error| error.to_string())),
        readers: plan.readers,
        writers: plan.writers,
        seconds: plan.row.as_secs_f64(),
        reads_per_second: median(&taken.reads),
        reads_min: min(&taken.reads),
        reads_max: max(&taken.reads),
        writes_per_second: median(&taken.writes),
        writes_min: min(&taken.writes),
        writes_max: max(&taken.writes),
        write: row.write.word(),
        section_ns: median(&taken.section),
        section_best_ns: min(&taken.cheapest),
        failed,
    }
}

/// Returns the rows as text.
pub fn text(plan: &Plan, rows: &[Row]) -> String {
    let mut text = String::new();
    if let Some(crowded) = plan.crowded(plan.readers + plan.writers) {
        let _ = writeln!(text, "{crowded}");
    }
    let _ = writeln!(
        text,
        "\n{:<28} {:>9} {:>9}  {:<7} {:>11} {:>8}",
        "", "reads/s", "writes/s", "a write", "section, ns", "cheapest"
    );
    for row in rows {
        let _ = match (row.reads_per_second, row.writes_per_second) {
            (Some(reads), Some(writes)) => writeln!(
                text,
                "{:<28} {:>9} {:>9}  {:<7} {:>11} {:>8}",
                row.scheme,
                short(reads),
                short(writes),
                row.write,
                optional(row.section_ns),
                optional(row.section_best_ns)
            ),
            _ => writeln!(
                text,
                "{:<28} {}: {}",
                row.scheme,
                if row.failed { "failed" } else { "absent" },
                row.absent.as_deref().unwrap_or("")
            ),
        };
    }
    text + "\na write: `waits` for a grace period and frees; `retires` to a collector without\n\
            waiting; `locks` readers out and frees. Only writes of one kind compare.\n"
}

/// Returns the rows as Markdown.
pub fn markdown(rows: &[Row]) -> String {
    let titles = ["", "reads/s", "writes/s", "a write", "one section, ns"].map(str::to_string).to_vec();
    let line = |row: &Row| {
        vec![
            row.scheme.to_string(),
            row.absent.as_ref().map_or_else(|| number(row.reads_per_second), |why| format!("absent: {why}")),
            number(row.writes_per_second),
            row.write.to_string(),
            number(row.section_ns),
        ]
    };
    table(std::iter::once(titles).chain(rows.iter().map(line)))
}
