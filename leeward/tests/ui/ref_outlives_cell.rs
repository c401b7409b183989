//! A reference that owns its section does not outlive the cell, which frees the value at once.
use leeward::rcu::RcuCell;
fn main() {
    let cell = RcuCell::new(String::new());
    let value = cell.get();
    drop(cell); //~ BREAKS E0505
    println!("{}", *value);
}
