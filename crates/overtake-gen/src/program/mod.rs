//! Threads that run lock-protected routines over shared objects: the shapes of ordinary concurrent programs.
//!
//! The main thread forks the others and works like them; where threads come and go, it joins one and forks the next. Each thread calls
//! routines ([`routine`]) in time slices ([`machine`]); objects belong to locks ([`layout`]); now and then an access forgets
//! its lock ([`strays`]). At the end all sections are closed and all threads joined, so that the trace has exactly the requested
//! number of events.

pub(crate) mod layout;
pub(crate) mod machine;
mod mixed;
pub(crate) mod routine;
pub(crate) mod strays;

use overtake_trace::{Action, LocationId, Symbols, ThreadId, VarId};

use crate::parameters::{Parameter, ParameterError, Parameters, within};
use crate::rng::Rng;
use crate::sites::{Sites, add_locks, add_threads, add_variables};
use crate::tape::{Expectation, Generator, Tape};

use layout::{Extras, Layout};
use machine::{Machine, Program};
use routine::{AccessStyle, Author, Dither, MAX_DEPTH, MUTEX, Menu, weight_of_rank};
use strays::Strays;

/// What distinguishes the shapes that are programs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    /// Fraction of events that are lock operations.
    pub(crate) lock_fraction: f64,
    /// Whether half of the shared variables are read by everybody and written by nobody.
    pub(crate) constants: bool,
    /// Whether locks are of every kind and every operation occurs.
    pub(crate) all_operations: bool,
    /// At most this many threads exist at a time; when one ends, the next is forked.
    pub(crate) alive: u32,
    /// Groups of threads that share no lock; thread `t` is of group `t % groups`.
    pub(crate) groups: u32,
    /// Group 0 takes no locks at all.
    pub(crate) first_group_lock_free: bool,
    /// Variables that a surrounding generator uses for itself.
    pub(crate) reserved: u32,
    /// Most events of a thread until another one runs: a power of two.
    pub(crate) slice: u64,
}

impl Style {
    /// A plain program in which `lock_fraction` of the events are lock operations.
    pub(crate) const fn plain(lock_fraction: f64) -> Style {
        Style {
            lock_fraction,
            constants: false,
            all_operations: false,
            alive: u32::MAX,
            groups: 1,
            first_group_lock_free: false,
            reserved: 0,
            slice: 16,
        }
    }
}

/// Most accesses of a section. If locks are to be rarer still, there are routines without locks.
const SECTION_ACCESSES: f64 = 6.0;
/// Accesses of a routine without locks.
const FREE_ACCESSES: u32 = 16;
/// Most routines of a kind: enough for variety, few enough that each has an entry in the menu.
const ROUTINES: usize = 256;

/// Fills the tables and writes the program.
pub(crate) fn build_machine(
    parameters: &Parameters,
    style: Style,
    symbols: &mut Symbols,
    sites: &mut Sites,
) -> Result<Machine, ParameterError> {
    within(Parameter::Locks, parameters.locks, u64::from(style.groups), u64::MAX)?;
    within(Parameter::Nesting, parameters.nesting, 1, MAX_DEPTH as u64)?;
    within(Parameter::Distance, parameters.distance, 1, u64::MAX)?;
    let extras =
        Extras { constants: style.constants, atomics: style.all_operations, reserved: style.reserved };
    let layout = Layout::new(parameters, extras)?;
    let (threads, locks) = (parameters.threads as u32, parameters.locks as u32);
    add_threads(symbols, threads)?;
    add_locks(symbols, locks)?;
    add_variables(symbols, layout.scalars())?;
    let mut rng = Rng::new(parameters.seed);
    let program = write_program(parameters, style, symbols, sites, &layout, &mut rng)?;
    let strays = Strays::new(parameters.raciness, parameters.distance, &mut rng);
    let workers = threads.min(style.alive);
    let mut machine = Machine::new(program, layout, workers, locks, strays, parameters.events, rng);
    machine.slice = style.slice;
    Ok(machine)
}

