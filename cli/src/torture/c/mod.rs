//! `leeward torture c`: the storm in the domains that C programs share, with readers and writers that
//! the compiler of C made of `<leeward/rcu.h>` beside those of Rust.

mod part;
mod reader;
mod writer;

use std::process::ExitCode;
use std::time::Duration;

use leeward::rcu::c::{Bp, Mb, Memb, Qsbr};

use super::litmus::Way;
use super::plan::{Choice, Combination};
use super::random::Random;
use super::round::{self, Cast, Size, Tally};
use super::{quiescent, reader as rust, short_lived, torture, writer as rust_writer};
use crate::args::{C, Domains};
use part::Shared;

/// Runs the torture. An error is a sentence on what was asked for.
pub fn run(args: &C) -> Result<ExitCode, String> {
    torture("c", &args.storm, args.domain, round)
}

impl Choice for Domains {
    const NOUN: &'static str = "domains";
    const ALL: Self = Domains::All;

    fn is_fenced(self) -> bool {
        matches!(self, Domains::Mb | Domains::Qsbr)
    }
}

fn round(what: &Combination<Domains>, size: Size, random: &mut Random, slice: Duration, tick: &dyn Fn()) -> Tally {
    match what.flavour {
        Domains::Bp => sections::<Bp>(size, random, slice, tick),
        Domains::Mb => sections::<Mb>(size, random, slice, tick),
        Domains::Qsbr => {
            let reads = [reader::quiescent::<Qsbr>, quiescent::read::<Qsbr>, rust::automatic::<Qsbr>];
            of::<Qsbr, reader::Online<Qsbr>>(&reads, size, random, slice, tick)
        }
        Domains::Memb | Domains::All => sections::<Memb>(size, random, slice, tick),
    }
}

/// Runs a round in a domain whose readers open sections.
fn sections<D: Shared>(size: Size, random: &mut Random, slice: Duration, tick: &dyn Fn()) -> Tally {
    let reads = [reader::sections::<D>, reader::both::<D>, rust::automatic::<D>, rust::with_handle::<D>];
    of::<D, reader::Section<D>>(&reads, size, random, slice, tick)
}

fn of<D: Shared, W: Way<D>>(
    reads: &[round::Read],
    size: Size,
    random: &mut Random,
    slice: Duration,
    tick: &dyn Fn(),
) -> Tally {
    let cast = Cast {
        reads,
        writes: &[writer::write::<D>, rust_writer::write::<D>],
        lives: &[reader::live::<D>, short_lived::live::<D>],
    };
    round::of::<D, W>(&cast, size, random, slice, tick)
}
