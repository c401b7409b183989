//! A reference from a cell within a protected value ends before the value's protection.
use leeward::hazard::{Cell, HazardPointer};
fn main() {
    let list = Cell::new(Cell::new(1));
    let (mut outer, mut inner) = (HazardPointer::new(), HazardPointer::new());
    let value = inner.protect(outer.protect(&list).unwrap());
    outer.reset_protection(); //~ BREAKS E0499
    println!("{value:?}");
}