fn write_program(
    parameters: &Parameters,
    style: Style,
    symbols: &mut Symbols,
    sites: &mut Sites,
    layout: &Layout,
    rng: &mut Rng,
) -> Result<Program, ParameterError> {
    let locks = parameters.locks as u32;
    if style.all_operations {
        mixed::add_names(symbols, layout, locks)?;
    }
    let stray_lines = sites.lines(symbols, "fast_path.c", 31)?;
    let classes = if style.all_operations { mixed::CLASSES } else { style.groups };
    let mut author = Author { symbols, sites, rng, classes, locks, steps: Vec::new(), routines: Vec::new() };
    let mut accesses = AccessStyle { layout, sharing: parameters.sharing, shared: Dither::default() };
    let nesting = parameters.nesting as u8;
    let mut block_routine = None;
    let mut menus = Vec::new();
    if style.all_operations {
        menus.push(Menu::new(&mixed::routines(&mut author, &mut accesses, locks, nesting)?));
        block_routine = Some(mixed::block_routine(&mut author)?);
    } else {
        for group in 0..style.groups {
            let lock_fraction =
                if group == 0 && style.first_group_lock_free { 0.0 } else { style.lock_fraction };
            let budget = author.lines_left() / u64::from(style.groups - group);
            let locks_of_group = (locks - group).div_ceil(style.groups);
            let depth = nesting.min(locks_of_group.min(MAX_DEPTH as u32) as u8);
            menus.push(group_menu(&mut author, &mut accesses, lock_fraction, group, depth, budget)?);
        }
    }
    let Author { steps, routines, .. } = author;
    Ok(Program { steps, routines, menus, block_routine, stray_lines, classes })
}

/// Writes the routines of one group of threads, with at most `budget` lines of code in all.
fn group_menu(
    author: &mut Author<'_>,
    accesses: &mut AccessStyle<'_>,
    lock_fraction: f64,
    group: u32,
    nesting: u8,
    budget: u64,
) -> Result<Menu, ParameterError> {
    let can_be_free = accesses.layout.private_each > 0 || accesses.layout.constants.count > 0;
    let per_lock_operation =
        if lock_fraction > 0.0 { (1.0 - lock_fraction) / lock_fraction } else { f64::MAX };
    let (per_lock_operation, free_events) = if per_lock_operation * 2.0 > SECTION_ACCESSES && can_be_free {
        let kept = SECTION_ACCESSES / 2.0;
        (kept, per_lock_operation - kept)
    } else {
        (per_lock_operation.min(SECTION_ACCESSES), 0.0)
    };
    if lock_fraction <= 0.0 && !can_be_free {
        return Err(ParameterError::new(
            Parameter::Variables.name(),
            "expected at least one private variable per thread",
        ));
    }
    let locked_budget = if free_events > 0.0 { budget / 2 } else { budget };
    let mut weighted = Vec::new();
    let mut lock_operations = 0.0;
    if lock_fraction > 0.0 {
        let end = author.lines_left().saturating_sub(locked_budget);
        let mut owed = 0.0;
        for rank in 0..ROUTINES {
            let weight = weight_of_rank(rank);
            let depth = 1 + (0..nesting - 1).take_while(|_| author.rng.chance(0.25)).count() as u8;
            owed += 2.0 * f64::from(depth) * per_lock_operation * weight;
            let wanted = (owed / weight * (0.5 + author.rng.unit())).max(0.0).round();
            if rank > 3 && author.lines_left() < end + 2 * u64::from(depth) + wanted as u64 {
                break;
            }
            owed -= wanted * weight;
            let routine = accesses.locked_routine(author, &MUTEX, group, depth, wanted as u32, weight)?;
            lock_operations += 2.0 * f64::from(depth) * weight;
            weighted.push((routine, weight));
        }
    }
    if free_events > 0.0 {
        add_free_routines(
            author,
            accesses,
            &mut weighted,
            lock_operations,
            free_events,
            budget - locked_budget,
        )?;
    }
    Ok(Menu::new(&weighted))
}

/// Adds routines without locks, which are called so often that there are `free_events` of their events for each lock operation.
fn add_free_routines(
    author: &mut Author<'_>,
    accesses: &mut AccessStyle<'_>,
    weighted: &mut Vec<(u32, f64)>,
    lock_operations: f64,
    free_events: f64,
    budget: u64,
) -> Result<(), ParameterError> {
    let count = (budget / u64::from(FREE_ACCESSES)).clamp(1, ROUTINES as u64) as usize;
    let total: f64 = (0..count).map(weight_of_rank).sum();
    let calls =
        if lock_operations > 0.0 { lock_operations * free_events / f64::from(FREE_ACCESSES) } else { 1.0 };
    for rank in 0..count {
        let weight = weight_of_rank(rank) / total * calls;
        weighted.push((accesses.free_routine(author, FREE_ACCESSES, weight)?, weight));
    }
    Ok(())
}

