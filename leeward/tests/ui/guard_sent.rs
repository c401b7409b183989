//! A guard belongs to its thread.
use leeward::rcu;
fn main() {
    let guard = rcu::read();
    let _ = &guard;
    std::thread::spawn(move || drop(guard)); //~ BREAKS belongs to the thread that made it
}
