//! A dying thread's walk over any memory, beside a plain one. The work is in src/robust.rs.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| leeward_fuzz::robust::run(data));
