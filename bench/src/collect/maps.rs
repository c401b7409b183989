//! Maps: the rate of mixed operations, by entries, threads, distribution of keys and share of
//! writes; and the memory that is held back meanwhile.

use super::figures::{self, Setting};
use super::held;
use super::keys::{Keys, Operation, sequence};
use super::map::MapLoops;
use super::peers::{self, Open};
use super::size;
use crate::cli::Containers;
use crate::crew::{Task, during};
use crate::error::Error;
use crate::locks::contest::{Entrant, Outcome, contest};
use crate::plan::Plan;

/// The maps of one size, opened.
type Opened = Entrant<Box<dyn MapLoops>>;

pub fn outcome(plan: &Plan, options: &Containers) -> Outcome {
    let mut outcome = Outcome::default();
    for &size in options.sizes(plan.quick) {
        plan.now(&format!("maps of {} entries are filled", size::text(size)));
        let maps: Vec<Opened> = peers::maps().iter().map(|entrant| opened(entrant, size)).collect();
        // Reads come first: they are to hit, and writes leave other keys behind.
        for &writes in &options.writes {
            for &threads in &options.threads {
                for &keys in options.keys() {
                    hold(plan, &mut outcome, &maps, Setting { size, threads, keys, writes });
                }
            }
        }
    }
    outcome
}

fn opened(entrant: &Entrant<Open>, size: usize) -> Opened {
    Entrant { name: entrant.name, open: entrant.open.map(|open| open(size)) }
}

/// Holds one contest, and adds its rows and figures.
fn hold(plan: &Plan, outcome: &mut Outcome, maps: &[Opened], setting: Setting) {
    let operations: Vec<_> =
        (1..=setting.threads).map(|seed| sequence(setting.keys, setting.size, setting.writes, seed.into())).collect();
    let quantities = [(setting.words(), setting.unit()), (format!("{}: held back", setting.words()), "bytes")];
    let quantities = if setting.writes == 0 { &quantities[..1] } else { &quantities[..] };
    let boards = contest(plan, plan.rounds, quantities, maps, |map| mixed(plan, &**map, &operations, setting));
    boards.iter().for_each(|board| outcome.add(board));
    outcome.figures.extend(figures::of_maps(&boards[0], setting));
}

/// Returns the rate of all threads' operations (of one: the time of an operation), and the growth of
/// what malloc has given out.
fn mixed(plan: &Plan, map: &dyn MapLoops, work: &[Vec<Operation>], setting: Setting) -> Result<Vec<f64>, Error> {
    let tasks: Vec<Task<'_>> = work.iter().map(|work| Task::counting(move |post| map.run(post, work))).collect();
    let before = held::bytes();
    let (rate, grown) = during(&tasks, |crew| {
        let rate: f64 = crew.rates(plan.slice()).iter().sum();
        (rate, held::bytes() - before)
    })?;
    let value = if setting.threads == 1 { 1e9 / rate } else { rate };
    Ok(if setting.writes == 0 { vec![value] } else { vec![value, grown.max(0.0)] })
}

impl Containers {
    /// Returns the sizes that were asked for, or the usual ones.
    pub fn sizes(&self, quick: bool) -> &[usize] {
        match (self.sizes.is_empty(), quick) {
            (false, _) => &self.sizes,
            (true, true) => &[1_000, 100_000],
            (true, false) => &[1_000, 100_000, 4_000_000],
        }
    }

    /// Returns the distributions that were asked for, or all.
    pub fn keys(&self) -> &[Keys] {
        if self.keys.is_empty() { &Keys::ALL } else { &self.keys }
    }
}
