//! An offline reader loads nothing.
use leeward::rcu::{Global, RcuCell, qsbr};
fn main() {
    let cell = RcuCell::<String>::new(String::new());
    let mut reader = qsbr::Reader::register();
    println!("{}", cell.load(&reader));
    reader.offline(|| println!("{}", cell.load(&reader))); //~ BREAKS E0502
    reader.synchronize();
}
