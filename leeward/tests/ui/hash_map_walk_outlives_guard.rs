//! No walk through a hash map goes on when its guard is refreshed.
use leeward::collect::HashMap;
use leeward::rcu;
fn main() {
    let map = HashMap::<u32, String>::new();
    let mut guard = rcu::read();
    let mut walk = map.iter(&guard);
    guard.refresh(); //~ BREAKS E0502
    println!("{:?}", walk.next());
}
