//! An exclusive guard of an entry belongs to its thread.
use leeward::collect::ShardMap;
fn main() {
    let map = ShardMap::new();
    map.insert(1, 1);
    let entry = map.get_mut(&1).unwrap();
    std::thread::scope(|scope| {
        let _ = &entry;
        // Its pointers are named as well. //~ BREAKS cannot be sent between threads safely
        scope.spawn(move || drop(entry)); //~ BREAKS belongs to the thread that made it
    });
}
