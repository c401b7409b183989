//! What kernels are asked: this Linux, and such as are wrong in one thing.
//!
//! One program: scenarios wait most of the time, and `cargo test` runs programs one after the other.

#![cfg(target_os = "linux")]

#[macro_use]
mod support;

mod known_bugs;
mod linux;
mod needs;
#[cfg(feature = "sequences")]
mod sequences;
mod unhurried_kernels;
mod wrong_ends;
mod wrong_kernels;
mod wrong_sequences;
mod wrong_tables;
mod wrong_words;
