//! A map of keys of long lives is no map of short ones, into which something short could be inserted.
#![allow(unreachable_code)]
use leeward::collect::OrderedMap;
fn shorten<'short>(it: &'short OrderedMap<&'static str, u32>) -> Option<&'short OrderedMap<&'short str, u32>> {
    return Some(it); //~ BREAKS lifetime may not live long enough
    drop(it.remove("a"));
    None
}
fn main() {
    assert!(shorten(&OrderedMap::new()).is_none());
}
