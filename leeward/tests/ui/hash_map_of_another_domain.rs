//! A guard of one domain opens no map of another.
use leeward::collect::HashMap;
use leeward::rcu::{self, Domain};
use std::hash::RandomState;
leeward::rcu_domain! { struct Other; }
fn main() {
    let map = HashMap::<u32, u32, RandomState, Other>::default();
    assert!(map.get(&1, &Other::read()).is_none());
    map.get(&1, &rcu::read()); //~ BREAKS E0277
}
