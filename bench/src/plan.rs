//! How long and how often things are measured, and the progress bar that says where we are.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The command's choices, and what follows from them.
pub struct Plan {
    pub readers: usize,
    pub writers: usize,
    /// The time of one row, over all of its rounds.
    pub row: Duration,
    pub rounds: usize,
    pub quick: bool,
    pub cores: usize,
    bar: ProgressBar,
}

impl Plan {
    pub fn new(readers: usize, writers: usize, seconds: f64, rounds: usize, quick: bool) -> Plan {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{spinner} [{elapsed}] {bar:30} {pos}/{len}  {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(500));
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
        Plan { readers, writers, row: Duration::from_secs_f64(seconds), rounds, quick, cores, bar }
    }

    /// The time of one round of one row.
    pub fn slice(&self) -> Duration {
        self.row / self.rounds as u32
    }

    /// As many more steps are ahead.
    pub fn expect(&self, steps: usize) {
        self.bar.set_length(self.bar.length().unwrap_or(0) + steps as u64);
    }

    /// What is being measured now.
    pub fn now(&self, what: &str) {
        self.bar.set_message(what.to_string());
    }

    /// One step is done.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// Takes the bar away.
    pub fn done(&self) {
        self.bar.finish_and_clear();
    }

    /// What to say beside a row of so many threads, if they are more than the cores.
    pub fn crowded(&self, threads: usize) -> Option<String> {
        (threads > self.cores).then(|| {
            format!(
                "{threads} threads on {} cores: this measures the scheduler too; see 1 reader + 1 writer",
                self.cores
            )
        })
    }
}
