//! A bounded queue of long lives is no queue of short ones, to which something short could be pushed.
#![allow(unreachable_code)]
use leeward::collect::Bounded;
fn shorten<'short>(it: &'short Bounded<&'static str>) -> Option<&'short Bounded<&'short str>> {
    return Some(it); //~ BREAKS lifetime may not live long enough
    it.close();
    None
}
fn main() {
    assert!(shorten(&Bounded::with_capacity(1)).is_none());
}
