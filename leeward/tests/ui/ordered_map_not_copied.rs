//! No map keeps copies of what is not `Copy`.
use leeward::collect::OrderedMap;
fn main() {
    let _ = OrderedMap::<u32, u32>::with_copied_entries();
    let _: OrderedMap<u32, String> = OrderedMap::with_copied_entries(); //~ BREAKS E0277
}
