//! Any system call with any arguments, over a guest's memory. The work is in src/decoder.rs.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| leeward_fuzz::decoder::run(data));
