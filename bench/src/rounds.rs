//! Ours and a peer in turns, A B A B ..., and what is made of the rounds: medians, and the ratio of each round.

use crate::trouble::Trouble;

/// The rounds of one quantity.
#[derive(Clone, Default)]
pub struct Rounds {
    pub ours: Vec<f64>,
    /// Empty where the peer is absent or there is none.
    pub theirs: Vec<f64>,
}

impl Rounds {
    /// Ours : theirs, round by round.
    pub fn ratios(&self) -> Vec<f64> {
        // Nothing beside nothing has none.
        self.ours.iter().zip(&self.theirs).map(|(ours, theirs)| ours / theirs).filter(|ratio| !ratio.is_nan()).collect()
    }
}

/// What an entrant has given, quantity by quantity, round by round; or why it could not be measured.
pub type Taken = Result<Vec<Vec<f64>>, Trouble>;

/// Measures every entrant in turns, `rounds` times. `measure` gives as many quantities as it likes, always as many.
pub fn every_one_in_turns<T: Copy>(
    rounds: usize,
    entrants: &[T],
    mut measure: impl FnMut(T) -> Result<Vec<f64>, Trouble>,
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
                Err(trouble) => *taken = Err(trouble),
            }
        }
    }
    taken
}

/// The same for ours and a peer, if it is here.
pub fn in_turns<T: Copy>(
    rounds: usize,
    ours: T,
    peer: Option<T>,
    measure: impl FnMut(T) -> Result<Vec<f64>, Trouble>,
) -> Result<Vec<Rounds>, Trouble> {
    let entrants: Vec<T> = [Some(ours), peer].into_iter().flatten().collect();
    let mut taken = every_one_in_turns(rounds, &entrants, measure).into_iter();
    let ours = taken.next().unwrap_or(Ok(Vec::new()))?;
    let theirs = taken.next().unwrap_or_else(|| Ok(vec![Vec::new(); ours.len()]))?;
    Ok(ours.into_iter().zip(theirs).map(|(ours, theirs)| Rounds { ours, theirs }).collect())
}

/// The middle one, or the mean of the middle two.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

pub fn min(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::min)
}

pub fn max(values: &[f64]) -> Option<f64> {
    values.iter().copied().reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }
}
