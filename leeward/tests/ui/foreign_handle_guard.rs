//! A guard from another domain's handle opens no cell.
use leeward::rcu::{RcuCell, Reader};
leeward::rcu_domain! { struct One; struct Other; }
fn main() {
    let cell = RcuCell::<u32, One>::new_in(1);
    let reader = Reader::<Other>::register_in();
    let guard = reader.read();
    let _ = &guard;
    cell.load(&guard); //~ BREAKS E0277
}
