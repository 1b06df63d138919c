//! Races planted at a known distance, or so many that a trace is provably far from race free.
//!
//! Time is divided into rounds with a barrier after each. Threads with even numbers share no lock with threads with odd
//! numbers, so within a round nothing orders an even thread's access before an odd thread's. A round begins with accesses of
//! even threads, one per pair, goes on with ordinary race-free work, and ends with accesses of odd threads to the same
//! variables. Each pair is a happens-before race, and there are no others.
//!
//! **Far races.** The two accesses of each pair are exactly `distance` events apart.
//!
//! **Epsilon-far.** A trace is epsilon-far from race free (Al Thokair, Zhang, Mathur and Viswanathan, *Dynamic Race Detection
//! with O(1) Samples*, POPL 2023) if at least epsilon·N of its N events must change to make it a race-free trace of the
//! same length. Here even threads take no locks at all, and each round has P = T/2 pairs with different even threads. Take
//! any race-free trace that differs in few events. A pair whose accesses are unchanged must have become ordered. This
//! needs an event after the first access that orders its thread before another one (a release, post, fork, atomic write, or a join
//! *of* the thread). The round has no such event, so an event of the round was changed into one, and it orders one thread only, hence
//! one pair of the round. A changed event can therefore remove at most two races: that of the access it was, and that of the
//! thread it belongs to now. So at least half as many events as there are pairs must change. Rounds are so short
//! that this is epsilon·N, for every N of at least 20·(2T + L) events for T threads and L locks. Shorter traces have too
//! many forks and joins.

use overtake_trace::{Action, LocationId, Symbols, VarId};

use crate::barrier::Barrier;
use crate::parameters::{Parameter, ParameterError, Parameters, within};
use crate::program::machine::Machine;
use crate::program::{MainLines, Style, build_machine};
use crate::sites::Sites;
use crate::tape::{Expectation, Generator, Tape};

/// Most pairs of a round.
const MOST_PAIRS: u64 = 1024;

/// Events that close all sections that can be open at once and join all threads.
fn closing_events(parameters: &Parameters) -> u64 {
    parameters.locks.min(parameters.threads.saturating_mul(parameters.nesting)) + parameters.threads - 1
}

/// Generates rounds of work with planted races.
#[derive(Debug)]
pub(crate) struct Rounds {
    machine: Machine,
    main_lines: MainLines,
    barrier: Barrier,
    threads: u32,
    /// Events between the two accesses of a pair, plus one.
    distance: u64,
    pairs: u32,
    /// Lines of the first accesses and of the second.
    lines: [LocationId; 2],
    next_var: u32,
    /// The variables of the pairs whose second access is still to come.
    open: Vec<VarId>,
    at: Phase,
    /// Events kept for closing sections and joining threads.
    closing: u64,
    /// How many races of a round one changed event can remove: all of them, if it may order all their threads.
    mended_by_one_change: u64,
    expectation: Expectation,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    Start,
    FirstAccesses,
    /// Ordinary work: this many events are left.
    Work(u64),
    SecondAccesses,
    Finished,
}

/// Pairs of racing accesses that a round of `threads` threads has.
fn pairs_of_a_round(threads: u64) -> u64 {
    (threads / 2).min(u64::from(u32::MAX))
}

/// The largest possible `epsilon` of a trace of the shape `epsilon-far` with this many threads. Its rounds would have only racing
/// accesses and a barrier, with some room for the trace's beginning and end.
pub fn most_epsilon(threads: u64) -> f64 {
    let pairs = pairs_of_a_round(threads) as f64;
    0.95 * pairs / (2.0 * (2.0 * pairs + 2.0 * threads as f64))
}

impl Rounds {
    /// Pairs `distance` events apart.
    pub(crate) fn far_races(
        parameters: &Parameters,
        symbols: &mut Symbols,
    ) -> Result<Rounds, ParameterError> {
        within(Parameter::Threads, parameters.threads, 2, u64::MAX)?;
        within(Parameter::Distance, parameters.distance, 1, u64::MAX)?;
        let wanted = (parameters.raciness * parameters.distance as f64) as u64;
        let most = (parameters.variables / 8).min(parameters.distance).min(MOST_PAIRS);
        let pairs = if parameters.raciness > 0.0 { wanted.max(1).min(most.max(1)) } else { 0 };
        let style = Style { groups: 2, reserved: 2 * pairs as u32, ..Style::plain(0.4) };
        let rounds = Rounds::new(parameters, style, pairs as u32, parameters.distance, symbols)?;
        Ok(Rounds { mended_by_one_change: pairs.max(1), ..rounds })
    }

