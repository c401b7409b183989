//! A robust lock is held by its thread, and by no other unlocked.
use leeward::robust::Mutex;
static MUTEX: Mutex<u64> = Mutex::new(0);
fn main() {
    let guard = MUTEX.lock();
    let _ = &guard;
    // Its pointers are named as well. //~ BREAKS cannot be sent between threads safely
    std::thread::spawn(move || drop(guard)); //~ BREAKS belongs to the thread that made it
}
