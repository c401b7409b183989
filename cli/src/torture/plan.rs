//! The plan of a run: flavours times fence strategies.

use std::fmt;

use clap::ValueEnum;
use leeward::fence::{self, Strategy};

use super::random::Random;
use super::round::Size;
use crate::args::{Flavours, Storm, Strategies};

/// What a run goes through, beside the strategies: the flavours of `rcu`, or the domains of `c`.
pub trait Choice: ValueEnum + Copy + PartialEq + 'static {
    /// What these are, for the run's first line.
    const NOUN: &'static str;
    /// The choice that stands for each of the others in turn.
    const ALL: Self;

    /// Returns true if its writers execute no heavy fence, so that one strategy is enough.
    fn is_fenced(self) -> bool;
}

impl Choice for Flavours {
    const NOUN: &'static str = "flavours";
    const ALL: Self = Flavours::All;

    fn is_fenced(self) -> bool {
        self == Flavours::Mb
    }
}

/// A flavour and a strategy, which make a round.
#[derive(Clone, Copy)]
pub struct Combination<F> {
    pub flavour: F,
    pub strategy: Strategy,
}

impl<F: Choice> fmt::Display for Combination<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", name(self.flavour), self.strategy)
    }
}

/// Returns the name on the command line.
fn name(flavour: impl Choice) -> String {
    flavour.to_possible_value().map_or_else(String::new, |value| value.get_name().to_string())
}

/// Returns the strategies that were asked for and are possible, at least one.
pub fn strategies(args: &Storm) -> Result<Vec<Strategy>, String> {
    match args.strategy {
        Strategies::All => {
            let all = Strategy::ALL.iter().copied();
            let possible: Vec<_> = all.filter(|strategy| fence::force(*strategy).is_ok()).collect();
            if possible.is_empty() { Err(fence::Error::NoStrategy.to_string()) } else { Ok(possible) }
        }
        Strategies::Only(strategy) => {
            fence::force(strategy).map_err(|refusal| refusal.to_string())?;
            Ok(vec![strategy])
        }
    }
}

pub struct Plan<F> {
    combinations: Vec<Combination<F>>,
    strategies: Vec<Strategy>,
    pub size: Size,
}

impl<F: Choice> Plan<F> {
    /// Makes the plan. An error is a sentence on what was asked for and is not possible.
    pub fn new(args: &Storm, chosen: F) -> Result<Plan<F>, String> {
        let strategies = strategies(args)?;
        let all = F::value_variants().iter().copied().filter(|flavour| *flavour != F::ALL);
        let combinations: Vec<_> = all
            .filter(|flavour| [F::ALL, *flavour].contains(&chosen))
            .flat_map(|flavour| {
                let needed = if flavour.is_fenced() { 1 } else { strategies.len() };
                strategies.iter().take(needed).map(move |strategy| Combination { flavour, strategy: *strategy })
            })
            .collect();
        let size = Size { readers: args.readers.into(), writers: args.writers.into() };
        Ok(Plan { combinations, strategies, size })
    }

    pub fn len(&self) -> u32 {
        self.combinations.len() as u32
    }

    pub fn shuffled(&self, random: &mut Random) -> Vec<Combination<F>> {
        let mut combinations = self.combinations.clone();
        random.shuffle(&mut combinations);
        combinations
    }
}

impl<F: Choice> fmt::Display for Plan<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size { readers, writers } = self.size;
        let strategies: Vec<_> = self.strategies.iter().map(|strategy| strategy.name()).collect();
        let mut flavours: Vec<_> = self.combinations.iter().map(|combination| name(combination.flavour)).collect();
        flavours.dedup();
        write!(f, "{readers} readers, {writers} writers, {} {}, ", F::NOUN, flavours.join(" "))?;
        write!(f, "strategies {}", strategies.join(" "))
    }
}
