//! What a list holds lives as long as the list.
use leeward::collect::List;
fn main() {
    let name = String::from("a");
    let list = List::<&str>::new();
    list.push_back(&name);
    drop(name); //~ BREAKS E0505
    println!("{}", list.len());
}
