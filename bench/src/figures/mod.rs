//! The lines of the target table. Each module measures some of them; `all` runs them in the table's order.

mod asleep;
mod barrier;
mod counts;
pub mod flat;
pub mod grace;
pub mod memory;
pub mod section;

use crate::figure::{Figure, Title};
use crate::plan::Plan;
use crate::roster::{self, Contender};
use crate::rounds::{self, Rounds};
use crate::trouble::Trouble;

type Group = fn(&Plan) -> Vec<Figure>;

/// Every figure of the target table.
pub fn all(plan: &Plan) -> Vec<Figure> {
    let groups: [Group; 7] = [
        section::figures,
        flat::figures,
        grace::figures,
        counts::figures,
        barrier::figures,
        asleep::figures,
        memory::figures,
    ];
    plan.expect(groups.len());
    let run = |group: &Group| {
        let figures = group(plan);
        plan.step();
        figures
    };
    groups.iter().flat_map(run).collect()
}

/// Figures that are taken together, ours (the row of that name) against the peer's, in turns.
fn against(
    plan: &Plan,
    rounds: usize,
    ours: &str,
    titles: Vec<Title>,
    measure: impl FnMut(&Contender) -> Result<Vec<f64>, Trouble>,
) -> Vec<Figure> {
    plan.now(&titles[0].what);
    let peer = titles[0].peer.unwrap_or(roster::MEMB);
    let taken = roster::get(ours).and_then(|ours| rounds::in_turns(rounds, ours, roster::get(peer)?, measure));
    conclude(titles, taken)
}

/// Figures that ours alone has.
fn alone(
    plan: &Plan,
    rounds: usize,
    titles: Vec<Title>,
    mut measure: impl FnMut() -> Result<Vec<f64>, Trouble>,
) -> Vec<Figure> {
    plan.now(&titles[0].what);
    let mut taken = vec![Rounds::default(); titles.len()];
    let outcome = (0..rounds).try_for_each(|_| {
        let values = measure()?;
        taken.iter_mut().zip(values).for_each(|(rounds, value)| rounds.ours.push(value));
        Ok(())
    });
    conclude(titles, outcome.map(|()| taken))
}

fn conclude(titles: Vec<Title>, taken: Result<Vec<Rounds>, Trouble>) -> Vec<Figure> {
    match taken {
        Ok(taken) => titles.into_iter().zip(&taken).map(|(title, rounds)| title.figure(rounds)).collect(),
        Err(trouble) => titles.into_iter().map(|title| title.trouble(trouble.clone())).collect(),
    }
}
