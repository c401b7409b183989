//! A guard of the global domain opens no cell of another.
use leeward::rcu::{self, Domain, RcuOption};
leeward::rcu_domain! { struct One; }
static CELL: RcuOption<u32, One> = RcuOption::none_in();
fn main() {
    let guard = rcu::read();
    CELL.load(&One::read());
    CELL.load(&guard); //~ BREAKS E0277
}
