//! Where detectors report: findings are grouped, numbered and counted here, and nowhere else in this crate.
//!
//! Findings of one kind that agree in their [`Grouped::Key`] are one group: races between the same pair of source
//! locations, deadlocks of the same acquires. Groups of all kinds share one sequence of numbers, in the order of discovery.

mod merge;
mod wire;

use std::hash::Hash;

use overtake_trace::{EventIndex, Id, LocationId, Symbols, ThreadId, VarId, Variable};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::access::At;
use crate::extent::{Extent, ExtentSet};
use crate::finding::{Deadlock, Finding};
use crate::hinge::{Hinge, Hinges};
use crate::race::{Race, Verdict};

/// A finding that is grouped with others like it.
pub(crate) trait Grouped: Clone {
    /// What findings of one group have in common.
    type Key: Clone + Eq + Hash;

    /// The key. `extent` are the elements that race together, if they do.
    fn key(&self, extent: Option<Extent>) -> Self::Key;

    /// How sure the finding is.
    fn verdict(&self) -> Verdict;

    /// Says how sure the finding is.
    fn set_verdict(&mut self, verdict: Verdict);
}

/// Findings of one kind that have their key in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group<F> {
    /// Number in order of discovery, from 1. Same trace and options, same number.
    pub id: u32,
    /// The finding that came first; its verdict is the surest of the group.
    pub example: F,
    /// The first finding of the surest verdict.
    pub surest: F,
    /// The elements that raced together, of which the example names the first.
    pub extent: Option<Extent>,
    /// How many findings were reported.
    pub count: u64,
    /// How many of them were observed.
    pub observed: u64,
}

/// All races between one pair of source locations.
pub type RaceGroup = Group<Race>;

/// Gives a group the verdict of another one of its findings, if that is surer.
fn take_verdict<F: Grouped>(group: &mut Group<F>, finding: &F) {
    if finding.verdict() < group.surest.verdict() {
        group.surest = finding.clone();
    }
    group.example.set_verdict(group.surest.verdict());
}

/// The groups of one kind of finding.
#[derive(Clone, Debug)]
struct Groups<F: Grouped> {
    groups: Vec<Group<F>>,
    positions: FxHashMap<F::Key, u32>,
}

impl<F: Grouped> Default for Groups<F> {
    fn default() -> Self {
        Groups { groups: Vec::new(), positions: FxHashMap::default() }
    }
}

impl<F: Grouped> Groups<F> {
    /// The group of a finding, new if there is none; `groups` counts those of all kinds.
    fn of(&mut self, finding: &F, extent: Option<Extent>, groups: &mut u32) -> &mut Group<F> {
        let position = *self.positions.entry(finding.key(extent)).or_insert_with(|| {
            *groups += 1;
            let (example, surest) = (finding.clone(), finding.clone());
            self.groups.push(Group { id: *groups, example, surest, extent, count: 0, observed: 0 });
            self.groups.len() as u32 - 1
        });
        &mut self.groups[position as usize]
    }

    /// Takes a finding that was made this many times.
    fn add(&mut self, finding: &F, extent: Option<Extent>, times: u64, groups: &mut u32) {
        let group = self.of(finding, extent, groups);
        group.count = group.count.saturating_add(times);
        if finding.verdict() == Verdict::Observed {
            group.observed = group.observed.saturating_add(times);
        }
        take_verdict(group, finding);
    }

    fn call_predictions_possible(&mut self) {
        for group in self.groups.iter_mut().filter(|group| group.surest.verdict() == Verdict::Predicted) {
            group.surest.set_verdict(Verdict::Possible);
            group.example.set_verdict(Verdict::Possible);
        }
    }

    /// Adds groups of another log; `rename` gives findings the names of this one.
    fn absorb(&mut self, other: &Groups<F>, rename: impl Fn(&F) -> F, groups: &mut u32) {
        for group in &other.groups {
            let known = self.of(&rename(&group.example), group.extent, groups);
            let is_new = known.count == 0;
            known.count = known.count.saturating_add(group.count);
            known.observed = known.observed.saturating_add(group.observed);
            let surest = rename(&group.surest);
            if is_new {
                known.surest = surest.clone();
            }
            take_verdict(known, &surest);
        }
    }
}

/// How many races have accesses at most 1, 2, 4, 8 and so on events apart, and farther apart than the distance before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Distances([u64; 65]);

impl Default for Distances {
    fn default() -> Self {
        Distances([0; 65])
    }
}

impl Distances {
    fn note(&mut self, distance: u64, races: u64) {
        let power = distance.max(1).checked_next_power_of_two().map_or(64, u64::trailing_zeros);
        let count = &mut self.0[power as usize];
        *count = count.saturating_add(races);
    }

