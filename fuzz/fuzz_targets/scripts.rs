//! Sequences of waits, wakes, requeues and wake-ops, beside a model. The work is in src/scripts.rs.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| leeward_fuzz::scripts::run(data));
