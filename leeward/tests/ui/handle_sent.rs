//! A handle travels detached only.
use leeward::rcu::{Global, Reader};
fn main() {
    let reader = Reader::register();
    let other = Reader::register().detach();
    std::thread::spawn(move || drop(other.attach()));
    let _ = &reader;
    std::thread::spawn(move || drop(reader)); //~ BREAKS belongs to the thread that made it
}
