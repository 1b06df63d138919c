//! Races, and the log that groups and counts them.

use overtake_trace::{ArrayId, EventIndex, Id, LocationId, Symbols, VarId, Variable};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::access::Access;
use crate::extent::{Extent, ExtentSet};

/// How sure a race is. Three words, never mixed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Verdict {
    /// Nothing orders the accesses in this very run.
    Observed,
    /// A correct reordering of this run brings the accesses side by side.
    Predicted,
    /// A locking discipline is violated; it may be harmless.
    Suspected,
}

impl Verdict {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Observed => "observed",
            Verdict::Predicted => "predicted",
            Verdict::Suspected => "suspected",
        }
    }
}

/// Two conflicting accesses; `second` comes later in the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// The variable.
    pub var: VarId,
    /// How sure it is.
    pub verdict: Verdict,
    /// The earlier access.
    pub first: Access,
    /// The later access.
    pub second: Access,
}

impl Race {
    /// How many events apart the accesses are: `j - i`.
    pub fn distance(&self) -> u64 {
        self.second.at.index.0 - self.first.at.index.0
    }
}

/// All races between one pair of source locations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RaceGroup {
    /// Number in order of discovery, from 1. Same trace and options, same number.
    pub id: u32,
    /// The race found first; its verdict is the surest of the group.
    pub example: Race,
    /// The first race of the surest verdict.
    pub surest: Race,
    /// The elements that raced together, of which the example names the first.
    pub extent: Option<Extent>,
    /// How many races were reported between these locations.
    pub count: u64,
    /// How many of them were observed.
    pub observed: u64,
}

impl RaceGroup {
    /// Takes the verdict of another race between these locations.
    fn take_verdict(&mut self, race: &Race) {
        if race.verdict < self.surest.verdict {
            self.surest = *race;
        }
        self.example.verdict = self.surest.verdict;
    }
}

/// Where detectors report races. Groups them by pair of source locations and keeps the metrics.
///
/// Accesses without a location are grouped by variable instead, or all of them would be one group.
#[derive(Default, Debug)]
pub struct RaceLog {
    racy_events: Vec<EventIndex>,
    racy_variables: FxHashSet<VarId>,
    /// Elements that race together and are not among `racy_variables` yet.
    extents: FxHashSet<Extent>,
    racy_locations: FxHashSet<LocationId>,
    groups: Vec<RaceGroup>,
    group_of: FxHashMap<GroupKey, u32>,
    max_distance: u64,
    races: u64,
}

type GroupKey = (LocationId, LocationId, Option<Subject>);

/// What accesses without a location are grouped by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Subject {
    Variable(VarId),
    Array(ArrayId),
}

impl RaceLog {
    /// An empty log.
    pub fn new() -> RaceLog {
        RaceLog::default()
    }

    /// Takes a race.
    #[cold]
    #[inline(never)]
    pub fn report(&mut self, race: Race) {
        self.report_times(race, 1);
    }

    /// Takes races of one variable between the same locations, of which one is given.
    pub(crate) fn report_times(&mut self, race: Race, times: u64) {
        self.racy_variables.insert(race.var);
        self.count(race, times, None);
    }

    /// Takes races of all elements of `extent` between the same locations, of which one of the first element is given.
    /// The variables of the other elements are found by [`name_elements`](Self::name_elements).
    pub fn report_extent(&mut self, race: Race, extent: Extent, times: u64) {
        self.extents.insert(extent);
        self.count(race, extent.elements().saturating_mul(times), Some(extent));
    }

    fn count(&mut self, race: Race, races: u64, extent: Option<Extent>) {
        debug_assert!(race.first.at.index < race.second.at.index);
        debug_assert!(race.first.at.thread != race.second.at.thread);
        debug_assert!(race.first.kind.conflicts(race.second.kind));
        self.races = self.races.saturating_add(races);
        self.max_distance = self.max_distance.max(race.distance());
        let second = race.second.at;
        if self.racy_events.last() != Some(&second.index) {
            self.racy_events.push(second.index);
        }
        if second.location.is_known() {
            self.racy_locations.insert(second.location);
        }
        let group = self.group(&race, extent);
        group.count = group.count.saturating_add(races);
        if race.verdict == Verdict::Observed {
            group.observed = group.observed.saturating_add(races);
        }
        group.take_verdict(&race);
    }

    /// Adds what another log of the same trace holds, as if it had been reported after what this one holds.
    /// Variables of the other log go by the name that `rename` gives them.
    pub(crate) fn absorb(&mut self, other: &RaceLog, rename: impl Fn(VarId) -> VarId) {
        self.racy_events.extend(&other.racy_events);
        self.racy_variables.extend(other.racy_variables.iter().map(|&var| rename(var)));
        self.racy_locations.extend(&other.racy_locations);
        self.max_distance = self.max_distance.max(other.max_distance);
        self.races += other.races;
        for group in &other.groups {
            let example = Race { var: rename(group.example.var), ..group.example };
            let known = self.group(&example, group.extent);
            let is_new = known.count == 0;
            known.count += group.count;
            known.observed += group.observed;
            let surest = Race { var: rename(group.surest.var), ..group.surest };
            if is_new {
                known.surest = surest;
            }
            known.take_verdict(&surest);
        }
    }

    /// The group of a race, new if there is none.
    fn group(&mut self, race: &Race, extent: Option<Extent>) -> &mut RaceGroup {
        let position = *self.group_of.entry(group_key(race, extent)).or_insert_with(|| {
            let id = self.groups.len() as u32 + 1;
            self.groups.push(RaceGroup { id, example: *race, surest: *race, extent, count: 0, observed: 0 });
            id - 1
        });
        &mut self.groups[position as usize]
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
        &self.groups
    }

    /// The largest distance `j - i` of a reported race.
    pub fn max_distance(&self) -> u64 {
        self.max_distance
    }

    /// How many races were reported, each second event counted once per partner.
    pub fn races(&self) -> u64 {
        self.races
    }

    /// Whether no race was reported.
    pub fn is_empty(&self) -> bool {
        self.races == 0
    }
}

fn group_key(race: &Race, extent: Option<Extent>) -> GroupKey {
    let (first, second) = (race.first.at.location, race.second.at.location);
    let subject = extent.map_or(Subject::Variable(race.var), |extent| Subject::Array(extent.array));
    let subject = (!first.is_known() || !second.is_known()).then_some(subject);
    (first.min(second), first.max(second), subject)
}
