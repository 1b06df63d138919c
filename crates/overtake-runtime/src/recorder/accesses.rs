//! The plain accesses of a thread: which are left out, which continue a run, which get a record of their own.
//!
//! The frequent cases are in assembly (`abi::access`); the others come here.

use overtake_rawlog::{RecordKind, brief_access, brief_run, head, run};

use super::Recorder;
use super::coalesce::{Found, LINE_BYTES, Slot};
use super::runs::overtake_count;

impl Recorder {
    /// A plain access of `SIZE` bytes, at most 16, that crosses from one cache line to the next.
    #[inline(always)]
    pub(crate) fn access_across<const WRITE: bool, const SIZE: usize>(&self, address: usize, pc: usize) {
        let [first, second] = across_lines::<SIZE>(address);
        let is_known = |(line, bytes)| self.coalescer.is_known::<WRITE>(line, bytes);
        let free = |(line, bytes)| self.coalescer.free::<WRITE>(line, bytes);
        if is_known(first) && is_known(second) {
            self.coalescer.count_repeat();
        } else if let Some(run) = self.runs.continued(address as u64, pc as u64, self.stack.current_since())
            && let Some(first) = free(first)
            && let Some(second) = free(second)
        {
            // If a signal handler comes before the access is counted, this marks a region that has ended.
            first.claim::<WRITE>();
            second.claim::<WRITE>();
            run.expect_next();
            // SAFETY: a record of two words that this thread wrote into the tail in use.
            unsafe {
                overtake_count(self, address, pc, run.record, run.floor, Self::record_across::<WRITE, SIZE>);
            }
        } else {
            self.record_across::<WRITE, SIZE>(address, pc);
        }
    }

    /// Out of line, so that what comes before needs no stack.
    #[inline(never)]
    extern "C" fn record_across<const WRITE: bool, const SIZE: usize>(&self, address: usize, pc: usize) {
        let parts = across_lines::<SIZE>(address);
        let find = |(line, bytes)| self.coalescer.find::<WRITE>(line, bytes, pc as u64);
        if parts.into_iter().all(|part| matches!(find(part), Found::Recorded)) {
            return self.coalescer.count_repeat();
        }
        let region = self.coalescer.region();
        self.write_expected::<WRITE, SIZE>(address, pc);
        for part in parts {
            if let Found::New(slot) = find(part) {
                self.note::<WRITE>(slot, region, part.0, part.1);
            }
        }
    }

    /// A plain access of `SIZE` bytes within one cache line that continues no run.
    pub(crate) fn record_new<const WRITE: bool, const SIZE: usize>(&self, address: usize, pc: usize) {
        let (line, bytes) = within_line(address, SIZE);
        let Found::New(slot) = self.coalescer.find::<WRITE>(line, bytes, pc as u64) else {
            return self.coalescer.count_repeat();
        };
        let region = self.coalescer.region();
        self.write_expected::<WRITE, SIZE>(address, pc);
        self.note::<WRITE>(slot, region, line, bytes);
    }

    /// Records an access that may be the first of a run.
    #[inline(always)]
    fn write_expected<const WRITE: bool, const SIZE: usize>(&self, address: usize, pc: usize) {
        let (address, pc) = (address as u64, pc as u64);
        loop {
            let cursor = self.ready_place();
            let Some(place) = self.runs.known(pc) else {
                self.name_place(pc);
                continue;
            };
            if let Some(stride) = self.runs.expect(place, address) {
                let first = self.brief(brief_run(WRITE, SIZE), pc, address);
                if self.buffer.write_at(cursor, [first, run(stride)]) {
                    // If a signal handler came since, the entry may belong to another instruction.
                    return if self.buffer.place() == cursor.wrapping_add(2) {
                        self.runs.start(place, cursor)
                    };
                }
            } else if self.buffer.write_at(cursor, [self.brief(brief_access(WRITE, SIZE), pc, address)]) {
                return self.runs.note_single(place, cursor);
            }
        }
    }

    #[inline(always)]
    fn write_access<const WRITE: bool>(&self, address: usize, length: usize, pc: usize) {
        let kind = if WRITE { RecordKind::Write } else { RecordKind::Read };
        self.write([head(kind, length as u8, address as u64), pc as u64]);
    }

