use std::io::Write as _;

use super::*;
use crate::block::BLOCK_EVENTS;
use crate::check::Checker;
use crate::id::ThreadId;
use crate::parameters::Parameters;
use crate::stats::Statistics;

fn assert_reads_back(trace: &Trace, bytes: &[u8]) {
    let outcome = read(bytes);
    assert!(outcome.error.is_none(), "{}", outcome.error.unwrap());
    assert_eq!(outcome.plain_events(), trace.events);
    assert!(outcome.events.iter().map(|(index, _)| index.0).eq(0..trace.events.len() as u64));
    assert_eq!(outcome.symbols, trace.symbols);
}

fn assert_random_access_agrees(trace: &Trace, bytes: &[u8]) {
    let file = temporary(bytes);
    let sealed = OtrFile::open(file.path()).unwrap();
    assert_eq!(sealed.parameters().events, trace.events.len() as u64);
    assert_eq!(sealed.sizes(), trace.symbols.sizes());
    assert_eq!(sealed.symbols().unwrap(), &trace.symbols);
    let mut block = Block::default();
    let mut events = Vec::new();
    for number in 0..sealed.block_count() {
        sealed.read_block(number, &mut block).unwrap();
        assert_eq!(block.first.0, events.len() as u64);
        events.extend_from_slice(&block.events);
        assert_eq!(sealed.block_range(number), block.first.0..events.len() as u64);
    }
    assert_eq!(events, trace.events);
    assert!(sealed.read_block(sealed.block_count(), &mut block).is_err());
}

#[test]
fn every_operation_and_memory_order_survives() {
    let mut builder = Builder::new(BLOCK_EVENTS);
    for op in 0..Op::ALL.len() {
        for order in 0..MemoryOrder::ALL.len() {
            builder.push((op, order, op as u8, (op * 8 + order) as u16, Some(order as u8)));
        }
    }
    let (trace, bytes) = builder.finish();
    assert_reads_back(&trace, &bytes);
}

#[test]
fn traces_around_block_borders_survive() {
    for block_events in [1, 2, 7, 64] {
        for blocks in 0..4 {
            let border: usize = blocks * block_events;
            for events in border.saturating_sub(1)..=border + 1 {
                let (trace, bytes) = sample(events, block_events);
                assert_reads_back(&trace, &bytes);
                assert_random_access_agrees(&trace, &bytes);
            }
        }
    }
}

#[test]
fn the_size_of_writes_does_not_matter() {
    let (trace, expected) = sample(500, 64);
    for piece in [1, 63, 64, 65, 200, 500] {
        let mut writer = OtrWriter::new(Vec::new()).unwrap().with_block_events(64);
        for events in trace.events.chunks(piece) {
            writer.write(events, &trace.symbols).unwrap();
        }
        writer.finish(&trace.symbols).unwrap();
        let outcome = read(&writer.into_inner());
        assert_eq!(outcome.plain_events(), trace.events);
        assert_eq!(outcome.symbols, read(&expected).symbols);
    }
}

#[test]
fn whole_blocks_of_default_size_survive() {
    let (trace, _) = sample(2 * BLOCK_EVENTS + 5, BLOCK_EVENTS);
    let mut writer = OtrWriter::new(Vec::new()).unwrap();
    writer.write(&trace.events, &trace.symbols).unwrap();
    writer.finish(&trace.symbols).unwrap();
    let bytes = writer.into_inner();
    assert_reads_back(&trace, &bytes);
    assert_random_access_agrees(&trace, &bytes);
}

#[test]
fn any_range_of_events_is_read_alone() {
    let (trace, bytes) = sample(100, 7);
    let file = temporary(&bytes);
    let sealed = OtrFile::open(file.path()).unwrap();
    let opened = sealed.bytes_read();
    let mut block = Block::default();
    for start in 0..105_u64 {
        for length in [0, 1, 7, 20, 1000] {
            sealed.read_events(start..start + length, &mut block).unwrap();
            let range = (start as usize).min(100)..((start + length) as usize).min(100);
            assert_eq!(block.events, trace.events[range]);
            assert_eq!(block.first.0, start);
        }
    }
    let sealed = OtrFile::open(file.path()).unwrap();
    sealed.read_events(50..52, &mut block).unwrap();
    assert!(sealed.bytes_read() - opened < bytes.len() as u64 / 10, "one block of fifteen is enough");
}

