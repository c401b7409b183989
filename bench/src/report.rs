//! The printed report: the machine, the rows and the figures, as text and as one JSON object.

use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cli::Common;
use crate::error::Error;
use crate::figure::Figure;
use crate::machine::{self, Machine};
use crate::plan::Plan;
use crate::versions::Versions;

/// The time from which a heavy fence counts as slow.
const SLOW: Duration = Duration::from_micros(100);

/// Returns one object with the whole report. `rows` are those of the main job or of the scaling.
pub fn object(versions: &Versions, figures: &[Figure], rows: &[impl Serialize]) -> Value {
    let peers: Map<String, Value> = versions.iter().map(|(name, version)| (name.to_string(), json!(version))).collect();
    json!({"machine": Machine::here(), "peers": peers, "figures": figures, "rows": rows})
}

/// Writes the object to a file, or to standard output if the name is `-`.
pub fn write(to: &str, object: &Value) -> Result<(), Error> {
    let text = format!("{object:#}\n");
    if to == "-" {
        print!("{text}");
        return Ok(());
    }
    fs::write(to, text).map_err(|error| Error::new(format!("{to} could not be written: {error}")))
}

/// Prints the report as text: to standard output, or to standard error if the JSON goes to standard
/// output.
pub fn show(common: &Common, text: &str) {
    if common.json.as_deref() == Some("-") {
        eprint!("{text}");
    } else {
        print!("{text}");
    }
}

/// Returns the head of every table: the machine, the peers and the plan.
pub fn head(plan: &Plan, versions: &Versions, what: &str) -> String {
    let machine = Machine::here();
    let or_none = |names: Vec<&str>| {
        if names.is_empty() { "none".to_string() } else { names.join(", ") }
    };
    let head = [
        format!("{} · {} cores · Linux {}", machine.cpu, machine.cores, machine.kernel),
        format!("membarrier: {}", or_none(machine.membarrier)),
        format!("futex2: {}", or_none(machine.futex)),
        format!("peers: {}", peers(versions)),
        format!("{what}; {} interleaved rounds, medians; {} s a row", plan.rounds, plan.row.as_secs_f64()),
    ];
    let options = textwrap::Options::new(80).subsequent_indent("    ").break_words(false);
    head.iter().map(|line| textwrap::fill(line, &options) + "\n").collect()
}

/// Returns the figures as text in lines of 80 columns. With `verbose`, a description follows each
/// line.
pub fn figures(figures: &[Figure], verbose: bool) -> String {
    let titles = ["figure", "ours", "theirs", "ratio", "min .. max", "target", ""];
    let mut text = format!("\n{}\n", row(titles.map(str::to_string)));
    for figure in figures {
        if let Some(error) = &figure.error {
            let _ = writeln!(text, "{:<30} could not be measured: {error}", figure.id);
            continue;
        }
        let is_absent = figure.peer.is_some() && figure.theirs.is_none();
        let cells = [
            figure.id.clone(),
            optional(figure.ours),
            if is_absent { "absent".to_string() } else { optional(figure.theirs) },
            optional(figure.ratio),
            format!("{}..{}", optional(figure.min), optional(figure.max)),
            figure.target.clone().unwrap_or_default(),
            figure.met.map_or("", |met| if met { "yes" } else { "no" }).to_string(),
        ];
        let _ = writeln!(text, "{}", row(cells));
        if verbose {
            text += &description(figure);
        }
    }
    text + "\nours, theirs: medians. ratio: ours to theirs, the median of the rounds' ratios; min, max: of these\n\
            (of ours alone where the target is on ours alone). The last column: whether the target was met.\n"
}

fn row([figure, ours, theirs, ratio, spread, target, met]: [String; 7]) -> String {
    let line = format!("{figure:<30} {ours:>7} {theirs:>7} {ratio:>5} {spread:>15} {target:>7} {met:>3}");
    line.trim_end().to_string()
}

fn description(figure: &Figure) -> String {
    let peer = figure.peer.map_or_else(String::new, |peer| format!(", beside {peer}"));
    let best = match figure.best {
        (Some(ours), Some(theirs)) => format!("; best rounds {} and {}", short(ours), short(theirs)),
        (Some(ours), None) => format!("; best round {}", short(ours)),
        (None, _) => String::new(),
    };
    let text = format!("{}, {}{peer}{best}", figure.what, figure.unit);
    textwrap::indent(&textwrap::fill(&text, 76), "    ") + "\n"
}

/// Returns what the table means, and what a reader should know about this machine.
pub fn closing(figures: &[Figure], versions: &Versions) -> String {
    let judged = figures.iter().filter(|figure| figure.met.is_some()).count();
    let met = figures.iter().filter(|figure| figure.met == Some(true)).count();
    let mut text = format!(
        "Of a time or a count less is better, of a rate (\"/s\" in `--verbose`) more is. {met} of {judged} targets were \
         met in this run; a ratio whose min and max lie on both sides of the target says nothing about it."
    );
    let fence = machine::heavy_fence();
    if fence > SLOW {
        let _ = write!(
            text,
            " A heavy fence takes {fence:.0?} here beside a running thread, because interrupts between the processors \
             are slow: prefer `defer` to `synchronize`, let callers share grace periods, and take `asym` locks only \
             where writes are rare."
        );
    }
    let cores = Machine::here().cores;
    if cores < 4 {
        let _ = write!(text, " {cores} processors: rows with more threads than that measure the scheduler too.");
    }
    let absent: Vec<_> = versions.iter().filter(|(_, version)| version.is_none()).map(|(name, _)| *name).collect();
    if !absent.is_empty() {
        let _ = write!(text, " Absent: {}; bench/README.md says how to get them.", absent.join(", "));
    }
    format!("\n{}\n", textwrap::fill(&text, 80))
}

/// Returns every peer with its version, separated by commas.
pub fn peers(versions: &Versions) -> String {
    let peer = |(name, version): &(&str, Option<String>)| format!("{name} {}", version.as_deref().unwrap_or("absent"));
    versions.iter().map(peer).collect::<Vec<_>>().join(", ")
}

pub fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_string(), short)
}

/// Formats a number with three significant digits and the suffixes k, M and G.
pub fn short(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, " G"),
        size if size >= 1e6 => (value / 1e6, " M"),
        size if size >= 1e4 => (value / 1e3, " k"),
        _ => (value, ""),
    };
    let digits = if scaled.abs() >= 100.0 || scaled == 0.0 {
        0
    } else if scaled.abs() >= 10.0 {
        1
    } else {
        2
    };
    format!("{scaled:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn three_digits_matter() {
        assert_eq!([short(0.0), short(1.234), short(930_100_000.0), short(35_200.0)], ["0", "1.23", "930 M", "35.2 k"]);
    }
}
