//! What is retired is dropped on another thread.
use leeward::hazard::Cell;
use std::rc::Rc;
fn main() {
    let cell = Cell::new(Rc::new(1));
    println!("{}", cell.is_empty());
    cell.store(Rc::new(2)); //~ BREAKS E0599
}