#[test]
fn opening_reads_no_names() {
    let mut symbols = Symbols::default();
    let thread = symbols.threads.intern(b"T0").unwrap();
    let events: Vec<Event> = (0..20_000)
        .map(|at| {
            let var =
                symbols.variables.intern(format!("a variable with a long name {at}").as_bytes()).unwrap();
            Event::new(thread, Action::Write(var), LocationId::UNKNOWN)
        })
        .collect();
    let mut writer = OtrWriter::new(Vec::new()).unwrap();
    writer.write(&events, &symbols).unwrap();
    writer.finish(&symbols).unwrap();
    let file = temporary(&writer.into_inner());
    let sealed = OtrFile::open(file.path()).unwrap();
    assert!(sealed.bytes_read() < 500, "{} bytes read", sealed.bytes_read());
    assert_eq!(sealed.symbols().unwrap(), &symbols);
}

#[test]
fn many_names_are_split_into_several_chunks() {
    let mut symbols = Symbols::default();
    let thread = symbols.threads.intern(b"T0").unwrap();
    for at in 0..150_000_u32 {
        symbols.variables.intern(format!("A{}[{at}]", at % 3).as_bytes()).unwrap();
    }
    symbols.markers.intern(&vec![b'm'; 1 << 20]).unwrap();
    let mut writer = OtrWriter::new(Vec::new()).unwrap();
    let var = crate::id::VarId(149_999);
    let events = [Event::new(thread, Action::Read(var), LocationId::UNKNOWN)];
    writer.write(&events, &symbols).unwrap();
    writer.finish(&symbols).unwrap();
    let trace = Trace { symbols, events: events.to_vec() };
    assert_reads_back(&trace, &writer.into_inner());
}

#[test]
fn a_pipe_can_be_read() {
    let (trace, bytes) = sample(3000, 100);
    let (output, mut input) = std::io::pipe().unwrap();
    let found = std::thread::scope(|scope| {
        scope.spawn(move || bytes.chunks(999).for_each(|piece| input.write_all(piece).unwrap()));
        Trace::read(&mut OtrReader::new(output).unwrap()).unwrap()
    });
    assert_eq!(found, trace);
}

