//! What salvage could not save.

use std::fmt;
use std::ops::Range;

/// What is missing from a damaged sealed file. Everything else was intact and is exact.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Damage {
    /// Indices of the events that are lost, in order.
    pub missing_events: Vec<Range<u64>>,
    /// The file has no end: an unknown number of events after the last one are lost.
    pub end_missing: bool,
    /// Bytes that belong to nothing intact.
    pub bytes_skipped: u64,
    /// How many names are lost that events refer to. They appear as `lost-variable-12` and so on.
    pub lost_names: u64,
}

impl Damage {
    /// Whether the file is whole.
    pub fn is_none(&self) -> bool {
        *self == Damage::default()
    }

    /// How many events are known to be lost.
    pub fn missing_event_count(&self) -> u64 {
        self.missing_events.iter().map(|range| range.end - range.start).sum()
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            return f.write_str("nothing is missing");
        }
        write!(f, "{} events missing", self.missing_event_count())?;
        for (position, range) in self.missing_events.iter().enumerate() {
            let separator = if position == 0 { ": " } else { ", " };
            write!(f, "{separator}{} to {}", range.start, range.end - 1)?;
        }
        if self.end_missing {
            f.write_str("; the end of the file is missing, with an unknown number of events")?;
        }
        if self.lost_names > 0 {
            write!(f, "; {} names lost", self.lost_names)?;
        }
        write!(f, "; {} bytes skipped", self.bytes_skipped)
    }
}