/// The lines of the main function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MainLines {
    pub(crate) fork: LocationId,
    pub(crate) join: LocationId,
    pub(crate) result: LocationId,
}

impl MainLines {
    pub(crate) fn new(symbols: &mut Symbols, sites: &mut Sites) -> Result<MainLines, ParameterError> {
        let [fork, join, result] = sites.lines(symbols, "main.c", 12)?;
        Ok(MainLines { fork, join, result })
    }

    /// The main thread forks threads `1..end`.
    pub(crate) fn fork_all(&self, tape: &mut Tape, end: u32) {
        for thread in 1..end {
            tape.push(0, Action::Fork(ThreadId(thread)), self.fork);
        }
    }

    /// The main thread accesses `result`, a variable of its own, as long as there is room, and then joins `threads`.
    pub(crate) fn finish(&self, tape: &mut Tape, result: VarId, threads: &[u32]) {
        while tape.left() > threads.len() as u64 {
            tape.push(0, Action::Write(result), self.result);
        }
        for &thread in threads {
            tape.push(0, Action::Join(ThreadId(thread)), self.join);
        }
    }
}

/// Generates the run of a program.
#[derive(Debug)]
pub(crate) struct ProgramRun {
    machine: Machine,
    lines: MainLines,
    threads: u32,
    /// The next thread to be forked.
    next_thread: u32,
    /// Steps of each thread, in shapes whose threads come and go.
    lifetime: i64,
    started: bool,
    finished: bool,
}

impl ProgramRun {
    pub(crate) fn new(
        parameters: &Parameters,
        style: Style,
        symbols: &mut Symbols,
    ) -> Result<ProgramRun, ParameterError> {
        let mut sites = Sites::new(parameters.locations);
        let lines = MainLines::new(symbols, &mut sites)?;
        let mut machine = build_machine(parameters, style, symbols, &mut sites)?;
        let threads = parameters.threads as u32;
        let workers = machine.worker_count();
        // The last threads are forked when nine tenths of the trace are written.
        let body = parameters.events.saturating_sub(2 * u64::from(threads)) / 10 * 9;
        let lifetime = (body / u64::from(threads)).min(i64::MAX as u64) as i64;
        if workers < threads {
            (1..workers).for_each(|worker| machine.restart(worker, worker, lifetime));
        }
        Ok(ProgramRun {
            machine,
            lines,
            threads,
            next_thread: workers,
            lifetime,
            started: false,
            finished: false,
        })
    }

    /// Joins the thread of a worker that has no steps left and forks the next one. The last threads stay.
    fn replace(&mut self, tape: &mut Tape, worker: u32) {
        let ended = self.machine.thread(worker);
        if self.next_thread == self.threads {
            self.machine.restart(worker, ended, i64::MAX);
            return;
        }
        tape.push(0, Action::Join(ThreadId(ended)), self.lines.join);
        tape.push(0, Action::Fork(ThreadId(self.next_thread)), self.lines.fork);
        self.machine.restart(worker, self.next_thread, self.lifetime);
        self.next_thread += 1;
    }

    fn finish(&mut self, tape: &mut Tape) {
        self.machine.leave_all(tape);
        let threads: Vec<u32> =
            (1..self.machine.worker_count()).map(|worker| self.machine.thread(worker)).collect();
        self.lines.finish(tape, VarId(self.machine.layout.main_only), &threads);
        self.finished = true;
    }
}

impl Generator for ProgramRun {
    fn fill(&mut self, tape: &mut Tape, until: usize) {
        if !self.started {
            self.lines.fork_all(tape, self.machine.worker_count());
            self.started = true;
        }
        while tape.events.len() < until && !self.finished {
            let closing = self.machine.open_sections + u64::from(self.machine.worker_count());
            // A step takes one event, and one more to close the section that it may open. A change of threads takes two.
            let room = tape.left().saturating_sub(closing + 2) / 2;
            if room == 0 {
                self.finish(tape);
                return;
            }
            let wanted = (until - tape.events.len()) as u64;
            if let Some(worker) = self.machine.run(tape, room.min(wanted)) {
                self.replace(tape, worker);
            }
        }
    }

    fn expectation(&self) -> Option<Expectation> {
        self.machine.strays.is_never().then(Expectation::default)
    }

    fn state_bytes(&self) -> usize {
        self.machine.state_bytes()
    }
}
