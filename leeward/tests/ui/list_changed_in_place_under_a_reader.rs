//! No value is changed in place while a reader has one.
use leeward::collect::List;
use leeward::rcu;
fn main() {
    let mut list = List::<String>::new();
    let guard = rcu::read();
    let seen = list.first(&guard);
    list.iter_mut().for_each(String::clear); //~ BREAKS E0502
    println!("{seen:?}");
}
