//! Any bytes as a log of RoadRunner's print tool.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| overtake_trace::fuzzing::roadrunner(input));