    fn absorb(&mut self, other: &Distances) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count = count.saturating_add(more);
        }
    }

    /// The distances that have these counts; none if there are too many.
    fn of(counts: &[u64]) -> Option<Distances> {
        let mut distances = Distances::default();
        distances.0.get_mut(..counts.len())?.copy_from_slice(counts);
        Some(distances)
    }

    /// The counts of distances 1, 2, 4 and so on, as far as there are any.
    pub fn counts(&self) -> &[u64] {
        let used = self.0.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        &self.0[..used]
    }
}

/// Where detectors report what they find. Groups findings and keeps the metrics of races.
#[derive(Clone, Default, Debug)]
pub struct Findings {
    racy_events: Vec<EventIndex>,
    racy_variables: FxHashSet<VarId>,
    /// Elements that race together and are not among `racy_variables` yet.
    extents: FxHashSet<Extent>,
    racy_locations: FxHashSet<LocationId>,
    races: Groups<Race>,
    /// Per group of races, the event at which its first race was reported. Mostly this is the second access, but the locking discipline may
    /// name an earlier pair.
    found_at: Vec<EventIndex>,
    deadlocks: Groups<Deadlock>,
    hinges: Hinges,
    /// Groups of all kinds.
    groups: u32,
    max_distance: u64,
    distances: Distances,
    race_count: u64,
}

impl Findings {
    /// Nothing found yet.
    pub fn new() -> Findings {
        Findings::default()
    }

    /// Takes a finding.
    #[inline(always)] // so that the kind is known where the finding is made
    pub fn report(&mut self, finding: impl Into<Finding>) {
        match finding.into() {
            Finding::Race(race) => self.report_race(race),
            Finding::Deadlock(deadlock) => self.report_deadlock(&deadlock),
        }
    }

    #[cold]
    #[inline(never)]
    fn report_race(&mut self, race: Race) {
        self.report_times(race, 1);
    }

    /// Takes a possible race, with the racy reads that decide whether it can happen.
    #[cold]
    pub fn report_possible(&mut self, race: Race, hinges: Vec<Hinge>) {
        self.hinges.note(&race, hinges);
        self.report_times(race, 1);
    }

    /// From the event at `since` on, races of `thread` hinge on a racy read.
    pub(crate) fn doubt(&mut self, thread: ThreadId, since: EventIndex, hinge: Hinge) {
        self.hinges.doubt(thread, since, hinge);
    }

    /// It is not known what racy reads saw: all predicted races become possible ones.
    pub(crate) fn call_predictions_possible(&mut self) {
        self.races.call_predictions_possible();
        self.deadlocks.call_predictions_possible();
    }

    /// Whether anything is predicted.
    pub(crate) fn predicts(&self) -> bool {
        self.races.groups.iter().any(|group| group.surest.verdict == Verdict::Predicted)
            || self.deadlocks.groups.iter().any(|group| group.surest.verdict == Verdict::Predicted)
    }

    /// Calls predicted deadlocks possible if they hinge on something.
    pub(crate) fn doubt_deadlocks(&mut self, hinges: impl Fn(&Deadlock) -> bool) {
        for group in self.deadlocks.groups.iter_mut() {
            if group.surest.verdict == Verdict::Predicted && hinges(&group.surest) {
                group.surest.verdict = Verdict::Possible;
                group.example.verdict = Verdict::Possible;
            }
        }
    }

    /// Calls predicted races possible if they hinge on something.
    pub(crate) fn doubt_races(&mut self, hinges: impl Fn(&Race) -> Option<Vec<Hinge>>) {
        for group in self.races.groups.iter_mut().filter(|group| group.surest.verdict == Verdict::Predicted) {
            let Some(hinges) = hinges(&group.surest) else { continue };
            for race in [&mut group.surest, &mut group.example] {
                race.verdict = Verdict::Possible;
                self.hinges.note(race, hinges.clone());
            }
        }
    }

    /// The reads that a possible race hinges on, the first few of them in trace order.
    pub fn hinges(&self, race: &Race) -> &[Hinge] {
        self.hinges.of(race)
    }

    #[cold]
    #[inline(never)]
    fn report_deadlock(&mut self, deadlock: &Deadlock) {
        self.deadlocks.add(deadlock, None, 1, &mut self.groups);
    }

    /// Takes races of one variable between the same locations, of which one is given.
    pub(crate) fn report_times(&mut self, race: Race, times: u64) {
        let race = self.hinges.doubted(race);
        self.racy_variables.insert(race.var);
        self.count(race, times, None, race.second.at.index);
    }

    /// Takes a race that is noticed at a later event.
    #[cold]
    pub(crate) fn report_late(&mut self, race: Race, at: EventIndex) {
        self.racy_variables.insert(race.var);
        self.count(race, 1, None, at);
    }

