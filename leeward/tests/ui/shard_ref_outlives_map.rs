//! A reference to an entry does not outlive the map.
use leeward::collect::ShardMap;
fn main() {
    let map = ShardMap::new();
    map.insert(1, String::new());
    let entry = map.get(&1).unwrap();
    drop(map); //~ BREAKS E0505
    println!("{}", *entry);
}
