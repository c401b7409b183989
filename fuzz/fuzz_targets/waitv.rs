//! waitv's arrays, beside a plain decoder and a model of the queues. The work is in src/waitv.rs.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| leeward_fuzz::waitv::run(data));
