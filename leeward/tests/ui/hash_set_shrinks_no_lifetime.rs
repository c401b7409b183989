//! A set of long lives is no set of short ones, into which something short could be inserted.
#![allow(unreachable_code)]
use leeward::collect::HashSet;
fn shorten<'short>(it: &'short HashSet<&'static str>) -> Option<&'short HashSet<&'short str>> {
    return Some(it); //~ BREAKS lifetime may not live long enough
    drop(it.remove("a"));
    None
}
fn main() {
    assert!(shorten(&HashSet::new()).is_none());
}
