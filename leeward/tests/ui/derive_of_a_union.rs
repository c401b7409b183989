//! Only its author knows that any bytes are a value of a union.
use leeward::shared::AnyBytes;
#[derive(AnyBytes)] #[repr(C)] struct Number(u8);
#[derive(AnyBytes)] #[repr(C)] union Either { one: u8, other: [u8; 2] } //~ BREAKS cannot be derived for a union: if any
fn takes<T: AnyBytes>() {}
fn main() {
    takes::<Number>();
}
