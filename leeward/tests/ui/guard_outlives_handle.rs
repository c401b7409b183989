//! A guard does not outlive its handle.
use leeward::rcu::{Global, Reader};
fn main() {
    let reader = Reader::register();
    let guard = reader.read();
    let _ = &guard;
    drop(reader); //~ BREAKS E0505
    drop(guard);
}
