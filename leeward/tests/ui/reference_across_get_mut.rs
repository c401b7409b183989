//! The owner's access excludes readers.
use leeward::rcu::{self, RcuCell};
fn main() {
    let guard = rcu::read();
    let mut cell = RcuCell::<String>::new(String::new());
    cell.get_mut().push('a');
    let seen = cell.load(&guard);
    cell.get_mut().push('b'); //~ BREAKS E0502
    println!("{seen}");
}
