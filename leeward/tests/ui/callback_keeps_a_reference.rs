//! A callback does not keep a reader's reference.
use leeward::rcu::{self, RcuOption};
static CELL: RcuOption<String> = RcuOption::none();
fn main() {
    let guard = rcu::read();
    let seen = CELL.load(&guard);
    println!("{seen:?}");
    rcu::defer(move || println!("{seen:?}")); //~ BREAKS E0597
}
