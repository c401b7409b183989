//! Entrants measured by turns, A B A B ..., so that what changes on the machine meanwhile meets all
//! of them alike.

use crate::error::Error;
use crate::rounds::Rounds;

/// The values of one entrant, quantity by quantity and round by round, or why it could not be
/// measured.
pub type Taken = Result<Vec<Vec<f64>>, Error>;

/// Measures every entrant once a round, for `rounds` rounds. `measure` returns the same number of
/// quantities at each call.
pub fn interleave_all<T: Copy>(
    rounds: usize,
    entrants: &[T],
    mut measure: impl FnMut(T) -> Result<Vec<f64>, Error>,
) -> Vec<Taken> {
    let mut taken: Vec<Taken> = vec![Ok(Vec::new()); entrants.len()];
    for _ in 0..rounds {
        for (entrant, taken) in entrants.iter().zip(&mut taken) {
            let Ok(quantities) = taken else { continue };
            match measure(*entrant) {
                Ok(values) => {
                    quantities.resize_with(values.len(), Vec::new);
                    values.into_iter().zip(quantities).for_each(|(value, rounds)| rounds.push(value));
                }
                Err(error) => *taken = Err(error),
            }
        }
    }
    taken
}

/// Measures ours and a peer, interleaved; without a peer the rounds of theirs are empty.
pub fn interleave<T: Copy>(
    rounds: usize,
    ours: T,
    peer: Option<T>,
    measure: impl FnMut(T) -> Result<Vec<f64>, Error>,
) -> Result<Vec<Rounds>, Error> {
    let entrants: Vec<T> = [Some(ours), peer].into_iter().flatten().collect();
    let mut taken = interleave_all(rounds, &entrants, measure).into_iter();
    let ours = taken.next().unwrap_or(Ok(Vec::new()))?;
    let theirs = taken.next().unwrap_or_else(|| Ok(vec![Vec::new(); ours.len()]))?;
    Ok(ours.into_iter().zip(theirs).map(|(ours, theirs)| Rounds { ours, theirs }).collect())
}
