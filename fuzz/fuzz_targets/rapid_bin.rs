//! Any bytes as RapidBin.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| overtake_trace::fuzzing::rapid_bin(input));
