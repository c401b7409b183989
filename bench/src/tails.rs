//! The times of single calls, as histograms: the median, and what one call in a hundred and in a thousand
//! exceeds.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

/// The quantiles that the tables have: a figure's id, words, and the quantile.
pub const QUANTILES: [(&str, &str, f64); 3] =
    [("p50", "median", 0.5), ("p99", "99 %", 0.99), ("p999", "99.9 %", 0.999)];

/// The times of calls, in nanoseconds, to three digits.
pub struct Tails(Histogram<u64>);

impl Tails {
    pub fn new() -> Tails {
        Tails(Histogram::new(3).unwrap_or_else(|error| unreachable!("three digits: {error}")))
    }

    /// Notes a time.
    pub fn note(&mut self, time: Duration) {
        // The histogram grows to any number.
        let _ = self.0.record(time.as_nanos() as u64);
    }

    /// Calls `call`, and notes how long that took.
    pub fn time(&mut self, call: impl FnOnce()) {
        let began = Instant::now();
        call();
        self.note(began.elapsed());
    }

    /// Adds the times of another thread.
    pub fn add(&mut self, other: &Tails) {
        // As above.
        let _ = self.0.add(&other.0);
    }

    /// Returns what this share of the calls does not exceed, in microseconds.
    pub fn quantile(&self, share: f64) -> f64 {
        self.0.value_at_quantile(share) as f64 / 1e3
    }

    /// Returns the time of the longest call, in microseconds.
    pub fn longest(&self) -> f64 {
        self.0.max() as f64 / 1e3
    }

    /// Returns the quantiles, in microseconds.
    pub fn microseconds(&self) -> Vec<f64> {
        QUANTILES.iter().map(|(_, _, quantile)| self.0.value_at_quantile(*quantile) as f64 / 1e3).collect()
    }
}
