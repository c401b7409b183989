//! What the documents of `leeward-derive` show, as tests. That crate does not depend on `leeward`,
//! without which its examples do not compile.

#[cfg(doctest)]
#[doc = include_str!("../../derive/README.md")]
mod readme {}

#[cfg(doctest)]
#[doc = include_str!("../../derive/src/any_bytes.md")]
mod any_bytes {}
