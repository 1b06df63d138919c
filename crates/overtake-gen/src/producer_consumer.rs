//! Producers and consumers around bounded queues.
//!
//! Threads with even numbers produce, threads with odd numbers consume; each queue has a lock for its two indices and a
//! ring of slots. A producer waits until its slot is empty, moves the tail under the lock, fills the slot and posts it as full;
//! a consumer waits until the slot is full, moves the head, reads the slot and posts it as empty.
//!
//! Each slot has an object for `full` and one for `empty`. A wait is ordered after every earlier post of its object. Earlier
//! rounds of a slot are ordered before the current one anyway, so no generations are needed and the tables do not grow.

use overtake_trace::{Action, LocationId, LockId, Result as TraceResult, Symbols, SyncId, VarId};

use crate::adjacent::{AdjacentRaces, other_thread};
use crate::parameters::{Parameter, ParameterError, Parameters, within};
use crate::program::MainLines;
use crate::rng::Rng;
use crate::sites::{Sites, add_locks, add_threads, add_variables};
use crate::tape::{Expectation, Generator, Tape};

const MOST_FIELDS: u32 = 8;
const MOST_SLOTS: u32 = 1024;

/// Generates the run of producers and consumers.
#[derive(Debug)]
pub(crate) struct ProducerConsumer {
    workers: Vec<Worker>,
    queues: Vec<Queue>,
    fields: u32,
    main_lines: MainLines,
    lines: [[LocationId; 7]; 2],
    races: AdjacentRaces,
    started: bool,
    finished: bool,
    rng: Rng,
}

#[derive(Clone, Copy, Debug)]
struct Worker {
    /// The next step of handling an item, and the slot of that item.
    step: u32,
    slot: u32,
}

#[derive(Debug)]
struct Queue {
    head: u32,
    tail: u32,
    holder: Option<u32>,
    slots: Vec<Slot>,
    first_var: u32,
    first_object: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Slot {
    /// Never filled: nobody has posted it as empty, and nobody needs to wait for that.
    Fresh,
    Empty,
    Full,
    /// Being filled or emptied by this thread.
    Busy(u32),
}

/// Steps before the fields: claim the slot, lock, read and write the index, unlock.
const BEFORE_FIELDS: u32 = 5;

impl ProducerConsumer {
    pub(crate) fn new(
        parameters: &Parameters,
        symbols: &mut Symbols,
    ) -> Result<ProducerConsumer, ParameterError> {
        within(Parameter::Threads, parameters.threads, 2, u64::MAX)?;
        within(Parameter::Locks, parameters.locks, 1, u64::MAX)?;
        let threads = parameters.threads as u32;
        let queues = (parameters.locks as u32).min(threads / 2);
        // One variable belongs to the main thread; each queue has a head, a tail and at least one slot.
        within(Parameter::Variables, parameters.variables, 3 * u64::from(queues) + 1, u64::MAX)?;
        let per_queue = (parameters.variables as u32 - 1) / queues;
        let fields = (per_queue - 2).min(MOST_FIELDS);
        let slots = ((per_queue - 2) / fields).min(MOST_SLOTS);
        let mut rng = Rng::new(parameters.seed);
        let mut sites = Sites::new(parameters.locations);
        let main_lines = MainLines::new(symbols, &mut sites)?;
        add_threads(symbols, threads)?;
        add_locks(symbols, queues)?;
        add_variables(symbols, 1 + queues * (2 + slots * fields))?;
        add_objects(symbols, queues, slots)?;
        let produce = sites.lines(symbols, "producer.c", 30)?;
        let consume = sites.lines(symbols, "consumer.c", 30)?;
        let stray_line = sites.place(symbols, "monitor.c", 18)?;
        let queue = |number: u32| Queue {
            head: 0,
            tail: 0,
            holder: None,
            slots: vec![Slot::Fresh; slots as usize],
            first_var: 1 + number * (2 + slots * fields),
            first_object: number * slots * 2,
        };
        Ok(ProducerConsumer {
            workers: vec![Worker { step: 0, slot: 0 }; threads as usize],
            queues: (0..queues).map(queue).collect(),
            fields,
            main_lines,
            lines: [produce, consume],
            races: AdjacentRaces::new(parameters.raciness, stray_line, &mut rng),
            started: false,
            finished: false,
            rng,
        })
    }

    fn queue_of(&self, thread: u32) -> usize {
        thread as usize / 2 % self.queues.len()
    }

    /// Lets a thread take steps; if it cannot go on, the thread it waits for takes them.
    fn run_slice(&mut self, tape: &mut Tape, thread: u32, steps: u64) {
        let mut thread = thread;
        let mut left = steps;
        while left > 0 {
            match self.step(tape, thread) {
                Ok(()) => left -= 1,
                Err(awaited) => thread = awaited,
            }
        }
    }

