//! No value of a list outlives the guard that it was found with.
use leeward::collect::List;
use leeward::rcu;
fn main() {
    let list = List::<String>::new();
    let guard = rcu::read();
    let seen: Vec<_> = list.iter(&guard).collect();
    drop(guard); //~ BREAKS E0505
    println!("{seen:?}");
}
