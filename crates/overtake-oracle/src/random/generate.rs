//! How random traces are made.

use overtake_trace::{
    Action, Event, LocationId, LockId, MarkerId, MemoryOrder, SyncId, ThreadId, Trace, VarId,
};

use super::{Locations, Shape};

/// The trace of this shape and seed.
pub fn trace(shape: &Shape, seed: u64) -> Trace {
    let mut generator = Generator::new(shape, Rng::new(seed));
    let count = shape.events - generator.rng.below(shape.events / 4 + 1);
    while generator.trace.events.len() < count as usize {
        generator.step();
    }
    if !shape.open_sections {
        generator.close_sections();
    }
    generator.trace
}

/// SplitMix64: small, seedable, the same everywhere.
struct Rng {
    state: u64,
}

impl Rng {
    fn new(seed: u64) -> Rng {
        Rng { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if the bound is 0.
    fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }

    fn percent(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> Option<T> {
        from.get(self.below(from.len() as u32) as usize).copied()
    }

    /// Drops some of the entries, but never all.
    fn keep_some<T>(&mut self, entries: &mut Vec<T>) {
        while entries.len() > 1 && self.percent(50) {
            entries.swap_remove(self.below(entries.len() as u32) as usize);
        }
    }

    /// An index with probability proportional to its weight. Not all weights are 0.
    fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut rest = self.below(weights.iter().sum());
        for (index, &weight) in weights.iter().enumerate() {
            if rest < weight {
                return index;
            }
            rest -= weight;
        }
        unreachable!("the rest is below the sum of the weights")
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    Absent,
    ToBeForked,
    Running,
    Joined,
}

struct ThreadState {
    life: Life,
    /// Locks held, in order of acquisition, and whether shared.
    held: Vec<(LockId, bool)>,
}

#[derive(Clone, Copy, Default)]
struct LockState {
    exclusive: bool,
    readers: u32,
}

struct BlockState {
    var: VarId,
    allocated: bool,
    freed: bool,
}

/// What a running thread does next.
#[derive(Clone, Copy)]
enum Doing {
    Access,
    Lock,
    Atomic,
    Fence,
    Object,
    ForkOrJoin,
    Heap,
    Marker,
    Anything,
}

struct Generator<'a> {
    shape: &'a Shape,
    rng: Rng,
    trace: Trace,
    threads: Vec<ThreadState>,
    locks: Vec<LockState>,
    /// The variables for plain accesses, and those for atomic ones.
    plain: Vec<VarId>,
    atomic: Vec<VarId>,
    blocks: Vec<BlockState>,
    /// Elements of the arrays for sweeps.
    swept: Vec<Vec<VarId>>,
    objects: Vec<SyncId>,
    /// The weights of what threads do, by [`Doing`].
    weights: [u32; 9],
    /// Of 100 plain accesses, how many are made under a lock, if one is free.
    discipline_percent: u32,
    write_percent: u32,
    /// Of 100 events, how many are by the same thread as the event before.
    stay_percent: u32,
    current: ThreadId,
}

impl<'a> Generator<'a> {
    fn new(shape: &'a Shape, rng: Rng) -> Self {
        let mut generator = Generator {
            shape,
            rng,
            trace: Trace::default(),
            threads: Vec::new(),
            locks: vec![LockState::default(); shape.locks as usize],
            plain: Vec::new(),
            atomic: Vec::new(),
            blocks: Vec::new(),
            swept: Vec::new(),
            objects: Vec::new(),
            weights: [0; 9],
            discipline_percent: 0,
            write_percent: shape.write_percent,
            stay_percent: 50,
            current: ThreadId(0),
        };
        generator.name_everything();
        generator.start_threads();
        generator.choose_habits();
        generator
    }

