//! A protected reference does not outlive the cell, which frees the value at once.
use leeward::hazard::{Cell, HazardPointer};
fn main() {
    let cell = Cell::new(1);
    let mut hazard = HazardPointer::new();
    let value = hazard.protect(&cell);
    drop(cell); //~ BREAKS E0505
    println!("{value:?}");
}
