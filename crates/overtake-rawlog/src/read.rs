//! Reading records.

use crate::{
    BRIEF, BRIEF_ACQUIRE, BRIEF_ACQUIRE_AGAIN, BRIEF_RELEASE, BRIEF_SIZE, BRIEF_WRITE, RecordKind,
    THREAD_HEADER_BYTES, THREAD_MAGIC, ThreadHeader, VALUE_BITS, split_brief, split_head,
};

/// One record of a thread. Brief records are read as their long form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record {
    /// Offset of its first word in the bytes read.
    pub offset: usize,
    /// Number of words it has in the log.
    pub length: usize,
    /// Its kind.
    pub kind: RecordKind,
    /// 8 bits.
    pub extra: u8,
    /// 48 bits: address or number.
    pub value: u64,
    /// The further words; zeros where there are none.
    pub words: [u64; 3],
}

/// A record that says nothing.
impl Default for Record {
    fn default() -> Record {
        Record { offset: 0, length: 1, kind: RecordKind::Cut, extra: 0, value: 0, words: [0; 3] }
    }
}

impl Record {
    /// The stamp, for kinds that have one.
    #[inline]
    pub fn stamp(&self) -> Option<u64> {
        use RecordKind as K;
        match self.kind {
            K::Read | K::Write | K::WriteAgain | K::ReadRange | K::WriteRange | K::ReadRun | K::WriteRun => {
                None
            }
            K::Push | K::Cut | K::Place | K::ThreadName | K::WriteAgainRange => None,
            K::Chunk => Some(self.words[0]).filter(|stamp| *stamp != 0),
            _ => Some(self.words[1]),
        }
    }
}

/// Decodes the records of a thread, one after the other.
#[derive(Clone, Debug)]
pub struct Decoder {
    /// The program counters that places stand for.
    places: [u64; 256],
    last_stamp: u64,
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder { places: [0; 256], last_stamp: 0 }
    }
}

/// An access with a brief record of one word: most records are such.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BriefAccess {
    /// The program counter.
    pub pc: u64,
    /// The address.
    pub address: u64,
    /// How many bytes.
    pub bytes: u8,
    /// Whether it is a write.
    pub is_write: bool,
}

impl Decoder {
    /// The next record, whose first word is at `offset`; `None` if no complete record starts there.
    #[inline]
    pub fn read(&mut self, bytes: &[u8], offset: usize) -> Option<Record> {
        let record = self.peek(bytes, offset)?;
        self.pass(&record);
        Some(record)
    }

    /// Goes on behind a record, which is the next one.
    #[inline]
    pub fn pass(&mut self, record: &Record) {
        match record.kind {
            RecordKind::Place => self.places[usize::from(record.extra)] = record.value,
            RecordKind::Chunk => *self = Decoder { last_stamp: record.words[0], ..Decoder::default() },
            _ => self.last_stamp = record.stamp().unwrap_or(self.last_stamp),
        }
    }

    /// The program counter that a place stands for now.
    #[inline]
    pub fn program_counter(&self, place: u8) -> u64 {
        self.places[usize::from(place)]
    }

    /// As [`read`](Self::read), for a record further ahead. If it is brief, its program counter may be wrong.
    #[inline]
    pub fn peek(&self, bytes: &[u8], offset: usize) -> Option<Record> {
        let first = word(bytes, offset)?;
        if first >> 56 >= u64::from(BRIEF) {
            return self.brief(bytes, offset, first);
        }
        let (kind, extra, value) = split_head(first)?;
        let mut words = [0; 3];
        for (number, further) in words.iter_mut().enumerate().take(kind.words() - 1) {
            *further = further_word(bytes, offset + 8 * (number + 1))?;
        }
        Some(Record { offset, length: kind.words(), kind, extra, value, words })
    }

    /// The record at `offset`, if it is an access with a brief record of one word.
    #[inline]
    pub fn brief_access(&self, bytes: &[u8], offset: usize) -> Option<BriefAccess> {
        let first = word(bytes, offset)?;
        let code = (first >> 56) as u8;
        let size = 1_u8 << (code & BRIEF_SIZE);
        is_brief_access(bytes, offset).then(|| BriefAccess {
            pc: self.places[usize::from((first >> VALUE_BITS) as u8)],
            address: first & ((1 << VALUE_BITS) - 1),
            bytes: size,
            is_write: code & BRIEF_WRITE != 0,
        })
    }

