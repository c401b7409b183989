//! A map of values that are not `Sync` is not shared.
use leeward::collect::ShardMap;
use std::cell::Cell;
fn main() {
    let map = ShardMap::new();
    map.insert(1, Cell::new(1));
    std::thread::scope(|scope| {
        scope.spawn(|| map.contains_key(&1)); //~ BREAKS E0277
    });
}
