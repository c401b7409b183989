//! A hash map of nodes, `<leeward/map.h>` beside liburcu's rculfhash, both of which change their
//! size by themselves: threads that look keys up, of which half are there, and in one operation of
//! ten add or remove a node.

use super::against;
use super::flavour::Flavour;
use super::programs::Programs;
use crate::figure::{Figure, Target, Title};
use crate::plan::Plan;

/// The nodes of the maps.
const SIZES: [(u64, &str); 3] = [(1_000, "1k"), (100_000, "100k"), (1_000_000, "1M")];

pub fn figures(plan: &Plan, programs: &Programs) -> Vec<Figure> {
    let settings = SIZES.into_iter().flat_map(|size| [1, 2].map(|threads| (size, threads)));
    settings.flat_map(|(size, threads)| mixed(plan, programs, size, threads)).collect()
}

fn mixed(plan: &Plan, programs: &Programs, (nodes, size): (u64, &str), threads: u64) -> Vec<Figure> {
    let of = if threads == 1 { "1 thread".to_string() } else { format!("{threads} threads") };
    let what = format!("C, map (rculfhash), {size} nodes, {of}, 90/10");
    let title = |id: &str, words: &str, unit: &'static str, target| {
        Title::new(&format!("map.{size}.{threads}{id}"), format!("{what}: {words}"), unit, None, target)
    };
    let mut titles = vec![
        title("", "look-ups", "/s", Target::RatioAtLeast(1.5)),
        title(".cpu", "processors' time of an operation", "ns", Target::Open),
        title(".bytes", "the table's bytes for a node", "bytes", Target::Open),
    ];
    // The kernel counts pages, of which a small table has a few.
    titles.truncate(if nodes < SIZES[1].0 { 2 } else { 3 });
    let (shown, milliseconds) = (titles.len(), plan.slice().as_millis().max(50) as u64);
    against(plan, programs, Flavour::Memb, plan.rounds, titles, |side| {
        let mut numbers = programs.run(side, Flavour::Memb, "map", &[nodes, threads, milliseconds])?;
        numbers.truncate(shown);
        Ok(numbers)
    })
}