    /// Takes races of all elements of `extent` between the same locations, of which one of the first element is given.
    /// The variables of the other elements are found by [`name_elements`](Self::name_elements).
    pub fn report_extent(&mut self, race: Race, extent: Extent, times: u64) {
        self.extents.insert(extent);
        self.count(race, extent.elements().saturating_mul(times), Some(extent), race.second.at.index);
    }

    fn count(&mut self, race: Race, races: u64, extent: Option<Extent>, found_at: EventIndex) {
        debug_assert!(race.first.at.index < race.second.at.index);
        debug_assert!(race.first.at.thread != race.second.at.thread);
        debug_assert!(race.first.kind.conflicts(race.second.kind));
        self.race_count = self.race_count.saturating_add(races);
        self.max_distance = self.max_distance.max(race.distance());
        self.distances.note(race.distance(), races);
        let second = race.second.at;
        if self.racy_events.last() != Some(&second.index) {
            self.racy_events.push(second.index);
        }
        if second.location.is_known() {
            self.racy_locations.insert(second.location);
        }
        self.races.add(&race, extent, races, &mut self.groups);
        if self.found_at.len() < self.races.groups.len() {
            self.found_at.push(found_at);
        }
    }

    /// Adds what another log of the same trace holds, as if it had been reported after what this one holds.
    /// Variables of the other log go by the name that `rename` gives them.
    pub(crate) fn absorb(&mut self, other: &Findings, rename: impl Fn(VarId) -> VarId) {
        self.racy_events.extend(&other.racy_events);
        self.racy_variables.extend(other.racy_variables.iter().map(|&var| rename(var)));
        self.racy_locations.extend(&other.racy_locations);
        self.max_distance = self.max_distance.max(other.max_distance);
        self.distances.absorb(&other.distances);
        self.race_count = self.race_count.saturating_add(other.race_count);
        let renamed = |race: &Race| Race { var: rename(race.var), ..*race };
        self.races.absorb(&other.races, renamed, &mut self.groups);
        let new = &self.races.groups[self.found_at.len()..];
        self.found_at.extend(new.iter().map(|group| group.example.second.at.index));
        self.deadlocks.absorb(&other.deadlocks, Deadlock::clone, &mut self.groups);
    }

    /// Finds the variables of the elements that were reported together. To be called with all names of the trace
    /// before the log is read; costs nothing if every race was reported with its variable.
    pub fn name_elements(&mut self, symbols: &Symbols) {
        if self.extents.is_empty() {
            return;
        }
        let extents = ExtentSet::new(self.extents.drain());
        for var in (0..symbols.variables.len()).map(VarId::from_index) {
            let Variable::Element { array, index } = symbols.variables.get(var) else { continue };
            if extents.contains(array, index) {
                self.racy_variables.insert(var);
            }
        }
    }

    /// Gives the accesses of races the threads that `name` puts in.
    pub(crate) fn name_threads(&mut self, name: &dyn Fn(&mut At)) {
        for group in &mut self.races.groups {
            for race in [&mut group.example, &mut group.surest] {
                name(&mut race.first.at);
                name(&mut race.second.at);
            }
        }
        self.hinges.reads_mut().for_each(name);
    }

    /// A race that was reported turns out to be surer.
    pub(crate) fn raise(&mut self, race: &Race) {
        take_verdict(self.races.of(race, None, &mut self.groups), race);
    }

    /// Second events of races in the order of the reports, from the report number `first` on.
    pub(crate) fn racy_events_from(&self, first: usize) -> &[EventIndex] {
        self.racy_events.get(first..).unwrap_or_default()
    }

    /// Second events of races: each index once, ascending.
    pub fn racy_events(&self) -> Vec<EventIndex> {
        let mut events = self.racy_events.clone();
        events.sort_unstable();
        events.dedup();
        events
    }

    /// Variables of races, in id order.
    pub fn racy_variables(&self) -> Vec<VarId> {
        debug_assert!(self.extents.is_empty(), "elements without a name");
        let mut variables: Vec<_> = self.racy_variables.iter().copied().collect();
        variables.sort_unstable();
        variables
    }

    /// Known source locations of second events, in id order.
    pub fn racy_locations(&self) -> Vec<LocationId> {
        let mut locations: Vec<_> = self.racy_locations.iter().copied().collect();
        locations.sort_unstable();
        locations
    }

    /// The races grouped by unordered pair of source locations, in order of discovery.
    pub fn groups(&self) -> &[RaceGroup] {
        &self.races.groups
    }

    /// The deadlocks grouped by the acquires that are part of them, in order of discovery.
    pub fn deadlocks(&self) -> &[Group<Deadlock>] {
        &self.deadlocks.groups
    }

    /// The largest distance `j - i` of a reported race.
    pub fn max_distance(&self) -> u64 {
        self.max_distance
    }

    /// How far apart the accesses of the reported races are.
    pub fn distances(&self) -> &Distances {
        &self.distances
    }

