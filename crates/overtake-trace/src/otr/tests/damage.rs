use super::*;
use crate::error::{ErrorKind, Position};
use crate::id::Id;
use crate::otr::layout::{CHUNK_HEADER_BYTES, ChunkHeader, FILE_HEADER_BYTES, Kind};

/// Where the chunks of an intact file are.
fn chunks(bytes: &[u8]) -> Vec<(usize, ChunkHeader)> {
    let mut found = Vec::new();
    let mut offset = FILE_HEADER_BYTES;
    while let Some(Ok(header)) = bytes[offset..].first_chunk().map(ChunkHeader::parse) {
        found.push((offset, header));
        offset += header.chunk_bytes();
    }
    found
}

/// A strict reader hands out the beginning of the trace, or the whole trace if it ends without an error.
fn assert_strict(trace: &Trace, bytes: &[u8]) {
    let found = read(bytes);
    let events = found.plain_events();
    assert_eq!(events, trace.events[..events.len().min(trace.events.len())]);
    match found.error {
        None => assert_eq!((events.len(), &found.symbols), (trace.events.len(), &trace.symbols)),
        Some(error) => assert!(
            matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Syntax | ErrorKind::Unsupported),
            "{error}"
        ),
    }
}

/// Salvage hands out events of the trace with their own indices, and lists the others as missing.
fn assert_salvage(trace: &Trace, bytes: &[u8]) -> Outcome {
    let found = salvage(bytes);
    let mut next = 0;
    let mut missing = found.damage.missing_events.iter().flat_map(|range| range.clone()).peekable();
    for &(index, event) in &found.events {
        while missing.next_if(|&lost| lost < index.0).is_some_and(|lost| lost == next) {
            next += 1;
        }
        assert_eq!(index.0, next, "an event neither handed out nor said to be missing");
        assert_eq!(event, trace.events[index.0 as usize], "at {index}");
        assert!(event.thread().index() < found.symbols.threads.len());
        let name = found.symbols.threads.name(event.thread());
        assert!(name == trace.symbols.threads.name(event.thread()) || name.starts_with(b"lost-thread-"));
        next += 1;
    }
    next += missing.count() as u64;
    if found.error.is_none() && !found.damage.end_missing {
        assert_eq!(next, trace.events.len() as u64);
    }
    found
}

#[test]
fn a_whole_file_has_no_damage() {
    let (trace, bytes) = sample(200, 16);
    let found = assert_salvage(&trace, &bytes);
    assert!(found.damage.is_none());
    assert_eq!(found.symbols, trace.symbols);
}

#[test]
fn any_flipped_byte_is_noticed() {
    let (trace, bytes) = sample(60, 16);
    for position in 0..bytes.len() {
        for flip in [0x01, 0x20, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[position] ^= flip;
            let found = read(&damaged);
            assert!(found.error.is_some(), "byte {position} flipped by {flip:02x} went unnoticed");
            assert_strict(&trace, &damaged);
            let found = assert_salvage(&trace, &damaged);
            assert!(found.events.len() + 16 >= trace.events.len(), "byte {position} cost more than a block");
        }
    }
}

#[test]
fn random_access_to_a_flipped_file_gives_true_events_or_an_error() {
    let (trace, bytes) = sample(60, 16);
    let file = temporary(&bytes);
    let mut block = Block::default();
    for position in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[position] ^= 0x04;
        std::fs::write(file.path(), &damaged).unwrap();
        let Ok(sealed) = OtrFile::open(file.path()) else { continue };
        for number in 0..sealed.block_count() {
            let range = sealed.block_range(number);
            match sealed.read_block(number, &mut block) {
                Ok(()) => assert_eq!(block.events, trace.events[range.start as usize..range.end as usize]),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt),
            }
        }
        if let Ok(symbols) = sealed.symbols() {
            assert_eq!(symbols, &trace.symbols);
        }
    }
}

