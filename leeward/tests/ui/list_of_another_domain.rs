//! A guard of one domain opens no list of another.
use leeward::collect::List;
use leeward::rcu::{self, Domain};
leeward::rcu_domain! { struct Other; }
fn main() {
    let list = List::<u32, Other>::new_in();
    assert!(list.first(&Other::read()).is_none());
    list.first(&rcu::read()); //~ BREAKS E0277
}
