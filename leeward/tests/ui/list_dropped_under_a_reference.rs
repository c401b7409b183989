//! No list is dropped while a value of it is in use.
use leeward::collect::List;
use leeward::rcu;
fn main() {
    let list = List::<String>::new();
    let guard = rcu::read();
    let seen = list.first(&guard);
    drop(list); //~ BREAKS E0505
    println!("{seen:?}");
}
