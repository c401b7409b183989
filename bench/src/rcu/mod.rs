//! The tables of RCU: every scheme and every peer as rows, the figures of the target table, and the
//! scaling.

mod chart;
pub mod figures;
mod foreign;
mod jobs;
mod loops;
mod peers;
pub mod roster;
mod rows;
mod scaling;
mod scheme;
pub mod stage;
mod table;

use crate::cli::{Rcu, Scaling};
use crate::error::Error;
use crate::{markdown, report};

/// Measures and shows the table. Returns true if every row and figure could be measured.
pub fn compare(options: &Rcu) -> Result<bool, Error> {
    let plan = options.common.plan(options.readers.into(), options.writers.into());
    let rows = rows::all(&plan);
    let figures = figures::all(&plan);
    plan.done();
    let (versions, threads) = (roster::versions(), format!("{} readers, {} writers", plan.readers, plan.writers));
    let head = report::head(&plan, &versions, &threads);
    let text = format!(
        "{head}{}{}{}",
        rows::text(&plan, &rows),
        report::figures(&figures, options.common.verbose),
        report::closing(&figures, &versions)
    );
    report::show(&options.common, &text);
    if let Some(file) = &options.common.json {
        report::write(file, &report::object(&versions, &figures, &rows))?;
    }
    if let Some(file) = &options.markdown {
        let title = markdown::paragraph(&format!(
            "The rows, {threads} (a write *waits* for a grace period and frees, or *retires* to a \
             collector, or *locks* \
             readers out; only writes of one kind compare):"
        ));
        let rows = format!("{title}\n{}", rows::markdown(&rows));
        markdown::write(file, &[markdown::head(&plan, &versions), markdown::figures(&figures), rows])?;
    }
    Ok(rows.iter().all(|row| !row.failed) && figures.iter().all(|figure| figure.error.is_none()))
}

/// Measures and shows the scaling. Returns true if every point could be measured.
pub fn scale(options: &Scaling) -> Result<bool, Error> {
    let plan = options.common.plan(1, 1);
    let points = scaling::all(&plan);
    plan.done();
    let versions = roster::versions();
    let head = report::head(&plan, &versions, "1 to 64 busy readers; 1 to 10,000 idle ones");
    report::show(&options.common, &format!("{head}{}", scaling::text(&plan, &points)));
    if let Some(file) = &options.common.json {
        report::write(file, &report::object(&versions, &[], &points))?;
    }
    if let Some(file) = &options.svg {
        chart::draw(file, &points)?;
    }
    Ok(points.iter().all(|point| point.error.is_none()))
}
