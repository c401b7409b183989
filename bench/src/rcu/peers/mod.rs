//! The Rust peers, each a small module that implements `Scheme`; liburcu and kovan come as tables
//! of functions (`foreign.rs`). Which of them are compared, and what is said about those that are
//! absent, is in `roster.rs`.

pub mod arc_swap;
pub mod crossbeam;
pub mod haphazard;
pub mod hazarc;
pub mod ours;
pub mod rwlock;
pub mod sdd;
pub mod seize;
