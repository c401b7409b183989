//! What is mapped to does not leave the closure but in the new reference.
use leeward::rcu::{RcuCell, Ref};
fn main() {
    let cell = RcuCell::new(String::from("text"));
    let mut kept: Option<&str> = None;
    let length = Ref::map(cell.get(), |text| {
        kept = Some(text); //~ BREAKS borrowed data escapes
        text.as_str()
    });
    drop(length);
    println!("{kept:?}");
}
