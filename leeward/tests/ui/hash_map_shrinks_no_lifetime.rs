//! A map of long lives is no map of short ones, into which something short could be inserted.
#![allow(unreachable_code)]
use leeward::collect::HashMap;
fn shorten<'short>(map: &'short HashMap<u32, &'static str>) -> Option<&'short HashMap<u32, &'short str>> {
    return Some(map); //~ BREAKS lifetime may not live long enough
    drop(map.remove(&1));
    None
}
fn main() {
    assert!(shorten(&HashMap::new()).is_none());
}
