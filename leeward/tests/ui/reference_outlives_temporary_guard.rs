//! No reference outlives a guard that lives for a statement.
use leeward::rcu::{self, RcuCell};
fn main() {
    let cell = RcuCell::<String>::new(String::new());
    println!("{}", cell.load(&rcu::read()));
    let seen = cell.load(&rcu::read()); //~ BREAKS E0716
    println!("{seen}"); //~ BREAKS E0716
}
