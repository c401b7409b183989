//! An online reader belongs to its thread.
use leeward::rcu::{Global, qsbr};
fn main() {
    let reader = qsbr::Reader::register();
    let _ = &reader;
    std::thread::spawn(move || drop(reader)); //~ BREAKS belongs to the thread that made it
}
