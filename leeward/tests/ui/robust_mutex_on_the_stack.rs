//! A held robust lock is in a list by its address, and guards may be leaked: it stays in place.
use leeward::robust::Mutex;
static STAYS: Mutex<u64> = Mutex::new(0);
fn main() {
    let goes = Mutex::new(0_u64);
    let _ = &goes;
    drop(STAYS.lock());
    drop(goes.lock()); //~ BREAKS E0597
}
