//! Nothing that was loaded survives a stretch offline.
use leeward::rcu::{Global, RcuCell, qsbr};
fn main() {
    let cell = RcuCell::<String>::new(String::new());
    let mut reader = qsbr::Reader::register();
    let seen = cell.load(&reader);
    println!("{seen}");
    reader.offline(|| println!("{seen}")); //~ BREAKS E0502
}
