//! No key of a scan outlives the guard of the scan.
use leeward::collect::OrderedMap;
use leeward::rcu;
fn main() {
    let map = OrderedMap::<u32, String>::new();
    let guard = rcu::read();
    let keys: Vec<_> = map.range(1.., &guard).map(|(key, _)| key).collect();
    drop(guard); //~ BREAKS E0505
    println!("{keys:?}");
}