    /// Notes an access as recorded, unless it was in another region, because a signal handler came since.
    #[inline(always)]
    fn note<const WRITE: bool>(&self, slot: &Slot, region: u64, line: u64, bytes: u64) {
        let close = |line, bytes, pc| self.close_line(line, bytes, pc);
        if self.coalescer.note::<WRITE>(slot, (region, line, bytes), close) {
            self.end_runs();
        }
    }

    /// A plain access of up to 63 bytes within one cache line.
    fn access_within<const WRITE: bool>(&self, address: usize, length: usize, pc: usize) {
        let (line, bytes) = within_line(address, length);
        let Found::New(slot) = self.coalescer.find::<WRITE>(line, bytes, pc as u64) else {
            return self.coalescer.count_repeat();
        };
        let region = self.coalescer.region();
        self.write_access::<WRITE>(address, length, pc);
        self.note::<WRITE>(slot, region, line, bytes);
    }

    /// A plain access of any size and alignment.
    #[inline]
    pub(crate) fn access_range<const WRITE: bool>(&self, address: usize, length: usize, pc: usize) {
        if length < LINE_BYTES && address % LINE_BYTES + length <= LINE_BYTES {
            if length > 0 {
                self.access_within::<WRITE>(address, length, pc);
            }
        } else {
            self.access_lines::<WRITE>(address, length, pc);
        }
    }

    #[inline(never)]
    fn access_lines<const WRITE: bool>(&self, address: usize, length: usize, pc: usize) {
        /// Longer ranges are recorded without a look-up.
        const MOST_BYTES: usize = 2048;
        let is_short = length <= MOST_BYTES;
        let find = |(line, bytes)| self.coalescer.find::<WRITE>(line, bytes, pc as u64);
        if is_short && lines(address, length).all(|part| matches!(find(part), Found::Recorded)) {
            return self.coalescer.count_repeat();
        }
        let region = self.coalescer.region();
        let kind = if WRITE { RecordKind::WriteRange } else { RecordKind::ReadRange };
        self.write([head(kind, 0, address as u64), pc as u64, length as u64 & (u64::MAX >> 16)]);
        if !is_short {
            self.end_runs(); // the bytes of the range are not noted
        } else {
            for part in lines(address, length) {
                if let Found::New(slot) = find(part) {
                    self.note::<WRITE>(slot, region, part.0, part.1);
                }
            }
        }
    }

    /// Records that bytes of a line were written again after their recorded write: one record per run of bytes.
    #[cold]
    #[inline(never)]
    pub(super) fn close_line(&self, line: u64, mut bytes: u64, pc: u64) {
        while bytes != 0 {
            let start = bytes.trailing_zeros();
            let length = (bytes >> start).trailing_ones();
            if !self.buffer.has_room() {
                self.new_chunk();
            }
            let address = line + u64::from(start);
            self.buffer.write([head(RecordKind::WriteAgain, length as u8, address), pc]);
            bytes &= u64::MAX.checked_shl(start + length).unwrap_or(0);
            if let Some(header) = self.buffer.header() {
                header.closing_writes += 1;
            }
        }
    }
}

/// The address of the line of a byte.
#[inline(always)]
fn line_of(address: usize) -> u64 {
    (address - address % LINE_BYTES) as u64
}

/// The line of an access that lies within one line, and the mask of the accessed bytes.
#[inline(always)]
fn within_line(address: usize, length: usize) -> (u64, u64) {
    (line_of(address), ((1 << length) - 1) << (address % LINE_BYTES))
}

/// The two lines of an access that crosses from one to the next, each with the mask of the accessed bytes.
#[inline(always)]
fn across_lines<const SIZE: usize>(address: usize) -> [(u64, u64); 2] {
    let (line, from) = (line_of(address), address % LINE_BYTES);
    [(line, u64::MAX << from), (line + LINE_BYTES as u64, (1 << (from + SIZE - LINE_BYTES)) - 1)]
}

/// The lines of a range, each with the mask of its bytes in the range.
#[inline]
fn lines(address: usize, length: usize) -> impl Iterator<Item = (u64, u64)> + Clone {
    let end = address + length;
    (line_of(address) as usize..end).step_by(LINE_BYTES).map(move |line| {
        let from = address.saturating_sub(line);
        let to = (end - line).min(LINE_BYTES);
        (line as u64, (u64::MAX >> (LINE_BYTES - (to - from))) << from)
    })
}
