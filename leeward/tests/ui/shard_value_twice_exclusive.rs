//! One guard gives one exclusive reference at a time.
use leeward::collect::ShardMap;
fn main() {
    let map = ShardMap::new();
    map.insert(1, 1);
    let mut entry = map.get_mut(&1).unwrap();
    let one = entry.value_mut();
    *entry.value_mut() = 2; //~ BREAKS E0499
    *one = 3;
}
