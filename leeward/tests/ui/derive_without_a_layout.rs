//! Two programs need not agree on where the fields of a struct lie, unless it says so.
use leeward::shared::AnyBytes;
#[derive(AnyBytes)] #[repr(C)] struct Number(u8);
#[derive(AnyBytes)] struct Pair(u8, u32); //~ BREAKS same in every program: write `#[repr(C)]`
#[derive(AnyBytes)] #[repr(align(8))] struct Aligned(u8, u32); //~ BREAKS same in every program: write `#[repr(C)]`
fn takes<T: AnyBytes>() {}
fn main() {
    takes::<Number>();
}
