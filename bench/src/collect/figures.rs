//! The figures of the maps: ours beside the best peer, and the targets that each of ours has.

use super::keys::Keys;
use super::peers::{ASYM, DASHMAP, HASH_MAP, HASH_MAP_PINNED, LOOP, PAPAYA, PAPAYA_PINNED, SCC, SHARD_MAP};
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
    /// Returns the target of a rate: so many times the peer's, the more the fewer writes there are.
    fn times(self) -> Target {
        let times = match self.writes {
            0 => 3.0,
            1..=5 => 1.5,
            _ => 1.0,
        };
        if self.threads == 1 { Target::RatioAtMost(1.0 / times) } else { Target::RatioAtLeast(times) }
    }
}

/// The peers of a figure.
enum Peer {
    /// The one of this name, a peer or another of ours.
    Named(&'static str),
    /// The best of these.
    BestOf(&'static [&'static str]),
    /// The best of all peers.
    Best,
}

/// A figure of ours: the map, what its id ends in, the peer that it is held against, and its target.
type Line = (&'static str, &'static str, Peer, Target);

/// Returns the lines of one contest.
fn lines(setting: Setting) -> Vec<Line> {
    let mut lines = hash_map(setting);
    lines.push((HASH_MAP_PINNED, "hash.pinned", Peer::Named(PAPAYA_PINNED), Target::Open));
    lines.push((SHARD_MAP, "shard", Peer::Named(DASHMAP), setting.times()));
    lines.push((ASYM, "asym", Peer::Best, Target::Open));
    lines
}

/// Returns the lines of `HashMap`. Where one thread reads, its time is held against three others'.
fn hash_map(setting: Setting) -> Vec<Line> {
    let line = |id, peer, target| (HASH_MAP, id, peer, target);
    match (setting.writes, setting.threads) {
        (0, 1) => vec![
            line("hash.papaya", Peer::Named(PAPAYA), Target::RatioAtMost(0.5)),
            line("hash.dashmap", Peer::Named(DASHMAP), Target::RatioAtMost(0.8)),
            line("hash.asym", Peer::Named(ASYM), Target::RatioAtMost(1.5)),
        ],
        (0, _) => vec![line("hash", Peer::BestOf(&[PAPAYA, DASHMAP, SCC]), setting.times())],
        _ => vec![line("hash", Peer::Best, setting.times())],
    }
}

/// Returns a figure for each of ours.
pub fn of_maps(board: &Board, setting: Setting) -> Vec<Figure> {
    let peer = |peer: &Peer| match peer {
        Peer::Named(name) => Some(*name),
        Peer::BestOf(names) => board.best_of(|name| names.contains(&name)),
        Peer::Best => board.best_of(|name| !name.starts_with("leeward") && name != LOOP),
    };
    let figure = |(name, id, against, target): Line| {
        let id = format!("{}.{id}", setting.id());
        let what = format!("{name}, {}", setting.words());
        board.figure(name, Title::new(&id, what, setting.unit(), peer(&against), target))
    };
    lines(setting).into_iter().map(figure).collect()
}
