//! Groups of figures, measured one after the other, and the figures that their rounds give.

use crate::error::Error;
use crate::figure::{Figure, Title};
use crate::plan::Plan;
use crate::rounds::Rounds;

/// A function that measures some lines of a target table.
pub type Group = fn(&Plan) -> Vec<Figure>;

/// Measures every group and returns its figures, whose ids begin with the table's name.
pub fn run(plan: &Plan, table: &str, groups: &[Group]) -> Vec<Figure> {
    plan.expect(groups.len());
    let run = |group: &Group| {
        let figures = group(plan);
        plan.step();
        figures
    };
    let mut figures: Vec<Figure> = groups.iter().flat_map(run).collect();
    figures.iter_mut().for_each(|figure| figure.id.insert_str(0, &format!("{table}.")));
    figures
}

/// Measures figures that have no peer.
pub fn alone(
    plan: &Plan,
    rounds: usize,
    titles: Vec<Title>,
    mut measure: impl FnMut() -> Result<Vec<f64>, Error>,
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

/// Makes the figures of the rounds, or, if they could not be taken, figures that say why.
pub fn conclude(titles: Vec<Title>, taken: Result<Vec<Rounds>, Error>) -> Vec<Figure> {
    match taken {
        Ok(taken) => titles.into_iter().zip(&taken).map(|(title, rounds)| title.figure(rounds)).collect(),
        Err(error) => titles.into_iter().map(|title| title.failed(error.clone())).collect(),
    }
}