#[test]
fn a_flipped_block_is_named_and_the_others_are_saved() {
    let (trace, bytes) = sample(64, 16);
    let blocks: Vec<_> =
        chunks(&bytes).into_iter().filter(|(_, header)| header.kind == Kind::EVENTS).collect();
    let (offset, _) = blocks[2];
    let mut damaged = bytes.clone();
    damaged[offset + CHUNK_HEADER_BYTES + 5] ^= 1;
    let place = Position::Block { block: 2, offset: offset as u64 };

    let error = read(&damaged).error.unwrap();
    assert_eq!((error.kind(), error.position()), (ErrorKind::Corrupt, place));
    assert!(
        error.to_string().starts_with(&format!("block 2 at byte {offset}: checksum of block does not match"))
    );

    let file = temporary(&damaged);
    let sealed = OtrFile::open(file.path()).unwrap();
    let mut block = Block::default();
    sealed.read_block(1, &mut block).unwrap();
    assert_eq!(sealed.read_block(2, &mut block).unwrap_err().position(), place);

    let saved = OtrFile::salvage(file.path()).unwrap();
    assert_eq!(saved.damage().missing_events, vec![32..48_u64; 1]);
    assert_eq!(saved.block_count(), 3);
    assert_eq!(saved.block_range(2), 48..64);
    assert_eq!(saved.symbols().unwrap(), &trace.symbols);
    saved.read_events(48..60, &mut block).unwrap();
    assert_eq!(block.events, trace.events[48..60]);
    assert_eq!(saved.read_events(30..50, &mut block).unwrap_err().kind(), ErrorKind::Corrupt);
}

#[test]
fn a_file_cut_anywhere_loses_at_most_the_block_that_was_cut() {
    let (trace, bytes) = sample(100, 16);
    let blocks: Vec<_> =
        chunks(&bytes).into_iter().filter(|(_, header)| header.kind == Kind::EVENTS).collect();
    for length in 0..bytes.len() {
        let cut = &bytes[..length];
        assert_strict(&trace, cut);
        assert!(read(cut).error.is_some(), "cut at {length}");
        let complete: u64 = blocks
            .iter()
            .filter(|(offset, header)| offset + header.chunk_bytes() <= length)
            .map(|(_, header)| u64::from(header.count))
            .sum();
        let found = assert_salvage(&trace, cut);
        assert_eq!(found.events.len() as u64, complete, "cut at {length}");
        assert_eq!(found.damage.lost_names, 0);
        if found.error.is_none() {
            assert!(found.damage.end_missing, "cut at {length}");
        }
    }
}

#[test]
fn opening_a_cut_file_names_the_block() {
    let (_, bytes) = sample(100, 16);
    let blocks: Vec<_> =
        chunks(&bytes).into_iter().filter(|(_, header)| header.kind == Kind::EVENTS).collect();
    let (offset, header) = blocks[4];
    let file = temporary(&bytes[..offset + header.chunk_bytes() - 1]);
    let error = OtrFile::open(file.path()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert_eq!(error.position(), Position::Block { block: 4, offset: offset as u64 });
}

#[test]
fn events_outlive_the_loss_of_their_names() {
    let (trace, bytes) = sample(100, 20);
    let (offset, header) = *chunks(&bytes).iter().find(|(_, header)| header.kind == Kind::SYMBOLS).unwrap();
    let mut damaged = bytes.clone();
    damaged[offset + CHUNK_HEADER_BYTES + 1] ^= 1;
    assert_eq!(read(&damaged).error.unwrap().position(), Position::Block { block: 0, offset: offset as u64 });
    let found = assert_salvage(&trace, &damaged);
    assert!(found.damage.lost_names > 0);
    assert_eq!(found.damage.bytes_skipped, header.chunk_bytes() as u64);
    assert_eq!(found.plain_events(), trace.events);
    let mut reader = OtrReader::salvage(damaged.as_slice()).unwrap();
    let mut checker = crate::check::Checker::repairing();
    let mut block = Block::default();
    while reader.next_block(&mut block).unwrap() {
        checker.check(&mut block, reader.symbols_mut()).expect("lost names are no obstacle to the checker");
    }
}

#[test]
fn bytes_after_the_end_are_noticed() {
    let (trace, mut bytes) = sample(20, 16);
    bytes.push(0);
    assert!(read(&bytes).error.is_some());
    let found = assert_salvage(&trace, &bytes);
    assert_eq!((found.events.len(), found.damage.bytes_skipped), (20, 1));
    let second = sample(20, 16).1;
    bytes.pop();
    bytes.extend_from_slice(&second);
    assert_eq!(assert_salvage(&trace, &bytes).events.len(), 20, "no event is repeated");
}

#[test]
fn what_is_no_sealed_file_is_refused() {
    for bytes in [&b""[..], b"T0|w(x)|1\n", b"\x89OTR\n\x1a\n", &[0; 100]] {
        assert!(read(bytes).error.is_some());
        let found = salvage(bytes);
        assert!(found.error.is_some() && found.events.is_empty());
    }
    let error = read(b"T0|w(x)|1\n").error.unwrap();
    let expected = "byte 0: expected a sealed trace, found a file that starts with 54 30 7c 77 28 78 29 7c";
    assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Syntax, expected));
}

