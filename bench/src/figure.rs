//! One line of the target table: ours, the peer's, their ratio, and whether the target is met. Its fields are the JSON's.

use serde::Serialize;

use crate::error::Error;
use crate::rounds::{Rounds, max, median, min};

/// What a figure should be.
#[derive(Clone, Copy)]
pub enum Target {
    /// Ours : theirs, no more than.
    RatioAtMost(f64),
    /// Ours : theirs, no less than.
    RatioAtLeast(f64),
    /// Ours alone, no more than.
    AtMost(f64),
    /// Shown for information.
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

/// The unit of how evenly threads were served: the least of their counts to the greatest.
pub const FAIRNESS: &str = "least : greatest";

/// Whether more of this unit is better: rates and fairness; of everything else less is.
pub fn more_is_better(unit: &str) -> bool {
    unit.ends_with("/s") || unit == FAIRNESS
}

/// Two digits after the point are enough for a target.
fn rounded(limit: f64) -> f64 {
    (limit * 100.0).round() / 100.0
}

/// Made by `Title::figure`; `best` and `error` are for the printed table alone.
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
    /// The best round of ours and of theirs: the cheapest, or the fastest where more is better.
    #[serde(skip)]
    pub best: (Option<f64>, Option<f64>),
    /// Whether the target is on ours alone: then the least and the greatest are of ours, not of ratios.
    #[serde(skip)]
    pub alone: bool,
    /// Why it could not be measured.
    #[serde(skip)]
    pub error: Option<Error>,
}

impl Figure {
    /// Whether the least and the greatest are of the rounds' ratios.
    pub fn spread_is_of_ratios(&self) -> bool {
        self.ratio.is_some() && !self.alone
    }
}

/// What a figure is called, before it is measured.
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

    /// The figure that the rounds give.
    pub fn figure(self, rounds: &Rounds) -> Figure {
        let (ours, ratios) = (median(&rounds.ours), rounds.ratios());
        let ratio = median(&ratios);
        // A target on ours alone has ours' own spread beside it.
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

    /// The figure that stands for one that could not be measured.
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
