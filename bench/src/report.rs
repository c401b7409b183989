//! What is printed: the machine, the rows, the figures; and the same as one JSON object.

use std::fmt::Write as _;
use std::fs;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::cli::Common;
use crate::figure::Figure;
use crate::machine::Machine;
use crate::plan::Plan;
use crate::trouble::Trouble;
use crate::versions::Versions;

/// One object with everything in it; `rows` are those of the main job, or of the scaling.
pub fn object(versions: &Versions, figures: &[Figure], rows: &[impl Serialize]) -> Value {
    let peers: Map<String, Value> = versions.iter().map(|(name, version)| (name.to_string(), json!(version))).collect();
    json!({"machine": Machine::here(), "peers": peers, "figures": figures, "rows": rows})
}

/// Writes the object to a file, or to standard output for `-`.
pub fn write(to: &str, object: &Value) -> Result<(), Trouble> {
    let text = format!("{object:#}\n");
    if to == "-" {
        print!("{text}");
        return Ok(());
    }
    fs::write(to, text).map_err(|error| Trouble::new(format!("{to} could not be written: {error}")))
}

/// The table for people: on standard output, unless that is to be the JSON's.
pub fn show(common: &Common, text: &str) {
    if common.json.as_deref() == Some("-") {
        eprint!("{text}");
    } else {
        print!("{text}");
    }
}

/// The head of every table.
pub fn head(plan: &Plan, versions: &Versions, what: &str) -> String {
    let machine = Machine::here();
    let or_none = |names: Vec<&str>| {
        if names.is_empty() { "none".to_string() } else { names.join(", ") }
    };
    let peers = peers(versions);
    format!(
        "{} · {} cores · Linux {}\nmembarrier: {}\nfutex2: {}\npeers: {}\n{what}; {} rounds in turns, medians; {} s a row\n",
        machine.cpu,
        machine.cores,
        machine.kernel,
        or_none(machine.membarrier),
        or_none(machine.futex),
        peers,
        plan.rounds,
        plan.row.as_secs_f64(),
    )
}

/// The figures, as text.
pub fn figures(figures: &[Figure]) -> String {
    let mut text = format!(
        "\n{:<30} {:>12} {:>12}  {:<16} {:>7} {:>16} {:>9} {:>4}  {:>19}  {}\n",
        "figure", "ours", "theirs", "peer", "ratio", "min .. max", "target", "met", "best rounds", "what"
    );
    for figure in figures {
        if let Some(trouble) = &figure.trouble {
            let _ = writeln!(text, "{:<30} could not be measured: {trouble}", figure.id);
            continue;
        }
        let best = match figure.best {
            (Some(ours), Some(theirs)) => format!("{} : {}", short(ours), short(theirs)),
            (ours, _) => optional(ours),
        };
        let _ = writeln!(
            text,
            "{:<30} {:>12} {:>12}  {:<16} {:>7} {:>16} {:>9} {:>4}  {:>19}  {}, {}",
            figure.id,
            optional(figure.ours),
            if figure.peer.is_some() && figure.theirs.is_none() {
                "absent".to_string()
            } else {
                optional(figure.theirs)
            },
            figure.peer.unwrap_or("-"),
            optional(figure.ratio),
            format!("{} .. {}", optional(figure.min), optional(figure.max)),
            figure.target.as_deref().unwrap_or("-"),
            figure.met.map_or("-", |met| if met { "yes" } else { "no" }),
            best,
            figure.what,
            figure.unit,
        );
    }
    text + "\nratio: ours : theirs, the median of the rounds' ratios, and their least and greatest (of ours alone where the target is on ours alone).\n"
}

/// Every peer with its version.
pub fn peers(versions: &Versions) -> String {
    let peer = |(name, version): &(&str, Option<String>)| format!("{name} {}", version.as_deref().unwrap_or("absent"));
    versions.iter().map(peer).collect::<Vec<_>>().join(", ")
}

pub fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_string(), short)
}

/// Three digits that matter, with k, M, G.
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