    /// How many races were reported, each second event counted once per partner.
    pub fn races(&self) -> u64 {
        self.race_count
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.groups == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::{Access, AccessKind, At};
    use crate::finding::DeadlockStep;
    use overtake_trace::{LockId, ThreadId};

    fn at(index: u64, thread: u32, location: u32) -> At {
        At { index: EventIndex(index), thread: ThreadId(thread), location: LocationId(location) }
    }

    fn race(verdict: Verdict, first: At, second: At) -> Race {
        let write = |at| Access { at, kind: AccessKind::Write };
        Race { var: VarId(3), verdict, first: write(first), second: write(second) }
    }

    /// `thread` holds `held` since `start` and waits for `lock` at the event after.
    fn step(start: u64, thread: u32, held: u32, lock: u32) -> DeadlockStep {
        DeadlockStep {
            at: at(start + 1, thread, 10 + lock),
            lock: LockId(lock),
            held_at: at(start, thread, held),
            held: LockId(held),
        }
    }

    #[test]
    fn distances_are_counted_by_powers_of_two() {
        let mut findings = Findings::new();
        for distance in [1, 2, 3, 4, 5, 8, 9] {
            findings.report(race(Verdict::Observed, at(10, 0, 1), at(10 + distance, 1, 2)));
        }
        assert_eq!(findings.distances().counts(), [1, 1, 2, 2, 1]);
        let mut twice = Findings::new();
        twice.absorb(&findings, |var| var);
        twice.absorb(&findings, |var| var);
        assert_eq!(twice.distances().counts(), [2, 2, 4, 4, 2]);
        let mut far = Distances::default();
        far.note(u64::MAX, 1);
        assert_eq!((far.counts().len(), far.counts()[64]), (65, 1));
    }

    #[test]
    fn findings_of_all_kinds_share_their_numbers() {
        let mut findings = Findings::new();
        assert!(findings.is_empty());
        findings.report(race(Verdict::Predicted, at(1, 0, 5), at(2, 1, 6)));
        findings.report(Deadlock::new(vec![step(3, 0, 1, 2), step(5, 1, 2, 1)], Verdict::Predicted));
        findings.report(race(Verdict::Observed, at(7, 0, 6), at(9, 1, 5)));
        findings.report(race(Verdict::Possible, at(7, 0, 8), at(11, 1, 8)));
        let races: Vec<_> = findings.groups().iter().map(|group| (group.id, group.count)).collect();
        let deadlocks: Vec<_> = findings.deadlocks().iter().map(|group| (group.id, group.count)).collect();
        assert_eq!((races, deadlocks), (vec![(1, 2), (3, 1)], vec![(2, 1)]));
        let [first, ..] = findings.groups() else { panic!("two groups") };
        assert_eq!((first.example.verdict, first.observed), (Verdict::Observed, 1));
        assert_eq!(
            (first.surest.first.at.index, first.example.first.at.index),
            (EventIndex(7), EventIndex(1))
        );
        assert_eq!((findings.races(), findings.is_empty()), (3, false));
    }

    #[test]
    fn a_deadlock_is_the_same_wherever_its_cycle_is_entered() {
        let steps = [step(3, 0, 1, 2), step(5, 1, 2, 3), step(7, 2, 3, 1)];
        let mut findings = Findings::new();
        for start in 0..3 {
            let mut steps = steps.to_vec();
            steps.rotate_left(start);
            findings.report(Deadlock::new(steps, Verdict::Predicted));
        }
        let mut other_way = steps.to_vec();
        other_way.reverse();
        findings.report(Deadlock::new(other_way, Verdict::Predicted));
        let counts: Vec<_> = findings.deadlocks().iter().map(|group| group.count).collect();
        assert_eq!(counts, [3, 1]);
    }

    #[test]
    fn absorbed_findings_are_counted_as_if_they_had_been_reported_here() {
        let deadlock = Deadlock::new(vec![step(3, 0, 1, 2), step(5, 1, 2, 1)], Verdict::Predicted);
        let races = [Verdict::Predicted, Verdict::Observed].map(|verdict| {
            let start = if verdict == Verdict::Observed { 20 } else { 10 };
            race(verdict, at(start, 0, 5), at(start + 1, 1, 6))
        });
        let (mut all, mut one, mut other) = (Findings::new(), Findings::new(), Findings::new());
        for (log, race) in [&mut one, &mut other].into_iter().zip(races) {
            for log in [log, &mut all] {
                log.report(race);
                log.report(deadlock.clone());
            }
        }
        one.absorb(&other, |var| var);
        assert_eq!(one.groups(), all.groups());
        assert_eq!(one.deadlocks(), all.deadlocks());
        assert_eq!(one.racy_events(), all.racy_events());
    }
}
