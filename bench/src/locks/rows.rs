//! The rows of every lock at every job, as text and as Markdown.

use std::fmt::Write as _;

use super::contest::Row;
use crate::markdown::{item, number};
use crate::report::optional;

/// Returns a block of text for each job.
pub fn text(rows: &[Row]) -> String {
    let mut text = String::new();
    let mut job = "";
    for row in rows {
        if row.job != job {
            job = &row.job;
            let _ = writeln!(text, "\n{job}, {}", row.unit);
        }
        let _ = match (&row.absent, row.median) {
            (Some(why), _) => {
                writeln!(text, "  {:<32} {}: {why}", row.lock, if row.failed { "failed" } else { "absent" })
            }
            (None, median) => writeln!(
                text,
                "  {:<32} {:>12}  {} .. {}",
                row.lock,
                optional(median),
                optional(row.min),
                optional(row.max)
            ),
        };
    }
    text
}

/// Returns an item for each job, with every lock's median.
pub fn markdown(rows: &[Row]) -> String {
    let line = |job: &[Row]| item(&format!("{}, {}: {}.", job[0].job, job[0].unit.replace("us", "µs"), medians(job)));
    rows.chunk_by(|one, next| one.job == next.job).map(line).collect()
}

fn medians(job: &[Row]) -> String {
    let median = |row: &Row| match (&row.absent, row.ours) {
        (Some(_), _) if row.failed => format!("{} failed", row.lock),
        (Some(_), _) => format!("{} absent", row.lock),
        (None, true) => format!("**{} {}**", row.lock, number(row.median)),
        (None, false) => format!("{} {}", row.lock, number(row.median)),
    };
    job.iter().map(median).collect::<Vec<_>>().join(" · ")
}
