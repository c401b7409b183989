//! What a map holds lives as long as the map.
use leeward::collect::OrderedMap;
fn main() {
    let name = String::from("a");
    let map = OrderedMap::<&str, u32>::new();
    map.insert(&name, 1);
    drop(name); //~ BREAKS E0505
    println!("{}", map.len());
}
