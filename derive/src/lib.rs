//! `#[derive(AnyBytes)]`, which `leeward` re-exports with its feature `derive`; see
//! `leeward::shared::AnyBytes`.
//!
//! `item.rs` reads the struct, `output.rs` writes the implementation. No dependencies: the token
//! stream is read by hand.

mod item;
mod output;

use proc_macro::TokenStream;

#[doc = include_str!("any_bytes.md")]
#[proc_macro_derive(AnyBytes)]
pub fn derive_any_bytes(input: TokenStream) -> TokenStream {
    match item::read(input) {
        Ok(item) => output::implementation(&item),
        Err(error) => output::compile_error(&error),
    }
}
