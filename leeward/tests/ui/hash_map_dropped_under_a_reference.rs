//! No hash map is dropped while a value of it is borrowed.
use leeward::collect::HashMap;
use leeward::rcu;
fn main() {
    let map = HashMap::<u32, String>::new();
    let guard = rcu::read();
    let seen = map.get(&1, &guard);
    drop(map); //~ BREAKS E0505
    println!("{seen:?}");
}
