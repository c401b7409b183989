//! A map of values that stay on their thread stays there, too.
use leeward::collect::HashMap;
use std::rc::Rc;
fn share<T: Sync>(_: T) {}
fn main() {
    share(HashMap::<u32, u32>::new());
    share(HashMap::<u32, Rc<u32>>::new()); //~ BREAKS E0277
}
