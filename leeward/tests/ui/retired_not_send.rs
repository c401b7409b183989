//! What is retired is dropped on another thread.
use leeward::rcu::{self, RcuCell};
use std::rc::Rc;
fn main() {
    let cell = RcuCell::<Rc<u32>>::new(Rc::new(1));
    println!("{}", cell.load(&rcu::read()));
    drop(cell.replace(Rc::new(2))); //~ BREAKS E0277
}
