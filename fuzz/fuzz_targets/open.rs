//! Any bytes as a file, compressed or not, of any format.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| overtake_trace::fuzzing::open(input));