    fn name_everything(&mut self) {
        let Shape { threads, locks, variables, atomics, arrays, blocks, objects, mixed, sweeps, .. } =
            *self.shape;
        let symbols = &mut self.trace.symbols;
        let few = "few names";
        for number in 0..threads {
            symbols.threads.intern(format!("T{number}").as_bytes()).expect(few);
        }
        for number in 0..locks {
            symbols.locks.intern(format!("L{number}").as_bytes()).expect(few);
        }
        for number in 0..variables {
            self.plain.push(symbols.variables.intern(format!("V{number}").as_bytes()).expect(few));
        }
        for number in 0..atomics {
            let var = symbols.variables.intern(format!("X{number}").as_bytes()).expect(few);
            self.atomic.push(var);
            self.plain.extend(mixed.then_some(var));
        }
        let arrays = (0..arrays).map(|number| (format!("A{number}"), false));
        for (name, is_block) in arrays.chain((0..blocks).map(|number| (format!("B{number}"), true))) {
            let array = symbols.variables.intern_array(name.as_bytes()).expect(few);
            let is_swept = sweeps && !is_block;
            let elements = match is_swept {
                true => self.shape.array_elements - self.rng.below(self.shape.array_elements / 2),
                false => 2,
            };
            let element = |index| symbols.variables.intern_element(array, index).expect(few);
            let elements: Vec<_> = (0..u64::from(elements)).map(element).collect();
            if is_swept && self.rng.percent(60) {
                let unused = u64::from(self.rng.percent(20)) * elements.len() as u64;
                symbols.variables.set_length(array, elements.len() as u64 + unused);
            }
            self.atomic.extend(elements.iter().filter(|_| mixed && atomics > 0));
            match is_swept {
                true => self.swept.push(elements),
                false => self.plain.extend(elements),
            }
            if is_block {
                let var = symbols.variables.intern_block(array).expect(few);
                self.blocks.push(BlockState { var, allocated: false, freed: false });
            }
        }
        for number in 0..objects {
            self.objects.push(symbols.objects.intern(format!("S{number}").as_bytes()).expect(few));
        }
        symbols.markers.intern(b"m").expect(few);
        if let Locations::Few(count) = self.shape.locations {
            for number in 0..count.max(1) {
                symbols.locations.intern(format!("line{number}").as_bytes()).expect(few);
            }
        }
    }

    /// Decides which threads run from the start, which are forked, and which never do anything.
    fn start_threads(&mut self) {
        let used = 2 + self.rng.below(self.shape.threads.saturating_sub(1));
        for number in 0..self.shape.threads {
            let forked = self.shape.fork_join && number > 0 && self.rng.percent(70);
            let life = match number {
                _ if number >= used => Life::Absent,
                _ if forked => Life::ToBeForked,
                _ => Life::Running,
            };
            self.threads.push(ThreadState { life, held: Vec::new() });
        }
    }

    /// Chooses what this trace does often: some traces have many lock operations, others many accesses.
    fn choose_habits(&mut self) {
        let some = |present: bool, weight: u32| if present { weight } else { 0 };
        let shape = self.shape;
        self.stay_percent = [30, 60, 80, 90][self.rng.below(4) as usize];
        self.rng.keep_some(&mut self.plain);
        self.rng.keep_some(&mut self.atomic);
        self.discipline_percent = [0, 0, 40, 80, 97][self.rng.below(5) as usize];
        let write = shape.write_percent;
        self.write_percent = [write / 2, write, (100 + write) / 2][self.rng.below(3) as usize];
        self.weights = [
            20 + self.rng.below(60),
            some(shape.locks > 0, 10 + self.rng.below(120)),
            some(shape.atomics > 0, 10 + self.rng.below(60)),
            some(shape.fences, 4 + self.rng.below(10)),
            some(shape.objects > 0, 4 + self.rng.below(16)),
            some(shape.fork_join && shape.threads > 1, 1 + self.rng.below(6)),
            some(shape.blocks > 0, 5 + self.rng.below(15)),
            some(shape.markers, 4),
            some(shape.ill_formed, self.rng.below(60)),
        ];
        if shape.nested_locks {
            self.stay_percent = 85;
            self.weights[1] += 150;
        }
    }

    /// Lets a thread do one operation. The same thread runs for a while.
    fn step(&mut self) {
        if self.shape.fork_join && self.rng.percent(25) && !self.threads_with(Life::ToBeForked).is_empty() {
            return self.fork_or_join();
        }
        if self.life(self.current) != Life::Running || !self.rng.percent(self.stay_percent) {
            let running: Vec<_> = self.threads_with(Life::Running);
            self.current = self.rng.pick(&running).expect("some thread always runs");
        }
        const ALL: [Doing; 9] = [
            Doing::Access,
            Doing::Lock,
            Doing::Atomic,
            Doing::Fence,
            Doing::Object,
            Doing::ForkOrJoin,
            Doing::Heap,
            Doing::Marker,
            Doing::Anything,
        ];
        match ALL[self.rng.weighted(&self.weights)] {
            Doing::Access if self.is_careless() => self.access(),
            Doing::Access => self.lock(),
            Doing::Lock => self.lock(),
            Doing::Atomic => self.atomic(),
            Doing::Fence => {
                let order = self.order();
                self.emit(Action::Fence(order));
            }
            Doing::Object => {
                let object = self.rng.pick(&self.objects).expect("weighted 0 without objects");
                let post = self.rng.percent(50);
                self.emit(if post { Action::Post(object) } else { Action::Wait(object) });
            }
            Doing::ForkOrJoin => self.fork_or_join(),
            Doing::Heap => self.heap(),
            Doing::Marker => self.marker(),
            Doing::Anything => self.anything(),
        }
    }

