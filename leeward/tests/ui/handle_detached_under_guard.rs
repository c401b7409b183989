//! A handle is not detached while a section of it is open.
use leeward::rcu::{Global, Reader};
fn main() {
    let reader = Reader::register();
    let guard = reader.read();
    let _ = &guard;
    drop(reader.detach()); //~ BREAKS E0505
    drop(guard);
}
