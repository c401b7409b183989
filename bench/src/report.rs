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
use crate::rcu::roster;
use crate::versions::Versions;

/// The columns of the printed report: no line is wider, so that it fits every terminal.
const WIDTH: usize = 80;
/// The time from which a heavy fence counts as slow.
const SLOW: Duration = Duration::from_micros(100);
/// Fewer processors than this are worth a remark.
const FEW: usize = 4;

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

/// Prints the report as text, in lines of 80 columns: to standard output, or to standard error if
/// the JSON goes to standard output.
pub fn show(common: &Common, text: &str) {
    let text: String = text.lines().map(|line| fitted(line) + "\n").collect();
    if common.json.as_deref() == Some("-") {
        eprint!("{text}");
    } else {
        print!("{text}");
    }
}

/// Returns a line, wrapped if it is too wide.
fn fitted(line: &str) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_string();
    }
    textwrap::fill(line, textwrap::Options::new(WIDTH).subsequent_indent("    "))
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
    head.iter().map(|line| fitted(line) + "\n").collect()
}

/// Returns the figures as text in lines of 80 columns. With `verbose`, a description follows each
/// line.
pub fn figures(figures: &[Figure], verbose: bool) -> String {
    let titles = ["figure", "ours", "theirs", "ratio", "min .. max", "target", ""];
    let mut text = format!("\n{}\n", row(titles.map(str::to_string)));
    for figure in figures {
        if let Some(error) = &figure.error {
            let _ = writeln!(text, "{:<29} could not be measured: {error}", figure.id);
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
    text + "\nours, theirs: medians. ratio: ours to theirs, the median of the rounds' ratios.\n\
            min, max: of these ratios, or of ours if the target is on ours alone. The last\n\
            column: whether the target was met.\n"
}

fn row([figure, ours, theirs, ratio, spread, target, met]: [String; 7]) -> String {
    let line = format!("{figure:<29} {ours:>7} {theirs:>7} {ratio:>5} {spread:>15} {target:>8} {met:>3}");
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

/// Returns three sentences: two on what the table means, and one on what a reader should know about
/// this machine.
pub fn closing(figures: &[Figure], versions: &Versions) -> String {
    let judged = figures.iter().filter(|figure| figure.met.is_some()).count();
    let met = figures.iter().filter(|figure| figure.met == Some(true)).count();
    let absent: Vec<_> = versions.iter().filter(|(_, version)| version.is_none()).map(|(name, _)| *name).collect();
    let text = format!(
        "{met} of {judged} targets were met in this run: of rates (\"/s\" in `--verbose`) and of fairness more is \
         better, of everything else less. A ratio whose min and max lie on both sides of its target says nothing about \
         it. {}",
        remarks(machine::heavy_fence(), Machine::here().cores, &absent)
    );
    format!("\n{}\n", textwrap::fill(&text, WIDTH))
}

/// Returns a sentence on what is worth noting about a machine.
fn remarks(fence: Duration, cores: usize, absent: &[&str]) -> String {
    let mut notes = Vec::new();
    if fence > SLOW {
        notes.push(format!(
            "interrupts between its processors are slow (a heavy fence takes {fence:.0?} beside a running thread), so \
             prefer `defer` to `synchronize`, let callers share grace periods, and take `asym` locks only where writes \
             are as rare as `leeward doctor` says"
        ));
    }
    if cores < FEW {
        notes.push(format!("it has {cores} processors, so rows with more threads measure the scheduler too"));
    }
    if !absent.is_empty() {
        let peer = |name: &&str| format!("{name} ({})", roster::how_to_get(name));
        notes.push(format!("absent peers: {}", absent.iter().map(peer).collect::<Vec<_>>().join(", ")));
    }
    if notes.is_empty() {
        return format!("On this machine a heavy fence takes {fence:.1?}, and no peer is absent.");
    }
    format!("On this machine: {}.", notes.join("; "))
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
    use std::time::Duration;

    use super::{WIDTH, fitted, remarks, short};

    #[test]
    fn three_digits_matter() {
        assert_eq!([short(0.0), short(1.234), short(930_100_000.0), short(35_200.0)], ["0", "1.23", "930 M", "35.2 k"]);
    }

    #[test]
    fn no_line_is_wider_than_a_terminal() {
        let line = "leeward ".repeat(40) + &"x".repeat(100);
        assert!(fitted(&line).lines().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(fitted("  short"), "  short");
    }

    #[test]
    fn the_machine_is_one_sentence() {
        let slow = remarks(Duration::from_micros(750), 2, &["liburcu", "kovan"]);
        for said in
            ["slow (a heavy fence takes 750µs", "2 processors", "liburcu (install liburcu-dev", "kovan (it needs"]
        {
            assert!(slow.contains(said), "{slow}");
        }
        assert!(!slow.trim_end_matches('.').contains(". "), "{slow}");
        assert!(remarks(Duration::from_micros(2), 8, &[]).contains("no peer is absent"));
    }
}
