//! Nothing that was loaded survives `refresh`.
use leeward::rcu::{self, RcuCell};
fn main() {
    let cell = RcuCell::<String>::new(String::new());
    let mut guard = rcu::read();
    guard.refresh();
    let seen = cell.load(&guard);
    guard.refresh(); //~ BREAKS E0502
    println!("{seen}");
}
