//! `#[derive(AnyBytes)]`, which `leeward` re-exports with its feature `derive`; see
//! `leeward::shared::AnyBytes`.
//!
//! `item.rs` reads the struct, `output.rs` writes the implementation. No dependencies: the token
//! stream is read by hand.

mod item;
mod output;
/// The README's example, as a test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

use proc_macro::TokenStream;

/// Implements `leeward::shared::AnyBytes` for a struct whose fields are `AnyBytes`.
///
/// The struct has `#[repr(C)]` or `#[repr(transparent)]`. It may be generic; then it is `AnyBytes`
/// where the types of its fields are. It does not implement `Drop`: another process, or a thread that
/// is killed, would not run it.
///
/// A struct that derives it says that any numbers in its fields are a state that its functions can
/// meet: what was read from such memory may be what an owner left behind in the midst of a change.
///
/// ```
/// use leeward::shared::AnyBytes;
/// #[derive(AnyBytes)]
/// #[repr(C)]
/// struct Ring<T, const N: usize> {
///     first: u32,
///     length: u32,
///     items: [T; N],
/// }
/// fn takes<T: AnyBytes>() {}
/// takes::<Ring<u64, 16>>();
/// ```
///
/// # Errors
/// For enums, unions and other layouts the program does not compile; the message says what to write.
#[proc_macro_derive(AnyBytes)]
pub fn derive_any_bytes(input: TokenStream) -> TokenStream {
    match item::read(input) {
        Ok(item) => output::implementation(&item),
        Err(error) => output::compile_error(&error),
    }
}
