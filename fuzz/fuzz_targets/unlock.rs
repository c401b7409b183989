//! Waits for words of all sizes beside robust unlocks, and a model. The work is in src/unlock.rs.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| leeward_fuzz::unlock::run(data));
