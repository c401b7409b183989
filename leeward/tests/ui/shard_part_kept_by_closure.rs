//! What `Ref::map` is given does not leave its closure.
use leeward::collect::ShardMap;
fn main() {
    let map = ShardMap::new();
    map.insert(1, String::new());
    let mut kept: Option<&String> = None;
    let part = map.get(&1).unwrap().map(|value| {
        kept = Some(value); //~ BREAKS E0521
        value
    });
    drop(part);
    let _ = kept.is_some();
}
