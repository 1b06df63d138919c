//! read(write(t)) = t.

use super::random_trace::{Shape, random_trace};
use crate::block::{BLOCK_EVENTS, Block, EventSource, Trace};
use crate::error::{ErrorKind, Position};
use crate::event::{Action, Event};
use crate::fuzzing::Random;
use crate::id::{EventIndex, LocationId};
use crate::text::{CsvReader, CsvWriter, StdReader};

const STD: Shape = Shape { forbidden: b"|\n", numbered_threads: false, locations: true };
const CSV: Shape = Shape { forbidden: b"\n", numbered_threads: true, locations: false };

#[test]
fn std_gives_back_what_was_written() {
    let mut random = Random(11);
    for round in 0..2000 {
        let trace = random_trace(&mut random, 1 + round % 60, &STD);
        let text = trace.to_std().unwrap();
        let shown = || String::from_utf8_lossy(&text).into_owned();
        assert_eq!(Trace::parse_std(&text).unwrap_or_else(|error| panic!("{error}\n{}", shown())), trace);
        let chunk = 1 + random.below(40);
        let in_pieces = Trace::read(&mut StdReader::new(&text[..]).with_chunk_bytes(chunk)).unwrap();
        assert_eq!(in_pieces, trace);
    }
}

#[test]
fn csv_gives_back_what_was_written() {
    let mut random = Random(12);
    for round in 0..2000 {
        let trace = random_trace(&mut random, 1 + round % 60, &CSV);
        let mut text = Vec::new();
        trace.write(&mut CsvWriter::new(&mut text)).unwrap();
        let read = Trace::read(&mut CsvReader::new(&text[..]));
        assert_eq!(read.unwrap_or_else(|error| panic!("{error}\n{}", String::from_utf8_lossy(&text))), trace);
    }
}

#[test]
fn csv_counts_the_locations_it_drops() {
    let trace = Trace::parse_std(b"T0|w(x)|1\nT1|r(x)\nT1|r(x)|2\n").unwrap();
    let mut text = Vec::new();
    let mut writer = CsvWriter::new(&mut text);
    trace.write(&mut writer).unwrap();
    assert_eq!(writer.locations_dropped(), 2);
    assert_eq!(text, b"w(x)\n,r(x)\n,r(x)\n");
}

#[test]
fn blocks_are_full_but_for_the_last_even_inside_a_line() {
    // Four events a line, starting at an odd index, so that a block ends inside a line.
    let text = format!("T0|w(x)|0\n{}", "T1|sync(y)|1\n".repeat(BLOCK_EVENTS / 2));
    let mut reader = StdReader::new(text.as_bytes());
    let mut block = Block::default();
    let (mut sizes, mut events) = (Vec::new(), Vec::new());
    while reader.next_block(&mut block).unwrap() {
        assert_eq!(block.first.0, events.len() as u64);
        for at in [0, 1, 2, 3, 4, 5, BLOCK_EVENTS - 1].into_iter().filter(|&at| at < block.events.len()) {
            let index = block.first.0 + at as u64;
            let line = if index == 0 { 1 } else { 2 + (index - 1) / 4 };
            assert_eq!(reader.position_of(EventIndex(index)), Position::Line { line, column: 1 });
        }
        sizes.push(block.events.len());
        events.extend_from_slice(&block.events);
    }
    assert_eq!(sizes, [BLOCK_EVENTS, BLOCK_EVENTS, 1]);
    let trace = Trace::parse_std(&Trace { symbols: reader.symbols().clone(), events }.to_std().unwrap());
    assert_eq!(trace.unwrap().events.len(), 2 * BLOCK_EVENTS + 1);
}

/// A trace whose one thread writes a variable called `name`.
fn one_write(thread: &[u8], name: &[u8], location: &[u8]) -> Trace {
    let mut trace = Trace::default();
    let thread = trace.symbols.threads.intern(thread).unwrap();
    let var = trace.symbols.variables.intern(name).unwrap();
    let location = trace.symbols.locations.intern(location).unwrap();
    trace.events.push(Event::new(thread, Action::Write(var), location));
    trace
}

