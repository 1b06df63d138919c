//! Which records of an incomplete log are kept.
//!
//! A log that reached the size limit lost its oldest records. A thread whose records could not be written lost its newest. What
//! these records ordered is lost with them, also between other threads: two accesses would seem to race because the hand-over
//! between them is lost. So the log is cut at the same points for all threads: after the last stamp that a thread may have lost at
//! its start, and before the first stamp that a thread may have lost at its end. Between the two nothing is missing.
//!
//! A program that was started directly may have threads that go on while its log is read. The log then says at which stamp it ends.
//! What comes later is left out, and is not missing.
//!
//! Accesses between two stamps of a thread are kept if one of the stamps is kept: they may have happened anywhere between the two.

use crate::log::Log;
use crate::scan::Scan;

/// The stamps between which the records of all threads are complete.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Kept {
    /// Records up to this stamp may be missing.
    after: Option<u64>,
    /// Records after this stamp may be missing.
    until: Option<u64>,
    /// Records after this stamp do not belong to the log.
    end: Option<u64>,
}

impl Kept {
    /// What is kept of a log.
    pub(crate) fn of(log: &Log, scan: &Scan) -> Kept {
        let forked = |number| scan.forks.get(&u64::from(number)).copied().unwrap_or(0);
        let threads = || log.threads.iter().zip(&scan.threads);
        let cut = threads().filter(|(log, _)| log.starts_late).map(|(_, scan)| scan.start).max();
        Kept {
            after: cut.max(after_gone_threads(log, scan)),
            until: threads()
                .filter(|(log, _)| log.lost_bytes > 0)
                // A thread that lost all its records did nothing before its fork.
                .map(|(log, thread)| thread.last.max(forked(log.number)))
                .min(),
            end: log.closed,
        }
    }

    /// Whether records are missing before those that are kept.
    pub(crate) fn starts_late(&self) -> bool {
        self.after.is_some()
    }

    /// Whether records are missing.
    fn lacks_some(&self) -> bool {
        self.after.is_some() || self.until.is_some()
    }

    /// Whether accesses after this stamp of their thread are kept, wherever the next stamp is.
    pub(crate) fn has_from(&self, before: u64) -> bool {
        !self.lacks_some() && self.end.is_none_or(|end| before <= end)
    }

    /// Whether a record with this stamp is kept.
    pub(crate) fn has(&self, stamp: u64) -> bool {
        self.has_between(stamp, stamp)
    }

    /// Whether accesses between two stamps of their thread are kept.
    pub(crate) fn has_between(&self, before: u64, after: u64) -> bool {
        let last = self.until.into_iter().chain(self.end).min();
        self.after.is_none_or(|lost| after > lost) && last.is_none_or(|last| before <= last)
    }

    /// What is missing, in sentences. `left_out` is the number of events that were left out because others are missing.
    pub(crate) fn missing(&self, log: &Log, left_out: u64) -> Vec<String> {
        let dropped = log.dropped_bytes;
        let lost = log.threads.iter().map(|thread| thread.lost_bytes).sum::<u64>();
        let mut missing = Vec::new();
        if dropped > 0 {
            missing.push(format!(
                "the oldest {dropped} bytes of the log were dropped because of the size limit"
            ));
        }
        if lost > 0 || !log.loss.is_empty() {
            let reason = if log.loss.is_empty() { "for an unknown reason" } else { &log.loss };
            let lost = if lost > 0 { lost.to_string() } else { "some".into() };
            missing.push(format!("{lost} bytes of the log could not be written: {reason}"));
        }
        if left_out > 0 && self.lacks_some() {
            missing.push(format!(
                "{left_out} events were left out because records of other threads from the same time are missing"
            ));
        }
        missing
    }
}

/// A stamp that is later than all stamps of threads that ended and left nothing in the log. The log drops the oldest chunks first,
/// so any stamp is late enough that a thread made after it wrote a chunk that is still there.
fn after_gone_threads(log: &Log, scan: &Scan) -> Option<u64> {
    let forked = scan.forks.keys().copied().max().unwrap_or(0);
    let newest = log.threads.iter().map(|thread| u64::from(thread.number)).max().unwrap_or(0).max(forked);
    if log.dropped_bytes == 0 || log.threads.len() as u64 > newest {
        return None;
    }
    let written = log.threads.iter().zip(&scan.threads).filter_map(|(log, scan)| {
        let second = scan.stamp_from(log.end_of_first_chunk()?)?;
        Some((log.offset_of_first_chunk()?, second.time))
    });
    Some(written.min().map_or(scan.last_stamp, |(_, stamp)| stamp))
}
