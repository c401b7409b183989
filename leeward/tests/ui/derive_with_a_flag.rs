//! Each field is asked for, where it stands, also those of a generic struct.
use leeward::shared::AnyBytes;
#[derive(AnyBytes)] #[repr(C)] struct Of<T>(T, u32);
#[derive(AnyBytes)]
#[repr(C)]
struct Flags {
    number: u8,
    flag: bool, //~ BREAKS `bool` may lie in memory
    reference: &'static u8, //~ BREAKS `&'static u8` may lie in memory
}
fn takes<T: AnyBytes>() {}
fn main() {
    takes::<Of<u8>>();
    takes::<Of<char>>(); //~ BREAKS `char` may lie in memory
}
