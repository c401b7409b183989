//! A walk through values that stay on their thread stays there, too.
use leeward::collect::HashMap;
use leeward::rcu;
use std::cell::Cell;
fn send<T: Send>(_: T) {}
fn main() {
    let guard = rcu::read();
    let numbers = HashMap::from([(1, 2)]);
    send(numbers.iter(&guard));
    let mut cells = HashMap::from([(1, Cell::new(2))]);
    send(cells.iter(&guard)); //~ BREAKS E0277
    send(cells.iter_mut());
}
