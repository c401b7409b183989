//! The plan of a run: flavours times fence strategies.

use std::fmt;

use leeward::fence::{self, Strategy};

use super::random::Random;
use crate::args::{Flavours, Rcu, Strategies};

/// A flavour and a strategy, which make a round.
#[derive(Clone, Copy)]
pub struct Combination {
    pub flavour: Flavours,
    pub strategy: Strategy,
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", name(self.flavour), self.strategy)
    }
}

fn name(flavour: Flavours) -> &'static str {
    match flavour {
        Flavours::Auto => "auto",
        Flavours::Handle => "handle",
        Flavours::Qsbr => "qsbr",
        Flavours::Mb => "mb",
        Flavours::All => "all",
    }
}

pub struct Plan {
    combinations: Vec<Combination>,
    strategies: Vec<Strategy>,
    pub readers: usize,
    pub writers: usize,
}

impl Plan {
    /// Makes the plan. An error is a sentence on what was asked for and is not possible.
    pub fn new(args: &Rcu) -> Result<Plan, String> {
        let strategies = match args.strategy {
            Strategies::All => {
                Strategy::ALL.iter().copied().filter(|strategy| fence::force(*strategy).is_ok()).collect()
            }
            Strategies::Only(strategy) => {
                fence::force(strategy).map_err(|refusal| refusal.to_string())?;
                vec![strategy]
            }
        };
        let all = [Flavours::Auto, Flavours::Handle, Flavours::Qsbr, Flavours::Mb];
        let flavours = all.into_iter().filter(|flavour| [Flavours::All, *flavour].contains(&args.flavour));
        let combinations: Vec<_> = flavours
            .flat_map(|flavour| {
                // Readers with a full fence of their own need no heavy fence, so one strategy is
                // enough.
                let needed = if flavour == Flavours::Mb { 1 } else { strategies.len() };
                strategies.iter().take(needed).map(move |strategy| Combination { flavour, strategy: *strategy })
            })
            .collect();
        if combinations.is_empty() {
            return Err(fence::Error::NoStrategy.to_string());
        }
        Ok(Plan { combinations, strategies, readers: args.readers.into(), writers: args.writers.into() })
    }

    pub fn len(&self) -> u32 {
        self.combinations.len() as u32
    }

    pub fn shuffled(&self, random: &mut Random) -> Vec<Combination> {
        let mut combinations = self.combinations.clone();
        random.shuffle(&mut combinations);
        combinations
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let strategies: Vec<_> = self.strategies.iter().map(|strategy| strategy.name()).collect();
        let mut flavours: Vec<_> = self.combinations.iter().map(|combination| name(combination.flavour)).collect();
        flavours.dedup();
        write!(f, "{} readers, {} writers, flavours {}, ", self.readers, self.writers, flavours.join(" "))?;
        write!(f, "strategies {}", strategies.join(" "))
    }
}
