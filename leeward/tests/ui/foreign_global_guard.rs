//! Nor does the global domain's.
use leeward::rcu::{self, Domain, RcuOption};
leeward::rcu_domain! { struct One; }
static CELL: RcuOption<u32, One> = RcuOption::none();
fn main() {
    let guard = rcu::read();
    CELL.load(&One::read());
    CELL.load(&guard); //~ BREAKS E0277
}
