//! Closing writes: the last write to bytes that a thread wrote several times without synchronising in between.
//!
//! The recorder leaves repeated writes out, and says at the end which bytes of a cache line were written again ([`RecordKind::WriteAgain`]).
//! It keeps one program counter for the whole line, without its calls; other bytes of the line may have been written elsewhere. But each
//! byte also has a record of its first write since the thread synchronised. The closing write gets the place of that write, which is
//! correct in every part: this code of this thread wrote these bytes in this region.
//!
//! So sealing must find a thread's last recorded write of a variable. It keeps the places of writes only where they may be asked for: the first pass
//! collects the lines with closing writes, in a filter that may also say yes to other lines. Most regions have few writes: these are kept as a list.

use overtake_rawlog::{Record, RecordKind};
use overtake_trace::{Action, Event, IdVec, LocationId, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::Merger;
use crate::error::Result;
use crate::memory::Naming;
use crate::scan::ranges;
use crate::stacks::Node;

/// Bytes of a line of the recorder's table.
const LINE_BYTES: u64 = 64;
/// The filter has a bit for each of so many groups of lines: 8 KiB, which stay in the cache.
const GROUPS: u64 = 1 << 16;
/// Longer ranges are noted without looking at each line.
const MOST_LINES: u64 = 16;

/// So many writes are looked through.
const FEW: usize = 32;
/// So many threads have a list at the same time; a power of two.
const LISTS: usize = 64;

/// The lines with bytes that were written again, and others that share a group with one of them.
#[derive(Default)]
pub(crate) struct Rewritten {
    /// Empty until there is a line.
    bits: Vec<u64>,
}

impl Rewritten {
    pub(crate) fn insert(&mut self, address: u64, bytes: u64) {
        self.bits.resize(GROUPS as usize / 64, 0);
        let end = address.saturating_add(bytes.clamp(1, GROUPS * LINE_BYTES) - 1);
        for line in address / LINE_BYTES..=end / LINE_BYTES {
            let group = group_of(line);
            self.bits[group / 64] |= 1 << (group % 64);
        }
    }

    pub(crate) fn extend(&mut self, other: Rewritten) {
        self.bits.resize(self.bits.len().max(other.bits.len()), 0);
        for (mine, others) in self.bits.iter_mut().zip(other.bits) {
            *mine |= others;
        }
    }

    #[inline]
    fn may_have(&self, address: u64, bytes: u64) -> bool {
        let (first, last) = (address / LINE_BYTES, address.saturating_add(bytes.max(1) - 1) / LINE_BYTES);
        let has = |line| self.bits[group_of(line) / 64] >> (group_of(line) % 64) & 1 == 1;
        !self.bits.is_empty() && (last - first > MOST_LINES || (first..=last).any(has))
    }
}

#[inline]
fn group_of(line: u64) -> usize {
    ((line ^ (line >> 16)) % GROUPS) as usize
}

/// Where each thread last wrote a variable, as far as it may write the variable again.
pub(super) struct LastWrites {
    rewritten: Rewritten,
    /// The writes of a region, as long as they are few.
    few: Vec<Few>,
    /// By variable: the last write in any other region. Neighbours are written together, so that this is faster than a hash table.
    places: Vec<LastWrite>,
    /// The region that each thread is in, once writes of it are kept by variable.
    regions: IdVec<ThreadId, Option<Region>>,
    /// Whose each region is.
    threads: Vec<ThreadId>,
    /// What other threads wrote before, in the regions that they were still in when the next one wrote: nobody asks for a write of an earlier
    /// region.
    of_others: FxHashMap<(ThreadId, VarId), LocationId>,
}

/// The writes of a thread in the region that it is in. Threads whose numbers are far apart may have to share one.
#[derive(Clone, Default)]
struct Few {
    thread: Option<ThreadId>,
    writes: Vec<(VarId, LocationId)>,
}

/// The number of a region with a write that is kept by variable, among all of them.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Region(u32);

#[derive(Clone, Copy)]
struct LastWrite {
    location: LocationId,
    region: Region,
}

impl LastWrite {
    /// There was no write yet.
    const NONE: LastWrite = LastWrite { location: LocationId::UNKNOWN, region: Region(u32::MAX) };
}

/// Whether a record with a stamp ends what a thread may write again without a record. Some that do are left out.
pub(super) fn synchronises(kind: RecordKind) -> bool {
    use RecordKind as K;
    !matches!(kind, K::Alloc | K::Free | K::Map | K::Unmap | K::Benign | K::Misuse)
}

impl LastWrites {
    pub(super) fn new(rewritten: Rewritten) -> LastWrites {
        LastWrites {
            rewritten,
            few: vec![Few::default(); LISTS],
            places: Vec::new(),
            regions: IdVec::new(),
            threads: Vec::new(),
            of_others: FxHashMap::default(),
        }
    }

    #[inline]
    pub(super) fn may_be_rewritten(&self, address: u64, bytes: u64) -> bool {
        self.rewritten.may_have(address, bytes)
    }

    #[inline]
    pub(super) fn note(&mut self, thread: ThreadId, var: VarId, location: LocationId) {
        let region = match self.regions.get(thread) {
            Some(&Some(region)) => region,
            _ => {
                let few = &mut self.few[thread.0 as usize % LISTS];
                if *few.thread.get_or_insert(thread) == thread && few.writes.len() < FEW {
                    return few.writes.push((var, location));
                }
                self.begin_region(thread)
            }
        };
        self.note_in(region, thread, var, location);
    }

    #[inline]
    fn note_in(&mut self, region: Region, thread: ThreadId, var: VarId, location: LocationId) {
        let at = var.0 as usize;
        if at >= self.places.len() {
            self.places.resize(at + 1, LastWrite::NONE);
        }
        let before = std::mem::replace(&mut self.places[at], LastWrite { location, region });
        if before.region != region
            && let Some(&other) = self.threads.get(before.region.0 as usize)
            && other != thread
            && self.regions[other] == Some(before.region)
        {
            self.of_others.insert((other, var), before.location);
        }
    }

    /// The thread has written too much in its region for a list, or has none.
    #[cold]
    fn begin_region(&mut self, thread: ThreadId) -> Region {
        let region = Region(self.threads.len() as u32);
        self.threads.push(thread);
        *self.regions.entry(thread) = Some(region);
        for (var, location) in self.end_list(thread).unwrap_or_default() {
            self.note_in(region, thread, var, location);
        }
        region
    }

    /// A thread synchronises.
    #[inline]
    pub(super) fn enter_region(&mut self, thread: ThreadId) {
        if !self.rewritten.bits.is_empty() {
            *self.regions.entry(thread) = None;
            if let Some(mut writes) = self.end_list(thread) {
                writes.clear();
                self.few[thread.0 as usize % LISTS].writes = writes;
            }
        }
    }

    /// Takes the list of a thread, if it has one.
    #[inline]
    fn end_list(&mut self, thread: ThreadId) -> Option<Vec<(VarId, LocationId)>> {
        let few = &mut self.few[thread.0 as usize % LISTS];
        let is_own = few.thread == Some(thread);
        is_own.then(|| std::mem::take(few).writes)
    }

    fn place(&self, thread: ThreadId, var: VarId) -> Option<LocationId> {
        let few = Some(&self.few[thread.0 as usize % LISTS]).filter(|few| few.thread == Some(thread));
        let mut writes = few.into_iter().flat_map(|few| few.writes.iter().rev());
        if let Some((_, location)) = writes.find(|(written, _)| *written == var) {
            return Some(*location);
        }
        match self.places.get(var.0 as usize) {
            Some(last) if self.threads.get(last.region.0 as usize) == Some(&thread) => Some(last.location),
            _ => self.of_others.get(&(thread, var)).copied(),
        }
    }
}

impl Merger {
    /// Writes the closing writes of a record. If the first write of some bytes is missing, because the oldest part of the log was dropped,
    /// only the program counter of the line is known.
    pub(super) fn write_again(&mut self, record: &Record, thread: ThreadId) -> Result<()> {
        let Merger { stacks, symbols, code, memory, last_writes, events, .. } = self;
        let location = stacks.location(Node::ROOT, record.words[0], 0, code, symbols)?;
        let mut naming = Naming { symbols, code, thread, location, can_wait: false, events };
        for (address, bytes) in ranges(record) {
            memory.variables(address, bytes, &mut naming, |var, events| {
                let place = last_writes.place(thread, var).unwrap_or(location);
                events.push(Event::new(thread, Action::Write(var), place));
            })?;
        }
        Ok(())
    }
}
