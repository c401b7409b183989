//! No value of a hash map outlives the guard that it was found with.
use leeward::collect::HashMap;
use leeward::rcu;
fn main() {
    let map = HashMap::<u32, String>::new();
    let guard = rcu::read();
    let seen = map.get(&1, &guard);
    drop(guard); //~ BREAKS E0505
    println!("{seen:?}");
}
