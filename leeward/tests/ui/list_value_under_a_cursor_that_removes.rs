//! No value that a cursor showed is in use when the cursor takes it out.
use leeward::collect::List;
fn main() {
    let list = List::<String>::new();
    let mut locked = list.lock();
    let mut cursor = locked.cursor_front();
    let seen = cursor.current();
    drop(cursor.remove_current()); //~ BREAKS E0502
    println!("{seen:?}");
}
