//! What the closure form shows cannot leave it.
use leeward::rcu::RcuCell;
fn main() {
    let cell = RcuCell::<String>::new(String::new());
    let length = cell.read(|seen| seen.len());
    println!("{length}");
    let seen: &str = cell.read(|seen| seen.as_str()); //~ BREAKS lifetime may not live long enough
    println!("{seen}"); //~ BREAKS lifetime may not live long enough
}
