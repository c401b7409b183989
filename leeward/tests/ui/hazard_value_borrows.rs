//! What is retired is dropped at any later time, so it borrows nothing.
use leeward::hazard::Cell;
fn main() {
    let text = String::from("borrowed");
    let cell = Cell::new("");
    cell.store(&text); //~ BREAKS E0597
    println!("{}", cell.is_empty());
}
