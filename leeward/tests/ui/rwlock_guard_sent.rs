//! A lock is unlocked by the thread that locked it.
use leeward::sync::RwLock;
static LOCK: RwLock<u64> = RwLock::new(0);
fn main() {
    let guard = LOCK.write();
    let _ = &guard;
    std::thread::spawn(move || drop(guard)); //~ BREAKS E0277
}
