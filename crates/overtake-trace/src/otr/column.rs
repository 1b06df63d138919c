//! One column of a block: numbers below 2^32 in the cheapest of a few encodings.
//!
//! The writer measures each column of each block and takes the smallest encoding. It takes zstd only if that is much smaller,
//! because zstd decodes several times slower than the others. It tries zstd on a sample of the column first.
//! `docs/trace-format.md` describes the bytes.

use crate::error::{Error, ErrorKind, Position, Result};

use super::layout::corrupt;
use super::pack::{pack, packed_bytes, unpack, width_of};
use super::wire::Cursor;

/// Encoding tags, as they are in the file.
mod tag {
    pub(super) const CONSTANT: u8 = 0;
    pub(super) const PACKED: u8 = 1;
    pub(super) const DICTIONARY: u8 = 2;
    pub(super) const RUNS: u8 = 3;
    pub(super) const DELTA: u8 = 4;
    pub(super) const ZSTD: u8 = 5;
}

/// Length of a packed sequence's header: width and base.
const PACKED_HEADER_BYTES: usize = 5;
/// Numbers in the sample that shows whether zstd is worth trying on the whole column.
const SAMPLE: usize = 2048;
/// zstd is taken if it needs at most this part (in percent) of what the best other encoding needs. On the lock-heavy
/// workload 80 gives 2.4 bytes and 12 ns an event, 60 gives 2.9 bytes and 7.4 ns.
const ZSTD_MUST_REACH: usize = 60;
/// Level 1: columns that compress at all gain mostly from entropy coding, which higher levels do not improve.
const ZSTD_LEVEL: i32 = 1;

/// Turns columns into bytes. Reused from block to block, so that nothing is allocated in between.
pub(super) struct ColumnEncoder {
    compressor: zstd::bulk::Compressor<'static>,
    distinct: Distinct,
    plain: Vec<u8>,
    compressed: Vec<u8>,
}

impl ColumnEncoder {
    pub(super) fn new() -> Result<ColumnEncoder> {
        Ok(ColumnEncoder {
            compressor: zstd::bulk::Compressor::new(ZSTD_LEVEL)?,
            distinct: Distinct::default(),
            plain: Vec::new(),
            compressed: Vec::new(),
        })
    }

    /// Appends the numbers, at least one, and returns the encoding's tag.
    pub(super) fn encode(&mut self, numbers: &[u32], out: &mut Vec<u8>) -> Result<u8> {
        let shape = Shape::of(numbers);
        let (mut tag, mut bytes) = shape.cheapest();
        if tag == tag::CONSTANT {
            out.extend_from_slice(&shape.min.to_le_bytes());
            return Ok(tag);
        }
        if let Some(dictionary_bytes) = self.distinct.collect(numbers, &shape)
            && dictionary_bytes < bytes
        {
            (tag, bytes) = (tag::DICTIONARY, dictionary_bytes);
        }
        if let Some(inner) = self.promising_under_zstd(numbers, &shape, bytes)?
            && self.compress(numbers, inner, &shape)? + 5 <= bytes * ZSTD_MUST_REACH / 100
        {
            out.push(inner);
            out.extend_from_slice(&(self.plain.len() as u32).to_le_bytes());
            out.extend_from_slice(&self.compressed);
            return Ok(tag::ZSTD);
        }
        match tag {
            tag::DICTIONARY => self.distinct.put(numbers, out),
            _ => put_plain(tag, numbers, &shape, Width::Exact, out),
        }
        Ok(tag)
    }

    /// The encoding that zstd compresses best, if a sample of the column compresses well.
    fn promising_under_zstd(&mut self, numbers: &[u32], shape: &Shape, bytes: usize) -> Result<Option<u8>> {
        if numbers.len() < 64 || bytes < numbers.len() / 16 {
            return Ok(None);
        }
        let sample = &numbers[..numbers.len().min(SAMPLE)];
        let mut best = bytes * sample.len() / numbers.len() * ZSTD_MUST_REACH / 100;
        let mut promising = None;
        for inner in [tag::PACKED, tag::DELTA] {
            let compressed = self.compress(sample, inner, shape)?;
            if compressed < best {
                (best, promising) = (compressed, Some(inner));
            }
        }
        Ok(promising)
    }

    /// Writes the numbers to `plain`, in whole bytes, and compresses that to `compressed`. Returns the compressed size.
    fn compress(&mut self, numbers: &[u32], inner: u8, shape: &Shape) -> Result<usize> {
        self.plain.clear();
        put_plain(inner, numbers, shape, Width::WholeBytes, &mut self.plain);
        self.compressed.clear();
        self.compressed.reserve(zstd::zstd_safe::compress_bound(self.plain.len()));
        Ok(self.compressor.compress_to_buffer(&self.plain, &mut self.compressed)?)
    }
}

