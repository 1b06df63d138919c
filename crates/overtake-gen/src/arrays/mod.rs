//! Array sweeps: phases in which threads walk over arrays, with a barrier after each.
//!
//! A [`pattern`] says which elements each thread accesses. Barriers consist of `post` and `wait`, or of a lock if the parameters ask for
//! locks. With a raciness of 0 the trace has no happens-before race. Otherwise, now and then another thread writes an element right
//! after it was accessed: the two are neighbours, so they race, and these elements are exactly the racy ones. Besides the elements
//! there is one variable that only the main thread uses.

pub(crate) mod pattern;

use overtake_trace::{Action, LocationId, Symbols, VarId};

use crate::adjacent::{AdjacentRaces, other_thread};
use crate::barrier::Barrier;
use crate::parameters::{Parameter, ParameterError, Parameters, within};
use crate::program::MainLines;
use crate::rng::Rng;
use crate::sites::{Sites, add_array, add_locks, add_threads};
use crate::tape::{Expectation, Generator, Tape};

use pattern::{Extent, Part, Pattern, Use};

/// Elements that a thread accesses before another thread runs.
const SLICE: u64 = 64;
/// Most events for one element: two reads, a write, and a stray write.
const EVENTS_PER_ELEMENT: u64 = 4;

/// Generates array sweeps.
#[derive(Debug)]
pub(crate) struct Sweeps {
    pattern: Pattern,
    extent: Extent,
    /// Element 0 of the first array; the others follow.
    first_element: u32,
    result: VarId,
    main_lines: MainLines,
    lines: Lines,
    barrier: Barrier,
    phase: u64,
    walks: Vec<Walk>,
    /// Threads that still have work in this phase.
    active: Vec<u32>,
    races: AdjacentRaces,
    started: bool,
    finished: bool,
    rng: Rng,
}

/// The source locations of accesses, by phase and kind, as in a program with a few loops.
#[derive(Debug)]
struct Lines {
    reads: Vec<LocationId>,
    writes: Vec<LocationId>,
}

/// How far a thread is in the current phase.
#[derive(Clone, Copy, Debug)]
struct Walk {
    parts_done: u64,
    part: Part,
    next: u64,
}

impl Sweeps {
    pub(crate) fn new(
        pattern: Pattern,
        parameters: &Parameters,
        symbols: &mut Symbols,
    ) -> Result<Sweeps, ParameterError> {
        let threads = parameters.threads as u32;
        let arrays = pattern.arrays();
        within(Parameter::Variables, parameters.variables, 4 * arrays, u64::MAX)?;
        let length = pattern.length(parameters.variables / arrays);
        let mut rng = Rng::new(parameters.seed);
        let mut sites = Sites::new(parameters.locations);
        let main_lines = MainLines::new(symbols, &mut sites)?;
        add_threads(symbols, threads)?;
        let barrier = if parameters.locks > 0 {
            add_locks(symbols, 1)?;
            Barrier::lock(symbols, &mut sites, threads)?
        } else {
            Barrier::post_wait(symbols, &mut sites, threads)?
        };
        let first_element = add_arrays(symbols, pattern, arrays, length)?;
        let result = symbols.variables.intern(b"result")?;
        let stray_line = sites.place(symbols, "progress.c", 55)?;
        let lines = Lines::new(symbols, &mut sites)?;
        let extent = Extent {
            threads: parameters.threads,
            arrays,
            length,
            scatter: coprime_near(length, 1 + u64::from(rng.below(length as u32))),
        };
        let idle = Walk { parts_done: 0, part: EMPTY, next: 0 };
        Ok(Sweeps {
            pattern,
            extent,
            first_element,
            result,
            main_lines,
            lines,
            barrier,
            // Another seed starts elsewhere in the pattern.
            phase: u64::from(rng.below(1000)) * 2 * parameters.threads,
            walks: vec![idle; threads as usize],
            active: Vec::new(),
            races: AdjacentRaces::new(parameters.raciness, stray_line, &mut rng),
            started: false,
            finished: false,
            rng,
        })
    }

    /// Gives every thread its first part of the phase.
    fn begin_phase(&mut self) {
        for thread in 0..self.walks.len() as u32 {
            let walk = &mut self.walks[thread as usize];
            walk.parts_done = 0;
            walk.part = EMPTY;
            walk.next = 0;
            if self.advance(thread) {
                self.active.push(thread);
            }
        }
    }

    /// Whether the whole next phase fits into the trace, because programs finish their sweeps. Planted races are not counted; they
    /// may cut the last phase short.
    fn next_phase_fits(&self, room: u64) -> bool {
        let Extent { threads, arrays, length, .. } = self.extent;
        if room / EVENTS_PER_ELEMENT / threads >= arrays * length {
            return true; // however many it takes
        }
        let parts = (0..threads).flat_map(|thread| {
            (0..).map_while(move |number| self.pattern.part(&self.extent, self.phase + 1, thread, number))
        });
        let mut events = 0_u64;
        for part in parts {
            events += (part.end - part.first).div_ceil(part.step) * part.usage.events();
            if events > room {
                return false;
            }
        }
        true
    }

