//! Sealed traces: no input may cause a panic or memory that its size does not explain, and what a strict reader hands
//! out without an error must come back the same when it is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use overtake_trace::{Block, EventSink, EventSource, OtrReader, OtrWriter, Trace};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(mut reader) = OtrReader::salvage(bytes) {
        let mut block = Block::default();
        let mut next = 0;
        while let Ok(true) = reader.next_block(&mut block) {
            assert!(block.first.0 >= next, "an event was repeated");
            next = block.first.0 + block.events.len() as u64;
        }
    }
    let Ok(mut reader) = OtrReader::new(bytes) else { return };
    let Ok(trace) = Trace::read(&mut reader) else { return };
    let mut writer = OtrWriter::new(Vec::new()).expect("memory takes everything");
    writer.write(&trace.events, &trace.symbols).expect("what was read can be written");
    writer.finish(&trace.symbols).expect("what was read can be written");
    let sealed = writer.into_inner();
    let mut again = OtrReader::new(sealed.as_slice()).expect("what was written can be read");
    assert_eq!(Trace::read(&mut again).expect("what was written can be read"), trace);
});
