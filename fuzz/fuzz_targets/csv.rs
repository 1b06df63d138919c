//! Any bytes as CSV.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| overtake_trace::fuzzing::csv(input));
