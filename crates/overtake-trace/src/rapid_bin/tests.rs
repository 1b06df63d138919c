use super::*;
use crate::block::Trace;
use crate::fuzzing;

/// A header that announces `events`.
fn header(events: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(2_i16.to_be_bytes());
    bytes.extend(1_i32.to_be_bytes());
    bytes.extend(1_i32.to_be_bytes());
    bytes.extend(events.to_be_bytes());
    bytes
}

/// A file with these events: thread, operation's code, operand, location.
fn file(events: &[(u64, u64, u64, u64)]) -> Vec<u8> {
    let mut bytes = header(events.len() as u64);
    for &(thread, code, operand, location) in events {
        bytes.extend((thread | code << 10 | operand << 14 | location << 48).to_be_bytes());
    }
    bytes
}

fn read(bytes: &[u8]) -> Result<Trace> {
    Trace::read(&mut RapidBinReader::new(bytes))
}

const EVERY_OPERATION: [(u64, u64, u64, u64); 9] = [
    (0, 6, 0, 0),
    (0, 4, 1, 1),
    (0, 8, 2, 2),
    (0, 0, 2, 2),
    (0, 3, 0x3_ffff_ffff, 3),
    (0, 1, 2, 4),
    (1023, 2, 7, 0x7fff),
    (0, 5, 1, 5),
    (0, 7, 0, 6),
];

#[test]
fn every_operation_is_read() {
    let expected = "T0|begin|0\nT0|fork(T1)|1\nT0|req(L2)|2\nT0|acq(L2)|2\nT0|w(V17179869183)|3\nT0|rel(L2)|4\n\
                    T1023|r(V7)|32767\nT0|join(T1)|5\nT0|end|6\n";
    let trace = read(&file(&EVERY_OPERATION)).unwrap();
    assert_eq!(trace, Trace::parse_std(expected.as_bytes()).unwrap());
}

#[test]
fn long_files_are_read_in_blocks() {
    let events: Vec<_> =
        (0..3 * BLOCK_EVENTS as u64 + 5).map(|at| (at % 7, 2 + at % 2, at % 100, 1)).collect();
    let trace = read(&file(&events)).unwrap();
    assert_eq!(trace.events.len(), events.len());
    let exact: Vec<_> = events[..2 * BLOCK_EVENTS].to_vec();
    assert_eq!(read(&file(&exact)).unwrap().events.len(), exact.len());
}

#[test]
fn files_that_do_not_end_where_the_header_says_are_refused() {
    let whole = file(&EVERY_OPERATION);
    for length in [HEADER_BYTES, HEADER_BYTES + 8, whole.len() - 1] {
        let error = read(&whole[..length]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.message().contains("expected 9 events"), "{error}");
    }
    let longer = [&whole[..], &[0]].concat();
    let error = read(&longer).unwrap_err();
    assert_eq!(error.position(), Position::Offset(whole.len() as u64), "{error}");
}

#[test]
fn a_huge_number_in_the_header_allocates_nothing() {
    let mut bytes = header(i64::MAX.unsigned_abs());
    bytes.extend([0; 8]);
    let mut reader = RapidBinReader::new(&bytes[..]);
    assert_eq!(Trace::read(&mut reader).unwrap_err().kind(), ErrorKind::Corrupt);
    assert!(reader.bytes.capacity() < 1 << 12, "{}", reader.bytes.capacity());
}

#[test]
fn headers_that_cannot_be_are_refused_at_their_place() {
    for (at, found) in [(0, "threads"), (2, "locks"), (6, "variables"), (10, "events")] {
        let mut bytes = file(&EVERY_OPERATION);
        bytes[at] = 0x80;
        let error = read(&bytes).unwrap_err();
        assert_eq!(error.position(), Position::Offset(0));
        assert!(error.message().contains(found), "{error}");
    }
    assert_eq!(read(&[0; HEADER_BYTES - 1]).unwrap_err().kind(), ErrorKind::Syntax);
}

#[test]
fn events_that_cannot_be_are_refused_at_their_place() {
    let mut unknown = file(&EVERY_OPERATION);
    unknown.splice(26..34, (9_u64 << 10).to_be_bytes());
    let error = read(&unknown).unwrap_err();
    assert_eq!(error.position(), Position::Offset(26));
    assert!(error.message().contains("found 9"), "{error}");
    let mut negative = file(&EVERY_OPERATION);
    negative[18] |= 0x80;
    assert_eq!(read(&negative).unwrap_err().position(), Position::Offset(18));
}

#[test]
fn the_format_is_recognised_by_content_and_nothing_else_is() {
    let whole = file(&EVERY_OPERATION);
    assert!(is_likely(&whole));
    assert!(is_likely(&whole[..30]), "a file is looked at in its first bytes only");
    assert!(is_likely(&file(&[])), "no events");
    assert!(!is_likely(b"T0|w(x)|1\nT1|r(x)|2\nT1|r(x)|2\n"));
    assert!(!is_likely(&[0; 4096]), "zeroes announce no events, and something follows");
    assert!(!is_likely(b""));
}

#[test]
fn mutated_files_are_read_or_refused() {
    fuzzing::mutate(&[file(&EVERY_OPERATION), file(&[])], 5000, 6, fuzzing::rapid_bin);
}
