//! A key that a shared map takes lives as long as the map says.
use leeward::collect::HashMap;
fn insert<'short>(map: &HashMap<&'static str, u32>, key: &'short str) {
    map.insert("long", 1);
    map.insert(key, 1); //~ BREAKS E0521
}
fn main() {
    insert(&HashMap::new(), "key");
}
