//! No map is dropped before what was taken out of it.
use leeward::collect::OrderedMap;
fn main() {
    let map = OrderedMap::<u32, String>::new();
    let removed = map.remove(&1);
    drop(map); //~ BREAKS E0505
    drop(removed);
}
