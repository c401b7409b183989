//! `cargo compare TABLE`: leeward beside every peer, in one run. What is taken, and how, is in README.md beside this crate.

mod chart;
mod cli;
mod crew;
mod figure;
mod figures;
mod foreign;
mod loops;
mod machine;
mod peers;
mod plan;
mod report;
mod roster;
mod rounds;
mod rows;
mod scaling;
mod scheme;
mod stage;
mod table;
mod trouble;

use std::process::ExitCode;

use cli::{Common, Rcu, Scaling, Table};
use plan::Plan;
use trouble::Trouble;

fn main() -> ExitCode {
    let outcome = match cli::parse() {
        Err(code) => return ExitCode::from(code),
        Ok(command) => match command.table {
            Table::Rcu(options) => rcu(&options),
            Table::RcuScaling(options) => scale(&options),
            Table::MemoryChild { row, case, seconds } => figures::memory::child(&row, case, seconds).map(|()| true),
        },
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(trouble) => {
            eprintln!("{trouble}");
            ExitCode::from(1)
        }
    }
}

fn plan(readers: u16, writers: u16, common: &Common) -> Plan {
    let seconds = common.seconds.unwrap_or(if common.quick { 0.45 } else { 3.0 });
    let rounds = common.rounds.unwrap_or(if common.quick { 3 } else { 5 });
    Plan::new(readers.into(), writers.into(), seconds, rounds.into(), common.quick)
}

/// The table for people: on standard output, unless that is to be the JSON's.
fn show(common: &Common, text: &str) {
    if common.json.as_deref() == Some("-") {
        eprint!("{text}");
    } else {
        print!("{text}");
    }
}

/// Whether every row and figure could be measured.
fn rcu(options: &Rcu) -> Result<bool, Trouble> {
    let plan = plan(options.readers, options.writers, &options.common);
    let rows = rows::all(&plan);
    let figures = figures::all(&plan);
    plan.done();
    let head = report::head(&plan, &format!("{} readers, {} writers", plan.readers, plan.writers));
    show(&options.common, &format!("{head}{}{}", report::rows(&plan, &rows), report::figures(&figures)));
    if let Some(file) = &options.common.json {
        report::write(file, &report::object(&figures, &rows))?;
    }
    Ok(rows.iter().all(|row| !row.failed) && figures.iter().all(|figure| figure.trouble.is_none()))
}

/// Whether every point could be measured.
fn scale(options: &Scaling) -> Result<bool, Trouble> {
    let plan = plan(1, 1, &options.common);
    let points = scaling::all(&plan);
    plan.done();
    let head = report::head(&plan, "1 to 64 busy readers; 1 to 10,000 idle ones");
    show(&options.common, &format!("{head}{}", scaling::text(&plan, &points)));
    if let Some(file) = &options.common.json {
        report::write(file, &report::object(&[], &points))?;
    }
    if let Some(file) = &options.svg {
        chart::draw(file, &points)?;
    }
    Ok(points.iter().all(|point| point.trouble.is_none()))
}
