//! A job in slices: some of the variables are judged, then the next ones, and so on.
//!
//! Every slice reads the whole trace, and what its workers found is kept as soon as it is finished. A job that was interrupted goes on with the slices that are missing; it may have another
//! number of workers. The last slice is always judged: whoever judges it also learns what is not of single variables, the misuses and the landmarks.

use overtake_detect::Findings;
use overtake_trace::{Repair, Repairs};

use crate::WorkerFacts;

/// Where finished slices of one job are kept.
pub trait Shelf: Send + Sync {
    /// What was found in a slice, if it is there and whole.
    fn take(&self, slice: u16) -> Option<Vec<u64>>;

    /// Keeps what was found in a slice. A shelf that cannot keep it remembers why.
    fn put(&self, slice: u16, words: &[u64]);
}

/// What a worker says at the end of a slice.
pub(crate) struct Told {
    pub(crate) facts: WorkerFacts,
    /// What was mended, as far as the worker answers for it.
    pub(crate) repairs: Repairs,
    /// What each detector found.
    pub(crate) findings: Vec<Findings>,
}

impl Told {
    /// The same in words.
    pub(crate) fn to_words(&self) -> Vec<u64> {
        let WorkerFacts { bytes_sent, events_sent, processor, .. } = self.facts;
        let mut words = vec![bytes_sent, events_sent, processor];
        words.extend(Repair::ALL.iter().map(|&repair| self.repairs.of(repair)));
        let costs = self.facts.nanoseconds.iter().zip(&self.facts.peak_state_bytes);
        for ((nanoseconds, peak), findings) in costs.zip(&self.findings) {
            let findings = findings.to_words();
            words.extend([*nanoseconds, *peak, findings.len() as u64]);
            words.extend(findings);
        }
        words
    }

    /// What some words say of so many detectors; none if they do not.
    pub(crate) fn from_words(words: &[u64], detectors: usize) -> Option<Told> {
        let mut words = words.iter().copied();
        let (bytes_sent, events_sent, processor) = (words.next()?, words.next()?, words.next()?);
        let mut facts = WorkerFacts { bytes_sent, events_sent, processor, ..WorkerFacts::default() };
        let (mut repairs, mut findings) = (Repairs::default(), Vec::new());
        for repair in Repair::ALL {
            repairs.add(repair, words.next()?);
        }
        for _ in 0..detectors {
            facts.nanoseconds.push(words.next()?);
            facts.peak_state_bytes.push(words.next()?);
            let found: Vec<u64> = (0..words.next()?).map_while(|_| words.next()).collect();
            findings.push(Findings::from_words(&found)?);
        }
        words.next().is_none().then_some(Told { facts, repairs, findings })
    }

    /// What all workers of a slice said, in words that [`all_from_words`](Self::all_from_words) reads.
    pub(crate) fn all_to_words(all: &[Told]) -> Vec<u64> {
        lists(&all.iter().map(Told::to_words).collect::<Vec<_>>())
    }

    /// What all workers of a slice said; none if the words are not theirs.
    pub(crate) fn all_from_words(words: &[u64], detectors: usize) -> Option<Vec<Told>> {
        let lists = from_lists(words).filter(|lists| !lists.is_empty())?;
        lists.iter().map(|words| Told::from_words(words, detectors)).collect()
    }
}

impl WorkerFacts {
    /// Adds what the same worker did in another slice.
    pub(crate) fn add(&mut self, other: &WorkerFacts) {
        self.bytes_sent += other.bytes_sent;
        self.events_sent += other.events_sent;
        self.processor += other.processor;
        for (own, other) in self.nanoseconds.iter_mut().zip(&other.nanoseconds) {
            *own += other;
        }
        for (own, other) in self.peak_state_bytes.iter_mut().zip(&other.peak_state_bytes) {
            *own = (*own).max(*other);
        }
    }
}

/// Lists of words one after the other, each with its length first.
pub(crate) fn lists(lists: &[Vec<u64>]) -> Vec<u64> {
    lists.iter().flat_map(|list| std::iter::once(list.len() as u64).chain(list.iter().copied())).collect()
}

/// The lists in some words; none if they are not lists.
pub(crate) fn from_lists(mut words: &[u64]) -> Option<Vec<Vec<u64>>> {
    let mut lists = Vec::new();
    while let Some((&length, rest)) = words.split_first() {
        let (list, rest) = rest.split_at_checked(length.try_into().ok()?)?;
        lists.push(list.to_vec());
        words = rest;
    }
    Some(lists)
}
