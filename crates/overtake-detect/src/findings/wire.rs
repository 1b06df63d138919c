//! Logs as words, to be sent from one process of a job to another and kept until the job goes on.
//!
//! A log is a row of 64-bit words: counts, then lists, each with its length first. Only races are written: detectors whose variables
//! are spread over workers find nothing else.

use overtake_trace::{ArrayId, EventIndex, LocationId, ThreadId, VarId};

use super::{Distances, Findings, Group, RaceGroup};
use crate::access::{Access, AccessKind, At};
use crate::extent::Extent;
use crate::race::{Race, Verdict};

impl Findings {
    /// The log in words.
    pub fn to_words(&self) -> Vec<u64> {
        debug_assert!(self.deadlocks.groups.is_empty(), "a worker finds races only");
        let mut words = vec![self.race_count, self.max_distance];
        list(&mut words, self.distances.counts().iter().copied());
        list(&mut words, self.racy_events.iter().map(|event| event.0));
        list(&mut words, self.racy_variables().into_iter().map(|var| var.0.into()));
        list(&mut words, self.racy_locations().into_iter().map(|location| location.0.into()));
        words.push(self.races.groups.len() as u64);
        for (group, found_at) in self.races.groups.iter().zip(&self.found_at) {
            words.extend([found_at.0, group.count, group.observed]);
            write_race(&mut words, &group.example);
            write_race(&mut words, &group.surest);
            words.push(group.extent.is_some().into());
            if let Some(Extent { array, first, end, step }) = group.extent {
                words.extend([array.0.into(), first, end, step]);
            }
        }
        words
    }

    /// The log of some words; none if they are not those of a log.
    pub fn from_words(words: &[u64]) -> Option<Findings> {
        let mut words = Words(words);
        let mut findings = Findings::new();
        (findings.race_count, findings.max_distance) = (words.next()?, words.next()?);
        findings.distances = Distances::of(words.list()?)?;
        findings.racy_events = words.list()?.iter().map(|&event| EventIndex(event)).collect();
        findings.racy_variables = words.ids(VarId)?.into_iter().collect();
        findings.racy_locations = words.ids(LocationId)?.into_iter().collect();
        for _ in 0..words.next()? {
            let found_at = EventIndex(words.next()?);
            let group = words.group()?;
            let known = findings.races.of(&group.example, group.extent, &mut findings.groups);
            *known = Group { id: known.id, ..group };
            if findings.found_at.len() < findings.races.groups.len() {
                findings.found_at.push(found_at);
            }
        }
        words.0.is_empty().then_some(findings)
    }
}

fn list(words: &mut Vec<u64>, items: impl ExactSizeIterator<Item = u64>) {
    words.push(items.len() as u64);
    words.extend(items);
}

fn write_race(words: &mut Vec<u64>, race: &Race) {
    words.extend([race.var.0.into(), race.verdict as u64]);
    for Access { at, kind } in [race.first, race.second] {
        words.extend([at.index.0, at.thread.0.into(), at.location.0.into(), kind as u64]);
    }
}

/// Words that are still to be read.
struct Words<'a>(&'a [u64]);

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<u64> {
        let (&word, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(word)
    }

    fn number(&mut self) -> Option<u32> {
        self.next()?.try_into().ok()
    }

    fn list(&mut self) -> Option<&'a [u64]> {
        let length = self.next()?.try_into().ok()?;
        let (list, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(list)
    }

    fn ids<I>(&mut self, make: impl Fn(u32) -> I) -> Option<Vec<I>> {
        self.list()?.iter().map(|&word| word.try_into().ok().map(&make)).collect()
    }

    fn access(&mut self) -> Option<Access> {
        let index = EventIndex(self.next()?);
        let (thread, location) = (ThreadId(self.number()?), LocationId(self.number()?));
        let kind = *AccessKind::ALL.get(self.number()? as usize)?;
        Some(Access { at: At { index, thread, location }, kind })
    }

    fn race(&mut self) -> Option<Race> {
        let var = VarId(self.number()?);
        let verdict = *Verdict::ALL.get(self.number()? as usize)?;
        Some(Race { var, verdict, first: self.access()?, second: self.access()? })
    }

    fn group(&mut self) -> Option<RaceGroup> {
        let (count, observed) = (self.next()?, self.next()?);
        let (example, surest) = (self.race()?, self.race()?);
        let extent = match self.next()? {
            0 => None,
            _ => Some(Extent {
                array: ArrayId(self.number()?),
                first: self.next()?,
                end: self.next()?,
                step: self.next()?,
            }),
        };
        Some(Group { id: 0, example, surest, extent, count, observed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> Findings {
        let access = |index, kind| Access {
            at: At {
                index: EventIndex(index),
                thread: ThreadId(index as u32),
                location: LocationId::UNKNOWN,
            },
            kind,
        };
        let mut findings = Findings::new();
        for (index, verdict) in [(5, Verdict::Predicted), (9, Verdict::Observed), (11, Verdict::Suspected)] {
            let (first, second) = (access(2, AccessKind::Write), access(index, AccessKind::Load));
            findings.report(Race { var: VarId(index as u32 / 9), verdict, first, second });
        }
        findings
    }

    #[test]
    fn a_log_survives_its_words() {
        let (log, words) = (log(), log().to_words());
        let read = Findings::from_words(&words).expect("words of a log");
        assert_eq!(read.groups(), log.groups());
        assert_eq!(read.racy_events(), log.racy_events());
        assert_eq!(read.racy_variables(), log.racy_variables());
        assert_eq!((read.races(), read.max_distance()), (log.races(), log.max_distance()));
        assert_eq!(read.distances(), log.distances());
        assert_eq!(read.to_words(), words);
    }

    #[test]
    fn words_that_are_cut_or_too_many_are_no_log() {
        let mut words = log().to_words();
        for end in 0..words.len() {
            assert!(Findings::from_words(&words[..end]).is_none(), "{end} words");
        }
        words.push(0);
        assert!(Findings::from_words(&words).is_none());
    }
}
