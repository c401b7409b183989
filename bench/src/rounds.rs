//! Ours and a peer in turns, A B A B ..., and what is made of the rounds: medians, and the ratio of each round.

use crate::roster::Contender;
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
        self.ours.iter().zip(&self.theirs).map(|(ours, theirs)| ours / theirs).collect()
    }
}

/// Measures ours and the peer in turns, `rounds` times. `measure` gives as many quantities as it likes, always as many.
pub fn in_turns(
    rounds: usize,
    ours: &Contender,
    peer: &Contender,
    mut measure: impl FnMut(&Contender) -> Result<Vec<f64>, Trouble>,
) -> Result<Vec<Rounds>, Trouble> {
    let mut taken: Vec<Rounds> = Vec::new();
    for _ in 0..rounds {
        let mine = measure(ours)?;
        taken.resize_with(mine.len(), Rounds::default);
        mine.into_iter().zip(&mut taken).for_each(|(value, rounds)| rounds.ours.push(value));
        if peer.absent().is_none() {
            measure(peer)?.into_iter().zip(&mut taken).for_each(|(value, rounds)| rounds.theirs.push(value));
        }
    }
    Ok(taken)
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
