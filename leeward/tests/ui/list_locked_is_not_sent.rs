//! The thread that has locked a list unlocks it.
use leeward::collect::List;
fn send<T: Send>(_: T) {}
fn main() {
    let list = List::<u32>::new();
    send(&list);
    send(list.lock()); //~ BREAKS belongs to the thread that made it
}