    /// Whether the current thread now makes a plain access without taking a lock first.
    fn is_careless(&mut self) -> bool {
        let holds_none = self.threads[self.current.0 as usize].held.is_empty();
        !(holds_none && self.shape.locks > 0 && self.rng.percent(self.discipline_percent))
    }

    fn access(&mut self) {
        if !self.swept.is_empty() && !self.rng.percent(20) {
            return self.sweep();
        }
        let Some(var) = self.variable_to_access() else { return self.lock() };
        let write = self.rng.percent(self.write_percent);
        self.emit(if write { Action::Write(var) } else { Action::Read(var) });
    }

    /// Accesses some elements of an array in order: a run, a block, every n-th, or a single one.
    fn sweep(&mut self) {
        let array = self.rng.below(self.swept.len() as u32) as usize;
        let length = self.swept[array].len() as u32;
        let halves = |parts: u32, rng: &mut Rng| {
            let part = rng.below(parts);
            (part * length / parts, (part + 1) * length / parts, 1)
        };
        let (first, end, step) = match self.rng.below(7) {
            0 => (0, length, 1),
            1 => halves(2, &mut self.rng),
            2 => halves(4, &mut self.rng),
            3 => {
                let step = 2 + self.rng.below(3);
                (self.rng.below(step), length, step)
            }
            4 => (0, 1 + self.rng.below(length / 4 + 1), 1),
            5 => {
                let first = self.rng.below(length);
                (first, first + 1 + self.rng.below(length - first), 1 + self.rng.below(2))
            }
            _ => {
                let first = self.rng.below(length);
                (first, first + 1, 1)
            }
        };
        let mut elements: Vec<_> =
            (first..end).step_by(step as usize).map(|index| self.swept[array][index as usize]).collect();
        if self.rng.percent(20) {
            elements.reverse();
        }
        let (reads, writes) = match self.rng.percent(self.write_percent) {
            true => (self.rng.percent(30), true),
            false => (true, false),
        };
        for var in elements {
            if reads {
                self.emit(Action::Read(var));
            }
            if writes {
                self.emit(Action::Write(var));
            }
        }
    }

    /// Any variable. If a disciplined thread holds a lock, a variable that belongs to the lock.
    fn variable_to_access(&mut self) -> Option<VarId> {
        let held = &self.threads[self.current.0 as usize].held;
        if let Some((lock, _)) = self.rng.pick(held)
            && self.rng.percent(self.discipline_percent)
        {
            let belongs = |var: &&VarId| var.0 % self.shape.locks == lock.0;
            let belonging: Vec<VarId> = self.plain.iter().filter(belongs).copied().collect();
            return self.rng.pick(&belonging).or_else(|| self.rng.pick(&self.plain));
        }
        self.rng.pick(&self.plain)
    }

    /// Releases a held lock or acquires a free one. The more locks are held, the more likely is a release.
    fn lock(&mut self) {
        let held = self.threads[self.current.0 as usize].held.len() as u32;
        let stays = self.shape.nested_locks && held == 1 && self.rng.percent(60);
        if held > 0 && !stays && self.rng.below(held + 1) > 0 {
            return self.release();
        }
        let lock = LockId(self.rng.below(self.shape.locks));
        let shared = self.shape.shared_locks && self.rng.percent(50);
        let state = &mut self.locks[lock.0 as usize];
        let thread = &mut self.threads[self.current.0 as usize];
        let mine = thread.held.iter().any(|&(held, _)| held == lock);
        if state.exclusive || mine || (state.readers > 0 && !shared) {
            return match held {
                0 if self.rng.percent(self.discipline_percent) => {} // waits, so that another thread may run
                0 => self.access(),
                _ => self.release(),
            };
        }
        thread.held.push((lock, shared));
        if shared {
            state.readers += 1;
            self.emit(Action::AcquireShared(lock));
        } else {
            state.exclusive = true;
            self.emit(Action::Acquire(lock));
        }
        if self.shape.tries
            && self.rng.percent(30)
            && let Some(acquire) = self.trace.events.last_mut()
        {
            *acquire = acquire.as_try();
        }
    }

    fn release(&mut self) {
        let held = &mut self.threads[self.current.0 as usize].held;
        let last = held.len() - 1;
        let position = if self.shape.non_lifo { self.rng.below(held.len() as u32) as usize } else { last };
        let (lock, shared) = held.remove(position);
        let state = &mut self.locks[lock.0 as usize];
        if shared {
            state.readers -= 1;
            self.emit(Action::ReleaseShared(lock));
        } else {
            state.exclusive = false;
            self.emit(Action::Release(lock));
        }
    }

