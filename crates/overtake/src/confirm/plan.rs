//! The plan of a run: a file that tells the program which threads to hold where. Afterwards it says what happened.

use std::fs;
use std::path::{Path, PathBuf};

use overtake_rawlog::gates;
use overtake_report::result::{Access, Finding, Frame, Kind};

use crate::Error;

/// An instruction: the hash of its module's file name, and its offset in the module.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct Site {
    pub(super) module: u64,
    pub(super) offset: u64,
}

/// Where a thread is held, and which of the threads that come there are held.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Side {
    pub(super) site: Site,
    /// How many of the calls around the access are compared, and their hash.
    callers: (u64, u64),
    /// Where the thread was created.
    created: Site,
    /// For which time the thread must come to be held; 0 is any time.
    occurrence: u64,
}

impl Side {
    /// Who made this access in the recorded run; none where its module is not known.
    fn of(access: &Access) -> Option<Side> {
        let mut sites: Vec<Site> = access.stack.iter().map_while(Site::of).collect();
        sites.dedup(); // functions that were inlined share their instruction
        let site = *sites.first()?;
        let callers = sites.iter().skip(1).take(gates::MOST_CALLERS);
        let hash =
            callers.clone().fold(gates::StackHash::EMPTY, |hash, site| hash.with(site.module, site.offset));
        let created = match access.thread.main {
            true => Site { module: gates::MAIN_THREAD, offset: 0 },
            false => access.thread.created_at.first().and_then(Site::of).unwrap_or_default(),
        };
        Some(Side { site, callers: (callers.count() as u64, hash.word()), created, occurrence: 0 })
    }
}

impl Site {
    /// The instruction at a frame; none where the module is not known.
    pub(super) fn of(frame: &Frame) -> Option<Site> {
        (!frame.module.is_empty())
            .then(|| Site { module: gates::module_hash(frame.module.as_bytes()), offset: frame.offset })
    }
}

/// An acquire that waits until another thread has given the lock back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gate {
    site: Site,
    /// The number of the thread that waits, plus one; 0 is any thread.
    pub(super) thread: u64,
}

/// Which access goes first when both threads stand at theirs.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// The one whose thread was held.
    #[default]
    Any,
    First,
    Second,
}

/// What is wanted of a run for one race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Request {
    /// The two accesses of a race; the acquires of a deadlock, each waiting for the next.
    pub(super) sides: Vec<Side>,
    pub(super) is_deadlock: bool,
    pub(super) gate: Option<Gate>,
    pub(super) order: Order,
}

impl Request {
    /// The request for the two accesses of a race or the acquires of a deadlock; `None` for other findings and for those of programs that were not recorded.
    pub(super) fn of(finding: &Finding) -> Option<Request> {
        let (is_deadlock, most) = match finding.kind {
            Kind::Race => (false, 2),
            Kind::Deadlock => (true, gates::MOST_SIDES),
            Kind::Misuse => return None,
        };
        let sides: Vec<Side> = finding.accesses.iter().map(Side::of).collect::<Option<_>>()?;
        let is_possible = (2..=most).contains(&sides.len());
        is_possible.then_some(Request { sides, is_deadlock, gate: None, order: Order::Any })
    }

    /// The same, but a thread is held only at its visit with this number.
    pub(super) fn at_occurrences(mut self, occurrences: [u64; 2]) -> Request {
        for (side, occurrence) in self.sides.iter_mut().zip(occurrences) {
            side.occurrence = occurrence;
        }
        self
    }

    /// Whether threads are held at one of their visits only.
    pub(super) fn names_occurrences(&self) -> bool {
        self.sides.iter().any(|side| side.occurrence != 0)
    }

    /// The same for more threads: first at any visit, then for threads that were created elsewhere, then for those that come through other calls.
    pub(super) fn coarser(mut self) -> Request {
        let names_creation = self.sides.iter().any(|side| side.created != Site::default());
        let names_occurrences = self.names_occurrences();
        for side in &mut self.sides {
            match (names_occurrences, names_creation) {
                (true, _) => side.occurrence = 0,
                (false, true) => side.created = Site::default(),
                (false, false) => side.callers = (0, 0),
            }
        }
        self
    }
}

/// What happened to one race.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    /// How often threads came to each side.
    pub(super) arrivals: Vec<u64>,
    pub(super) timeouts: u64,
    pub(super) stalls: u64,
    /// How often both accesses were reached together without a conflict.
    pub(super) other_meetings: u64,
    pub(super) meeting: Option<Meeting>,
    /// The acquire that kept the other thread away.
    pub(super) blocking: Option<Gate>,
    /// Of accesses that are made too often to hold each of them: the visits at which threads accessed common bytes, but not at the same time.
    pub(super) learnt: Option<[u64; 2]>,
}

impl Seen {
    /// Whether nobody came to some side.
    pub(super) fn misses_a_side(&self) -> bool {
        self.arrivals.contains(&0)
    }
}

/// A thread that stood at a side when all of them met.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Present {
    pub(super) address: u64,
    pub(super) thread: u64,
    pub(super) length: u64,
    /// Bits of `gates::SIDE_KIND`.
    pub(super) kind: u64,
    /// The call stack, innermost first.
    pub(super) stack: Vec<Site>,
}

/// Two threads stood at conflicting accesses, or all threads of a deadlock before their acquires.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Meeting {
    pub(super) sides: Vec<Present>,
    /// What the common bytes held before, and after the last write, as numbers of `value_bytes` bytes.
    pub(super) value: u64,
    pub(super) new_value: Option<u64>,
    pub(super) value_bytes: u64,
    /// Which side went first, from 0.
    pub(super) first: u32,
}

