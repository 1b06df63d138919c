//! What must hold for any input bytes. The fuzz targets call this; the tests call it with mutated samples.
//!
//! A reader never panics, reads the same events whatever the size of its chunks, and names a place when it refuses. What it
//! accepted can be written and read back.

use std::io::Cursor;

use crate::block::{Block, EventSource, Trace};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::open::Opened;
use crate::rapid_bin::RapidBinReader;
use crate::text::{CsvReader, CsvWriter, LineFormat, RoadRunnerReader, StdReader, TextReader};

/// A small compressed input can hold very many events; only this many are read.
const MOST_EVENTS: usize = 1 << 20;

/// Any bytes as STD.
pub fn std(input: &[u8]) {
    let read = text(StdReader::new(input), StdReader::new(input).with_chunk_bytes(1 + input.len() % 23));
    let Ok(trace) = read else { return };
    let written = trace.to_std().expect("what STD said, STD can say again");
    let again = Trace::parse_std(&written).expect("what was written can be read");
    assert_eq!(trace, again);
}

/// Any bytes as CSV.
pub fn csv(input: &[u8]) {
    let read = text(CsvReader::new(input), CsvReader::new(input).with_chunk_bytes(1 + input.len() % 23));
    let Ok(trace) = read else { return };
    let mut written = Vec::new();
    match trace.write(&mut CsvWriter::new(&mut written)) {
        Ok(()) => {
            let again = Trace::read(&mut CsvReader::new(&written[..]));
            assert_eq!(trace, again.expect("what was written can be read"));
        }
        // A first row may give threads names for which the writer has no columns.
        Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported),
    }
}

/// Any bytes as a log of RoadRunner's print tool.
pub fn roadrunner(input: &[u8]) {
    let read = text(
        RoadRunnerReader::new(input),
        RoadRunnerReader::new(input).with_chunk_bytes(1 + input.len() % 23),
    );
    let Ok(trace) = read else { return };
    check_as_std(&trace);
}

/// Any bytes as RapidBin.
pub fn rapid_bin(input: &[u8]) {
    match read_some(&mut RapidBinReader::new(input)) {
        Ok(trace) => check_as_std(&trace),
        Err(error) => check_error(&error),
    }
}

/// Writes `trace` as STD, if STD can express it, and reads it back.
fn check_as_std(trace: &Trace) {
    match trace.to_std() {
        Ok(written) => {
            let again = Trace::parse_std(&written).expect("what was written can be read");
            assert_eq!(*trace, again);
        }
        Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported),
    }
}

/// Any bytes as a file, compressed or not, of any format.
pub fn open(input: &[u8]) {
    let read = Opened::read(Cursor::new(input.to_vec()), None, None, None)
        .and_then(|mut opened| read_some(opened.source.as_mut()));
    if let Err(error) = read {
        check_error(&error);
    }
}

/// Reads with both readers, which differ in the size of their chunks only.
fn text<'a, F: LineFormat>(
    mut whole: TextReader<&'a [u8], F>,
    mut in_pieces: TextReader<&'a [u8], F>,
) -> Result<Trace> {
    let (first, second) = (read_some(&mut whole), read_some(&mut in_pieces));
    match (&first, &second) {
        (Ok(first), Ok(second)) => assert_eq!(first, second),
        (Err(first), Err(second)) => assert_eq!(first.to_string(), second.to_string()),
        _ => panic!("chunks matter: {first:?} against {second:?}"),
    }
    assert_eq!(whole.ignored(), in_pieces.ignored());
    if let Err(error) = &first {
        check_error(error);
    }
    first
}

fn read_some(source: &mut dyn EventSource) -> Result<Trace> {
    let mut trace = Trace::default();
    let mut block = Block::default();
    while trace.events.len() < MOST_EVENTS && source.next_block(&mut block)? {
        assert_eq!(block.first.0, trace.events.len() as u64);
        trace.events.extend_from_slice(&block.events);
    }
    trace.symbols = source.symbols().clone();
    Ok(trace)
}

fn check_error(error: &Error) {
    assert_ne!(error.position(), Position::Nowhere, "{error}");
    assert!(error.message().len() < 1000, "{error}");
}

/// Calls `check` with `count` mutations of each of `samples`, the same every time for one `seed`.
pub fn mutate(samples: &[Vec<u8>], count: usize, seed: u64, check: fn(&[u8])) {
    let mut random = Random(seed | 1);
    for sample in samples {
        check(sample);
        for _ in 0..count {
            let mut input = sample.clone();
            for _ in 0..=random.below(4) {
                random.mutate(&mut input, samples);
            }
            check(&input);
        }
    }
}

/// A small generator of random numbers (xorshift), so that the same seed gives the same inputs everywhere.
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn mutate(&mut self, input: &mut Vec<u8>, samples: &[Vec<u8>]) {
        const INTERESTING: &[u8] = b"|()[]#@,\"\n\r \t.0179rw\0\xff\xef";
        let at = self.below(input.len() + 1);
        let end = (at + 1 + self.below(20)).min(input.len());
        match self.below(8) {
            0 => input.insert(at, INTERESTING[self.below(INTERESTING.len())]),
            1 if at < input.len() => input[at] = INTERESTING[self.below(INTERESTING.len())],
            2 if at < input.len() => input[at] ^= 1 << self.below(8),
            3 => drop(input.drain(at..end)),
            4 => input.truncate(at),
            5 => {
                let piece = input[at..end].to_vec();
                let to = self.below(input.len() + 1);
                input.splice(to..to, piece);
            }
            _ => self.splice(input, samples, at),
        }
    }

    /// Inserts whole lines of a sample.
    fn splice(&mut self, input: &mut Vec<u8>, samples: &[Vec<u8>], at: usize) {
        let sample = &samples[self.below(samples.len())];
        let from = self.below(sample.len() + 1);
        let start = memchr::memrchr(b'\n', &sample[..from]).map_or(0, |end| end + 1);
        let end = memchr::memchr(b'\n', &sample[from..]).map_or(sample.len(), |end| from + end + 1);
        let to = memchr::memrchr(b'\n', &input[..at]).map_or(0, |end| end + 1);
        input.splice(to..to, sample[start..end].iter().copied());
    }
}
