//! A list of values that stay on their thread stays there, too.
use leeward::collect::List;
use std::rc::Rc;
fn share<T: Sync>(_: T) {}
fn main() {
    share(List::<u32>::new());
    share(List::<Rc<u32>>::new()); //~ BREAKS E0277
}
