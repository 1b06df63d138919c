//! Racy reads that decide whether a possible race can happen.

use overtake_trace::{EventIndex, ThreadId, VarId};
use rustc_hash::FxHashMap;

use crate::access::At;
use crate::race::{Race, Verdict};

/// A racy read: whether a possible race can happen depends on what it saw. It is part of an observed race itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hinge {
    /// The read.
    pub read: At,
    /// What it reads.
    pub var: VarId,
}

/// Which races hinge on racy reads, and on which.
#[derive(Clone, Default, Debug)]
pub(crate) struct Hinges {
    /// The event of each thread from which on its actions depend on what a racy read saw.
    doubts: FxHashMap<ThreadId, (EventIndex, Hinge)>,
    /// The reads that possible races hinge on.
    of: FxHashMap<RaceKey, Vec<Hinge>>,
}

type RaceKey = (EventIndex, EventIndex, VarId);

impl Hinges {
    /// From the event at `since` on, races of `thread` hinge on a racy read.
    pub(crate) fn doubt(&mut self, thread: ThreadId, since: EventIndex, hinge: Hinge) {
        self.doubts.entry(thread).or_insert((since, hinge));
    }

    /// A race hinges on some reads.
    pub(crate) fn note(&mut self, race: &Race, hinges: Vec<Hinge>) {
        self.of.insert(key(race), hinges);
    }

    /// The race as it is to be reported: possible, if one of its accesses is doubtful.
    pub(crate) fn doubted(&mut self, mut race: Race) -> Race {
        if self.doubts.is_empty() {
            return race;
        }
        let doubt = |at: At| self.doubts.get(&at.thread).filter(|(since, _)| at.index >= *since);
        let mut hinges: Vec<Hinge> =
            [race.first.at, race.second.at].into_iter().filter_map(doubt).map(|(_, hinge)| *hinge).collect();
        if !hinges.is_empty() {
            hinges.dedup();
            race.verdict = Verdict::Possible;
            self.note(&race, hinges);
        }
        race
    }

    /// Every read that some race hinges on.
    pub(crate) fn reads_mut(&mut self) -> impl Iterator<Item = &mut At> {
        self.of.values_mut().flatten().map(|hinge| &mut hinge.read)
    }

    /// The reads that a race hinges on, the first few of them in trace order.
    pub(crate) fn of(&self, race: &Race) -> &[Hinge] {
        self.of.get(&key(race)).map_or(&[], Vec::as_slice)
    }
}

fn key(race: &Race) -> RaceKey {
    (race.first.at.index, race.second.at.index, race.var)
}
