//! Figures: the lines of the target table. Each has our value, the peer's, their ratio, and whether
//! the target is met.

use serde::Serialize;

use crate::error::Error;
use crate::rounds::{Rounds, max, median, min};

/// The target of a figure.
#[derive(Clone, Copy)]
pub enum Target {
    /// Ours divided by theirs is this at most.
    RatioAtMost(f64),
    /// Ours divided by theirs is this at least.
    RatioAtLeast(f64),
    /// Our value is this at most, whatever theirs is.
    AtMost(f64),
    /// There is no target; the figure is shown for information.
    Open,
}

impl Target {
    fn text(self) -> Option<String> {
        match self {
            Target::RatioAtMost(limit) | Target::AtMost(limit) => Some(format!("<= {}", rounded(limit))),
            Target::RatioAtLeast(limit) => Some(format!(">= {}", rounded(limit))),
            Target::Open => None,
        }
    }

    fn is_on_ours_alone(self) -> bool {
        matches!(self, Target::AtMost(_))
    }

    fn met(self, ours: Option<f64>, ratio: Option<f64>) -> Option<bool> {
        match self {
            Target::RatioAtMost(limit) => ratio.map(|ratio| ratio <= limit),
            Target::RatioAtLeast(limit) => ratio.map(|ratio| ratio >= limit),
            Target::AtMost(limit) => ours.map(|ours| ours <= limit),
            Target::Open => None,
        }
    }
}

/// The unit of fairness: the least of the threads' counts divided by the greatest.
pub const FAIRNESS: &str = "least : greatest";

/// Returns true if more of this unit is better, as of rates and fairness.
pub fn more_is_better(unit: &str) -> bool {
    unit.ends_with("/s") || unit == FAIRNESS
}

/// Rounds a target to two digits after the point.
fn rounded(limit: f64) -> f64 {
    (limit * 100.0).round() / 100.0
}

/// A measured line of the target table. Its fields are the JSON's; those that are skipped there are
/// for the printed table. Made by [`Title::figure`].
#[derive(Serialize)]
pub struct Figure {
    pub id: String,
    pub what: String,
    pub unit: &'static str,
    pub ours: Option<f64>,
    pub peer: Option<&'static str>,
    pub theirs: Option<f64>,
    pub ratio: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    pub target: Option<String>,
    pub met: Option<bool>,
    /// The best round of ours and of theirs: the greatest value if more is better, else the least.
    #[serde(skip)]
    pub best: (Option<f64>, Option<f64>),
    /// True if the target is on ours alone. Then `min` and `max` are of ours and not of ratios.
    #[serde(skip)]
    pub alone: bool,
    /// The reason why the figure could not be measured.
    #[serde(skip)]
    pub error: Option<Error>,
}

impl Figure {
    /// Returns true if `min` and `max` are of the rounds' ratios.
    pub fn spread_is_of_ratios(&self) -> bool {
        self.ratio.is_some() && !self.alone
    }
}

/// The name, unit, peer and target of a figure that is yet to be measured.
#[derive(Clone)]
pub struct Title {
    pub id: String,
    pub what: String,
    pub unit: &'static str,
    pub peer: Option<&'static str>,
    pub target: Target,
}

impl Title {
    pub fn new(
        id: &str,
        what: impl Into<String>,
        unit: &'static str,
        peer: Option<&'static str>,
        target: Target,
    ) -> Title {
        Title { id: id.to_string(), what: what.into(), unit, peer, target }
    }

    /// Returns the figure that the rounds give.
    pub fn figure(self, rounds: &Rounds) -> Figure {
        let (ours, ratios) = (median(&rounds.ours), rounds.ratios());
        let ratio = median(&ratios);
        // If the target is on ours alone, the spread is that of ours.
        let spread = if self.target.is_on_ours_alone() || ratios.is_empty() { &rounds.ours } else { &ratios };
        let best = if more_is_better(self.unit) { max } else { min };
        Figure {
            ours,
            theirs: median(&rounds.theirs),
            ratio,
            min: min(spread),
            max: max(spread),
            met: self.target.met(ours, ratio),
            best: (best(&rounds.ours), best(&rounds.theirs)),
            ..self.blank()
        }
    }

    /// Returns the figure that stands for one that could not be measured.
    pub fn failed(self, error: Error) -> Figure {
        Figure { error: Some(error), ..self.blank() }
    }

    fn blank(self) -> Figure {
        Figure {
            target: self.target.text(),
            alone: self.target.is_on_ours_alone(),
            id: self.id,
            what: self.what,
            unit: self.unit,
            ours: None,
            peer: self.peer,
            theirs: None,
            ratio: None,
            min: None,
            max: None,
            met: None,
            best: (None, None),
            error: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Rounds, Target, Title};

    #[test]
    fn a_ratio_is_taken_round_by_round() {
        let rounds = Rounds { ours: vec![1.0, 2.0, 3.0], theirs: vec![2.0, 2.0, 2.0] };
        let figure = Title::new("x", "x", "ns", Some("peer"), Target::RatioAtMost(1.0)).figure(&rounds);
        assert_eq!((figure.ratio, figure.min, figure.max, figure.met), (Some(1.0), Some(0.5), Some(1.5), Some(true)));
    }

    #[test]
    fn without_a_peer_ours_is_still_shown() {
        let rounds = Rounds { ours: vec![1.0], theirs: vec![] };
        let figure = Title::new("x", "x", "ns", Some("peer"), Target::RatioAtMost(1.0)).figure(&rounds);
        assert_eq!((figure.ours, figure.theirs, figure.ratio, figure.met), (Some(1.0), None, None, None));
    }
}
