//! The first pass over a log: how accesses cut words into variables, and how many accesses lie between stamps.

use std::thread;

use overtake_rawlog::{RecordKind, split_atomic_extra};
use rustc_hash::FxHashMap;

use crate::error::{Error, Result};
use crate::log::{Log, ThreadLog};

/// Cuts of 8-byte words. Bit `i` of a word's mask: some access starts or ends before byte `i` of it.
///
/// A variable is a run of bytes of one word between cuts: an `int` and one of its bytes accessed elsewhere conflict,
/// two neighbouring `char`s do not.
pub(crate) type Cuts = FxHashMap<u64, u8>;

/// The accesses of one thread between two of its stamps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    /// The stamp it starts with.
    pub(crate) stamp: u64,
    /// Number of access records before the next stamp.
    pub(crate) accesses: u64,
}

/// What the first pass finds out.
pub(crate) struct Scan {
    pub(crate) cuts: Cuts,
    /// The regions of each thread, in the order of [`Log::threads`].
    pub(crate) regions: Vec<Vec<Region>>,
    /// The largest stamp of all.
    pub(crate) last_stamp: u64,
}

/// Reads every thread file once, on all cores.
pub(crate) fn scan(log: &Log) -> Result<Scan> {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(log.threads.len().max(1));
    let results = thread::scope(|scope| {
        let running: Vec<_> = (0..workers)
            .map(|worker| {
                let mine = log.threads.iter().enumerate().skip(worker).step_by(workers);
                scope.spawn(move || {
                    let mut cuts = Cuts::default();
                    let scanned: Result<Vec<_>> =
                        mine.map(|(at, log)| Ok((at, scan_thread(log, &mut cuts)?))).collect();
                    scanned.map(|regions| (cuts, regions))
                })
            })
            .collect();
        running
            .into_iter()
            .map(|worker| worker.join().expect("a scan does not panic"))
            .collect::<Result<Vec<_>>>()
    })?;
    let mut scan =
        Scan { cuts: Cuts::default(), regions: vec![Vec::new(); log.threads.len()], last_stamp: 0 };
    for (cuts, regions) in results {
        merge_cuts(&mut scan.cuts, cuts);
        for (at, regions) in regions {
            scan.last_stamp = scan.last_stamp.max(regions.last().map_or(0, |region| region.stamp));
            scan.regions[at] = regions;
        }
    }
    Ok(scan)
}

fn merge_cuts(into: &mut Cuts, from: Cuts) {
    if into.is_empty() {
        *into = from;
        return;
    }
    for (word, cuts) in from {
        *into.entry(word).or_default() |= cuts;
    }
}

fn scan_thread(log: &ThreadLog, cuts: &mut Cuts) -> Result<Vec<Region>> {
    let mut records = log.records()?;
    let mut regions = vec![Region { stamp: 0, accesses: 0 }];
    while let Some(record) = records.next().map_err(|source| Error::io(&log.path, source))? {
        let length = match record.kind {
            RecordKind::Read | RecordKind::Write => u64::from(record.extra),
            RecordKind::ReadRange | RecordKind::WriteRange => record.words[1],
            RecordKind::AtomicLoad | RecordKind::AtomicStore | RecordKind::AtomicRmw => {
                split_atomic_extra(record.extra).0
            }
            _ => 0,
        };
        if length > 0 {
            cut(cuts, record.value, length);
        }
        let region = regions.last_mut().expect("starts with one");
        match record.stamp() {
            // The first stamp of a thread is where its time starts.
            Some(stamp) if region.stamp == 0 && region.accesses == 0 => region.stamp = stamp,
            Some(stamp) => {
                let stamp = stamp.max(region.stamp);
                regions.push(Region { stamp, accesses: 0 });
            }
            None if record.kind == RecordKind::Chunk && region.stamp == 0 => region.stamp = record.words[0],
            None => region.accesses += u64::from(length > 0),
        }
    }
    Ok(regions)
}

fn cut(cuts: &mut Cuts, address: u64, length: u64) {
    let end = address.saturating_add(length);
    let (first, last) = (address / 8, (end - 1) / 8);
    let start_cut = 1_u8 << (address % 8); // bit 0: no cut within the word
    let end_cut = if end % 8 == 0 { 1 } else { 1_u8 << (end % 8) };
    if first == last {
        *cuts.entry(first).or_default() |= start_cut | end_cut;
    } else {
        *cuts.entry(first).or_default() |= start_cut;
        *cuts.entry(last).or_default() |= end_cut;
    }
}
