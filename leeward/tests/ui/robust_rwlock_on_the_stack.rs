//! A held robust lock is in a list by its address, and guards may be leaked: it stays in place.
use leeward::robust::RwLock;
static STAYS: RwLock<u64> = RwLock::new(0);
fn main() {
    let goes = RwLock::new(0_u64);
    let _ = &goes;
    drop(STAYS.read());
    drop(goes.read()); //~ BREAKS E0597
}
