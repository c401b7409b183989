//! One hazard pointer protects one value at a time.
use leeward::hazard::{Cell, HazardPointer};
fn main() {
    let (one, two) = (Cell::new(1), Cell::new(2));
    let mut hazard = HazardPointer::new();
    let value = hazard.protect(&one);
    hazard.protect(&two); //~ BREAKS E0499
    println!("{value:?}");
}