    /// One step of a thread; fails with the thread that has to run first.
    fn step(&mut self, tape: &mut Tape, thread: u32) -> Result<(), u32> {
        let Worker { step, slot } = self.workers[thread as usize];
        let number = self.queue_of(thread);
        let side = thread as usize % 2;
        let lines = self.lines[side];
        let lock = LockId(number as u32);
        let index = VarId(self.queues[number].first_var + side as u32);
        match step {
            0 => self.claim(tape, thread, number)?,
            1 => {
                if let Some(holder) = self.queues[number].holder {
                    return Err(holder);
                }
                self.queues[number].holder = Some(thread);
                tape.push(thread, Action::Acquire(lock), lines[1]);
            }
            2 => tape.push(thread, Action::Read(index), lines[2]),
            3 => tape.push(thread, Action::Write(index), lines[3]),
            4 => {
                self.queues[number].holder = None;
                tape.push(thread, Action::Release(lock), lines[4]);
            }
            _ if step < BEFORE_FIELDS + self.fields => {
                let field = slot * self.fields + step - BEFORE_FIELDS;
                self.touch(tape, thread, VarId(self.queues[number].first_var + 2 + field));
            }
            _ => {
                let (state, object) = [(Slot::Full, 0), (Slot::Empty, 1)][side];
                self.queues[number].slots[slot as usize] = state;
                let object = SyncId(self.queues[number].first_object + 2 * slot + object);
                tape.push(thread, Action::Post(object), lines[6]);
                self.workers[thread as usize].step = 0;
                return Ok(());
            }
        }
        self.workers[thread as usize].step += 1;
        Ok(())
    }

    /// Takes the next slot of the ring, if it is in the state that the thread needs.
    fn claim(&mut self, tape: &mut Tape, thread: u32, number: usize) -> Result<(), u32> {
        let produces = thread.is_multiple_of(2);
        let partner = self.partner(thread, number);
        let queue = &mut self.queues[number];
        let next = if produces { &mut queue.tail } else { &mut queue.head };
        let slot = *next as usize;
        let state = queue.slots[slot];
        match state {
            Slot::Busy(by) => return Err(by),
            Slot::Full if produces => return Err(partner),
            Slot::Fresh | Slot::Empty if !produces => return Err(partner),
            Slot::Fresh | Slot::Empty | Slot::Full => {}
        }
        *next = (*next + 1) % queue.slots.len() as u32;
        queue.slots[slot] = Slot::Busy(thread);
        self.workers[thread as usize].slot = slot as u32;
        if state != Slot::Fresh {
            let object = queue.first_object + 2 * slot as u32 + u32::from(produces);
            tape.push(thread, Action::Wait(SyncId(object)), self.lines[usize::from(!produces)][0]);
        }
        Ok(())
    }

    /// A random thread at the other end of the queue.
    fn partner(&mut self, thread: u32, number: usize) -> u32 {
        let (threads, queues) = (self.workers.len() as u32, self.queues.len() as u32);
        let side = 1 - thread % 2;
        let first = 2 * number as u32 + side;
        let count = (threads - first).div_ceil(2 * queues);
        first + 2 * queues * self.rng.below(count)
    }

    /// An access to a field of the slot, and perhaps a write by another thread right after it.
    fn touch(&mut self, tape: &mut Tape, thread: u32, var: VarId) {
        let side = thread as usize % 2;
        let action = [Action::Write(var), Action::Read(var)][side];
        tape.push(thread, action, self.lines[side][5]);
        if self.races.is_next() {
            match other_thread(self.workers.len() as u32, thread, &mut self.rng) {
                Some(other) => self.races.race(tape, other, var, &mut self.rng),
                None => self.races.skip(&mut self.rng),
            }
        }
    }

    fn finish(&mut self, tape: &mut Tape) {
        for (number, queue) in self.queues.iter_mut().enumerate() {
            if let Some(holder) = queue.holder.take() {
                let line = self.lines[holder as usize % 2][4];
                tape.push(holder, Action::Release(LockId(number as u32)), line);
            }
        }
        let threads: Vec<u32> = (1..self.workers.len() as u32).collect();
        self.main_lines.finish(tape, VarId(0), &threads);
        self.finished = true;
    }
}

impl Generator for ProducerConsumer {
    fn fill(&mut self, tape: &mut Tape, until: usize) {
        let threads = self.workers.len() as u32;
        if !self.started {
            self.main_lines.fork_all(tape, threads);
            self.started = true;
        }
        while tape.events.len() < until && !self.finished {
            let closing = self.queues.len() as u64 + u64::from(threads) - 1;
            // A step writes at most two events.
            let room = tape.left().saturating_sub(closing) / 2;
            if room == 0 {
                return self.finish(tape);
            }
            let thread = self.rng.below(threads);
            let slice = 1 + (self.rng.next() & 15);
            self.run_slice(tape, thread, slice.min(room));
        }
    }

    fn expectation(&self) -> Option<Expectation> {
        Some(self.races.expectation())
    }

    fn state_bytes(&self) -> usize {
        let slots: usize = self.queues.iter().map(|queue| queue.slots.capacity() * size_of::<Slot>()).sum();
        self.workers.capacity() * size_of::<Worker>() + slots
    }
}

fn add_objects(symbols: &mut Symbols, queues: u32, slots: u32) -> TraceResult<()> {
    for queue in 0..queues {
        for slot in 1..=u64::from(slots) {
            symbols.objects.intern_generation(format!("full{queue}").as_bytes(), slot)?;
            symbols.objects.intern_generation(format!("empty{queue}").as_bytes(), slot)?;
        }
    }
    Ok(())
}