#[test]
fn blocks_decoded_in_parallel_are_the_same() {
    let (trace, bytes) = sample(5000, 100);
    let file = temporary(&bytes);
    let sealed = OtrFile::open(file.path()).unwrap();
    let halves: Vec<Vec<Event>> = std::thread::scope(|scope| {
        let decode = |numbers: std::ops::Range<usize>| {
            let sealed = &sealed;
            scope.spawn(move || {
                let mut block = Block::default();
                let read = |number| {
                    sealed.read_block(number, &mut block).unwrap();
                    block.events.clone()
                };
                numbers.flat_map(read).collect()
            })
        };
        let threads = [decode(0..13), decode(13..30), decode(30..50)];
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(halves.concat(), trace.events);
}

/// The checker names a reused thread while later names are still to be read from the file.
#[test]
fn names_added_while_reading_do_not_shift_ids() {
    let mut builder = Builder::new(4);
    let op = |op: Op| op as usize;
    for event in [
        (op(Op::Fork), 0, 0, 1, None),
        (op(Op::Join), 0, 0, 1, None),
        (op(Op::Fork), 0, 0, 1, None),
        (op(Op::Write), 0, 1, 1, Some(1)),
        (op(Op::Alloc), 0, 0, 2, None),
        (op(Op::Alloc), 0, 0, 2, None),
        (op(Op::Write), 0, 0, 30, Some(2)),
        (op(Op::Fork), 0, 0, 3, None),
        (op(Op::Fork), 0, 0, 4, None),
        (op(Op::Write), 0, 4, 3, Some(3)),
        (op(Op::Write), 0, 3, 1, None),
        (op(Op::Write), 0, 1, 4, None),
    ] {
        builder.push(event);
    }
    let (trace, bytes) = builder.finish();
    let mut reader = OtrReader::new(bytes.as_slice()).unwrap();
    let mut checker = Checker::repairing();
    let mut block = Block::default();
    let mut at = 0;
    while reader.next_block(&mut block).unwrap() {
        for event in &block.events {
            let original = trace.events[at];
            let (found, expected) = (reader.symbols(), &trace.symbols);
            assert_eq!(found.threads.name(event.thread()), expected.threads.name(original.thread()));
            assert_eq!(found.location_name(event.location()), expected.location_name(original.location()));
            match (event.action(), original.action()) {
                (Action::Write(found_var), Action::Write(var)) => {
                    assert_eq!(found.variables.display(found_var), expected.variables.display(var));
                }
                (Action::Fork(child), Action::Fork(original)) => {
                    assert_eq!(found.threads.name(child), expected.threads.name(original));
                }
                _ => {}
            }
            at += 1;
        }
        checker.check(&mut block, reader.symbols_mut()).unwrap();
    }
    assert_eq!(at, trace.events.len());
    assert!(reader.symbols().threads.len() > trace.symbols.threads.len(), "the checker made a thread");
    assert!(reader.symbols().variables.len() > trace.symbols.variables.len(), "the checker made a block");
}

#[test]
fn ids_outside_their_table_are_not_written() {
    let mut symbols = Symbols::default();
    symbols.threads.intern(b"T0").unwrap();
    for action in
        [Action::Fork(ThreadId(1)), Action::Alloc(crate::id::VarId(0)), Action::Acquire(crate::id::LockId(0))]
    {
        let mut writer = OtrWriter::new(Vec::new()).unwrap().with_block_events(1);
        let event = Event::new(ThreadId(0), action, LocationId::UNKNOWN);
        let error = writer.write(&[event], &symbols).unwrap_err();
        assert_eq!(error.to_string(), "event 0: an id among the next 1 events is outside its table");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_was_written_is_read_back((trace, bytes) in sealed(200)) {
        assert_reads_back(&trace, &bytes);
        assert_random_access_agrees(&trace, &bytes);
    }

    #[test]
    fn parameters_are_those_of_the_statistics((trace, bytes) in sealed(200)) {
        let file = temporary(&bytes);
        let found = OtrFile::open(file.path()).unwrap().parameters();
        let mut statistics = Statistics::new();
        statistics.add_events(EventIndex(0), &trace.events);
        prop_assert_eq!(found, statistics.summary(&trace.symbols).parameters);
    }

    /// A and h do not change when the checker repairs a trace, except that it gives a thread id a new thread after a join, and ends
    /// sections where events are missing.
    #[test]
    fn parameters_of_raw_and_checked_events_agree((mut trace, _) in sealed(200)) {
        trace.events.retain(|event| !matches!(event.op(), Op::Join | Op::Gap));
        let mut raw = Statistics::new();
        raw.add_events(EventIndex(0), &trace.events);
        let raw = raw.summary(&trace.symbols).parameters;
        let mut checked = Statistics::new();
        let mut symbols = trace.symbols.clone();
        let mut checker = Checker::repairing();
        let mut block = Block { first: EventIndex(0), events: trace.events.clone() };
        checked.add_checked(&checker.check(&mut block, &mut symbols).unwrap());
        let checked = checked.summary(&trace.symbols);
        let Parameters { events, acquires, most_held, .. } = checked.parameters;
        prop_assert_eq!((events, acquires, most_held), (raw.events, raw.acquires, raw.most_held));
        prop_assert_eq!(checked.operations.iter().sum::<u64>(), events + checked.inserted);
    }
}
