//! No other crate says what protects.
use leeward::rcu::{Global, Protects};
struct Nothing;
fn takes<T: Protects<Global>>(_: Option<T>) {}
unsafe impl Protects<Global> for Nothing {} //~ BREAKS E0277
fn main() {
    takes(None::<leeward::rcu::Guard<'static>>);
    let _ = Nothing;
}
