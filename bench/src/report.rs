//! What is printed: the machine, the rows, the figures; and the same as one JSON object.

use std::fmt::Write as _;
use std::fs;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::figure::Figure;
use crate::machine::Machine;
use crate::plan::Plan;
use crate::roster;
use crate::rows::Row;
use crate::trouble::Trouble;

/// One object with everything in it; `rows` are those of the main job, or of the scaling.
pub fn object(figures: &[Figure], rows: &[impl Serialize]) -> Value {
    let peers: Map<String, Value> =
        roster::versions().into_iter().map(|(name, version)| (name.to_string(), json!(version))).collect();
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

/// The head of every table.
pub fn head(plan: &Plan, what: &str) -> String {
    let machine = Machine::here();
    let or_none = |names: Vec<&str>| {
        if names.is_empty() { "none".to_string() } else { names.join(", ") }
    };
    let peer = |(name, version): (&str, Option<&str>)| format!("{name} {}", version.unwrap_or("absent"));
    let peers: Vec<_> = roster::versions().into_iter().map(peer).collect();
    format!(
        "{} · {} cores · Linux {}\nmembarrier: {}\nfutex2: {}\npeers: {}\n{what}; {} rounds in turns, medians; {} s a row\n",
        machine.cpu,
        machine.cores,
        machine.kernel,
        or_none(machine.membarrier),
        or_none(machine.futex),
        peers.join(", "),
        plan.rounds,
        plan.row.as_secs_f64(),
    )
}

/// The rows, as text.
pub fn rows(plan: &Plan, rows: &[Row]) -> String {
    let mut text = String::new();
    if let Some(crowded) = plan.crowded(plan.readers + plan.writers) {
        let _ = writeln!(text, "{crowded}");
    }
    let _ = writeln!(
        text,
        "\n{:<28} {:>12} {:>12}  {:<8} {:>12} {:>9}",
        "", "reads/s", "writes/s", "a write", "section, ns", "cheapest"
    );
    for row in rows {
        let _ = match (row.reads_per_second, row.writes_per_second) {
            (Some(reads), Some(writes)) => writeln!(
                text,
                "{:<28} {:>12} {:>12}  {:<8} {:>12} {:>9}",
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
    text + "\na write: `waits` for a grace period and frees; `retires` to a collector without waiting; `locks` readers out and frees.\n\
            Only writes of one kind compare with each other.\n"
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

fn optional(value: Option<f64>) -> String {
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
