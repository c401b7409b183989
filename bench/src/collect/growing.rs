//! The longest calls while a map grows from a million entries to twice as many: one thread inserts,
//! another gets keys that are there throughout. Beside them, gets at rest.

use std::sync::{Mutex, PoisonError};

use super::map::MapLoops;
use super::peers::{self, Open};
use crate::crew::{Task, during};
use crate::error::Error;
use crate::figure::{Figure, Target, Title};
use crate::locks::contest::{Board, Outcome, contest};
use crate::plan::Plan;
use crate::rounds::Rounds;
use crate::tails::Tails;

pub fn outcome(plan: &Plan) -> Outcome {
    let size = if plan.quick { 100_000 } else { 1_000_000 };
    let from = super::size::text(size);
    let job = |words: &str| (format!("map, {words}"), "us");
    let quantities = [
        job(&format!("get at rest, {from} entries, 99.99 %")),
        job(&format!("get while it doubles from {from}, 99.99 %")),
        job(&format!("get while it doubles from {from}, the longest")),
        job(&format!("insert while it doubles from {from}, 99.99 %")),
        job(&format!("insert while it doubles from {from}, the longest")),
    ];
    let entrants = peers::growing();
    let boards = contest(plan, plan.rounds, &quantities, &entrants, |open| grown(plan, open, size));
    let mut outcome = Outcome::default();
    let ids = ["rest.get", "get.p9999", "get.max", "insert.p9999", "insert.max"];
    for ((board, id), (what, unit)) in boards.iter().zip(ids).zip(&quantities) {
        outcome.add(board);
        for (ours, name) in peers::ours().iter().zip(peers::OUR_IDS) {
            let title = |peer, target| {
                Title::new(&format!("grow.{id}.{name}"), format!("{}, {what}", ours.name), unit, peer, target)
            };
            outcome.figures.push(match (ours.name, id) {
                (peers::HASH_MAP, "get.p9999") => beside_rest(&boards[0], board, title),
                (peers::HASH_MAP, "insert.max") => board.figure(ours.name, title(None, Target::AtMost(1_000.0))),
                _ => board.figure(ours.name, title(None, Target::Open)),
            });
        }
    }
    outcome
}

/// Returns the figure of `HashMap`'s gets while it grows, beside its own gets at rest.
fn beside_rest(rest: &Board, grown: &Board, title: impl Fn(Option<&'static str>, Target) -> Title) -> Figure {
    let title = title(Some("at rest"), Target::RatioAtMost(2.0));
    let rounds = |board: &Board| board.score(peers::HASH_MAP);
    match rounds(grown).and_then(|ours| Ok(Rounds { ours, theirs: rounds(rest)? })) {
        Ok(rounds) => title.figure(&rounds),
        Err(error) => title.failed(error),
    }
}

/// Returns the times, in microseconds: gets at rest, then gets and inserts while the map grows.
fn grown(plan: &Plan, open: &Open, size: usize) -> Result<Vec<f64>, Error> {
    let map = open(size);
    let rest = watched(&*map, size, || std::thread::sleep(plan.slice()))?;
    let inserts = Mutex::new(Tails::new());
    let gets = watched(&*map, size, || {
        *inserts.lock().unwrap_or_else(PoisonError::into_inner) = map.grow(size, 2 * size);
    })?;
    let inserts = inserts.into_inner().unwrap_or_else(PoisonError::into_inner);
    let at = |tails: &Tails| tails.quantile(0.9999);
    Ok(vec![at(&rest), at(&gets), gets.longest(), at(&inserts), inserts.longest()])
}

/// Returns the times of gets by another thread during `work`.
fn watched(map: &dyn MapLoops, size: usize, work: impl FnOnce()) -> Result<Tails, Error> {
    let times = Mutex::new(Tails::new());
    let watch = Task::counting(|post| {
        let own = map.watch(post, size);
        times.lock().unwrap_or_else(PoisonError::into_inner).add(&own);
    });
    during(&[watch], |_| work())?;
    Ok(times.into_inner().unwrap_or_else(PoisonError::into_inner))
}
