//! Some bytes are no value of an enum.
use leeward::shared::AnyBytes;
#[derive(AnyBytes)] #[repr(C)] struct Number(u8);
#[derive(AnyBytes)] #[repr(u8)] enum Color { Red, Green } //~ BREAKS cannot be derived for an enum: some bytes
fn takes<T: AnyBytes>() {}
fn main() {
    takes::<Number>();
}