    fn atomic(&mut self) {
        let var = self.rng.pick(&self.atomic).expect("weighted 0 without atomics");
        let order = self.order();
        let action = match self.rng.below(5) {
            0 | 1 => Action::Load(var, order),
            2 | 3 => Action::Store(var, order),
            _ => Action::Rmw(var, order),
        };
        self.emit(action);
    }

    fn order(&mut self) -> MemoryOrder {
        self.rng.pick(self.shape.orders).unwrap_or(MemoryOrder::SeqCst)
    }

    fn fork_or_join(&mut self) {
        let to_be_forked = self.threads_with(Life::ToBeForked);
        if let Some(child) = self.rng.pick(&to_be_forked)
            && self.rng.percent(70)
        {
            self.threads[child.0 as usize].life = Life::Running;
            return self.emit(Action::Fork(child));
        }
        let mut joinable = self.threads_with(Life::Running);
        joinable.retain(|&thread| {
            thread != self.current
                && (self.shape.open_sections || self.threads[thread.0 as usize].held.is_empty())
        });
        match self.rng.pick(&joinable) {
            Some(child) => {
                self.threads[child.0 as usize].life = Life::Joined;
                self.emit(Action::Join(child));
            }
            None => self.access(),
        }
    }

    /// Allocates or frees a block. Accesses to freed blocks go on, as in programs with bugs.
    fn heap(&mut self) {
        let at = self.rng.below(self.blocks.len() as u32) as usize;
        let block = &mut self.blocks[at];
        let var = block.var;
        if !block.allocated {
            block.allocated = true;
            self.emit(Action::Alloc(var));
        } else if !block.freed {
            block.freed = true;
            self.emit(Action::Free(var));
        } else {
            self.access();
        }
    }

    fn marker(&mut self) {
        let marker = MarkerId(0);
        let action = match self.rng.below(4) {
            0 => Action::Begin(marker),
            1 => Action::End(marker),
            2 if self.shape.locks > 0 => Action::Request(LockId(self.rng.below(self.shape.locks))),
            _ => Action::Branch(marker),
        };
        self.emit(action);
    }

    /// An event of any thread, whatever the states of the thread and the operand are.
    fn anything(&mut self) {
        let thread = ThreadId(self.rng.below(self.shape.threads));
        let child = ThreadId(self.rng.below(self.shape.threads));
        let lock = LockId(self.rng.below(self.shape.locks));
        let block_at = self.rng.below(self.blocks.len() as u32) as usize;
        let block = self.blocks.get(block_at).map(|block| block.var);
        let before = std::mem::replace(&mut self.current, thread);
        match (self.rng.below(11), block) {
            (0..=5, _) if self.shape.locks > 0 => {
                let actions = [
                    Action::Acquire(lock),
                    Action::Acquire(lock),
                    Action::Release(lock),
                    Action::Release(lock),
                    Action::AcquireShared(lock),
                    Action::ReleaseShared(lock),
                ];
                let choices = if self.shape.shared_locks { 6 } else { 4 };
                let action = actions[self.rng.below(choices) as usize];
                self.emit(action);
            }
            (6, _) => self.emit(Action::Fork(child)),
            (7, _) => self.emit(Action::Join(child)),
            (8, Some(block)) => self.emit(Action::Alloc(block)),
            (9, Some(block)) => self.emit(Action::Free(block)),
            (10, _) => self.emit(Action::Gap),
            _ => self.access(),
        }
        self.current = before;
    }

    fn close_sections(&mut self) {
        for thread in 0..self.shape.threads {
            self.current = ThreadId(thread);
            while !self.threads[thread as usize].held.is_empty() {
                self.release();
            }
        }
    }

    fn life(&self, thread: ThreadId) -> Life {
        self.threads[thread.0 as usize].life
    }

    fn threads_with(&self, life: Life) -> Vec<ThreadId> {
        (0..self.shape.threads).map(ThreadId).filter(|&thread| self.life(thread) == life).collect()
    }

    fn emit(&mut self, action: Action) {
        let location = match self.shape.locations {
            Locations::Unknown => LocationId::UNKNOWN,
            Locations::Few(count) => LocationId(self.rng.below(count.max(1))),
            Locations::Distinct => {
                let name = self.trace.events.len().to_string();
                self.trace.symbols.locations.intern(name.as_bytes()).expect("few locations")
            }
        };
        self.trace.events.push(Event::new(self.current, action, location));
    }
}
