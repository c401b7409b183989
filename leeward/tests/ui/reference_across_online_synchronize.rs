//! Nothing that was loaded survives an online reader's own grace period.
use leeward::rcu::{Global, RcuCell, qsbr};
fn main() {
    let cell = RcuCell::<String>::new(String::new());
    let mut reader = qsbr::Reader::register();
    let seen = cell.load(&reader);
    reader.synchronize(); //~ BREAKS E0502
    println!("{seen}");
}
