//! Any bytes as STD text.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| overtake_trace::fuzzing::std(input));
