//! Runs the program: threads in time slices, each executing its routine step by step.
//!
//! When a thread needs a lock that another thread holds, the holder runs instead, as on a real machine. Locks are acquired in
//! order of their number, so that the chain of holders always ends at a thread that can run.

use overtake_trace::{Action, Event, LocationId, Op, ThreadId, VarId};

use crate::rng::Rng;
use crate::tape::Tape;

use super::layout::{BLOCK_ELEMENTS, Layout};
use super::routine::{
    ATOMIC, BLOCK, CONSTANT, ELEMENT, Effect, MAX_DEPTH, Menu, Operand, PLACES, PRIVATE, Routine, Step,
};
use super::strays::Strays;

const NOBODY: u32 = u32::MAX;

/// The code that all threads run.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) steps: Vec<Step>,
    pub(crate) routines: Vec<Routine>,
    /// One menu per group of threads.
    pub(crate) menus: Vec<Menu>,
    /// The routine that allocates, uses and frees a heap block.
    pub(crate) block_routine: Option<u32>,
    /// Lines on which accesses forget their lock.
    pub(crate) stray_lines: [LocationId; 8],
    /// Locks are divided into classes; lock `l` is of class `l % classes`.
    pub(crate) classes: u32,
}

/// What a thread is doing.
#[derive(Clone, Debug)]
struct Worker {
    thread: u32,
    /// Next step, and the end of the routine.
    cursor: u32,
    end: u32,
    group: u32,
    /// Slots held, one bit each.
    held: u8,
    /// The private object that it used last.
    object: u32,
    /// Steps until the thread ends, in shapes whose threads come and go.
    steps_left: i64,
    bases: [u32; PLACES],
    locks: [u32; MAX_DEPTH],
}

/// Who holds each lock.
#[derive(Debug)]
struct Holders {
    writer: Vec<u32>,
    readers: Vec<Vec<u32>>,
}

impl Holders {
    /// Acquires `lock` exclusively for `worker`, or fails with the worker that holds it.
    #[inline]
    fn enter(&mut self, lock: u32, worker: u32) -> Result<(), u32> {
        let writer = &mut self.writer[lock as usize];
        if *writer != NOBODY {
            return Err(*writer);
        }
        if let Some(&reader) = self.readers.get(lock as usize).and_then(|readers| readers.first()) {
            return Err(reader);
        }
        *writer = worker;
        Ok(())
    }

    fn enter_shared(&mut self, lock: u32, worker: u32) -> Result<(), u32> {
        let writer = self.writer[lock as usize];
        if writer != NOBODY {
            return Err(writer);
        }
        let lock = lock as usize;
        if self.readers.len() <= lock {
            self.readers.resize(self.writer.len(), Vec::new());
        }
        self.readers[lock].push(worker);
        Ok(())
    }

    #[inline]
    fn leave(&mut self, lock: u32) {
        self.writer[lock as usize] = NOBODY;
    }

    fn leave_shared(&mut self, lock: u32, worker: u32) {
        self.readers[lock as usize].retain(|&reader| reader != worker);
    }

    fn holds(&self, lock: u32, worker: u32) -> bool {
        self.writer[lock as usize] == worker
            || self.readers.get(lock as usize).is_some_and(|readers| readers.contains(&worker))
    }
}

/// Heap blocks that are still to be allocated, spread evenly over the trace.
#[derive(Debug)]
struct Blocks {
    next: u32,
    count: u32,
    every: u64,
}

/// The running program.
#[derive(Debug)]
pub(crate) struct Machine {
    program: Program,
    pub(crate) layout: Layout,
    workers: Vec<Worker>,
    holders: Holders,
    /// How many sections are open.
    pub(crate) open_sections: u64,
    pub(crate) strays: Strays,
    blocks: Blocks,
    /// Most events of a slice: a power of two.
    pub(crate) slice: u64,
    pub(crate) rng: Rng,
}

impl Machine {
    /// `threads` workers, worker `i` being thread `i`, in as many groups as the program has menus.
    pub(crate) fn new(
        program: Program,
        layout: Layout,
        workers: u32,
        locks: u32,
        strays: Strays,
        events: u64,
        rng: Rng,
    ) -> Machine {
        let groups = program.menus.len() as u32;
        let blocks = Blocks {
            next: 0,
            count: layout.blocks.count,
            every: events / u64::from(layout.blocks.count.max(1)),
        };
        Machine {
            program,
            workers: (0..workers).map(|thread| Worker::new(thread, thread % groups, &layout)).collect(),
            layout,
            holders: Holders { writer: vec![NOBODY; locks as usize], readers: Vec::new() },
            open_sections: 0,
            strays,
            blocks,
            slice: 1,
            rng,
        }
    }

