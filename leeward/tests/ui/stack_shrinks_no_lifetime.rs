//! A stack of long lives is no stack of short ones, onto which something short could be pushed.
#![allow(unreachable_code)]
use leeward::collect::Stack;
fn shorten<'short>(it: &'short Stack<&'static str>) -> Option<&'short Stack<&'short str>> {
    return Some(it); //~ BREAKS lifetime may not live long enough
    drop(it.pop());
    None
}
fn main() {
    assert!(shorten(&Stack::new()).is_none());
}
