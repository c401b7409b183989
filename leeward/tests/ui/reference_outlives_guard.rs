//! No reference outlives its guard.
use leeward::rcu::{self, RcuCell};
fn main() {
    let cell = RcuCell::<String>::new(String::new());
    let guard = rcu::read();
    let seen = cell.load(&guard);
    println!("{seen}");
    drop(guard); //~ BREAKS E0505
    println!("{seen}");
}
