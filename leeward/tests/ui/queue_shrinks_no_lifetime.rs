//! A queue of long lives is no queue of short ones, to which something short could be pushed.
#![allow(unreachable_code)]
use leeward::collect::Queue;
fn shorten<'short>(it: &'short Queue<&'static str>) -> Option<&'short Queue<&'short str>> {
    return Some(it); //~ BREAKS lifetime may not live long enough
    it.close();
    None
}
fn main() {
    assert!(shorten(&Queue::new()).is_none());
}
