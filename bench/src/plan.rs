//! How long and how often to measure, and the progress bar that shows how far the run is.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The durations and counts that the command line asks for.
pub struct Plan {
    pub readers: usize,
    pub writers: usize,
    /// The time of one row, over all its rounds.
    pub row: Duration,
    pub rounds: usize,
    pub quick: bool,
    pub cores: usize,
    bar: ProgressBar,
}

impl Plan {
    pub fn new(readers: usize, writers: usize, seconds: f64, rounds: usize, quick: bool) -> Plan {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} [{elapsed}] {bar:30} {pos}/{len}  {wide_msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        Plan { readers, writers, row: Duration::from_secs_f64(seconds), rounds, quick, cores, bar }
    }

    /// Returns the time of one round of one row.
    pub fn slice(&self) -> Duration {
        self.row / self.rounds as u32
    }

    /// Adds `steps` to those that are ahead.
    pub fn expect(&self, steps: usize) {
        self.bar.set_length(self.bar.length().unwrap_or(0) + steps as u64);
    }

    /// Shows what is being measured now.
    pub fn now(&self, what: &str) {
        self.bar.set_message(what.to_string());
    }

    /// Counts one step as done.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// Removes the bar.
    pub fn done(&self) {
        self.bar.finish_and_clear();
    }

    /// Returns a remark for rows of `threads` threads if there are fewer cores.
    pub fn crowded(&self, threads: usize) -> Option<String> {
        (threads > self.cores).then(|| {
            format!(
                "{threads} threads on {} cores: this measures the scheduler too; see 1 reader + 1 writer",
                self.cores
            )
        })
    }
}
