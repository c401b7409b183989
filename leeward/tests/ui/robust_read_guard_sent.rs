//! A robust reader's slot is held by its thread, and by no other given up.
use leeward::robust::RwLock;
static LOCK: RwLock<u64> = RwLock::new(0);
fn main() {
    let guard = LOCK.read().unwrap();
    let _ = &guard;
    // Its pointers are named as well. //~ BREAKS cannot be sent between threads safely
    std::thread::spawn(move || drop(guard)); //~ BREAKS belongs to the thread that made it
}
