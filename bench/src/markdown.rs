//! The tables as Markdown, as the project's README shows them: `--markdown FILE` writes what is pasted there.

use std::fs;

use crate::figure::Figure;
use crate::machine::Machine;
use crate::plan::Plan;
use crate::report::{peers, short};
use crate::trouble::Trouble;
use crate::versions::Versions;

/// Writes the parts, with an empty line between (`-`: to standard output).
pub fn write(to: &str, parts: &[String]) -> Result<(), Trouble> {
    let text = parts.join("\n");
    if to == "-" {
        print!("{text}");
        return Ok(());
    }
    fs::write(to, text).map_err(|error| Trouble::new(format!("{to} could not be written: {error}")))
}

/// What the numbers were taken on, and how a ratio is to be read.
pub fn head(plan: &Plan, versions: &Versions) -> String {
    let machine = Machine::here();
    format!(
        "Everything interleaved in one run of {} rounds, {} s a row: {}, {} cores, Linux {}; {}.\n\
         A ratio is ours to theirs: the median of the rounds, with the least and the greatest.\n",
        plan.rounds,
        plan.row.as_secs_f64(),
        machine.cpu,
        machine.cores,
        machine.kernel,
        peers(versions),
    )
}

/// A table; every line has as many cells as the first.
pub fn table(lines: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut text = String::new();
    for (number, cells) in lines.into_iter().enumerate() {
        text += &format!("| {} |\n", cells.join(" | "));
        if number == 0 {
            text += &format!("|{}\n", "---|".repeat(cells.len()));
        }
    }
    text
}

/// The figures: one line each.
pub fn figures(figures: &[Figure]) -> String {
    let titles = ["figure", "ours", "theirs", "peer", "ratio (least .. greatest)", "target", "met"];
    let titles = titles.map(str::to_string).to_vec();
    table(std::iter::once(titles).chain(figures.iter().map(line)))
}

fn line(figure: &Figure) -> Vec<String> {
    let absent = figure.peer.is_some() && figure.theirs.is_none();
    let ours = match &figure.trouble {
        Some(trouble) => format!("could not be measured: {trouble}"),
        None => with_unit(figure.ours, figure.unit),
    };
    vec![
        figure.what.clone(),
        ours,
        if absent { "absent".to_string() } else { number(figure.theirs) },
        figure.peer.unwrap_or("–").to_string(),
        spread(figure),
        figure.target.as_deref().map_or("–".to_string(), |target| target.replace("<=", "≤").replace(">=", "≥")),
        figure.met.map_or("–", |met| if met { "yes" } else { "**no**" }).to_string(),
    ]
}

/// The ratio and its spread; where the target is on ours alone, the spread is of ours and says so.
fn spread(figure: &Figure) -> String {
    let (Some(least), Some(greatest)) = (figure.min, figure.max) else { return "–".to_string() };
    let range = format!("{} .. {}", short(least), short(greatest));
    match figure.ratio {
        Some(ratio) if figure.spread_is_of_ratios() => format!("{} ({range})", short(ratio)),
        Some(ratio) => format!("{} (ours: {range})", short(ratio)),
        None => format!("– (ours: {range})"),
    }
}

fn with_unit(value: Option<f64>, unit: &str) -> String {
    format!("{} {}", number(value), unit.replace("us", "µs"))
}

pub fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_string(), short)
}

#[cfg(test)]
mod tests {
    use super::figures;
    use crate::figure::{Target, Title};
    use crate::rounds::Rounds;

    #[test]
    fn a_figure_is_a_line() {
        let rounds = Rounds { ours: vec![1.0, 2.0, 3.0], theirs: vec![2.0, 2.0, 2.0] };
        let figure = Title::new("x", "what", "us", Some("peer"), Target::RatioAtMost(0.5)).figure(&rounds);
        let text = figures(&[figure]);
        assert_eq!(
            text.lines().nth(2),
            Some("| what | 2.00 µs | 2.00 | peer | 1.00 (0.50 .. 1.50) | ≤ 0.5 | **no** |")
        );
    }
}
