//! The closure form's reference cannot be stored in a variable outside.
use leeward::rcu::RcuCell;
fn main() {
    let cell = RcuCell::<String>::new(String::new());
    let mut kept = "";
    cell.read(|seen| println!("{seen}"));
    cell.read(|seen| kept = seen); //~ BREAKS E0521
    println!("{kept}");
    kept = "";
    println!("{kept}");
}
