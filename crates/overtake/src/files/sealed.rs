//! Random access to a sealed trace.

use std::ops::Range;
use std::path::Path;

use overtake_detect::RandomAccess;
use overtake_report::TraceFacts;
use overtake_trace::{Block, OtrFile, Result, Symbols};
use tempfile::NamedTempFile;

use crate::Error;

/// A sealed trace.
pub struct Sealed {
    /// The file.
    pub file: OtrFile,
    /// What is known of the trace.
    pub facts: TraceFacts,
    /// The file, if it is removed when this is dropped.
    _temporary: Option<NamedTempFile>,
}

impl Sealed {
    pub(super) fn new(file: OtrFile, mut facts: TraceFacts, temporary: Option<NamedTempFile>) -> Sealed {
        facts.events = file.parameters().events;
        facts.sizes = file.sizes();
        if !file.damage().is_none() {
            facts.missing.push(file.damage().to_string());
        }
        Sealed { file, facts, _temporary: temporary }
    }

    /// Opens a sealed file.
    pub fn open(path: &Path) -> std::result::Result<Sealed, Error> {
        let file = OtrFile::open(path).map_err(|error| Error::in_file(path, error))?;
        Ok(Sealed::new(file, TraceFacts::default(), None))
    }
}

impl RandomAccess for Sealed {
    fn symbols(&self) -> Result<&Symbols> {
        self.file.symbols()
    }

    /// Reads no further than the end of the block that holds the first event, so that no block is decoded twice for one window.
    fn read(&self, range: Range<u64>, block: &mut Block) -> Result<()> {
        let number = self.file.blocks_of(&range).start;
        let stored = if number < self.file.block_count() { self.file.block_range(number) } else { 0..0 };
        if !stored.contains(&range.start) {
            return self.file.read_events(range, block); // it is missing, and this says so
        }
        self.file.read_block(number, block)?;
        block.events.truncate((range.end.min(stored.end) - stored.start) as usize);
        block.events.drain(..(range.start - stored.start) as usize);
        block.first.0 = range.start;
        Ok(())
    }
}
