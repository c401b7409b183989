//! An online reader of another domain opens no cell.
use leeward::rcu::{RcuCell, qsbr};
leeward::rcu_domain! { struct One; struct Other; }
fn main() {
    let cell = RcuCell::<u32, One>::new_in(1);
    let reader = qsbr::Reader::<Other>::register_in();
    let _ = &reader;
    cell.load(&reader); //~ BREAKS E0277
}