    /// As many pairs as are needed so that at least `epsilon` of all events must change to make the trace race free.
    pub(crate) fn epsilon_far(
        parameters: &Parameters,
        symbols: &mut Symbols,
    ) -> Result<Rounds, ParameterError> {
        within(Parameter::Threads, parameters.threads, 2, u64::MAX)?;
        let pairs = pairs_of_a_round(parameters.threads);
        let overhead = pairs + 2 * parameters.threads;
        let shortest = (overhead + pairs) as f64;
        let most = most_epsilon(parameters.threads);
        if !(parameters.epsilon > 0.0 && parameters.epsilon <= most) {
            let message = format!("expected more than 0 and at most {most:.4}, found {}", parameters.epsilon);
            return Err(ParameterError::new(Parameter::Epsilon.name(), message));
        }
        // Rounds of equal length that together have twice epsilon·N pairs. A rest too short for a round is not counted.
        let body = parameters.events.saturating_sub(parameters.threads - 1 + closing_events(parameters));
        let rounds = (2.0 * parameters.epsilon * parameters.events as f64 / pairs as f64).ceil().max(1.0);
        let length = ((body as f64 / rounds).floor().max(shortest)) as u64;
        let style =
            Style { groups: 2, first_group_lock_free: true, reserved: 2 * pairs as u32, ..Style::plain(0.4) };
        let rounds = Rounds::new(parameters, style, pairs as u32, length - overhead, symbols)?;
        Ok(Rounds { mended_by_one_change: 2, ..rounds })
    }

    fn new(
        parameters: &Parameters,
        style: Style,
        pairs: u32,
        distance: u64,
        symbols: &mut Symbols,
    ) -> Result<Rounds, ParameterError> {
        let threads = parameters.threads as u32;
        let least = u64::from(style.reserved) + 2 * parameters.threads + parameters.locks + 1;
        within(Parameter::Variables, parameters.variables, least, u64::MAX)?;
        let mut sites = Sites::new(parameters.locations);
        let main_lines = MainLines::new(symbols, &mut sites)?;
        let barrier = Barrier::post_wait(symbols, &mut sites, threads)?;
        let lines = sites.lines(symbols, "status.c", 77)?;
        // The only races are the planted ones, and each thread has private variables.
        let quiet = Parameters {
            raciness: 0.0,
            sharing: parameters.sharing.min(0.5),
            distance: parameters.distance.max(1),
            ..*parameters
        };
        let machine = build_machine(&quiet, style, symbols, &mut sites)?;
        let next_var = machine.layout.reserved.first;
        Ok(Rounds {
            machine,
            main_lines,
            barrier,
            threads,
            distance,
            pairs,
            lines,
            next_var,
            open: Vec::new(),
            at: Phase::Start,
            closing: closing_events(parameters),
            mended_by_one_change: 1,
            expectation: Expectation::default(),
        })
    }

    /// One write per pair by the even threads in turn.
    fn first_accesses(&mut self, tape: &mut Tape) {
        let region = self.machine.layout.reserved;
        for pair in 0..self.pairs {
            let thread = pair % self.threads.div_ceil(2) * 2;
            let var = VarId(self.next_var);
            self.next_var += 1;
            if self.next_var == region.first + region.count {
                self.next_var = region.first;
            }
            tape.push(thread, Action::Write(var), self.lines[0]);
            self.open.push(var);
        }
    }

    /// The partners of the first accesses, in the same order, by the odd threads in turn.
    fn second_accesses(&mut self, tape: &mut Tape) {
        for (pair, var) in self.open.drain(..).enumerate() {
            let thread = pair as u32 % (self.threads / 2) * 2 + 1;
            let action = if pair % 2 == 0 { Action::Write(var) } else { Action::Read(var) };
            self.expectation.racy_variables.insert(var);
            tape.push(thread, action, self.lines[1]);
        }
        self.expectation.distance_to_race_free += u64::from(self.pairs).div_ceil(self.mended_by_one_change);
    }

    fn finish(&mut self, tape: &mut Tape) {
        self.machine.leave_all(tape);
        let threads: Vec<u32> = (1..self.threads).collect();
        self.main_lines.finish(tape, VarId(self.machine.layout.main_only), &threads);
        self.at = Phase::Finished;
    }
}

impl Generator for Rounds {
    fn fill(&mut self, tape: &mut Tape, until: usize) {
        while tape.events.len() < until && self.at != Phase::Finished {
            let room = tape.left().saturating_sub(self.closing);
            match self.at {
                Phase::Start => {
                    self.main_lines.fork_all(tape, self.threads);
                    self.at = Phase::FirstAccesses;
                }
                Phase::FirstAccesses if room < u64::from(self.pairs) => self.finish(tape),
                Phase::FirstAccesses => {
                    self.first_accesses(tape);
                    self.at = Phase::Work(self.distance - u64::from(self.pairs));
                }
                Phase::Work(0) => self.at = Phase::SecondAccesses,
                Phase::Work(_) if room == 0 => self.finish(tape),
                Phase::Work(left) => {
                    let wanted = (until - tape.events.len()) as u64;
                    let count = left.min(room).min(wanted);
                    self.machine.run(tape, count);
                    self.at = Phase::Work(left - count);
                }
                Phase::SecondAccesses if room < u64::from(self.pairs) + self.barrier.events() => {
                    self.finish(tape)
                }
                Phase::SecondAccesses => {
                    self.second_accesses(tape);
                    self.barrier.pass(tape);
                    self.at = Phase::FirstAccesses;
                }
                Phase::Finished => {}
            }
        }
    }

    fn expectation(&self) -> Option<Expectation> {
        Some(self.expectation.clone())
    }

    fn state_bytes(&self) -> usize {
        self.machine.state_bytes() + self.open.capacity() * size_of::<VarId>()
    }
}
