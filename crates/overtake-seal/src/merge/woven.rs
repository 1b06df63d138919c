//! Runs of several instructions, which an unrolled loop leaves (`crate::weave`).

use overtake_rawlog::{Record, RecordKind};
use overtake_trace::{Action, ThreadId, VarId};

use super::Merger;
use super::cursor::Cursor;
use crate::error::Result;
use crate::scan::ranges;
use crate::weave;

/// Whether several instructions made the accesses of a record.
#[inline]
pub(super) fn is_woven(record: &Record) -> bool {
    let is_run = matches!(record.kind, RecordKind::ReadRun | RecordKind::WriteRun);
    is_run && weave::split(record.words[1], u64::from(record.extra)).2 > 1
}

impl Merger {
    /// Writes the events of a woven run. A variable is accessed where the instruction stands that accessed its first byte. Returns whether
    /// it is done, as [`access`](Self::access).
    pub(super) fn woven(
        &mut self,
        record: &Record,
        cursor: &mut Cursor<'_>,
        thread: ThreadId,
        action: fn(VarId) -> Action,
    ) -> Result<bool> {
        let lanes: Vec<u64> = cursor.reader.lanes(record).collect();
        for (address, bytes) in ranges(record) {
            let (mut start, end) = (address, address.saturating_add(bytes));
            while start < end {
                let variable_end = self.memory.variable_end(start, end);
                let element = (start - address) / u64::from(record.extra);
                let pc = self.code.marked(lanes[element as usize % lanes.len()]);
                let location = self.location(cursor, pc, u32::from(record.extra))?;
                let range = (start, variable_end - start);
                if !self.access(range, thread, location, !cursor.is_late, action)? {
                    return Ok(false);
                }
                start = variable_end;
            }
        }
        Ok(true)
    }
}
