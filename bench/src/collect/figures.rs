//! The figures of the maps: ours beside the best peer, and the targets that each of ours has.

use super::keys::Keys;
use super::peers::{ASYM, DASHMAP, LOOP, SHARD_MAP};
use super::size;
use crate::figure::{Figure, Target, Title};
use crate::locks::contest::Board;

/// What one contest of maps is about.
#[derive(Clone, Copy)]
pub struct Setting {
    pub size: usize,
    pub threads: u16,
    pub keys: Keys,
    /// The share of writes, in percent.
    pub writes: u32,
}

impl Setting {
    pub fn words(self) -> String {
        let threads = if self.threads == 1 { "1 thread".to_string() } else { format!("{} threads", self.threads) };
        let (reads, writes) = (100 - self.writes, self.writes);
        format!("map, {} entries, {threads}, {}, {reads}/{writes}", size::text(self.size), self.keys.words())
    }

    pub fn id(self) -> String {
        format!("{}.{}.{}.{}", size::text(self.size), self.threads, self.keys.id(), self.writes)
    }

    pub fn unit(self) -> &'static str {
        if self.threads == 1 { "ns" } else { "/s" }
    }
}

impl Setting {
    /// Returns the target of a rate that is to be `times` the peer's.
    fn at_least(self, times: f64) -> Target {
        if self.threads == 1 { Target::RatioAtMost(1.0 / times) } else { Target::RatioAtLeast(times) }
    }
}

/// A map of ours, the peer that it is held against (none: the best), and its targets.
struct Ours {
    name: &'static str,
    id: &'static str,
    peer: Option<&'static str>,
    target: fn(Setting) -> Target,
}

/// The maps of ours. `leeward::collect::HashMap` has the targets `at most 0.5 of papaya's time, 0.8 of
/// dashmap's` alone, 3, 1.5 and 1 times the best peer's rate else; a line for it comes here.
const OURS: [Ours; 2] = [
    Ours { name: SHARD_MAP, id: "shard", peer: Some(DASHMAP), target: shard_map },
    Ours { name: ASYM, id: "asym", peer: None, target: |_| Target::Open },
];

/// Returns the target of `ShardMap` beside dashmap.
fn shard_map(setting: Setting) -> Target {
    setting.at_least(match setting.writes {
        0 => 3.0,
        1..=5 => 1.5,
        _ => 1.0,
    })
}

/// Returns a figure for each of ours.
pub fn of_maps(board: &Board, setting: Setting) -> Vec<Figure> {
    let best = board.best_of(|name| !name.starts_with("leeward") && name != LOOP);
    let figure = |ours: &Ours| {
        let id = format!("{}.{}", setting.id(), ours.id);
        let what = format!("{}, {}", ours.name, setting.words());
        let title = Title::new(&id, what, setting.unit(), ours.peer.or(best), (ours.target)(setting));
        board.figure(ours.name, title)
    };
    OURS.iter().map(figure).collect()
}
