//! A hazard pointer is not sent away, nor dropped or leaked, while a reference depends on it.
use leeward::hazard::{Cell, HazardPointer};
fn main() {
    let cell = Cell::new(1);
    let mut hazard = HazardPointer::new();
    let value = hazard.protect(&cell);
    std::thread::spawn(move || drop(hazard)).join().unwrap(); //~ BREAKS E0505
    println!("{value:?}");
}
