//! A guard is not shared with another thread.
use leeward::rcu::{self, RcuCell};
fn main() {
    let cell = RcuCell::<u32>::new(1);
    let guard = rcu::read();
    cell.load(&guard);
    std::thread::scope(|scope| {
        let _ = &scope;
        scope.spawn(|| println!("{}", cell.load(&guard))); //~ BREAKS E0277
    });
}