    /// Moves to the thread's next part if the current one is done. False if there is no more work.
    fn advance(&mut self, thread: u32) -> bool {
        let walk = &mut self.walks[thread as usize];
        while walk.next >= walk.part.end {
            let next = self.pattern.part(&self.extent, self.phase, u64::from(thread), walk.parts_done);
            let Some(part) = next else { return false };
            walk.parts_done += 1;
            walk.next = part.first;
            walk.part = part;
        }
        true
    }

    /// Lets a random thread walk over a few elements.
    fn run_slice(&mut self, tape: &mut Tape, elements: u64) {
        let at = self.rng.below(self.active.len() as u32) as usize;
        let thread = self.active[at];
        for _ in 0..elements {
            if !self.advance(thread) {
                self.active.swap_remove(at);
                return;
            }
            let Walk { part, next, .. } = self.walks[thread as usize];
            self.visit(tape, thread, &part, next);
            self.walks[thread as usize].next += part.step;
        }
        if !self.advance(thread) {
            self.active.swap_remove(at);
        }
    }

    /// The accesses to one element.
    #[inline]
    fn visit(&mut self, tape: &mut Tape, thread: u32, part: &Part, index: u64) {
        let base = u64::from(self.first_element) + part.array * self.extent.length;
        let var = |index: u64| VarId((base + index) as u32);
        let line = (self.phase % self.lines.reads.len() as u64) as usize;
        let (read, write) = (self.lines.reads[line], self.lines.writes[line]);
        match part.usage {
            Use::Read => tape.push(thread, Action::Read(var(index)), read),
            Use::Write => tape.push(thread, Action::Write(var(index)), write),
            Use::Update => {
                tape.push(thread, Action::Read(var(index)), read);
                tape.push(thread, Action::Write(var(index)), write);
            }
            Use::Stencil(above, left) => {
                for distance in [above, left].into_iter().filter(|&distance| distance > 0) {
                    tape.push(thread, Action::Read(var(index - distance)), read);
                }
                tape.push(thread, Action::Write(var(index)), write);
            }
        }
        if self.races.is_next() {
            match other_thread(self.extent.threads as u32, thread, &mut self.rng) {
                Some(other) => self.races.race(tape, other, var(index), &mut self.rng),
                None => self.races.skip(&mut self.rng),
            }
        }
    }

    fn finish(&mut self, tape: &mut Tape) {
        let threads: Vec<u32> = (1..self.extent.threads as u32).collect();
        self.main_lines.finish(tape, self.result, &threads);
        self.finished = true;
    }
}

impl Generator for Sweeps {
    fn fill(&mut self, tape: &mut Tape, until: usize) {
        if !self.started {
            self.main_lines.fork_all(tape, self.extent.threads as u32);
            self.begin_phase();
            self.started = true;
        }
        while tape.events.len() < until && !self.finished {
            let room = tape.left().saturating_sub(self.extent.threads - 1);
            if !self.active.is_empty() {
                let elements = (room / EVENTS_PER_ELEMENT).min(SLICE);
                if elements == 0 {
                    return self.finish(tape);
                }
                self.run_slice(tape, elements);
            } else if room < self.barrier.events() || !self.next_phase_fits(room - self.barrier.events()) {
                return self.finish(tape);
            } else {
                self.barrier.pass(tape);
                self.phase += 1;
                self.begin_phase();
            }
        }
    }

    fn expectation(&self) -> Option<Expectation> {
        Some(self.races.expectation())
    }

    fn state_bytes(&self) -> usize {
        self.walks.capacity() * size_of::<Walk>() + self.active.capacity() * size_of::<u32>()
    }
}

const EMPTY: Part = Part { array: 0, first: 0, end: 0, step: 1, usage: Use::Read };

impl Lines {
    fn new(symbols: &mut Symbols, sites: &mut Sites) -> Result<Lines, ParameterError> {
        let loops = (sites.left(symbols) / 2).clamp(1, 8);
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for number in 0..loops {
            reads.push(sites.place(symbols, "sweep.c", 20 + 10 * number)?);
            writes.push(sites.place(symbols, "sweep.c", 22 + 10 * number)?);
        }
        Ok(Lines { reads, writes })
    }
}

fn add_arrays(
    symbols: &mut Symbols,
    pattern: Pattern,
    arrays: u64,
    length: u64,
) -> Result<u32, ParameterError> {
    let first_element = symbols.variables.len() as u32;
    for number in 0..arrays {
        let name = format!("A{number}");
        add_array(symbols, &name, length as u32)?;
        if pattern.has_length() {
            let array = symbols.variables.intern_array(name.as_bytes())?;
            symbols.variables.set_length(array, length);
        }
    }
    Ok(first_element)
}

/// The first number from `start` on that has no divisor in common with `length`.
fn coprime_near(length: u64, start: u64) -> u64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    (start..).find(|&candidate| divisor(candidate, length) == 1).unwrap_or(1)
}
