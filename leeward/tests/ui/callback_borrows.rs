//! A callback does not borrow from its caller.
use leeward::rcu;
fn main() {
    let text = String::from("local");
    let moved = text.clone();
    rcu::defer(move || println!("{moved}"));
    rcu::defer(|| println!("{text}")); //~ BREAKS E0373
}
