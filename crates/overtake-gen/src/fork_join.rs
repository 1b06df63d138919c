//! A tree of threads, as in divide-and-conquer programs.
//!
//! Thread `t` is the parent of `2t+1` and `2t+2`. Each thread fills its input, forks its children, works (reading its parent's
//! input, updating its own output), joins its children and combines their outputs with its own. Forks and joins alone order
//! all of this; there are no locks. The root goes on combining until the trace has its length.

use overtake_trace::{Action, LocationId, Symbols, ThreadId, VarId};

use crate::adjacent::AdjacentRaces;
use crate::parameters::{Parameter, ParameterError, Parameters, within};
use crate::rng::Rng;
use crate::sites::{Sites, add_threads, add_variables};
use crate::tape::{Expectation, Generator, Tape};

/// Generates the run of a tree of threads.
#[derive(Debug)]
pub(crate) struct ForkJoin {
    nodes: Vec<Node>,
    /// Threads that can run.
    active: Vec<u32>,
    /// Accesses of each thread, by stage: input, work, combination.
    shares: [u64; 3],
    /// Variables of each of a thread's two segments.
    segment: u32,
    sharing: f64,
    lines: [LocationId; 10],
    races: AdjacentRaces,
    rng: Rng,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    stage: Stage,
    /// How much of the stage is left: accesses, or children to fork or to join.
    left: u64,
    unfinished_children: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Input,
    Forks,
    Work,
    /// Waits for children to finish; not active.
    Waiting,
    Joins,
    Combine,
    Done,
}

impl ForkJoin {
    pub(crate) fn new(parameters: &Parameters, symbols: &mut Symbols) -> Result<ForkJoin, ParameterError> {
        let threads = parameters.threads as u32;
        within(Parameter::Variables, parameters.variables, 2 * parameters.threads, u64::MAX)?;
        let mut sites = Sites::new(parameters.locations);
        let mut rng = Rng::new(parameters.seed);
        add_threads(symbols, threads)?;
        add_variables(symbols, parameters.variables as u32)?;
        let lines: [LocationId; 10] = sites.lines(symbols, "tree.c", 40)?;
        let accesses =
            parameters.events.saturating_sub(2 * parameters.threads) as f64 / (1.0 + parameters.raciness);
        let each = (accesses * 0.95 / parameters.threads as f64) as u64;
        let shares = [each / 4, each / 2, each / 4];
        let node = Node { stage: Stage::Input, left: shares[0], unfinished_children: 0 };
        Ok(ForkJoin {
            nodes: vec![node; threads as usize],
            active: vec![0],
            shares,
            segment: (parameters.variables / (2 * parameters.threads)) as u32,
            sharing: parameters.sharing,
            lines,
            races: AdjacentRaces::new(parameters.raciness, lines[9], &mut rng),
            rng,
        })
    }

    fn children(&self, thread: u32) -> impl Iterator<Item = u32> + use<> {
        let threads = self.nodes.len() as u32;
        (2 * thread + 1..2 * thread + 3).filter(move |&child| child < threads)
    }

    fn input(&mut self, thread: u32) -> VarId {
        VarId(2 * thread * self.segment + self.rng.below(self.segment))
    }

    fn output(&mut self, thread: u32) -> VarId {
        VarId((2 * thread + 1) * self.segment + self.rng.below(self.segment))
    }

    /// Lets the active thread at `at` take up to `steps` steps.
    fn run_slice(&mut self, tape: &mut Tape, at: usize, steps: u64) {
        let thread = self.active[at];
        for _ in 0..steps {
            while self.nodes[thread as usize].left == 0 {
                if !self.next_stage(thread) {
                    self.active.swap_remove(at);
                    self.leave(thread);
                    return;
                }
            }
            self.nodes[thread as usize].left -= 1;
            self.step(tape, thread);
        }
    }

