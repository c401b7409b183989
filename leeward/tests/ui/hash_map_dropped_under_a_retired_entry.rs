//! No hash map is dropped before what was taken out of it.
use leeward::collect::HashMap;
fn main() {
    let map = HashMap::<u32, String>::new();
    let removed = map.remove(&1);
    drop(map); //~ BREAKS E0505
    drop(removed);
}
