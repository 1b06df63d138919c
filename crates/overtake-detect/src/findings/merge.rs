//! Logs of workers that each judged some of the variables, brought together.
//!
//! **Answer.** The log that one detector would have made if it had judged all variables in trace order.
//! **Assumes.** Every finding is a race, and all races that are reported at one event were reported by one worker. Then the order of these
//! events, and within an event the order of the worker, is the order of discovery.

use overtake_trace::EventIndex;

use super::{Findings, Group, Grouped, RaceGroup, take_verdict};
use crate::race::Race;

impl Findings {
    /// The log of all variables, given the logs of workers that each judged some of them.
    pub fn merged<'a>(parts: &'a [Findings]) -> Findings {
        let mut all = Findings::new();
        for part in parts {
            debug_assert!(part.deadlocks.groups.is_empty(), "a worker finds races only");
            all.racy_events.extend(&part.racy_events);
            all.racy_variables.extend(&part.racy_variables);
            all.extents.extend(&part.extents);
            all.racy_locations.extend(&part.racy_locations);
            all.max_distance = all.max_distance.max(part.max_distance);
            all.distances.absorb(&part.distances);
            all.race_count = all.race_count.saturating_add(part.race_count);
        }
        all.racy_events.sort_unstable();
        all.racy_events.dedup();
        let of_part = |part: &'a Findings| part.found_at.iter().copied().zip(&part.races.groups);
        let mut groups: Vec<(EventIndex, &RaceGroup)> = parts.iter().flat_map(of_part).collect();
        // Stable, so that groups of one event stay in the order of their worker.
        groups.sort_by_key(|(found_at, _)| *found_at);
        for (found_at, group) in groups {
            all.take_group(group, found_at);
        }
        all
    }

    /// Adds a group of another log. Its first race comes after those of all groups that were added before.
    fn take_group(&mut self, group: &RaceGroup, found_at: EventIndex) {
        let known = self.races.of(&group.example, group.extent, &mut self.groups);
        if known.count == 0 {
            *known = Group { id: known.id, ..*group };
            self.found_at.push(found_at);
            return;
        }
        known.count = known.count.saturating_add(group.count);
        known.observed = known.observed.saturating_add(group.observed);
        // The first race of a group was found before all others.
        let sureness = |race: &Race| (race.verdict(), *race != known.example, race.second.at.index);
        if sureness(&group.surest) < sureness(&known.surest) {
            known.surest = group.surest;
        }
        let surest = known.surest;
        take_verdict(known, &surest);
    }
}

#[cfg(test)]
mod tests {
    use crate::access::{Access, AccessKind, At};
    use crate::findings::Findings;
    use crate::race::{Race, Verdict};
    use overtake_trace::{EventIndex, LocationId, ThreadId, VarId};

    fn race(var: u32, verdict: Verdict, first: u64, second: u64, location: u32) -> Race {
        let access = |index, thread| Access {
            at: At { index: EventIndex(index), thread: ThreadId(thread), location: LocationId(location) },
            kind: AccessKind::Write,
        };
        Race { var: VarId(var), verdict, first: access(first, 0), second: access(second, 1) }
    }

    #[test]
    fn logs_of_workers_become_the_log_of_one_detector() {
        use Verdict::{Observed, Predicted};
        let races = [
            race(0, Predicted, 1, 10, 7),
            race(1, Predicted, 2, 20, 8),
            race(0, Observed, 3, 25, 8),
            race(1, Observed, 4, 30, 7),
            race(0, Observed, 5, 50, 7),
            race(2, Observed, 5, 50, 9),
        ];
        let mut all = Findings::new();
        let mut parts = [Findings::new(), Findings::new(), Findings::new()];
        for race in races {
            all.report(race);
            // Variables 0 and 2 have one worker: event 50 is in races of both.
            parts[race.var.0 as usize % 2].report(race);
        }
        let merged = Findings::merged(&parts);
        assert_eq!(merged.groups(), all.groups());
        assert_eq!(merged.racy_events(), all.racy_events());
        assert_eq!(merged.racy_variables(), all.racy_variables());
        assert_eq!(merged.racy_locations(), all.racy_locations());
        assert_eq!((merged.races(), merged.max_distance()), (all.races(), all.max_distance()));
        assert_eq!(merged.distances(), all.distances());
    }
}