/// A plan that was written.
pub(super) struct Plan {
    path: PathBuf,
    /// How many sides each race has.
    sides: Vec<usize>,
}

impl Plan {
    /// Writes a plan into a directory.
    pub(super) fn write(
        directory: &Path,
        requests: &[Request],
        limit_milliseconds: u64,
        stops: bool,
    ) -> Result<Plan, Error> {
        let requests = &requests[..requests.len().min(gates::MOST_RACES)];
        let mut words = vec![0_u64; gates::words(gates::MOST_RACES)];
        words[0] = gates::MAGIC;
        words[gates::RACES] = requests.len() as u64;
        words[gates::LIMIT] = limit_milliseconds;
        words[gates::STOPS] = u64::from(stops);
        for (race, request) in words[gates::HEADER..].chunks_exact_mut(gates::RACE).zip(requests) {
            fill(race, request);
        }
        let path = directory.join("plan");
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        fs::write(&path, bytes).map_err(|error| Error::in_file(&path, error))?;
        Ok(Plan { path, sides: requests.iter().map(|request| request.sides.len()).collect() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What happened, race by race.
    pub(super) fn outcome(&self) -> Result<Vec<Seen>, Error> {
        let bytes = fs::read(&self.path).map_err(|error| Error::in_file(&self.path, error))?;
        let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let races = words.get(gates::HEADER..).unwrap_or_default().chunks_exact(gates::RACE);
        Ok(races.zip(&self.sides).map(|(race, sides)| seen(race, *sides)).collect())
    }
}

/// How often a run holds threads at one site. After that they pass it: the site may be in a loop.
const MOST_HOLDS: u64 = 8;

/// Writes what is wanted for one race.
fn fill(race: &mut [u64], request: &Request) {
    for (at, Side { site, callers, created, occurrence }) in request.sides.iter().enumerate() {
        race[gates::SITES + 2 * at] = site.module;
        race[gates::SITES + 2 * at + 1] = site.offset;
        race[gates::CALLERS + 2 * at] = callers.0;
        race[gates::CALLERS + 2 * at + 1] = callers.1;
        race[gates::CREATED + 2 * at] = created.module;
        race[gates::CREATED + 2 * at + 1] = created.offset;
        race[gates::OCCURRENCES + at] = *occurrence;
    }
    if let Some(gate) = request.gate {
        race[gates::GATE] = gate.site.module;
        race[gates::GATE + 1] = gate.site.offset;
        race[gates::GATE_THREAD] = gate.thread;
    }
    race[gates::CYCLE] = if request.is_deadlock { request.sides.len() as u64 } else { 0 };
    race[gates::ORDER] = request.order as u64;
    race[gates::MOST_HOLDS] = MOST_HOLDS;
}

/// What happened to a race with so many sides.
fn seen(race: &[u64], sides: usize) -> Seen {
    let meeting = (race[gates::MEETINGS] > 0).then(|| Meeting {
        sides: race[gates::SIDES..].chunks_exact(gates::SIDE).take(sides).map(present).collect(),
        value: race[gates::VALUE],
        new_value: (race[gates::HAS_NEW_VALUE] != 0).then_some(race[gates::NEW_VALUE]),
        value_bytes: race[gates::VALUE_BYTES],
        first: (race[gates::WENT_FIRST] as u32).saturating_sub(1),
    });
    let site = Site { module: race[gates::BLOCKING], offset: race[gates::BLOCKING + 1] };
    let learnt = [race[gates::LEARNT], race[gates::LEARNT + 1]];
    let is_loop = race[gates::ARRIVALS..][..sides].iter().any(|arrivals| *arrivals > MOST_HOLDS);
    Seen {
        arrivals: race[gates::ARRIVALS..][..sides].to_vec(),
        timeouts: race[gates::TIMEOUTS],
        stalls: race[gates::STALLS],
        other_meetings: race[gates::OTHER_MEETINGS],
        meeting,
        blocking: (site.module != 0).then_some(Gate { site, thread: race[gates::BLOCKING_THREAD] }),
        learnt: (!learnt.contains(&0) && is_loop).then_some(learnt),
    }
}

/// Who stood at a side.
fn present(side: &[u64]) -> Present {
    let frames = (side[gates::SIDE_FRAMES] as usize).min(gates::MOST_FRAMES);
    let pairs = side[gates::SIDE_STACK..].chunks_exact(2).take(frames);
    Present {
        address: side[gates::SIDE_ADDRESS],
        thread: side[gates::SIDE_THREAD],
        length: side[gates::SIDE_LENGTH],
        kind: side[gates::SIDE_KIND],
        stack: pairs.map(|pair| Site { module: pair[0], offset: pair[1] }).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_and_less_is_said_about_who_is_meant() {
        let site = Site { module: 1, offset: 2 };
        let side = Side { site, callers: (1, 7), created: site, occurrence: 0 };
        let request = Request { sides: vec![side; 2], is_deadlock: false, gate: None, order: Order::Any };
        let at_times = request.clone().at_occurrences([700, 300]);
        assert_eq!(at_times.sides.iter().map(|side| side.occurrence).collect::<Vec<_>>(), [700, 300]);
        assert_eq!(at_times.coarser(), request);
        let anywhere = request.coarser();
        assert_eq!(anywhere.sides[0], Side { created: Site::default(), ..side });
        let whoever = anywhere.coarser();
        assert_eq!(whoever.sides[1], Side { site, ..Side::default() });
        assert_eq!(whoever.clone().coarser(), whoever);
    }
}
