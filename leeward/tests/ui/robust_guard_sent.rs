//! A robust lock is held by its thread, and by no other unlocked.
use leeward::robust::Mutex;
static MUTEX: Mutex<u64> = Mutex::new(0);
fn main() {
    let guard = MUTEX.lock();
    let _ = &guard;
    std::thread::spawn(move || drop(guard)); //~ BREAKS E0277
}
