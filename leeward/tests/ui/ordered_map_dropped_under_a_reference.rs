//! No map is dropped while a value of it is in use.
use leeward::collect::OrderedMap;
use leeward::rcu;
fn main() {
    let map = OrderedMap::<u32, String>::new();
    let guard = rcu::read();
    let seen = map.first(&guard);
    drop(map); //~ BREAKS E0505
    println!("{seen:?}");
}