    #[inline]
    fn brief(&self, bytes: &[u8], offset: usize, first: u64) -> Option<Record> {
        use RecordKind as K;
        let code = (first >> 56) as u8;
        let pc = self.places[usize::from((first >> VALUE_BITS) as u8)];
        let value = first & ((1 << VALUE_BITS) - 1);
        let second = || further_word(bytes, offset + 8);
        let record = |kind, length, extra, number| Record {
            offset,
            length,
            kind,
            extra,
            value,
            words: [pc, number, 0],
        };
        Some(match code {
            BRIEF_ACQUIRE => record(K::Acquire, 2, 0, second()?),
            BRIEF_RELEASE => record(K::Release, 1, 0, self.last_stamp),
            BRIEF_ACQUIRE_AGAIN => record(K::Acquire, 1, 0, self.last_stamp),
            _ => match split_brief(code)? {
                (true, true, size) => record(K::WriteRun, 2, size as u8, second()?),
                (false, true, size) => record(K::ReadRun, 2, size as u8, second()?),
                (true, false, size) => record(K::Write, 1, size as u8, 0),
                (false, false, size) => record(K::Read, 1, size as u8, 0),
            },
        })
    }
}

/// Whether the record at `offset` is an access with a brief record of one word.
#[inline]
pub fn is_brief_access(bytes: &[u8], offset: usize) -> bool {
    let code = word(bytes, offset).map_or(0, |first| (first >> 56) as u8);
    code & !(BRIEF_SIZE | BRIEF_WRITE) == BRIEF && code & BRIEF_SIZE <= 4
}

#[inline]
fn word(bytes: &[u8], offset: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(offset..)?.first_chunk()?))
}

/// A word that is not the first of a record.
#[inline]
fn further_word(bytes: &[u8], offset: usize) -> Option<u64> {
    word(bytes, offset).filter(|word| word >> 56 == 0)
}

/// The complete records in the bytes of chunks, in order.
///
/// Words that do not belong to a complete record are skipped: they were reserved but never filled, or have an unknown kind.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    offset: usize,
    decoder: Decoder,
}

impl<'a> Records<'a> {
    /// Reads from the start of `bytes`, which is the start of a chunk.
    pub fn new(bytes: &'a [u8]) -> Records<'a> {
        Records { bytes, offset: 0, decoder: Decoder::default() }
    }
}

impl Iterator for Records<'_> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        while self.offset < self.bytes.len() {
            let record = self.decoder.read(self.bytes, self.offset);
            self.offset += 8 * record.map_or(1, |record| record.length);
            if record.is_some() {
                return record;
            }
        }
        None
    }
}