#[test]
fn names_that_std_cannot_hold_are_refused_by_name() {
    for (thread, name, location) in [
        ("T0", "a|b", "1"),
        ("T0", "a\nb", "1"),
        ("T0", " a", "1"),
        ("T0", "a\r", "1"),
        ("T0", "", "1"),
        ("T|0", "a", "1"),
        ("#T0", "a", "1"),
        ("T0", "a", "f.c|3"),
        ("T0", "a", ""),
    ] {
        let error = one_write(thread.as_bytes(), name.as_bytes(), location.as_bytes()).to_std().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(error.position(), Position::Event(EventIndex(0)));
        let bad =
            [thread, name, location].into_iter().find(|&field| !["T0", "a", "1"].contains(&field)).unwrap();
        let shown = if bad.is_empty() { "nothing".into() } else { bad.as_bytes().escape_ascii().to_string() };
        assert!(error.message().contains(&shown), "{error}");
    }
}

#[test]
fn a_byte_order_mark_in_the_first_name_survives() {
    let trace = one_write("\u{feff}T0".as_bytes(), b"a", b"1");
    assert_eq!(Trace::parse_std(&trace.to_std().unwrap()).unwrap(), trace);
}

#[test]
fn operands_that_would_be_read_as_something_else_are_refused() {
    let mut trace = Trace::default();
    let thread = trace.symbols.threads.intern(b"T0").unwrap();
    let array = trace.symbols.variables.intern_array(b"A").unwrap();
    let block = trace.symbols.variables.intern_block(array).unwrap();
    let plain = trace.symbols.variables.intern(b"x").unwrap();
    let named_as_block = trace.symbols.variables.intern(b"A").unwrap();
    let lengthless = trace.symbols.variables.intern_array(b"B[3]").unwrap();
    let lengthless = trace.symbols.variables.intern_block(lengthless).unwrap();
    let marker = trace.symbols.markers.intern(b"main").unwrap();
    let generation = trace.symbols.objects.intern_generation(b"S#1", 0).unwrap();
    for action in [
        Action::Read(block),
        Action::Alloc(plain),
        Action::Free(lengthless),
        Action::Begin(marker),
        Action::Post(generation),
    ] {
        trace.events = vec![Event::new(thread, action, LocationId::UNKNOWN)];
        assert_eq!(trace.to_std().unwrap_err().kind(), ErrorKind::Unsupported, "{action:?}");
    }
    let [alloc, write] = [Action::Alloc(block), Action::Write(named_as_block)]
        .map(|action| Event::new(thread, action, LocationId::UNKNOWN));
    trace.events = vec![write, alloc];
    assert_eq!(trace.to_std().unwrap(), b"T0|w(A)\nT0|alloc(A)\n");
    trace.events = vec![alloc, write];
    assert_eq!(trace.to_std().unwrap_err().position(), Position::Event(EventIndex(1)));
    trace.events = vec![Event::new(thread, Action::Branch(marker), LocationId::UNKNOWN)];
    assert_eq!(trace.to_std().unwrap(), b"T0|branch(main)\n");
}

#[test]
fn a_wait_for_an_object_called_like_a_held_lock_stays_one() {
    let mut trace = Trace::parse_std(b"T0|acq(m)\nT0|post(m)\n").unwrap();
    let wait = Action::Wait(crate::SyncId(0));
    trace.events.push(Event::new(crate::ThreadId(0), wait, LocationId::UNKNOWN));
    let text = trace.to_std().unwrap();
    assert_eq!(text, b"T0|acq(m)\nT0|post(m)\nT0|await(m)\n");
    assert_eq!(Trace::parse_std(&text).unwrap(), trace);
}
