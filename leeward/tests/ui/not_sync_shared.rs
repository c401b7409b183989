//! A cell shares what may be shared.
use leeward::rcu::RcuCell;
use std::cell::Cell;
fn main() {
    let cell = RcuCell::<Cell<u32>>::new(Cell::new(1));
    let _ = &cell;
    std::thread::scope(|scope| {
        let _ = &scope;
        scope.spawn(|| cell.read(|number| number.set(2))); //~ BREAKS E0277
    });
}
