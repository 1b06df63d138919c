//! Files with matching checksums that no writer of ours would write.

use super::*;
use crate::error::ErrorKind;
use crate::id::{LockId, MarkerId, SyncId, ThreadId, VarId};
use crate::otr::events::BlockEncoder;
use crate::otr::layout::{ChunkHeader, Kind, Trailer, file_header};
use crate::otr::names::NameWriter;

struct Forge {
    bytes: Vec<u8>,
}

impl Forge {
    fn new() -> Forge {
        Forge { bytes: file_header().to_vec() }
    }

    fn chunk(mut self, kind: &[u8; 4], first: u64, count: usize, payload: &[u8]) -> Forge {
        self.bytes.extend_from_slice(&ChunkHeader::new(Kind(*kind), first, count, payload).to_bytes());
        self.bytes.extend_from_slice(payload);
        self
    }

    fn symbols(self, symbols: &Symbols) -> Forge {
        let mut chunks = Vec::new();
        let mut emit = |payload: &[u8], count: usize| {
            chunks.push((payload.to_vec(), count));
            Ok(())
        };
        NameWriter::new().unwrap().write_rest(symbols, &mut emit).unwrap();
        chunks.iter().fold(self, |forge, (payload, count)| forge.chunk(b"SYMB", 0, *count, payload))
    }

    fn events(self, events: &[Event]) -> Forge {
        let mut encoder = BlockEncoder::new().unwrap();
        let mut payload = Vec::new();
        encoder.split(events);
        encoder.encode(&mut payload).unwrap();
        self.chunk(b"EVNT", 0, events.len(), &payload)
    }

    fn parameters(self, numbers: [u64; 10]) -> Forge {
        let payload: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.chunk(b"PARM", 0, 1, &payload)
    }

    fn seal(mut self, footer: usize, events: u64) -> Vec<u8> {
        let file_bytes = (self.bytes.len() + 40) as u64;
        self.bytes.extend_from_slice(&Trailer { footer: footer as u64, file_bytes, events }.to_bytes());
        self.bytes
    }
}

fn one_of_each() -> Symbols {
    let mut symbols = Symbols::default();
    symbols.threads.intern(b"T0").unwrap();
    symbols.locks.intern(b"L0").unwrap();
    symbols.variables.intern(b"x").unwrap();
    symbols.objects.intern(b"S").unwrap();
    symbols.markers.intern(b"m").unwrap();
    symbols.locations.intern(b"1").unwrap();
    symbols
}

fn message(bytes: &[u8]) -> String {
    let error = read(bytes).error.expect("an error");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    error.message().to_string()
}

#[test]
fn ids_outside_their_table_are_refused() {
    let thread = ThreadId(0);
    let at = LocationId(0);
    let cases = [
        (Event::new(ThreadId(1), Action::Skip, at), "expected thread numbers below 1, found 1"),
        (Event::new(thread, Action::Join(ThreadId(7)), at), "expected thread numbers below 1, found 7"),
        (Event::new(thread, Action::Read(VarId(1)), at), "expected variable numbers below 1, found 1"),
        (
            Event::new(thread, Action::Read(VarId(u32::MAX)), at),
            "expected variable numbers below 1, found 4294967295",
        ),
        (Event::new(thread, Action::Request(LockId(2)), at), "expected lock numbers below 1, found 2"),
        (Event::new(thread, Action::Wait(SyncId(1)), at), "expected object numbers below 1, found 1"),
        (Event::new(thread, Action::Branch(MarkerId(1)), at), "expected marker numbers below 1, found 1"),
        (Event::new(thread, Action::Skip, LocationId(1)), "expected location numbers below 2, found 2"),
    ];
    for (event, expected) in cases {
        let bytes = Forge::new().symbols(&one_of_each()).events(&[event]).bytes;
        assert_eq!(message(&bytes), expected);
    }
}

#[test]
fn salvage_makes_up_for_some_names_but_not_for_billions() {
    let event = |id| Event::new(ThreadId(0), Action::Read(VarId(id)), LocationId::UNKNOWN);
    let file = |id| Forge::new().symbols(&one_of_each()).events(&[event(id)]).bytes;
    let found = salvage(&file(3));
    assert_eq!(found.plain_events(), [event(3)]);
    assert_eq!(found.symbols.variables.display(VarId(2)), "lost-variable-2");
    let found = salvage(&file(u32::MAX));
    assert!(found.events.is_empty() && found.symbols.variables.len() < 100_000);
}

