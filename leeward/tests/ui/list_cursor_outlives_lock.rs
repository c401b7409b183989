//! No cursor outlives the lock.
use leeward::collect::List;
fn main() {
    let list = List::<u32>::new();
    let mut locked = list.lock();
    let cursor = locked.cursor_front();
    drop(locked); //~ BREAKS E0505
    println!("{:?}", cursor.current());
}
