//! No list is dropped before what was taken out of it.
use leeward::collect::List;
fn main() {
    let list = List::<String>::new();
    let retired = list.pop_front();
    drop(list); //~ BREAKS E0505
    drop(retired);
}
