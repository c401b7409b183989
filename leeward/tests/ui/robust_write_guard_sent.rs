//! A robust lock is written by its thread, and by no other unlocked.
use leeward::robust::RwLock;
static LOCK: RwLock<u64> = RwLock::new(0);
fn main() {
    let guard = LOCK.write().unwrap();
    let _ = &guard;
    std::thread::spawn(move || drop(guard)); //~ BREAKS E0277
}