/// What one pass over a column finds out.
struct Shape {
    count: usize,
    min: u32,
    max: u32,
    runs: u32,
    /// Known only if there are few runs.
    longest_run: Option<u32>,
    /// The smallest and largest difference to the number before, in zigzag encoding.
    min_step: u32,
    max_step: u32,
}

impl Shape {
    fn of(numbers: &[u32]) -> Shape {
        let first = numbers[0];
        let mut shape = Shape {
            count: numbers.len(),
            min: first,
            max: first,
            runs: 1,
            longest_run: None,
            min_step: u32::MAX,
            max_step: 0,
        };
        for pair in numbers.windows(2) {
            let step = zigzag(pair[0], pair[1]);
            shape.min = shape.min.min(pair[1]);
            shape.max = shape.max.max(pair[1]);
            shape.min_step = shape.min_step.min(step);
            shape.max_step = shape.max_step.max(step);
            shape.runs += u32::from(step != 0);
        }
        // Runs that are shorter than two on average take more room than the numbers themselves.
        if shape.runs as usize <= numbers.len() / 2 {
            let lengths = numbers.chunk_by(|a, b| a == b).map(|run| run.len() as u32);
            shape.longest_run = lengths.max();
        }
        shape
    }

    /// The smallest of the encodings whose size can be computed without encoding, and that size.
    fn cheapest(&self) -> (u8, usize) {
        let packed = |count, spread| PACKED_HEADER_BYTES + packed_bytes(count, width_of(spread));
        let spread = self.max - self.min;
        if spread == 0 {
            return (tag::CONSTANT, 4);
        }
        let plain = (tag::PACKED, packed(self.count, spread));
        let delta = (tag::DELTA, 4 + packed(self.count - 1, self.max_step - self.min_step));
        let runs = self.longest_run.map(|longest| {
            let runs = self.runs as usize;
            (tag::RUNS, 4 + packed(runs, spread) + packed(runs, longest - 1))
        });
        [delta].into_iter().chain(runs).fold(plain, |best, other| if other.1 < best.1 { other } else { best })
    }
}

/// How wide packed numbers are: as few bits as possible, or whole bytes, in which zstd finds repetitions.
#[derive(Clone, Copy)]
enum Width {
    Exact,
    WholeBytes,
}

impl Width {
    fn for_spread(self, spread: u32) -> u32 {
        match self {
            Width::Exact => width_of(spread),
            Width::WholeBytes => width_of(spread).next_multiple_of(8),
        }
    }
}

fn put_plain(tag: u8, numbers: &[u32], shape: &Shape, width: Width, out: &mut Vec<u8>) {
    let spread = shape.max - shape.min;
    match tag {
        tag::RUNS => {
            out.extend_from_slice(&shape.runs.to_le_bytes());
            let runs = || numbers.chunk_by(|a, b| a == b);
            put_packed(runs().map(|run| run[0]), shape.min, width.for_spread(spread), out);
            let lengths = runs().map(|run| run.len() as u32);
            put_packed(lengths, 1, width.for_spread(shape.longest_run.unwrap_or(1) - 1), out);
        }
        tag::DELTA => {
            out.extend_from_slice(&numbers[0].to_le_bytes());
            let steps = numbers.windows(2).map(|pair| zigzag(pair[0], pair[1]));
            put_packed(steps, shape.min_step, width.for_spread(shape.max_step - shape.min_step), out);
        }
        _ => put_packed(numbers.iter().copied(), shape.min, width.for_spread(spread), out),
    }
}

fn put_packed(numbers: impl Iterator<Item = u32>, base: u32, width: u32, out: &mut Vec<u8>) {
    out.push(width as u8);
    out.extend_from_slice(&base.to_le_bytes());
    pack(numbers.map(|number| number - base), width, out);
}

/// The difference modulo 2^32, numbered so that small differences of either sign get small numbers: 0, -1, 1, -2, 2, ...
#[inline]
fn zigzag(before: u32, after: u32) -> u32 {
    let step = after.wrapping_sub(before) as i32;
    ((step << 1) ^ (step >> 31)) as u32
}

/// The distinct numbers of a column in order of first appearance, as long as there are few of them.
#[derive(Default)]
struct Distinct {
    entries: Vec<u32>,
    codes: Vec<u32>,
    /// Open addressing over positions in `entries`, plus one; zero is free.
    slots: Vec<u32>,
    min: u32,
    max: u32,
}

