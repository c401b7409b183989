//! No reference outlives its cell: the cell's value goes with it, without a grace period.
use leeward::rcu::{self, RcuCell};
fn main() {
    let guard = rcu::read();
    let cell = RcuCell::<String>::new(String::new());
    let seen = cell.load(&guard);
    println!("{seen}");
    drop(cell.into_inner()); //~ BREAKS E0505
    println!("{seen}");
}
