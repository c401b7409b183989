//! A cell holds values of exactly its type: as a cell of a more special one, it would take in what
//! its readers must not find.
use leeward::rcu::RcuCell;
type General = fn(&str) -> usize;
type Special = fn(&'static str) -> usize;
fn main() {
    let general: General = |text| text.len();
    let special: Special = general;
    let cell: RcuCell<General> = RcuCell::new(general);
    let same: &RcuCell<General> = &cell;
    let other: &RcuCell<Special> = &cell; //~ BREAKS E0308
    other.store(special); //~ BREAKS E0308
    println!("{}{}", special("a"), same.get()("a"));
}
