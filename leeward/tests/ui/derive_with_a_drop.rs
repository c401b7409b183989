//! A process that is killed drops nothing.
use leeward::shared::AnyBytes;
#[derive(AnyBytes)] #[repr(C)] struct Of<T: Copy>(T, u32);
impl<T: Copy> Drop for Of<T> { fn drop(&mut self) {} } //~ BREAKS E0119
fn takes<T: AnyBytes>() {}
fn main() {
    takes::<Of<u8>>();
}
