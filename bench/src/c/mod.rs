//! The table of the C face: leeward's headers and `libleeward.so` beside liburcu's, inlined, in
//! programs of one compiler. What is measured is in `c/face/`; each value is the output of a child
//! process, so that the two faces never share one.

mod callbacks;
mod code;
mod flavour;
mod grace;
mod instructions;
mod latency;
mod maps;
mod programs;
mod queues;
mod sections;
mod threads;

use flavour::Flavour;
use programs::{Programs, Side};

use crate::cli::Face;
use crate::error::Error;
use crate::figure::{Figure, Title};
use crate::groups::conclude;
use crate::interleave::interleave;
use crate::locks::contest::Row;
use crate::plan::Plan;
use crate::versions::{self, Versions};
use crate::{markdown, report};

/// A function that measures some lines of the table.
type Group = fn(&Plan, &Programs) -> Vec<Figure>;

/// The groups, in the table's order. `--only` takes their names.
pub const GROUPS: [&str; 9] =
    ["sections", "synchronize", "callbacks", "threads", "latency", "queues", "maps", "instructions", "code"];
const MEASURES: [Group; GROUPS.len()] = [
    sections::figures,
    grace::figures,
    callbacks::figures,
    threads::figures,
    latency::figures,
    queues::figures,
    maps::figures,
    instructions::figures,
    code::figures,
];

/// Measures and shows the table. Returns true if every figure could be measured.
pub fn compare(options: &Face) -> Result<bool, Error> {
    let plan = options.common.plan(1, 1);
    plan.now("building");
    let programs = Programs::build(&options.compiler)?;
    let figures = all(&plan, &programs, options.only.as_deref());
    plan.done();
    let versions = peers(&programs);
    let what = format!("C programs compiled by {}; threads as each line says", programs.compiler());
    let text = format!(
        "{}{}{}",
        report::head(&plan, &versions, &what),
        report::figures(&figures, options.common.verbose),
        report::closing(&figures, &versions)
    );
    report::show(&options.common, &text);
    if let Some(file) = &options.common.json {
        let rows: [Row; 0] = [];
        report::write(file, &report::object(&versions, &figures, &rows))?;
    }
    if let Some(file) = &options.markdown {
        markdown::write(file, &[markdown::head(&plan, &versions), markdown::figures(&figures)])?;
    }
    Ok(figures.iter().all(|figure| figure.error.is_none()))
}

/// Measures every group, or the one of that name.
fn all(plan: &Plan, programs: &Programs, only: Option<&str>) -> Vec<Figure> {
    let chosen: Vec<Group> = GROUPS
        .iter()
        .zip(MEASURES)
        .filter(|(name, _)| only.is_none_or(|only| only == **name))
        .map(|(_, measure)| measure)
        .collect();
    plan.expect(chosen.len());
    let mut figures = Vec::new();
    for measure in chosen {
        figures.extend(measure(plan, programs));
        plan.step();
    }
    figures.iter_mut().for_each(|figure| figure.id.insert_str(0, "c."));
    figures
}

/// Returns liburcu and the compiler with their versions.
fn peers(programs: &Programs) -> Versions {
    let urcu = versions::built("liburcu").filter(|_| Flavour::ALL.into_iter().any(|flavour| programs.has(flavour)));
    vec![("liburcu", urcu.map(str::to_string)), ("compiler", Some(programs.compiler().to_string()))]
}

/// Measures figures that are taken together: leeward's flavour and liburcu's of the same name,
/// interleaved. The peer of the titles becomes the latter.
fn against(
    plan: &Plan,
    programs: &Programs,
    flavour: Flavour,
    rounds: usize,
    mut titles: Vec<Title>,
    measure: impl FnMut(Side) -> Result<Vec<f64>, Error>,
) -> Vec<Figure> {
    plan.now(&titles[0].what);
    titles.iter_mut().for_each(|title| title.peer = Some(flavour.peer()));
    let peer = programs.has(flavour).then_some(Side::Theirs);
    conclude(titles, interleave(rounds, Side::Ours, peer, measure))
}
