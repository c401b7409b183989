//! The results as Markdown: `--markdown FILE` writes a part of a page of `bench/results`.

use std::fs;

use crate::error::Error;
use crate::figure::Figure;
use crate::machine::Machine;
use crate::plan::Plan;
use crate::report::{peers, short};
use crate::versions::Versions;

/// The columns of a page.
const WIDTH: usize = 100;

/// Writes the parts, with an empty line between (`-`: to standard output).
pub fn write(to: &str, parts: &[String]) -> Result<(), Error> {
    let text = parts.join("\n");
    if to == "-" {
        print!("{text}");
        return Ok(());
    }
    fs::write(to, text).map_err(|error| Error::new(format!("{to} could not be written: {error}")))
}

/// Returns the lines that say what the numbers were taken on, and how to read a ratio.
pub fn head(plan: &Plan, versions: &Versions) -> String {
    let machine = Machine::here();
    paragraph(&format!(
        "Everything interleaved in one run of {} rounds, {} s a row: {}, {} cores, Linux {}; {}. A ratio is ours to \
         theirs: the median of the rounds, with the least and the greatest.",
        plan.rounds,
        plan.row.as_secs_f64(),
        machine.cpu,
        machine.cores,
        machine.kernel,
        peers(versions),
    ))
}

/// Returns a table. Every line has as many cells as the first.
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

/// Returns a paragraph, wrapped at the page's width.
pub fn paragraph(text: &str) -> String {
    textwrap::fill(text, options()) + "\n"
}

/// Returns an item of a list, wrapped at the page's width.
pub fn item(text: &str) -> String {
    textwrap::fill(text, options().initial_indent("- ").subsequent_indent("  ")) + "\n"
}

/// Lines end at blanks alone: not within a unit such as `/s`.
fn options() -> textwrap::Options<'static> {
    textwrap::Options::new(WIDTH)
        .break_words(false)
        .word_separator(textwrap::WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
}

/// Returns the figures, an item each: a table of them would be three pages wide.
pub fn figures(figures: &[Figure]) -> String {
    figures.iter().map(|figure| item(&sentence(figure))).collect()
}

fn sentence(figure: &Figure) -> String {
    if let Some(error) = &figure.error {
        return format!("{}: could not be measured: {error}.", figure.what);
    }
    let mut text = format!("{}: **{}**", figure.what, with_unit(figure.ours, figure.unit));
    match (figure.peer, figure.theirs) {
        (Some(peer), Some(theirs)) => text += &format!(", {peer} {}", short(theirs)),
        (Some(peer), None) => text += &format!(", {peer} is absent"),
        (None, _) => {}
    }
    text += &spread(figure);
    if let Some(target) = &figure.target {
        let met = figure.met.map_or("not judged", |met| if met { "met" } else { "**missed**" });
        text += &format!("; target {}: {met}", target.replace("<=", "≤").replace(">=", "≥"));
    }
    text + "."
}

/// Returns the ratio and its spread. If the target is on ours alone, the spread is that of ours,
/// and the text says so.
fn spread(figure: &Figure) -> String {
    let (Some(least), Some(greatest)) = (figure.min, figure.max) else { return String::new() };
    let range = format!("{} .. {}", short(least), short(greatest));
    match figure.ratio {
        Some(ratio) if figure.spread_is_of_ratios() => format!("; ratio {} ({range})", short(ratio)),
        Some(ratio) => format!("; ratio {} (ours: {range})", short(ratio)),
        None => format!(" ({range})"),
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
    fn a_figure_is_an_item() {
        let rounds = Rounds { ours: vec![1.0, 2.0, 3.0], theirs: vec![2.0, 2.0, 2.0] };
        let figure = Title::new("x", "what", "us", Some("peer"), Target::RatioAtMost(0.5)).figure(&rounds);
        let text = figures(&[figure]);
        assert_eq!(text, "- what: **2.00 µs**, peer 2.00; ratio 1.00 (0.50 .. 1.50); target ≤ 0.5: **missed**.\n");
    }
}
