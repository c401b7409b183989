//! `leeward torture`. The torture of robust locks is in `robust`, that of hazard pointers in
//! `hazard`, that of containers in `collect`, that of the C face in `c`; that of `rcu` is here, and
//! shared with `c`: every flavour of reader with every fence strategy, each a round of litmus
//! programs and a storm, until the time is up or a violation is found.
//!
//! Objects that are "freed" are poisoned and used again but never returned to the allocator, and
//! all their words are atomic: what a broken library makes readers do is defined here, and is
//! detected.

mod arena;
#[cfg(feature = "c")]
pub mod c;
#[cfg(not(feature = "c"))]
#[path = "no_c.rs"]
pub mod c;
pub mod collect;
mod crew;
mod fixture;
mod forker;
pub mod hazard;
mod litmus;
mod plan;
mod quiescent;
mod random;
mod reader;
#[cfg(target_pointer_width = "64")]
pub mod robust;
#[cfg(not(target_pointer_width = "64"))]
#[path = "no_robust.rs"]
pub mod robust;
mod round;
mod short_lived;
mod signals;
mod violation;
mod watchdog;
mod writer;

use std::fmt;
use std::ops::AddAssign;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use leeward::fence;

use crate::args::{Rcu, Storm};
use plan::{Choice, Combination, Plan, strategies};
use random::Random;
use round::{Size, Tally};

/// The exit code if a violation was found.
const VIOLATION: u8 = 1;

/// The function that runs a round for about so long, and calls the last one now and then.
type Round<F> = fn(&Combination<F>, Size, &mut Random, Duration, &dyn Fn()) -> Tally;

/// Runs the torture. An error is a sentence on what was asked for.
pub fn run(args: &Rcu) -> Result<ExitCode, String> {
    torture("rcu", &args.storm, args.flavour, round::run)
}

fn torture<F: Choice>(subject: &str, args: &Storm, chosen: F, round: Round<F>) -> Result<ExitCode, String> {
    let seed = args.seed.unwrap_or_else(Random::any_seed);
    let plan = Plan::new(args, chosen)?;
    println!("torture {subject}: seed {seed:#018x}, {} s, {plan}", args.seconds);
    watchdog::start(args.seconds.clamp(4, 10)).map_err(|error| format!("no thread can be started: {error}"))?;
    signals::install();
    let tally = go_through(&plan, Random::new(seed), Duration::from_secs(args.seconds.into()), round);
    Ok(verdict(&tally, seed))
}

fn go_through<F: Choice>(plan: &Plan<F>, mut random: Random, time: Duration, round: Round<F>) -> Tally {
    let start = Instant::now();
    let bar = progress(time);
    let mut tally = Tally::default();
    round::leak_a_guard();
    'all: loop {
        for combination in plan.shuffled(&mut random) {
            let left = time.saturating_sub(start.elapsed());
            if violation::found().is_some() || left.is_zero() {
                break 'all;
            }
            bar.set_message(combination.to_string());
            if fence::force(combination.strategy).is_err() {
                continue;
            }
            let slice = (time / plan.len()).clamp(Duration::from_millis(100), Duration::from_secs(2)).min(left);
            tally += round(&combination, plan.size, &mut random, slice, &|| {
                bar.set_position(start.elapsed().as_millis() as u64)
            });
        }
    }
    bar.finish_and_clear();
    tally
}

/// Runs rounds with each strategy in turn, until the time is up or a violation is found.
fn storm<T: Default + AddAssign + fmt::Display>(
    subject: &str,
    args: &Storm,
    mut round: impl FnMut(&Storm, &mut Random, Duration) -> T,
) -> Result<ExitCode, String> {
    let seed = args.seed.unwrap_or_else(Random::any_seed);
    let mut strategies = strategies(args)?;
    let names: Vec<_> = strategies.iter().map(|strategy| strategy.name()).collect();
    let (readers, writers) = (args.readers, args.writers);
    println!(
        "torture {subject}: seed {seed:#018x}, {} s, {readers} readers, {writers} writers, strategies {}",
        args.seconds,
        names.join(" ")
    );
    let (mut random, mut tally) = (Random::new(seed), T::default());
    let (time, start) = (Duration::from_secs(args.seconds.into()), Instant::now());
    let bar = progress(time);
    'all: loop {
        random.shuffle(&mut strategies);
        for strategy in &strategies {
            let left = time.saturating_sub(start.elapsed());
            if violation::found().is_some() || left.is_zero() {
                break 'all;
            }
            bar.set_message(strategy.to_string());
            bar.set_position(start.elapsed().as_millis() as u64);
            if fence::force(*strategy).is_ok() {
                let slice = (time / names.len() as u32).clamp(Duration::from_millis(100), Duration::from_secs(2));
                tally += round(args, &mut random, slice.min(left));
            }
        }
    }
    bar.finish_and_clear();
    Ok(verdict(&tally, seed))
}

/// Returns a bar on standard error, which shows nothing if that is no terminal.
fn progress(time: Duration) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(time.as_millis() as u64), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:40} {percent:>3} %  {elapsed_precise}  {msg}");
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

fn verdict(tally: &impl fmt::Display, seed: u64) -> ExitCode {
    match violation::found() {
        None => {
            println!("passed: {tally}");
            ExitCode::SUCCESS
        }
        Some(found) => {
            println!("{tally}");
            println!("VIOLATION: {found}; again with --seed {seed:#018x}");
            ExitCode::from(VIOLATION)
        }
    }
}
