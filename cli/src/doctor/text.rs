//! The report as text: a table where there is room for one, else a finding's meaning below it.

use super::advice_of;
use super::finding::Finding;
use super::machine;

/// The least number of columns in which a meaning stands beside its finding.
const BESIDE: usize = 32;

/// What the text is written for.
pub struct Paper {
    /// The number of columns of a line; none: a finding is one line, however long, which suits
    /// `grep`.
    pub columns: Option<usize>,
    /// Headings are bold.
    pub bold: bool,
}

impl Paper {
    fn heading(&self, text: &str) -> String {
        let lines = self.paragraph("", 2, text);
        if self.bold { format!("\x1b[1m{}\x1b[0m\n", lines.trim_end()) } else { lines }
    }

    /// Returns the words of `text` in lines: `first` before the first of them, and as many columns of
    /// blanks before the others as `indent` says.
    fn paragraph(&self, first: &str, indent: usize, text: &str) -> String {
        let Some(columns) = self.columns else { return format!("{first}{text}\n") };
        let (mut paragraph, mut line, mut has_word) = (String::new(), first.to_string(), false);
        for word in text.split(' ') {
            // A word that is wider than the paper has a line of its own.
            if has_word && width(&line) + 1 + width(word) > columns {
                paragraph += &line;
                paragraph.push('\n');
                (line, has_word) = (" ".repeat(indent), false);
            }
            if has_word {
                line.push(' ');
            }
            line += word;
            has_word = true;
        }
        paragraph + &line + "\n"
    }
}

/// Returns the report.
pub fn report(findings: &[Finding], paper: &Paper) -> String {
    let widest = |of: fn(&Finding) -> &str| findings.iter().map(|finding| width(of(finding))).max().unwrap_or(0);
    let (what, found) = (widest(|finding| &finding.what), widest(|finding| &finding.found));
    // Two blanks before each of the three.
    let before = 2 + what + 2 + found + 2;
    let is_table = paper.columns.is_none_or(|columns| columns >= before + BESIDE);
    let title =
        format!("leeward {}, Linux {}, {}", env!("CARGO_PKG_VERSION"), machine::kernel(), std::env::consts::ARCH);
    let mut text = paper.heading(&title);
    let mut group = "";
    for finding in findings {
        if finding.group() != group {
            group = finding.group();
            text.push('\n');
            text += &paper.heading(group);
        }
        if is_table {
            let first = format!("  {:what$}  {:found$}  ", finding.what, finding.found);
            text += &paper.paragraph(&first, before, &finding.means);
        } else {
            text += &paper.paragraph("  ", 4, &format!("{}: {}", finding.what, finding.found));
            text += &paper.paragraph("      ", 6, &finding.means);
        }
    }
    text.push('\n');
    text += &paper.heading("what to do");
    let mut advice = advice_of(findings).map(|advice| paper.paragraph("  - ", 4, advice.text())).peekable();
    if advice.peek().is_none() {
        text += &paper.paragraph("  ", 2, "nothing: all is well");
    }
    text.extend(advice);
    text
}

/// Returns the number of columns of a text, all of whose characters have one.
fn width(text: &str) -> usize {
    text.chars().count()
}
