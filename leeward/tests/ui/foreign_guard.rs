//! A guard of one domain opens no cell of another.
use leeward::rcu::{Domain, RcuCell};
leeward::rcu_domain! { struct One; struct Other; }
fn main() {
    let cell = RcuCell::<u32, One>::new_in(1);
    let other = Other::read();
    let one = One::read();
    cell.load(&one);
    cell.load(&other); //~ BREAKS protects nothing in cells of the domain `One`
}
