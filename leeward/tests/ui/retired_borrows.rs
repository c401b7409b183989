//! What is retired is dropped at any time later, and does not borrow.
use leeward::rcu::{self, RcuCell};
fn main() {
    let text = String::from("local");
    let cell = RcuCell::<&str>::new("static");
    println!("{}", cell.load(&rcu::read()));
    cell.replace("static").defer();
    cell.replace(text.as_str()).defer(); //~ BREAKS E0597
}
