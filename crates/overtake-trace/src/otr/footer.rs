//! The footer: the trace's parameters and where its blocks and symbol chunks are.

use crate::error::Result;
use crate::parameters::Parameters;
use crate::symbols::Sizes;

use super::layout::{CHUNK_HEADER_BYTES, ChunkHeader, Kind, MAX_BLOCK_EVENTS, MAX_CHUNK_NAMES, corrupt};
use super::wire::Cursor;

/// Entries in one index section; a longer index has several.
pub(super) const INDEX_ENTRIES: usize = 1 << 20;
const INDEX_ENTRY_BYTES: usize = 16;

/// Where a chunk is and how much it holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    /// Offset of the chunk's header in the file.
    pub(super) offset: u64,
    /// Number of events or names.
    pub(super) count: u32,
    /// Bytes of payload.
    pub(super) length: u32,
}

impl Entry {
    pub(super) fn of(header: &ChunkHeader, offset: u64) -> Entry {
        Entry { offset, count: header.count, length: header.length }
    }
}

/// What the footer says.
#[derive(Clone, Default, Debug)]
pub(super) struct Footer {
    pub(super) summary: Option<Summary>,
    pub(super) blocks: Vec<Entry>,
    pub(super) symbol_chunks: Vec<Entry>,
}

/// The parameters, and the sizes of the tables that are not among them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Summary {
    pub(super) parameters: Parameters,
    pub(super) objects: u64,
    pub(super) markers: u64,
    pub(super) locations: u64,
    pub(super) arrays: u64,
}

impl Summary {
    pub(super) fn new(parameters: Parameters, sizes: &Sizes, arrays: usize) -> Summary {
        Summary {
            parameters,
            objects: sizes.objects as u64,
            markers: sizes.markers as u64,
            locations: sizes.locations as u64,
            arrays: arrays as u64,
        }
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let Parameters { events, threads, locks, variables, acquires, most_held } = self.parameters;
        let Summary { objects, markers, locations, arrays, .. } = *self;
        for number in
            [events, threads, locks, variables, acquires, most_held, objects, markers, locations, arrays]
        {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// Later versions may append numbers, which are ignored.
    fn take(payload: &[u8]) -> Result<Summary> {
        let mut cursor = Cursor::new(payload);
        let parameters = Parameters {
            events: cursor.u64()?,
            threads: cursor.u64()?,
            locks: cursor.u64()?,
            variables: cursor.u64()?,
            acquires: cursor.u64()?,
            most_held: cursor.u64()?,
        };
        Ok(Summary {
            parameters,
            objects: cursor.u64()?,
            markers: cursor.u64()?,
            locations: cursor.u64()?,
            arrays: cursor.u64()?,
        })
    }

    /// The sizes of the tables. [`Footer::check`] bounds them by what the file can hold.
    pub(super) fn sizes(&self) -> Sizes {
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        Sizes {
            threads: size(self.parameters.threads),
            locks: size(self.parameters.locks),
            variables: size(self.parameters.variables),
            objects: size(self.objects),
            markers: size(self.markers),
            locations: size(self.locations),
        }
    }
}

impl Footer {
    /// Takes a footer section. Returns whether its kind is known.
    pub(super) fn take_section(&mut self, header: &ChunkHeader, payload: &[u8]) -> Result<bool> {
        match header.kind {
            Kind::PARAMETERS => {
                if self.summary.replace(Summary::take(payload)?).is_some() {
                    return Err(corrupt("expected one parameter section, found two"));
                }
            }
            Kind::BLOCK_INDEX => take_entries(&mut self.blocks, header, payload)?,
            Kind::SYMBOL_INDEX => take_entries(&mut self.symbol_chunks, header, payload)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Checks what the footer claims against what the file can hold, before anything is allocated by these numbers.
    pub(super) fn check(&self, footer_offset: u64) -> Result<Summary> {
        let summary = self.summary.ok_or_else(|| corrupt("expected a parameter section, found none"))?;
        let events = check_entries(&self.blocks, footer_offset, MAX_BLOCK_EVENTS, "events")?;
        if events != summary.parameters.events {
            let expected = summary.parameters.events;
            return Err(corrupt(format!("expected {expected} events in the block index, found {events}")));
        }
        let names = check_entries(&self.symbol_chunks, footer_offset, MAX_CHUNK_NAMES, "names")?;
        let Parameters { threads, locks, variables, .. } = summary.parameters;
        let tables = [threads, locks, variables, summary.objects, summary.markers, summary.locations];
        let claimed = tables.into_iter().chain([summary.arrays]).fold(0, u64::saturating_add);
        if claimed > names || tables.into_iter().any(|table| table >= u64::from(u32::MAX)) {
            return Err(corrupt(format!("expected at most {names} names, found tables of {claimed}")));
        }
        Ok(summary)
    }
}

fn take_entries(entries: &mut Vec<Entry>, header: &ChunkHeader, payload: &[u8]) -> Result<()> {
    let count = header.count as usize;
    if payload.len() != count * INDEX_ENTRY_BYTES || header.first != entries.len() as u64 {
        return Err(corrupt(format!(
            "an index section of {} bytes cannot hold {count} entries",
            payload.len()
        )));
    }
    let mut cursor = Cursor::new(payload);
    entries.reserve_exact(count);
    for _ in 0..count {
        entries.push(Entry { offset: cursor.u64()?, count: cursor.u32()?, length: cursor.u32()? });
    }
    Ok(())
}

/// Checks that entries lie one after the other before the footer. Returns the sum of their counts.
fn check_entries(entries: &[Entry], footer_offset: u64, most: usize, what: &str) -> Result<u64> {
    let mut free = 0;
    let mut total = 0;
    for (position, entry) in entries.iter().enumerate() {
        let end = entry.offset.saturating_add(CHUNK_HEADER_BYTES as u64 + u64::from(entry.length));
        if entry.offset < free || end > footer_offset || !(1..=most).contains(&(entry.count as usize)) {
            let Entry { offset, count, length } = entry;
            let place = format!("entry {position}: {count} {what} in {length} bytes at byte {offset}");
            return Err(corrupt(format!("index is out of order or reaches past its limits at {place}")));
        }
        free = end;
        total += u64::from(entry.count);
    }
    Ok(total)
}

/// The payload of an index section.
pub(super) fn put_entries(entries: &[Entry], out: &mut Vec<u8>) {
    for entry in entries {
        out.extend_from_slice(&entry.offset.to_le_bytes());
        out.extend_from_slice(&entry.count.to_le_bytes());
        out.extend_from_slice(&entry.length.to_le_bytes());
    }
}
