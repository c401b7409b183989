//! A list of long lives is no list of short ones, into which something short could be put.
#![allow(unreachable_code)]
use leeward::collect::List;
fn shorten<'short>(list: &'short List<&'static str>) -> Option<&'short List<&'short str>> {
    return Some(list); //~ BREAKS lifetime may not live long enough
    list.clear();
    None
}
fn main() {
    assert!(shorten(&List::new()).is_none());
}
