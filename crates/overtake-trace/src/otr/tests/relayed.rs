//! A trace that goes through a relay is the trace that goes through a file.

use super::*;
use crate::block::BLOCK_EVENTS;
use crate::check::Checker;
use crate::id::VarId;
use crate::symbols::Sizes;

/// What a reader sees: the blocks with the sizes of the tables at each, and the tables at the end. Blocks are repaired on the way, which adds names.
fn seen(source: &mut dyn EventSource) -> Result<(Vec<(Block, Sizes)>, Symbols)> {
    let mut checker = Checker::repairing();
    let (mut block, mut blocks) = (Block::default(), Vec::new());
    while source.next_block(&mut block)? {
        checker.check(&mut block, source.symbols_mut())?;
        blocks.push((block.clone(), source.symbols().sizes()));
    }
    assert!(!source.next_block(&mut block)?, "events after the end");
    Ok((blocks, source.symbols().clone()))
}

/// Sends a trace, whose tables grow with it. Returns its file.
fn sent(events: usize, mut sink: RelaySink) -> Vec<u8> {
    let mut builder = Builder::new(BLOCK_EVENTS);
    for at in 0..events {
        builder.push(sample_event(at, Op::ALL.len()));
        sink.write(&builder.trace.events[at..], &builder.trace.symbols).expect("names that can be written");
    }
    sink.finish(&builder.trace.symbols).expect("names that can be written");
    sink.close();
    builder.finish().1
}

/// Asserts that what comes through a relay is what the file has, once somebody has looked at the relay.
fn assert_relayed(events: usize, look: impl FnOnce(&mut RelaySource)) {
    let (sink, mut source) = relay(1);
    let (file, relayed) = std::thread::scope(|scope| {
        let writer = scope.spawn(|| sent(events, sink));
        look(&mut source);
        let relayed = seen(&mut source).expect("a trace that was sent to its end");
        (writer.join().expect("a writer"), relayed)
    });
    let from_file = seen(&mut OtrReader::new(&file[..]).expect("a file")).expect("a good file");
    assert!(relayed == from_file, "{events} events differ");
}

#[test]
fn a_relayed_trace_is_read_as_its_file_is() {
    for events in [0, 1, 500, 3 * BLOCK_EVENTS, 3 * BLOCK_EVENTS + 5] {
        assert_relayed(events, |_| ());
    }
}

#[test]
fn whether_a_relayed_trace_is_long_is_known_before_it_is_read() {
    let events = 3 * BLOCK_EVENTS;
    for (than, is_longer) in [(0, true), (events - 1, true), (events, false)] {
        assert_relayed(events, |source| {
            assert_eq!(source.is_longer_than(than as u64).ok(), Some(is_longer));
        });
    }
}

#[test]
fn a_trace_that_is_promised_to_be_long_need_not_be_waited_for() {
    let (sink, mut source) = relay(1);
    sink.promise(100);
    assert_eq!(source.is_longer_than(99).ok(), Some(true), "though nothing else was sent");
    assert_relayed(500, |source| assert_eq!(source.is_longer_than(100).ok(), Some(true)));
    sink.close();
    assert!(seen(&mut source).is_ok());
    let (sink, mut source) = relay(2);
    sink.promise(100);
    sink.close();
    assert_eq!(
        source.is_longer_than(100).ok(),
        Some(false),
        "a promise is no upper bound, but there was no more"
    );
}

#[test]
fn variables_end_before_the_next_block_that_is_read() {
    let (trace, _) = sample(BLOCK_EVENTS, BLOCK_EVENTS);
    let (mut sink, mut source) = relay(8);
    let ended = [VarId(0)..VarId(2), VarId(4)..VarId(5)];
    sink.write(&trace.events, &trace.symbols).expect("names that can be written");
    sink.end_variables(&ended);
    sink.write(&trace.events[..10], &trace.symbols).expect("names that can be written");
    sink.end_variables(&[VarId(7)..VarId(8)]);
    sink.finish(&trace.symbols).expect("names that can be written");
    sink.close();
    let (mut block, mut seen) = (Block::default(), Vec::new());
    while source.next_block(&mut block).expect("a trace that was sent to its end") {
        let mut ended = Vec::new();
        source.take_ended(&mut ended);
        seen.push((block.events.len(), ended));
    }
    // What waits to become a block may name what ended last.
    assert_eq!(seen, [(BLOCK_EVENTS, Vec::new()), (10, ended.to_vec())]);
}

#[test]
fn reading_fails_if_the_writer_goes_before_the_end() {
    let (trace, _) = sample(100, BLOCK_EVENTS);
    let (mut sink, mut source) = relay(4);
    sink.write(&trace.events, &trace.symbols).expect("names that can be written");
    sink.finish(&trace.symbols).expect("names that can be written");
    drop(sink);
    let error = seen(&mut source).expect_err("nobody said that this is the end");
    assert_eq!(error.position(), crate::error::Position::Event(EventIndex(100)));
}

#[test]
fn a_writer_goes_on_without_its_reader() {
    let (sink, source) = relay(1);
    drop(source);
    sent(3 * BLOCK_EVENTS, sink);
}
