//! The picture: a bar for each row, to the right as far as ours is better than the peer, to the left
//! as far as it is worse. It has no background, and colours that are read on light and on dark ones.

use std::fmt::Write as _;

use super::Row;

/// The height of a row, in pixels as all lengths here.
const LINE: f64 = 24.0;
/// Where the rows begin, below the scale.
const TOP: f64 = 52.0;
const WIDTH: f64 = 1000.0;
/// Labels end here; the bars' part and the numbers' part follow.
const LABELS: f64 = 372.0;
const BARS: (f64, f64) = (420.0, 676.0);
const NUMBERS: f64 = 716.0;

/// Colours of middling lightness serve where a viewer does not say which background it has.
const STYLE: &str = "\
text { font: 13px -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif; fill: #6e7781 }
.label { text-anchor: end; fill: #57606a } .small { font-size: 12px } .middle { text-anchor: middle }
.left { text-anchor: end } .better { fill: #2da078 } .worse { fill: #d4762c } .equal { fill: #8c959f }
line { stroke: #8c959f; stroke-opacity: .35 } .one { stroke-opacity: 1 }
@media (prefers-color-scheme: light) { text { fill: #57606a } .label { fill: #1f2328 } }
@media (prefers-color-scheme: dark) { text { fill: #9198a1 } .label { fill: #f0f6fc } }
";

/// A row that has a bar.
struct Bar<'a> {
    row: &'a Row,
    /// How many times better ours is; less than 1: worse.
    factor: f64,
}

/// Returns the picture of those rows that have a ratio, the best first.
pub fn svg(rows: &[Row]) -> String {
    let bars = bars(rows);
    let scale = Scale::of(&bars);
    let height = TOP + LINE * bars.len() as f64 + 4.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n",
        escaped(&summary(rows))
    );
    scale.draw(&mut svg, height);
    for (index, bar) in bars.iter().enumerate() {
        bar.draw(&mut svg, &scale, TOP + LINE * index as f64);
    }
    svg + "</svg>\n"
}

/// Says in a sentence what the picture shows, for those who do not see it.
pub fn summary(rows: &[Row]) -> String {
    let bars = bars(rows);
    let says = |bar: &Bar<'_>| format!("{} than {} ({})", times(bar.factor), bar.row.peer, plain(&bar.row.label));
    let ends = bars.first().zip(bars.last());
    let ends = ends.map_or(String::new(), |(best, worst)| format!(", from {} to {}", says(best), says(worst)));
    format!("Ours beside the strongest peer, operation by operation{ends}")
}

fn bars(rows: &[Row]) -> Vec<Bar<'_>> {
    let mut bars: Vec<_> = rows.iter().filter_map(|row| Some(Bar { row, factor: row.factor()? })).collect();
    bars.sort_by(|one, other| other.factor.total_cmp(&one.factor));
    bars
}

/// Factors by their logarithm: twice as good and half as good are equally far from the middle.
struct Scale {
    least: f64,
    most: f64,
}

impl Scale {
    fn of(bars: &[Bar<'_>]) -> Scale {
        let logs = || bars.iter().map(|bar| bar.factor.log2());
        Scale { least: logs().fold(-1.0, f64::min).floor(), most: logs().fold(1.0, f64::max).ceil() }
    }

    fn at(&self, factor: f64) -> f64 {
        BARS.0 + (factor.log2() - self.least) / (self.most - self.least) * (BARS.1 - BARS.0)
    }

    /// Draws a line for each doubling, the words above them, and the title of the numbers.
    fn draw(&self, svg: &mut String, height: f64) {
        for power in self.least as i32..=self.most as i32 {
            let factor = f64::from(power).exp2();
            let at = self.at(factor);
            let class = if power == 0 { " class=\"one\"" } else { "" };
            let _ = writeln!(
                svg,
                "<line{class} x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{}\" y2=\"{}\"/>\n\
                 <text class=\"small middle\" x=\"{at:.1}\" y=\"{}\">{}</text>",
                TOP - 6.0,
                height - 4.0,
                TOP - 12.0,
                if power == 0 { "equal".to_string() } else { format!("{}×", f64::from(power.abs()).exp2()) }
            );
        }
        let one = self.at(1.0);
        let _ = writeln!(
            svg,
            "<text class=\"small left worse\" x=\"{:.1}\" y=\"18\">← the peer is better</text>\n\
             <text class=\"small better\" x=\"{:.1}\" y=\"18\">leeward is better →</text>\n\
             <text class=\"small\" x=\"{NUMBERS}\" y=\"18\">leeward, the strongest peer</text>",
            one - 12.0,
            one + 12.0
        );
    }
}

impl Bar<'_> {
    fn draw(&self, svg: &mut String, scale: &Scale, top: f64) {
        let (one, end) = (scale.at(1.0), scale.at(self.factor));
        let (left, right) = (one.min(end), one.max(end));
        let (class, text, at) = match self.row.verdict {
            "better" => ("better", "", right + 5.0),
            "worse" => ("worse", " left", left - 5.0),
            _ => ("equal", "", right + 5.0),
        };
        let base = top + 16.5;
        let _ = writeln!(
            svg,
            "<text class=\"label\" x=\"{LABELS}\" y=\"{base}\">{}</text>\n\
             <rect class=\"{class}\" x=\"{left:.1}\" y=\"{}\" width=\"{:.1}\" height=\"{}\" rx=\"2\"/>\n\
             <text class=\"small{text}\" x=\"{at:.1}\" y=\"{base}\">{}</text>\n\
             <text class=\"small\" x=\"{NUMBERS}\" y=\"{base}\">{}; {}</text>",
            escaped(&plain(&self.row.label)),
            top + 4.0,
            (right - left).max(2.0),
            LINE - 8.0,
            rounded(self.factor.max(1.0 / self.factor)),
            escaped(&self.row.ours),
            escaped(&self.row.theirs()),
        );
    }
}

fn times(factor: f64) -> String {
    let better = if factor >= 1.0 { "better" } else { "worse" };
    format!("{} {better}", rounded(factor.max(1.0 / factor)))
}

/// A factor of two digits.
fn rounded(factor: f64) -> String {
    if factor < 9.95 { format!("{factor:.1}×") } else { format!("{factor:.0}×") }
}

/// A label without the marks of Markdown.
fn plain(label: &str) -> String {
    label.replace('`', "")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::super::Row;
    use super::{summary, svg};

    fn rows() -> [Row; 3] {
        let row = |label: &str, ratio, more_is_better| Row {
            label: label.to_string(),
            ours: "2.00 ns".to_string(),
            peer: "a peer".to_string(),
            peers: "1.00 ns".to_string(),
            ratio: Some(ratio),
            more_is_better,
            verdict: super::super::verdict(ratio, more_is_better),
        };
        [row("slower <one>", 2.0, false), row("`quick`", 4.0, true), row("equal", 1.0, true)]
    }

    #[test]
    fn the_best_row_comes_first_and_names_are_escaped() {
        let svg = svg(&rows());
        let at = |text| svg.find(text).unwrap();
        assert!(at(">quick<") < at(">equal</text>\n<rect") && at(">equal</text>\n<rect") < at(">slower &lt;one&gt;<"));
        assert_eq!(svg.matches("<rect class=\"better\"").count(), 1);
        assert_eq!(svg.matches("<rect class=\"worse\"").count(), 1);
    }

    #[test]
    fn the_summary_names_both_ends() {
        assert_eq!(
            summary(&rows()),
            "Ours beside the strongest peer, operation by operation, from 4.0× better than a peer (quick) to 2.0× \
             worse than a peer (slower <one>)"
        );
    }
}