    pub(crate) fn worker_count(&self) -> u32 {
        self.workers.len() as u32
    }

    /// Writes `count` events, in slices of random threads. Stops early when a worker's thread ends, and returns that worker.
    pub(crate) fn run(&mut self, tape: &mut Tape, count: u64) -> Option<u32> {
        let end = tape.index() + count;
        while tape.index() < end {
            let random = self.rng.next();
            let worker = (((random >> 32) * self.workers.len() as u64) >> 32) as usize;
            if self.workers[worker].has_ended() {
                return Some(worker as u32);
            }
            let slice = 1 + (random & (self.slice - 1));
            self.run_slice(tape, worker, slice.min(end - tape.index()));
        }
        None
    }

    /// Writes `count` events, beginning with `worker`; fewer if a thread ends.
    fn run_slice(&mut self, tape: &mut Tape, worker: usize, count: u64) {
        let mut at = worker;
        let mut left = count;
        while left > 0 {
            if self.workers[at].cursor == self.workers[at].end {
                if self.workers[at].has_ended() {
                    return;
                }
                self.call(at, tape.index());
            }
            let worker = &self.workers[at];
            let step = self.program.steps[worker.cursor as usize];
            if let Err(holder) = self.take_effect(at, step) {
                at = holder as usize;
                continue;
            }
            let event = self.event(at, step);
            let event =
                if step.effect == Effect::Access { self.forget_lock(at, event, tape.index()) } else { event };
            self.workers[at].cursor += 1;
            tape.events.push(event);
            left -= 1;
        }
    }

    /// Enters or leaves a section, or fails with the worker that must leave its section first.
    #[inline]
    fn take_effect(&mut self, at: usize, step: Step) -> Result<(), u32> {
        let worker = &mut self.workers[at];
        let slot = step.place as usize % MAX_DEPTH;
        let lock = worker.locks[slot];
        match step.effect {
            Effect::Access | Effect::Nothing => return Ok(()),
            Effect::Enter => self.holders.enter(lock, at as u32)?,
            Effect::EnterShared => self.holders.enter_shared(lock, at as u32)?,
            Effect::Leave => self.holders.leave(lock),
            Effect::LeaveShared => self.holders.leave_shared(lock, at as u32),
        }
        worker.held ^= 1 << slot;
        if worker.held & (1 << slot) != 0 {
            self.open_sections += 1;
        } else {
            self.open_sections -= 1;
        }
        Ok(())
    }

    /// The event that a step of a worker is.
    #[inline]
    fn event(&self, at: usize, step: Step) -> Event {
        let worker = &self.workers[at];
        let lock = worker.locks[step.place as usize % MAX_DEPTH];
        let operand = match step.operand {
            Operand::Variable => worker.bases[step.place as usize] + u32::from(step.field),
            Operand::Lock => lock,
            Operand::Flag => self.layout.flags.first + lock,
            Operand::Turn => lock / self.program.classes,
            Operand::Field => u32::from(step.field),
        };
        Event::from_parts(ThreadId(worker.thread), step.op, step.order, operand, step.location)
    }

    /// Returns the plain access, or now and then another access instead, which forgets its lock.
    #[inline]
    fn forget_lock(&mut self, at: usize, access: Event, index: u64) -> Event {
        let var = access.operand();
        if var >= self.layout.guarded.count {
            return access;
        }
        if self.strays.is_due(index)
            && let Some(stray) = self.stray(at)
        {
            return stray;
        }
        self.strays.observe(index, access.thread().0, var, access.op() == Op::Write, &mut self.rng);
        access
    }

    /// An access to a variable that another thread accessed a while ago, without the lock that guards it.
    #[cold]
    fn stray(&mut self, at: usize) -> Option<Event> {
        let thread = self.workers[at].thread;
        let (layout, holders) = (&self.layout, &self.holders);
        let partner = self.strays.take(|access| {
            access.thread != thread && !holders.holds(layout.lock_of(access.var), at as u32)
        })?;
        let var = VarId(partner.var);
        let reads = partner.is_write && self.rng.chance(0.5);
        let action = if reads { Action::Read(var) } else { Action::Write(var) };
        let line = self.program.stray_lines[partner.var as usize % 8];
        Some(Event::new(ThreadId(thread), action, line))
    }

