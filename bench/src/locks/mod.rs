//! The table of locks: mutexes, reader-writer locks and condition variables, ours and the peers';
//! locks that survive their owner; locks for tasks; and the cost of the kernel's part.

mod alone;
mod channels;
pub mod conditions;
mod contended;
pub mod contest;
mod exits;
mod late;
mod mapped;
mod mixed;
pub mod monitors;
mod mutexes;
mod no_syscalls;
pub mod processors;
mod pthread;
mod readers;
mod robust;
mod robust_rwlocks;
mod rows;
mod rwlocks;
pub mod syscalls;
mod tails;
mod tasks;

use contest::Outcome;

use crate::cli::{Common, Contests};
use crate::error::Error;
use crate::plan::Plan;
use crate::rcu::roster;
use crate::versions::{self, Versions};
use crate::{markdown, report};

/// Measures and shows the table. Returns true if everything could be measured.
pub fn compare(options: &Contests) -> Result<bool, Error> {
    let groups: [Contest; 13] = [
        alone::outcome,
        readers::outcome,
        mixed::outcome,
        contended::outcome,
        conditions::outcome,
        channels::outcome,
        late::outcome,
        tails::outcome,
        tasks::outcome,
        robust::outcome,
        robust_rwlocks::outcome,
        exits::outcome,
        syscalls::outcome,
    ];
    present(options, "locks", "locks; threads as each line says", &groups, &peers())
}

/// A function that holds some contests.
pub type Contest = fn(&Plan) -> Outcome;

/// Holds a table's contests and shows the results. Returns true if everything could be measured.
pub fn present(
    options: &Contests,
    table: &str,
    what: &str,
    groups: &[Contest],
    versions: &Versions,
) -> Result<bool, Error> {
    let plan = options.common.plan(6, 2);
    let outcome = all(&plan, table, groups);
    present_outcome(&plan, &options.common, options.markdown.as_deref(), what, outcome, versions)
}

/// Shows the rows and figures of contests. Returns true if everything could be measured.
pub fn present_outcome(
    plan: &Plan,
    common: &Common,
    page: Option<&str>,
    what: &str,
    Outcome { rows, figures }: Outcome,
    versions: &Versions,
) -> Result<bool, Error> {
    plan.done();
    let head = report::head(plan, versions, what);
    let text = format!(
        "{head}{}{}{}",
        rows::text(&rows),
        report::figures(&figures, common.verbose),
        report::closing(&figures, versions)
    );
    report::show(common, &text);
    if let Some(file) = &common.json {
        report::write(file, &report::object(versions, &figures, &rows))?;
    }
    if let Some(file) = page {
        let parts = [markdown::head(plan, versions), markdown::figures(&figures), rows::markdown(&rows)];
        markdown::write(file, &parts)?;
    }
    Ok(rows.iter().all(|row| !row.failed) && figures.iter().all(|figure| figure.error.is_none()))
}

/// Holds all contests, in the order of the groups.
fn all(plan: &Plan, table: &str, groups: &[Contest]) -> Outcome {
    let mut all = Outcome::default();
    plan.expect(groups.len());
    for group in groups {
        all.append(group(plan));
        plan.step();
    }
    all.figures.iter_mut().for_each(|figure| figure.id.insert_str(0, &format!("{table}.")));
    all
}

/// Returns every peer of this table with its version.
fn peers() -> Versions {
    let built = |name| (name, versions::built(name).map(str::to_string));
    let urcu = roster::get(roster::MEMB).is_ok_and(|row| row.absent().is_none());
    let urcu = ("liburcu", versions::built("liburcu").filter(|_| urcu).map(str::to_string));
    vec![
        built("std"),
        built("parking_lot"),
        built("usync"),
        built("tokio"),
        built("async-lock"),
        ("pthread", pthread::version()),
        urcu,
    ]
}
