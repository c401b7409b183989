//! A cookie of one domain says nothing about another's grace periods.
use leeward::rcu::Domain;
leeward::rcu_domain! { struct One; struct Other; }
fn main() {
    let cookie = One::start_poll();
    One::poll_state(&cookie);
    Other::poll_state(&cookie); //~ BREAKS E0308
}
