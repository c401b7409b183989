//! A callback runs on another thread.
use leeward::rcu;
use std::rc::Rc;
fn main() {
    let number = Rc::new(1);
    println!("{number}");
    rcu::defer(move || println!("{number}")); //~ BREAKS E0277
}