impl ThreadHeader {
    /// The header at the start of these bytes; `None` if they are too few or something else.
    pub fn read(bytes: &[u8]) -> Option<ThreadHeader> {
        let bytes = bytes.get(..THREAD_HEADER_BYTES)?;
        let word = |number: usize| -> Option<u64> {
            Some(u64::from_le_bytes(*bytes.get(8 * number..)?.first_chunk()?))
        };
        let low = |word: u64| word as u32;
        let high = |word: u64| (word >> 32) as u32;
        let (thread, kernel) = (word(1)?, word(2)?);
        let header = ThreadHeader {
            magic: word(0)?,
            number: low(thread),
            parent: high(thread),
            tid: low(kernel),
            ended: high(kernel),
            stack_low: word(3)?,
            stack_high: word(4)?,
            thread_pointer: word(5)?,
            lost_bytes: word(6)?,
            large: word(7)?,
            closing_writes: word(8)?,
            coalesced: word(9)?,
        };
        (header.magic == THREAD_MAGIC).then_some(header)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{brief_access, brief_head, brief_run, head, push_depth, run, split_run};

    extern crate std;
    use std::vec::Vec;

    fn bytes(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn incomplete_records_are_passed_over() {
        let read = head(RecordKind::Read, 4, 0x7000);
        // A read, a read whose first word was never filled, a lock, and a read that the end of the file cuts.
        let log = bytes(&[read, 1, 0, 2, head(RecordKind::Acquire, 0, 0x8000), 3, 9, read]);
        let kinds: Vec<_> = Records::new(&log).map(|record| (record.kind, record.words[0])).collect();
        assert_eq!(kinds, [(RecordKind::Read, 1), (RecordKind::Acquire, 3)]);
        assert_eq!(Records::new(&log).filter_map(|record| record.stamp()).collect::<Vec<_>>(), [9]);
    }

    #[test]
    fn a_head_inside_a_record_starts_a_record_of_its_own() {
        let read = head(RecordKind::Read, 4, 0x7000);
        let log = bytes(&[head(RecordKind::Acquire, 0, 1), read, 5]);
        let kinds: Vec<_> = Records::new(&log).map(|record| record.kind).collect();
        assert_eq!(kinds, [RecordKind::Read]);
    }

    #[test]
    fn brief_records_stand_for_others() {
        let log = bytes(&[
            head(RecordKind::Chunk, 0, 0),
            50,
            0,
            head(RecordKind::Place, 7, 0x1234),
            brief_head(brief_access(false, 1), 7, 0x7000),
            brief_head(BRIEF_ACQUIRE, 8, 0x8000),
            60,
            brief_head(brief_run(true, 16), 7, 0x7100),
            run(-16),
            head(RecordKind::Place, 7, 0x5678),
            brief_head(BRIEF_RELEASE, 7, 0x8000),
            brief_head(brief_access(true, 4), 7, 0x7200),
            brief_head(BRIEF | 5, 7, 0x7200), // there is no such size
            brief_head(0x63, 7, 0x7200),
            brief_head(BRIEF_ACQUIRE_AGAIN, 7, 0x8000),
            head(RecordKind::Chunk, 0, 0),
            70,
            1,
            brief_head(BRIEF_RELEASE, 7, 0x9000),
        ]);
        let told =
            |record: Record| (record.kind, record.extra, record.value, record.words[0], record.stamp());
        let records: Vec<_> = Records::new(&log).collect();
        let brief: Vec<_> =
            records.iter().filter(|record| record.length < record.kind.words()).map(|r| told(*r)).collect();
        use RecordKind as K;
        assert_eq!(
            brief,
            [
                (K::Read, 1, 0x7000, 0x1234, None),
                (K::Acquire, 0, 0x8000, 0, Some(60)),
                (K::WriteRun, 16, 0x7100, 0x1234, None),
                (K::Release, 0, 0x8000, 0x5678, Some(60)),
                (K::Write, 4, 0x7200, 0x5678, None),
                (K::Acquire, 0, 0x8000, 0x5678, Some(60)),
                (K::Release, 0, 0x9000, 0, Some(70)), // places end with their chunk
            ]
        );
        let run = records.iter().find(|record| record.kind == K::WriteRun);
        assert_eq!(run.map(|run| split_run(run.words[1])), Some((-16, 1)));
        assert_eq!(records.iter().map(|record| record.length).sum::<usize>() + 2, log.len() / 8);
    }

    #[test]
    fn pushes_find_their_depth() {
        assert_eq!(push_depth(3, 3), 3); // on top
        assert_eq!(push_depth(1, 3), 1); // two frames were left
        assert_eq!(push_depth(3, 4), 3); // the same frame again
        assert_eq!(push_depth(300_u16 as u8, 300), 300);
        assert_eq!(push_depth(255, 300), 255);
        assert_eq!(push_depth(9, 3), 0); // nonsense does not overflow
    }

    #[test]
    fn headers_need_the_magic() {
        let mut file = std::vec![0; THREAD_HEADER_BYTES];
        assert!(ThreadHeader::read(&file).is_none());
        file[..8].copy_from_slice(&THREAD_MAGIC.to_le_bytes());
        file[8] = 7;
        assert_eq!(ThreadHeader::read(&file).map(|header| header.number), Some(7));
        assert!(ThreadHeader::read(&file[1..]).is_none());
    }
}
