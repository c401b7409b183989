//! A reference ends before its hazard pointer protects nothing.
use leeward::hazard::{Cell, HazardPointer};
fn main() {
    let cell = Cell::new(1);
    let mut hazard = HazardPointer::new();
    let value = hazard.protect(&cell);
    hazard.reset_protection(); //~ BREAKS E0499
    println!("{value:?}");
}
