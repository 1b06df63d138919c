//! Which accesses a race is between, where the shadow knows only from which event on to look for them.
//!
//! A part of an array keeps one access for all its elements, the first of the footprint it came from. So the detector
//! collects the races of elements here, and if there are any the trace is read again: on each side of a race, the first
//! access that the thread makes to the element from the kept event on, of the kept kind, is the one to name.
//!
//! **Invariants.**
//!   I1  What is kept for an element is not later than the element's access for which it is kept, and in the same epoch
//!       of the same thread. So the access that is found is in that epoch as well, and races as the kept one would.
//! **Limit.** If several races of the same elements have the same two locations, as far as locations are kept, only the first is named; the
//! others are counted. So at most one race is named for each racy part and pair of locations.

use std::collections::VecDeque;

use overtake_trace::{ArrayId, EventIndex, IdVec, LocationId, Sizes, ThreadId, VarId, Variable, Variables};
use rustc_hash::FxHashMap;

use crate::access::{Access, AccessKind, At};
use crate::extent::Extent;
use crate::findings::Findings;
use crate::race::{Race, Verdict};
use crate::visitor::{Touch, Visitor};

/// What races.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Racing {
    /// An element, by its variable.
    Variable(VarId),
    /// Elements that share their cell.
    Elements(Extent),
}

/// A race of elements.
#[derive(Debug)]
struct Found {
    subject: Racing,
    first: Access,
    second: Access,
    /// How often.
    times: u64,
    /// The variable that is accessed, once it is known.
    var: Option<VarId>,
}

/// The races of elements, in the order in which they were found.
#[derive(Default, Debug)]
pub(super) struct FoundRaces {
    races: Vec<Found>,
    known: FxHashMap<(Racing, LocationId, LocationId), u32>,
}

impl FoundRaces {
    #[cold]
    #[inline(never)]
    pub(super) fn add(&mut self, subject: Racing, first: Access, second: Access) {
        let key = (subject, first.at.location, second.at.location);
        let position = *self.known.entry(key).or_insert_with(|| {
            self.races.push(Found { subject, first, second, times: 0, var: None });
            self.races.len() as u32 - 1
        });
        self.races[position as usize].times += 1;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.races.is_empty()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.races.capacity() * size_of::<Found>()
            + self.known.capacity() * size_of::<((Racing, LocationId, LocationId), u32)>()
    }
}

/// An element by either of its names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Element {
    Variable(VarId),
    Of(ArrayId, u64),
}

/// A side of a race: the race's number, and whether it is the second access.
type RaceSide = (usize, bool);

/// Sides to be named whose accesses are by one thread.
#[derive(Default, Debug)]
struct Wanted {
    /// Those of which the kept event has not come yet, in its order.
    upcoming: VecDeque<(EventIndex, RaceSide)>,
    /// The others, by what to look for.
    looking: FxHashMap<(Element, AccessKind), Vec<RaceSide>>,
}

/// The second reading of a trace with races of elements.
#[derive(Debug)]
pub(super) struct Naming {
    races: Vec<Found>,
    wanted: IdVec<ThreadId, Wanted>,
}

impl Naming {
    pub(super) fn new(found: FoundRaces) -> Naming {
        let races = found.races;
        let mut sides: Vec<(Access, RaceSide)> = Vec::with_capacity(2 * races.len());
        for (number, race) in races.iter().enumerate() {
            sides.extend([(race.first, (number, false)), (race.second, (number, true))]);
        }
        sides.sort_unstable_by_key(|(access, side)| (access.at.index, *side));
        let mut wanted: IdVec<ThreadId, Wanted> = IdVec::new();
        for (access, side) in sides {
            wanted.entry(access.at.thread).upcoming.push_back((access.at.index, side));
        }
        Naming { races, wanted }
    }

    /// Whether an access of the thread may be one to name.
    #[inline]
    fn is_looking(&self, thread: ThreadId) -> bool {
        let wanted = &self.wanted[thread];
        !wanted.looking.is_empty() || !wanted.upcoming.is_empty()
    }

    /// Names the sides that wait for this access.
    fn look(&mut self, access: Access, var: VarId, variables: &Variables) {
        let Naming { races, wanted } = self;
        let Wanted { upcoming, looking } = &mut wanted[access.at.thread];
        while let Some((_, side)) = upcoming.pop_front_if(|(from, _)| *from <= access.at.index) {
            let race = &races[side.0];
            let subject = match race.subject {
                Racing::Variable(var) => Element::Variable(var),
                Racing::Elements(extent) => Element::Of(extent.array, extent.first),
            };
            let kind = if side.1 { race.second.kind } else { race.first.kind };
            looking.entry((subject, kind)).or_default().push(side);
        }
        if looking.is_empty() {
            return;
        }
        let element = match variables.get(var) {
            Variable::Element { array, index } => Some(Element::Of(array, index)),
            _ => None,
        };
        for element in [Some(Element::Variable(var)), element].into_iter().flatten() {
            for (number, is_second) in looking.remove(&(element, access.kind)).into_iter().flatten() {
                let race = &mut races[number];
                race.var = Some(var);
                *if is_second { &mut race.second } else { &mut race.first } = access;
            }
        }
    }

    /// Reports all races, in the order in which they were found.
    pub(super) fn finish(&mut self, races: &mut Findings) {
        let is_done = |wanted: &Wanted| wanted.looking.is_empty() && wanted.upcoming.is_empty();
        debug_assert!(self.wanted.iter().all(is_done), "I1: {self:?}");
        for Found { subject, first, second, times, var } in self.races.drain(..) {
            let Some(var) = var else { continue }; // only if the trace was another one than before
            // A footprint is judged after accesses that came later.
            let (first, second) =
                if first.at.index < second.at.index { (first, second) } else { (second, first) };
            let race = Race { var, verdict: Verdict::Observed, first, second };
            match subject {
                Racing::Variable(_) => races.report_times(race, times),
                Racing::Elements(extent) => races.report_extent(race, extent, times),
            }
        }
    }

    pub(super) fn state_bytes(&self) -> usize {
        let sides: usize = self.wanted.iter().map(|wanted| wanted.upcoming.capacity()).sum();
        self.races.capacity() * size_of::<Found>() + sides * size_of::<(EventIndex, RaceSide)>()
    }
}

impl Visitor for Naming {
    fn reserve(&mut self, sizes: &Sizes) {
        self.wanted.grow_to(sizes.threads);
    }

    #[inline]
    fn access(&mut self, at: At, touch: Touch<'_>) {
        if self.is_looking(at.thread) {
            for (var, kind) in touch.each() {
                self.look(Access { at, kind }, var, touch.variables);
            }
        }
    }
}
