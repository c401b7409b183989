//! A map of long lives is no map of short ones, into which something short could be inserted.
#![allow(unreachable_code)]
use leeward::collect::ShardMap;
fn shorten<'short>(it: &'short ShardMap<u32, &'static str>) -> Option<&'short ShardMap<u32, &'short str>> {
    return Some(it); //~ BREAKS lifetime may not live long enough
    drop(it.remove(&1));
    None
}
fn main() {
    assert!(shorten(&ShardMap::new()).is_none());
}
