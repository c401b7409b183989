//! The rounds of one quantity, and what is made of them: medians, and the ratio of each round.

/// The values of one quantity, a value a round.
#[derive(Clone, Default)]
pub struct Rounds {
    pub ours: Vec<f64>,
    /// Empty where the peer is absent or there is none.
    pub theirs: Vec<f64>,
}

impl Rounds {
    /// Returns ours divided by theirs, round by round.
    pub fn ratios(&self) -> Vec<f64> {
        // 0 divided by 0 is no ratio.
        self.ours.iter().zip(&self.theirs).map(|(ours, theirs)| ours / theirs).filter(|ratio| !ratio.is_nan()).collect()
    }
}

/// Returns the middle value, or the mean of the middle two; none of no values.
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
