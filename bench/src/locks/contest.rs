//! A contest: every entrant does the same job, interleaved. Its board gives a row for each entrant,
//! and figures of ours against the best peer.

use serde::Serialize;

use crate::error::Error;
use crate::figure::{Figure, Title, more_is_better};
use crate::interleave::interleave_all;
use crate::plan::Plan;
use crate::rounds::{Rounds, max, median, min};

/// An entrant: its name and how to open it, or why it is absent on this machine.
pub struct Entrant<T> {
    pub name: &'static str,
    pub open: Result<T, &'static str>,
}

impl<T> Entrant<T> {
    pub const fn new(name: &'static str, open: T) -> Entrant<T> {
        Entrant { name, open: Ok(open) }
    }
}

fn is_ours(name: &str) -> bool {
    name.starts_with("leeward")
}

/// One line of the table below the figures. Its fields are the JSON's, and its numbers are taken
/// over the rounds.
#[derive(Serialize)]
pub struct Row {
    /// The job that was done.
    pub job: String,
    pub lock: &'static str,
    pub ours: bool,
    pub unit: &'static str,
    pub median: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// The reason why there are no numbers.
    pub absent: Option<String>,
    #[serde(skip)]
    pub failed: bool,
}

/// The values of one quantity that one entrant gave.
struct Score {
    name: &'static str,
    taken: Result<Vec<f64>, Error>,
    absent: Option<&'static str>,
}

/// The values of one quantity that all entrants gave.
pub struct Board {
    job: String,
    unit: &'static str,
    scores: Vec<Score>,
}

/// The rows and figures of some contests.
#[derive(Default)]
pub struct Outcome {
    pub rows: Vec<Row>,
    pub figures: Vec<Figure>,
}

impl Outcome {
    /// Adds all of another outcome.
    pub fn append(&mut self, other: Outcome) {
        self.rows.extend(other.rows);
        self.figures.extend(other.figures);
    }

    /// Adds a board's rows.
    pub fn add(&mut self, board: &Board) {
        self.rows.extend(board.scores.iter().map(|score| board.row(score)));
    }
}

/// Measures all entrants, interleaved. Returns a board for each of the quantities that `measure`
/// gives; `quantities` has their names and units.
pub fn contest<T>(
    plan: &Plan,
    rounds: usize,
    quantities: &[(String, &'static str)],
    entrants: &[Entrant<T>],
    mut measure: impl FnMut(&T) -> Result<Vec<f64>, Error>,
) -> Vec<Board> {
    plan.now(&quantities[0].0);
    let here: Vec<(&'static str, &T)> =
        entrants.iter().filter_map(|entrant| Some((entrant.name, entrant.open.as_ref().ok()?))).collect();
    let taken = interleave_all(rounds, &here, |(_, open)| measure(open));
    let score = |number: usize, entrant: &Entrant<T>| {
        let place = here.iter().position(|(name, _)| *name == entrant.name);
        let taken = place.map_or(Ok(Vec::new()), |place| taken[place].clone());
        Score {
            name: entrant.name,
            taken: taken.map(|quantities| quantities.get(number).cloned().unwrap_or_default()),
            absent: entrant.open.as_ref().err().copied(),
        }
    };
    let board = |(number, (job, unit)): (usize, &(String, &'static str))| Board {
        job: job.clone(),
        unit,
        scores: entrants.iter().map(|entrant| score(number, entrant)).collect(),
    };
    quantities.iter().enumerate().map(board).collect()
}

impl Board {
    pub fn score(&self, name: &str) -> Result<Vec<f64>, Error> {
        let score = self.scores.iter().find(|score| score.name == name);
        score.map_or_else(|| Err(Error::new(format!("no entrant is named {name}"))), |score| score.taken.clone())
    }

    /// Returns the peer with the best median, or none if all peers are absent.
    pub fn best_peer(&self) -> Option<&'static str> {
        self.best(|name| !is_ours(name))
    }

    /// Returns the best of those that `takes_part` names.
    pub fn best_of(&self, takes_part: impl Fn(&str) -> bool) -> Option<&'static str> {
        self.best(takes_part)
    }

    /// Returns the best of all but the one of this name, ours and peers.
    pub fn best_but(&self, name: &str) -> Option<&'static str> {
        self.best(|other| other != name)
    }

    fn best(&self, takes_part: impl Fn(&str) -> bool) -> Option<&'static str> {
        let peers = self.scores.iter().filter(|score| takes_part(score.name));
        let medians = peers.filter_map(|score| Some((score.name, median(score.taken.as_ref().ok()?)?)));
        let sign = if more_is_better(self.unit) { -1.0 } else { 1.0 };
        medians.min_by(|a, b| (sign * a.1).total_cmp(&(sign * b.1))).map(|best| best.0)
    }

    /// Returns the figure of ours against the peer that the title names, or else against the best.
    /// The title's unit is the board's.
    pub fn figure(&self, ours: &str, mut title: Title) -> Figure {
        title.peer = title.peer.or_else(|| self.best_peer());
        let theirs = title.peer.map_or(Ok(Vec::new()), |peer| self.score(peer));
        match self.score(ours).and_then(|ours| Ok(Rounds { ours, theirs: theirs? })) {
            Ok(rounds) => title.figure(&rounds),
            Err(error) => title.failed(error),
        }
    }

    fn row(&self, score: &Score) -> Row {
        let rounds = score.taken.as_deref().unwrap_or_default();
        let error = score.taken.as_ref().err().map(Error::to_string);
        Row {
            job: self.job.clone(),
            lock: score.name,
            ours: is_ours(score.name),
            unit: self.unit,
            median: median(rounds),
            min: min(rounds),
            max: max(rounds),
            failed: error.is_some(),
            absent: score.absent.map(str::to_string).or(error),
        }
    }
}
