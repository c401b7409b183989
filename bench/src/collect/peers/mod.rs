//! The maps that take part, each in a small module: what [`Map`] asks for, and nothing else.

mod dashmap;
mod evmap;
mod flurry;
mod hash_map;
mod locked;
mod nothing;
mod papaya;
mod rpds;
mod scc;
mod shard_map;

use super::map::{Map, MapLoops, open};
use crate::locks::contest::Entrant;

pub const ASYM: &str = "leeward asym::RwLock<hashbrown>";
pub const HASH_MAP: &str = "leeward HashMap";
pub const HASH_MAP_PINNED: &str = "leeward HashMap, pinned for 256";
pub const SHARD_MAP: &str = "leeward ShardMap";
pub const PAPAYA: &str = "papaya";
pub const PAPAYA_PINNED: &str = "papaya, pinned for 256";
pub const DASHMAP: &str = "dashmap";
pub const SCC: &str = "scc";
/// The loop without a map, which is in every value.
pub const LOOP: &str = "(the loop alone)";

/// The hasher of every map.
pub type Hasher = foldhash::fast::RandomState;

/// A function that opens a map with so many entries.
pub type Open = fn(usize) -> Box<dyn MapLoops>;

const fn entrant<M: Map>(name: &'static str) -> Entrant<Open> {
    Entrant::new(name, open::<M>)
}

/// The names of ours in the figures' ids, in the order of `ours`.
pub const OUR_IDS: [&str; 3] = ["hash", "shard", "asym"];

/// Returns the maps of ours as their documentation has them. Further ones come here, with a module beside the peers'.
pub fn ours() -> Vec<Entrant<Open>> {
    vec![entrant::<hash_map::Hashed>(HASH_MAP), entrant::<shard_map::Sharded>(SHARD_MAP), entrant::<locked::Asym>(ASYM)]
}

/// Returns every map, ours first, and the loop without one.
pub fn maps() -> Vec<Entrant<Open>> {
    let mut maps = ours();
    maps.extend([
        entrant::<hash_map::Pinned>(HASH_MAP_PINNED),
        entrant::<papaya::Papaya>(PAPAYA),
        entrant::<papaya::Pinned>(PAPAYA_PINNED),
        entrant::<dashmap::Dashmap>(DASHMAP),
        entrant::<scc::Scc>(SCC),
        entrant::<flurry::Flurry>("flurry"),
        entrant::<locked::Std>("std RwLock<HashMap>"),
        entrant::<rpds::Rpds>("arc-swap of rpds"),
        entrant::<evmap::Evmap>("evmap"),
        entrant::<nothing::Nothing>(LOOP),
    ]);
    maps
}

/// Returns the maps whose growth is watched: ours and two peers.
pub fn growing() -> Vec<Entrant<Open>> {
    let mut maps = ours();
    maps.extend([entrant::<papaya::Papaya>(PAPAYA), entrant::<dashmap::Dashmap>(DASHMAP)]);
    maps
}