#[test]
fn absurd_counts_are_refused_before_anything_is_allocated() {
    let column = |number: u8, encoding: u8, count: u32, length: u32, bytes: &[u8]| {
        let mut payload = vec![number, encoding, 0, 0];
        payload.extend_from_slice(&count.to_le_bytes());
        payload.extend_from_slice(&length.to_le_bytes());
        payload.extend_from_slice(bytes);
        payload
    };
    let blocks = [
        (u32::MAX as usize, column(0, 0, u32::MAX, 4, &[0; 4]), "expected at most 1048576 events in a block"),
        (5, column(0, 0, u32::MAX, 4, &[0; 4]), "expected 5 events, found 4294967295 operations"),
        (5, column(0, 0, 5, u32::MAX, &[0; 4]), "expected 4294967295 more bytes, found 4"),
        (5, column(0, 1, 5, 5, &[33, 0, 0, 0, 0]), "expected a width of at most 32 bits, found 33"),
        (5, column(0, 2, 5, 4, &[255; 4]), "expected at most 5 dictionary entries, found 4294967295"),
        (5, column(0, 3, 5, 4, &[255; 4]), "expected at most 5 runs, found 4294967295"),
        (5, column(0, 5, 5, 5, &[1, 255, 255, 255, 255]), "4294967295 bytes are too many for 5 numbers"),
        (5, column(0, 0, 5, 5, &[0; 5]), "expected the end of a column, found 1 more bytes"),
        (5, column(0, 0, 5, 4, &[31, 0, 0, 0]), "expected 5 threads, found 0"),
        (0, Vec::new(), "expected event 0 to follow, found 0 events from 0 on"),
    ];
    for (count, payload, expected) in blocks {
        let found = message(&Forge::new().chunk(b"EVNT", 0, count, &payload).bytes);
        assert!(found.starts_with(expected), "{found}");
    }
    let two_columns = [column(3, 0, 5, 4, &[0; 4]), column(4, 0, 1, 4, &[0; 4])].concat();
    let found = message(&Forge::new().symbols(&one_of_each()).chunk(b"EVNT", 0, 5, &two_columns).bytes);
    assert_eq!(found, "more operands than the 5 events of a block");
    let names = [
        (1, vec![255, 255, 255, 255, 0], "expected at most 4194304 bytes of names, found 4294967295"),
        (1, vec![0, 0, 0, 1, 1], "expected at most 4194304 bytes of names"),
        (70_000, vec![0, 0, 0, 0, 0], "expected 70000 names in a symbol chunk, found 0"),
    ];
    for (count, payload, expected) in names {
        let found = message(&Forge::new().chunk(b"SYMB", 0, count, &payload).bytes);
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn a_length_beyond_the_limit_is_refused_although_its_checksum_matches() {
    let mut header = ChunkHeader::new(Kind::EVENTS, 0, 1, &[]);
    header.length = u32::MAX;
    let mut bytes = file_header().to_vec();
    bytes.extend_from_slice(&header.to_bytes());
    assert_eq!(message(&bytes), "expected a payload of at most 33554432 bytes, found a length of 4294967295");
}

#[test]
fn operands_must_match_operations() {
    let symbols = one_of_each();
    let reads = Event::new(ThreadId(0), Action::Read(VarId(0)), LocationId(0));
    let mut payload = Vec::new();
    let mut encoder = BlockEncoder::new().unwrap();
    encoder.split(&[reads, reads]);
    encoder.encode(&mut payload).unwrap();
    // The operation column is the first and constant: its value follows the 12 bytes of its header.
    let mut skips = payload.clone();
    skips[12] = Op::Skip as u8;
    let mut locks = payload.clone();
    locks[12] = Op::Acquire as u8;
    let mut unknown = payload.clone();
    unknown[12] = 31;
    let mut ordered_read = payload;
    ordered_read[12] = (MemoryOrder::SeqCst as u8) << 5;
    for payload in [skips, locks, unknown, ordered_read] {
        let found = message(&Forge::new().symbols(&symbols).chunk(b"EVNT", 0, 2, &payload).bytes);
        assert_eq!(found, "the operands of a block do not match its operations");
    }
}

#[test]
fn a_footer_that_claims_too_much_is_refused() {
    let symbols = one_of_each();
    let body = || Forge::new().symbols(&symbols);
    let footer = body().bytes.len();
    let open = |bytes: &[u8]| OtrFile::open(temporary(bytes).path()).err().expect("an error").to_string();

    let names = body().parameters([0, 1 << 40, 1, 1, 0, 0, 1, 1, 1, 0]).seal(footer, 0);
    assert!(
        open(&names).contains("expected at most 0 names, found tables of 1099511627781"),
        "{}",
        open(&names)
    );
    let events = body().parameters([1 << 40, 0, 0, 0, 0, 0, 0, 0, 0, 0]).seal(footer, 1 << 40);
    assert!(open(&events).contains("expected 1099511627776 events in the block index, found 0"));
    let mut entry = vec![0; 16];
    entry[0..8].copy_from_slice(&u64::MAX.to_le_bytes());
    entry[8] = 1;
    let offset =
        body().parameters([1, 0, 0, 0, 0, 0, 0, 0, 0, 0]).chunk(b"BIDX", 0, 1, &entry).seal(footer, 1);
    assert!(open(&offset).contains("entry 0: 1 events in 0 bytes at byte 18446744073709551615"));
    let entries = body().parameters([0; 10]).chunk(b"BIDX", 0, u32::MAX as usize, &entry).seal(footer, 0);
    assert!(open(&entries).contains("an index section of 16 bytes cannot hold 4294967295 entries"));
}

#[test]
fn chunks_of_unknown_kind_are_skipped_if_they_say_so() {
    let (trace, bytes) = sample(20, 8);
    let with = |kind: &[u8; 4]| {
        let mut forged = bytes[..16].to_vec();
        forged.extend_from_slice(&ChunkHeader::new(Kind(*kind), 0, 3, b"later").to_bytes());
        forged.extend_from_slice(b"later");
        forged.extend_from_slice(&bytes[16..]);
        forged
    };
    // Offsets in the footer are wrong now, which the reader notices at the very end.
    let found = read(&with(b"stak"));
    assert_eq!(found.plain_events(), trace.events);
    let error = read(&with(b"STAK")).error.unwrap();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.message(), "chunk kind `STAK` is not known to this version of the reader");
}

#[test]
fn later_versions_are_refused() {
    let mut bytes = file_header().to_vec();
    bytes[8] = 3;
    let crc = crc32fast::hash(&bytes[..12]).to_le_bytes();
    bytes[12..16].copy_from_slice(&crc);
    for outcome in [read(&bytes), salvage(&bytes)] {
        let error = outcome.error.unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert_eq!(error.message(), "sealed trace of version 3: this reader knows versions 1 to 2");
    }
}