impl Distinct {
    /// Finds the distinct numbers; returns the size of the dictionary encoding unless it cannot beat bit packing.
    fn collect(&mut self, numbers: &[u32], shape: &Shape) -> Option<usize> {
        let width = width_of(shape.max - shape.min);
        // Codes must have fewer bits than numbers, and the dictionary must be small compared to the column.
        let limit = (numbers.len() / 4).min(1_usize << width.saturating_sub(1).min(20));
        if width < 4 || limit < 2 {
            return None;
        }
        let bits = (limit * 2).next_power_of_two().trailing_zeros();
        self.slots.clear();
        self.slots.resize(1 << bits, 0);
        self.entries.clear();
        self.codes.clear();
        for &number in numbers {
            let code = self.code_of(number, bits);
            if self.entries.len() > limit {
                return None;
            }
            self.codes.push(code);
        }
        (self.min, self.max) = (shape.min, shape.max);
        let entries = self.entries.len();
        let codes = 1 + packed_bytes(numbers.len(), width_of(entries as u32 - 1));
        Some(4 + PACKED_HEADER_BYTES + packed_bytes(entries, width) + codes)
    }

    #[inline]
    fn code_of(&mut self, number: u32, bits: u32) -> u32 {
        let mask = self.slots.len() - 1;
        let mut slot = (number.wrapping_mul(0x9e37_79b1) >> (u32::BITS - bits)) as usize;
        loop {
            let found = self.slots[slot];
            if found == 0 {
                self.entries.push(number);
                self.slots[slot] = self.entries.len() as u32;
                return self.slots[slot] - 1;
            }
            if self.entries[found as usize - 1] == number {
                return found - 1;
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Appends what [`collect`](Self::collect) found for `numbers`.
    fn put(&self, numbers: &[u32], out: &mut Vec<u8>) {
        debug_assert_eq!(numbers.len(), self.codes.len());
        out.extend_from_slice(&(self.entries.len() as u32).to_le_bytes());
        put_packed(self.entries.iter().copied(), self.min, width_of(self.max - self.min), out);
        let width = width_of(self.entries.len() as u32 - 1);
        out.push(width as u8);
        pack(self.codes.iter().copied(), width, out);
    }
}

/// Turns bytes back into columns. Reused from block to block.
#[derive(Default)]
pub(super) struct ColumnDecoder {
    decompressor: zstd::bulk::Decompressor<'static>,
    plain: Vec<u8>,
    entries: Vec<u32>,
    lengths: Vec<u32>,
}

impl ColumnDecoder {
    /// Fills `out`, whose length is the number of numbers that the column must have.
    pub(super) fn decode(&mut self, tag: u8, bytes: &[u8], out: &mut [u32]) -> Result<()> {
        if tag != tag::ZSTD {
            return self.decode_plain(tag, bytes, out);
        }
        let mut cursor = Cursor::new(bytes);
        let inner = cursor.u8()?;
        let plain_bytes = cursor.u32()? as usize;
        // A plain column has at most the size of two packed sequences of full width.
        if plain_bytes > 8 * out.len() + 64 {
            return Err(corrupt(format!("{plain_bytes} bytes are too many for {} numbers", out.len())));
        }
        let mut plain = std::mem::take(&mut self.plain);
        plain.clear();
        plain.reserve_exact(plain_bytes);
        let found = self
            .decompressor
            .decompress_to_buffer(cursor.rest(), &mut plain)
            .map_err(|error| corrupt(format!("zstd: {error}")))?;
        if found != plain_bytes {
            return Err(corrupt(format!("expected {plain_bytes} decompressed bytes, found {found}")));
        }
        let decoded = self.decode_plain(inner, &plain, out);
        self.plain = plain;
        decoded
    }

    fn decode_plain(&mut self, tag: u8, bytes: &[u8], out: &mut [u32]) -> Result<()> {
        let mut cursor = Cursor::new(bytes);
        match tag {
            tag::CONSTANT => out.fill(cursor.u32()?),
            tag::PACKED => take_packed(&mut cursor, out)?,
            tag::DICTIONARY => self.decode_dictionary(&mut cursor, out)?,
            tag::RUNS => self.decode_runs(&mut cursor, out)?,
            tag::DELTA => decode_delta(&mut cursor, out)?,
            _ => {
                let message = format!("column encoding {tag} is not known to this version of the reader");
                return Err(Error::new(ErrorKind::Unsupported, Position::Nowhere, message));
            }
        }
        if cursor.is_empty() {
            return Ok(());
        }
        Err(corrupt(format!("expected the end of a column, found {} more bytes", cursor.remaining())))
    }

    fn decode_dictionary(&mut self, cursor: &mut Cursor<'_>, out: &mut [u32]) -> Result<()> {
        let count = take_count(cursor, out.len(), "dictionary entries")?;
        self.entries.resize(count, 0);
        take_packed(cursor, &mut self.entries)?;
        let width = take_width(cursor)?;
        unpack(cursor.bytes(packed_bytes(out.len(), width))?, width, 0, out);
        if !all_below(out, self.entries.len()) {
            let largest = out.iter().copied().max().unwrap_or(0);
            return Err(corrupt(format!("expected codes below {count}, found {largest}")));
        }
        for number in out {
            *number = self.entries[*number as usize];
        }
        Ok(())
    }

    fn decode_runs(&mut self, cursor: &mut Cursor<'_>, out: &mut [u32]) -> Result<()> {
        let count = take_count(cursor, out.len(), "runs")?;
        self.entries.resize(count, 0);
        self.lengths.resize(count, 0);
        take_packed(cursor, &mut self.entries)?;
        take_packed(cursor, &mut self.lengths)?;
        let wanted = out.len() as u64;
        let found: u64 = self.lengths.iter().map(|&length| u64::from(length)).sum();
        if found != wanted {
            return Err(corrupt(format!("expected runs of {wanted} numbers together, found {found}")));
        }
        let mut start = 0;
        for (&number, &length) in self.entries.iter().zip(&self.lengths) {
            let end = start + length as usize;
            match out[start..].first_chunk_mut::<8>() {
                // This may write past the run; the next runs overwrite it. A loop as long as the run would be mispredicted at its end.
                Some(eight) if length <= 8 => *eight = [number; 8],
                _ => out[start..end].fill(number),
            }
            start = end;
        }
        Ok(())
    }
}

fn decode_delta(cursor: &mut Cursor<'_>, out: &mut [u32]) -> Result<()> {
    let mut number = cursor.u32()?;
    let Some((first, steps)) = out.split_first_mut() else {
        return Err(corrupt("expected no numbers, found a column of differences"));
    };
    *first = number;
    take_packed(cursor, steps)?;
    for step in steps {
        let zigzag = *step;
        number = number.wrapping_add((zigzag >> 1) ^ (zigzag & 1).wrapping_neg());
        *step = number;
    }
    Ok(())
}

/// Whether all numbers are below a limit. Comparing all of them costs less than finding the largest.
pub(super) fn all_below(numbers: &[u32], limit: usize) -> bool {
    let Ok(limit) = u32::try_from(limit) else { return true };
    !numbers.iter().fold(false, |beyond, &number| beyond | (number >= limit))
}

fn take_packed(cursor: &mut Cursor<'_>, out: &mut [u32]) -> Result<()> {
    let width = take_width(cursor)?;
    let base = cursor.u32()?;
    unpack(cursor.bytes(packed_bytes(out.len(), width))?, width, base, out);
    Ok(())
}

fn take_width(cursor: &mut Cursor<'_>) -> Result<u32> {
    match cursor.u8()? {
        width @ 0..=32 => Ok(u32::from(width)),
        width => Err(corrupt(format!("expected a width of at most 32 bits, found {width}"))),
    }
}

/// A count of entries, which is at most the number of numbers in the column.
fn take_count(cursor: &mut Cursor<'_>, limit: usize, what: &str) -> Result<usize> {
    let count = cursor.u32()? as usize;
    if count <= limit {
        return Ok(count);
    }
    Err(corrupt(format!("expected at most {limit} {what}, found {count}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(numbers: &[u32]) -> (u8, usize) {
        let mut bytes = Vec::new();
        let tag = ColumnEncoder::new().unwrap().encode(numbers, &mut bytes).unwrap();
        let mut decoded = vec![0; numbers.len()];
        ColumnDecoder::default().decode(tag, &bytes, &mut decoded).unwrap();
        assert_eq!(decoded, numbers);
        (tag, bytes.len())
    }

    fn random(count: usize, range: u32) -> Vec<u32> {
        let mut seed = 7_u64;
        std::iter::repeat_with(|| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((seed >> 33) % u64::from(range)) as u32
        })
        .take(count)
        .collect()
    }

    #[test]
    fn each_column_gets_the_encoding_that_suits_it() {
        assert_eq!(round_trip(&[7; 1000]), (tag::CONSTANT, 4));
        assert_eq!(round_trip(&random(1000, 1000)).0, tag::PACKED);
        let few: Vec<u32> = random(4000, 32).iter().map(|&n| n * 100_003).collect();
        assert_eq!(round_trip(&few).0, tag::DICTIONARY);
        let runs: Vec<u32> = (0..4000).map(|i| random(40, 1000)[i / 100]).collect();
        assert_eq!(round_trip(&runs).0, tag::RUNS);
        assert_eq!(round_trip(&(100..5000).collect::<Vec<_>>()).0, tag::DELTA);
        let repeated: Vec<u32> = (0..8000).map(|i| random(50, 60_000)[i % 50]).collect();
        assert_eq!(round_trip(&repeated).0, tag::ZSTD);
    }

    #[test]
    fn extreme_numbers_survive() {
        round_trip(&[u32::MAX]);
        round_trip(&[0, u32::MAX]);
        round_trip(&[u32::MAX, 0, u32::MAX, 1, 0x8000_0000]);
        round_trip(&[3, 3]);
        round_trip(&random(100_000, u32::MAX));
    }
}
