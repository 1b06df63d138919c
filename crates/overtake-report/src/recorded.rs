//! Races of a recorded program, ready to be told: one for each pair of lines, whatever calls led there and whichever detector
//! found it, with the locks held at both accesses.

use std::collections::BTreeMap;

use overtake_detect::{Access, Race, Verdict};
use overtake_trace::{Action, Block, EventIndex, Frame, LocationId, LockId, Symbols, ThreadId};

use crate::model::Analysed;

/// Races between one pair of lines.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordedRace {
    /// One of them, of the surest verdict.
    pub example: Race,
    /// How many there are.
    pub count: u64,
    /// Locks held at the first and at the second access of the example.
    pub held: [Vec<HeldLock>; 2],
}

/// A lock that is held at an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldLock {
    /// The lock.
    pub lock: LockId,
    /// Whether others may hold it at the same time.
    pub shared: bool,
    /// Where it was taken.
    pub taken_at: LocationId,
}

/// What tells races apart for whoever reads about them: both lines, in whichever order.
type Lines = (Line, Line);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Line {
    Source { file: String, line: u32, function: String },
    Unnamed(LocationId),
}

/// The races of all detectors, observed ones first, in order of their second accesses.
pub fn races(analysed: &Analysed<'_>) -> Vec<RecordedRace> {
    let mut by_lines: BTreeMap<Lines, RecordedRace> = BTreeMap::new();
    for findings in &analysed.findings {
        let mut counts: BTreeMap<Lines, u64> = BTreeMap::new();
        for group in findings.races.groups() {
            let lines = lines_of(&group.example, analysed.symbols);
            *counts.entry(lines.clone()).or_default() += group.count;
            let new = RecordedRace { example: group.example, count: 0, held: [Vec::new(), Vec::new()] };
            let known = by_lines.entry(lines).or_insert_with(|| new.clone());
            if preference(&new.example) < preference(&known.example) {
                *known = RecordedRace { count: known.count, ..new };
            }
        }
        // Several detectors find the same races: what one of them counted is not counted again.
        for (lines, count) in counts {
            if let Some(race) = by_lines.get_mut(&lines) {
                race.count = race.count.max(count);
            }
        }
    }
    let mut races: Vec<_> = by_lines.into_values().collect();
    races.sort_by_key(|race| preference(&race.example));
    races
}

fn preference(race: &Race) -> (Verdict, EventIndex, EventIndex) {
    (race.verdict, race.second.at.index, race.first.at.index)
}

fn lines_of(race: &Race, symbols: &Symbols) -> Lines {
    let line = |access: &Access| {
        let location = access.at.location;
        match symbols.program.innermost(location) {
            Some(Frame { file, line, function, .. }) if !file.is_empty() => {
                Line::Source { file: file.clone(), line: *line, function: function.clone() }
            }
            _ => Line::Unnamed(location),
        }
    };
    let (first, second) = (line(&race.first), line(&race.second));
    if first <= second { (first, second) } else { (second, first) }
}

/// Follows locks through a trace, and notes which are held at the accesses of races.
#[derive(Debug)]
pub struct Holdings {
    /// Events that matter, ascending.
    wanted: Vec<EventIndex>,
    held: BTreeMap<ThreadId, Vec<HeldLock>>,
    found: BTreeMap<EventIndex, Vec<HeldLock>>,
}

impl Holdings {
    /// For the accesses of these races.
    pub fn of(races: &[RecordedRace]) -> Holdings {
        let events =
            races.iter().flat_map(|race| [race.example.first.at.index, race.example.second.at.index]);
        let mut wanted: Vec<_> = events.collect();
        wanted.sort_unstable();
        wanted.dedup();
        Holdings { wanted, held: BTreeMap::new(), found: BTreeMap::new() }
    }

    /// Reads the next block of the trace. False if what follows does not matter.
    pub fn read(&mut self, block: &Block) -> bool {
        for (offset, event) in block.events.iter().enumerate() {
            let index = EventIndex(block.first.0 + offset as u64);
            let held = self.held.entry(event.thread());
            let (lock, shared) = match event.action() {
                Action::Acquire(lock) => (lock, false),
                Action::AcquireShared(lock) => (lock, true),
                Action::Release(lock) | Action::ReleaseShared(lock) => {
                    held.or_default().retain(|held| held.lock != lock);
                    continue;
                }
                _ => {
                    if self.wanted.get(self.found.len()) == Some(&index) {
                        self.found.insert(index, held.or_default().clone());
                        if self.found.len() == self.wanted.len() {
                            return false;
                        }
                    }
                    continue;
                }
            };
            held.or_default().push(HeldLock { lock, shared, taken_at: event.location() });
        }
        true
    }

    /// Puts what was found into the races.
    pub fn tell(&self, races: &mut [RecordedRace]) {
        for race in races {
            let accesses = [race.example.first.at.index, race.example.second.at.index];
            race.held = accesses.map(|index| self.found.get(&index).cloned().unwrap_or_default());
        }
    }
}