    /// Starts the next routine of a worker and binds its slots to locks and objects.
    fn call(&mut self, at: usize, index: u64) {
        let rng = &mut self.rng;
        let worker = &mut self.workers[at];
        let mut number = self.program.menus[worker.group as usize].pick(rng.next());
        if let Some(block_routine) = self.program.block_routine
            && self.blocks.next < self.blocks.count
            && index >= u64::from(self.blocks.next) * self.blocks.every
        {
            number = block_routine;
            let (elements, block) = (self.layout.blocks.first, self.blocks.next);
            worker.bases[ELEMENT as usize] = elements + block * BLOCK_ELEMENTS;
            worker.bases[BLOCK as usize] = elements + self.blocks.count * BLOCK_ELEMENTS + block;
            self.blocks.next += 1;
        }
        let routine = self.program.routines[number as usize];
        worker.cursor = routine.start;
        worker.end = routine.end;
        worker.steps_left -= i64::from(routine.end - routine.start);
        worker.bind_private(&self.layout, rng);
        let own = worker.bases[PRIVATE as usize];
        let mut lowest = 0;
        for slot in 0..u32::from(routine.depth) {
            let highest = routine.class_locks - (u32::from(routine.depth) - 1 - slot);
            let chosen = lowest + rng.below(highest - lowest);
            let lock = routine.class + chosen * self.program.classes;
            worker.locks[slot as usize] = lock;
            worker.bases[slot as usize] = self.layout.object(lock, rng).unwrap_or(own);
            lowest = chosen + 1;
        }
    }

    /// The thread that a worker runs now.
    pub(crate) fn thread(&self, worker: u32) -> u32 {
        self.workers[worker as usize].thread
    }

    /// Lets a worker that is between two routines run another thread.
    pub(crate) fn restart(&mut self, worker: u32, thread: u32, steps: i64) {
        let fresh = Worker::new(thread, self.workers[worker as usize].group, &self.layout);
        self.workers[worker as usize] = Worker { steps_left: steps, ..fresh };
    }

    /// Ends all open sections with one event each, and skips the rest of the routines.
    pub(crate) fn leave_all(&mut self, tape: &mut Tape) {
        for at in 0..self.workers.len() {
            while self.workers[at].cursor < self.workers[at].end {
                let worker = &self.workers[at];
                let step = self.program.steps[worker.cursor as usize];
                let leaves = matches!(step.effect, Effect::Leave | Effect::LeaveShared);
                let held = leaves && worker.held & (1 << step.place) != 0;
                if held && self.take_effect(at, step).is_ok() {
                    tape.events.push(self.event(at, step));
                }
                self.workers[at].cursor += 1;
            }
        }
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.workers.capacity() * size_of::<Worker>()
            + self.program.steps.capacity() * size_of::<Step>()
            + self.holders.writer.capacity() * size_of::<u32>()
            + self.strays.state_bytes()
    }
}

impl Worker {
    fn new(thread: u32, group: u32, layout: &Layout) -> Worker {
        let mut bases = [0; PLACES];
        bases[ATOMIC as usize] = layout.atomics.first;
        Worker {
            thread,
            cursor: 0,
            end: 0,
            group,
            held: 0,
            object: 0,
            steps_left: i64::MAX,
            bases,
            locks: [0; MAX_DEPTH],
        }
    }

    /// Whether the worker is between two routines and its thread has no steps left.
    #[inline]
    fn has_ended(&self) -> bool {
        self.steps_left <= 0 && self.cursor == self.end
    }

    /// Chooses the objects without a lock: mostly the thread's next private object, as in a loop, and any constant.
    #[inline]
    fn bind_private(&mut self, layout: &Layout, rng: &mut Rng) {
        let objects = layout.private_objects;
        let random = rng.next();
        let next = self.object + 1;
        self.object = if random & 3 == 0 || next >= objects {
            (((random >> 32) * u64::from(objects)) >> 32) as u32
        } else {
            next
        };
        self.bases[PRIVATE as usize] = layout.private(self.thread, self.object);
        if layout.constants.count > 0 {
            self.bases[CONSTANT as usize] = layout.constant(rng);
        }
    }
}
