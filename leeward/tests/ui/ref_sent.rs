//! A reference that owns its section belongs to its thread.
use leeward::rcu::RcuCell;
static CELL: std::sync::LazyLock<RcuCell<u32>> = std::sync::LazyLock::new(|| RcuCell::new(1));
fn main() {
    let value = CELL.get();
    let _ = &value;
    // Its pointers are named as well. //~ BREAKS cannot be sent between threads safely
    std::thread::spawn(move || drop(value)); //~ BREAKS belongs to the thread that made it
}
