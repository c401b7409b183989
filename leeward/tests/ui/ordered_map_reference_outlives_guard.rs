//! No value of an ordered map outlives the guard that it was found with.
use leeward::collect::OrderedMap;
use leeward::rcu;
fn main() {
    let map = OrderedMap::<u32, String>::new();
    let guard = rcu::read();
    let seen = map.get(&1, &guard);
    drop(guard); //~ BREAKS E0505
    println!("{seen:?}");
}