/// A change to the bytes of a file, as disks, networks and editors cause it.
#[derive(Clone, Debug)]
enum Mutation {
    Overwrite(prop::sample::Index, Vec<u8>),
    Delete(prop::sample::Index, usize),
    Insert(prop::sample::Index, Vec<u8>),
    /// Copies a piece over another place.
    Copy(prop::sample::Index, prop::sample::Index, usize),
    Cut(prop::sample::Index),
}

impl Mutation {
    fn apply(&self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let length = bytes.len();
        match self {
            Mutation::Overwrite(at, with) => {
                let at = at.index(length);
                let end = length.min(at + with.len());
                bytes[at..end].copy_from_slice(&with[..end - at]);
            }
            Mutation::Delete(at, count) => {
                let at = at.index(length);
                bytes.drain(at..length.min(at + count));
            }
            Mutation::Insert(at, what) => {
                let at = at.index(length);
                bytes.splice(at..at, what.iter().copied());
            }
            Mutation::Copy(from, to, count) => {
                let from = from.index(length);
                let piece = bytes[from..length.min(from + count)].to_vec();
                let to = to.index(length);
                bytes.splice(to..to, piece);
            }
            Mutation::Cut(at) => bytes.truncate(at.index(length)),
        }
    }
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let place = any::<prop::sample::Index>;
    let some_bytes = || proptest::collection::vec(any::<u8>(), 1..6);
    prop_oneof![
        4 => (place(), some_bytes()).prop_map(|(at, with)| Mutation::Overwrite(at, with)),
        1 => (place(), 1..400_usize).prop_map(|(at, count)| Mutation::Delete(at, count)),
        1 => (place(), some_bytes()).prop_map(|(at, what)| Mutation::Insert(at, what)),
        1 => (place(), place(), 1..600_usize).prop_map(|(from, to, count)| Mutation::Copy(from, to, count)),
        1 => place().prop_map(Mutation::Cut),
    ]
}

/// Makes all checksums match again, so that readers decode what they protect.
fn repair_checksums(bytes: &mut [u8]) {
    let mut offset = FILE_HEADER_BYTES;
    while let Some(header) = bytes.get(offset..offset + CHUNK_HEADER_BYTES) {
        let length = crate::otr::layout::u32_at(header, 12) as usize;
        let start = offset + CHUNK_HEADER_BYTES;
        let Some(payload) = bytes.get(start..start.saturating_add(length)) else { return };
        let payload_crc = crc32fast::hash(payload).to_le_bytes();
        bytes[offset + 28..offset + 32].copy_from_slice(&payload_crc);
        let header_crc = crc32fast::hash(&bytes[offset..offset + 32]).to_le_bytes();
        bytes[offset + 32..start].copy_from_slice(&header_crc);
        offset = start + length;
    }
}

fn assert_ids_in_tables(found: &Outcome) {
    let sizes = found.symbols.sizes();
    for (_, event) in &found.events {
        assert!(event.thread().index() < sizes.threads);
        assert!(event.location().index() < sizes.locations || !event.location().is_known());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn salvage_never_invents_events(
        (trace, bytes) in sealed(120),
        mutations in proptest::collection::vec(mutation(), 1..4),
    ) {
        let mut damaged = bytes;
        mutations.iter().for_each(|mutation| mutation.apply(&mut damaged));
        assert_strict(&trace, &damaged);
        assert_salvage(&trace, &damaged);
    }

    #[test]
    fn forged_checksums_cause_no_panic(
        (_, bytes) in sealed(120),
        mutations in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut forged = bytes;
        for (at, byte) in mutations {
            let at = at.index(forged.len());
            forged[at] = byte;
        }
        repair_checksums(&mut forged);
        assert_ids_in_tables(&read(&forged));
        assert_ids_in_tables(&salvage(&forged));
        let file = temporary(&forged);
        let mut block = Block::default();
        if let Ok(sealed) = OtrFile::open(file.path()) {
            let _ = sealed.symbols();
            for number in 0..sealed.block_count() {
                let _ = sealed.read_block(number, &mut block);
            }
        }
    }

    #[test]
    fn arbitrary_bytes_cause_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        read(&bytes);
        salvage(&bytes);
        let mut framed = crate::otr::layout::file_header().to_vec();
        framed.extend_from_slice(&ChunkHeader::new(Kind::EVENTS, 0, 10, &bytes).to_bytes());
        framed.extend_from_slice(&bytes);
        read(&framed);
        salvage(&framed);
    }
}
