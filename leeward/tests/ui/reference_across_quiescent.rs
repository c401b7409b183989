//! Nothing that was loaded survives a quiescent state.
use leeward::rcu::{Global, RcuCell, qsbr};
fn main() {
    let cell = RcuCell::<String>::new(String::new());
    let mut reader = qsbr::Reader::register();
    reader.quiescent();
    let seen = cell.load(&reader);
    reader.quiescent(); //~ BREAKS E0502
    println!("{seen}");
}