    /// Begins the next stage; false if the thread cannot go on for now.
    fn next_stage(&mut self, thread: u32) -> bool {
        let children = self.children(thread).count() as u64;
        let shares = self.shares;
        let node = &mut self.nodes[thread as usize];
        (node.stage, node.left) = match node.stage {
            Stage::Input => (Stage::Forks, children),
            Stage::Forks => (Stage::Work, shares[1]),
            Stage::Work if node.unfinished_children > 0 => (Stage::Waiting, 0),
            Stage::Work | Stage::Waiting => (Stage::Joins, children),
            // The root works on until the trace is complete.
            Stage::Joins if thread == 0 => (Stage::Combine, u64::MAX),
            Stage::Joins => (Stage::Combine, shares[2]),
            Stage::Combine | Stage::Done => (Stage::Done, 0),
        };
        !matches!(node.stage, Stage::Waiting | Stage::Done)
    }

    /// Tells the parent of a thread that is done.
    fn leave(&mut self, thread: u32) {
        if self.nodes[thread as usize].stage != Stage::Done || thread == 0 {
            return;
        }
        let parent = (thread - 1) / 2;
        let node = &mut self.nodes[parent as usize];
        node.unfinished_children -= 1;
        if node.unfinished_children == 0 && node.stage == Stage::Waiting {
            self.active.push(parent);
        }
    }

    fn step(&mut self, tape: &mut Tape, thread: u32) {
        let Node { stage, left, .. } = self.nodes[thread as usize];
        match stage {
            Stage::Forks => self.fork(tape, thread, left),
            Stage::Joins => {
                let child = 2 * thread + 1 + left as u32;
                tape.push(thread, Action::Join(ThreadId(child)), self.lines[1]);
            }
            Stage::Input => {
                let var = self.input(thread);
                self.access(tape, thread, Action::Write(var), var, 2);
            }
            Stage::Work if thread > 0 && self.rng.chance(self.sharing) => {
                let var = self.input((thread - 1) / 2);
                self.access(tape, thread, Action::Read(var), var, 3);
            }
            Stage::Work => self.update(tape, thread, 4),
            Stage::Combine => self.combine(tape, thread),
            Stage::Waiting | Stage::Done => {}
        }
    }

    fn fork(&mut self, tape: &mut Tape, thread: u32, left: u64) {
        let child = 2 * thread + 1 + left as u32;
        tape.push(thread, Action::Fork(ThreadId(child)), self.lines[0]);
        self.nodes[thread as usize].unfinished_children += 1;
        self.active.push(child);
    }

    fn update(&mut self, tape: &mut Tape, thread: u32, line: usize) {
        let var = self.output(thread);
        if self.rng.next() & 1 == 0 {
            self.access(tape, thread, Action::Read(var), var, line);
        } else {
            self.access(tape, thread, Action::Write(var), var, line + 1);
        }
    }

    fn combine(&mut self, tape: &mut Tape, thread: u32) {
        let child = 2 * thread + 1 + (self.rng.next() & 1) as u32;
        if (child as usize) < self.nodes.len() && self.rng.chance(0.5) {
            let var = self.output(child);
            self.access(tape, thread, Action::Read(var), var, 6);
        } else {
            self.update(tape, thread, 7);
        }
    }

    /// An access, and perhaps a write by another running thread right after it.
    fn access(&mut self, tape: &mut Tape, thread: u32, action: Action, var: VarId, line: usize) {
        tape.push(thread, action, self.lines[line]);
        if self.races.is_next() {
            let other = self.active[self.rng.below(self.active.len() as u32) as usize];
            if other == thread {
                self.races.skip(&mut self.rng);
            } else {
                self.races.race(tape, other, var, &mut self.rng);
            }
        }
    }
}

impl Generator for ForkJoin {
    fn fill(&mut self, tape: &mut Tape, until: usize) {
        while tape.events.len() < until {
            let at = self.rng.below(self.active.len() as u32) as usize;
            let steps = 1 + (self.rng.next() & 15);
            self.run_slice(tape, at, steps);
        }
    }

    fn expectation(&self) -> Option<Expectation> {
        Some(self.races.expectation())
    }

    fn state_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>() + self.active.capacity() * size_of::<u32>()
    }
}
