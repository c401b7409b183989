//! A reference to a value does not outlive the guard that keeps its shard locked.
use leeward::collect::ShardMap;
fn main() {
    let map = ShardMap::new();
    map.insert(1, String::new());
    let entry = map.get(&1).unwrap();
    let value: &String = entry.value();
    drop(entry); //~ BREAKS E0505
    println!("{value}");
}
