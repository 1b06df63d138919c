//! Random small traces: random schedules of threads that do random things.
//!
//! There are few variables and few locks, so that races and near-races are frequent. Each trace uses only some of them, and chooses
//! at random how often it locks and how disciplined it is, so that the notions often differ. A trace is well formed by
//! construction unless [`Shape::ill_formed`] is set. The same shape and seed give the same trace.

mod generate;

use overtake_trace::MemoryOrder;

pub use generate::trace;

/// What random traces are made of.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Threads.
    pub threads: u32,
    /// Locks.
    pub locks: u32,
    /// Named variables with plain accesses.
    pub variables: u32,
    /// Arrays with plain accesses.
    pub arrays: u32,
    /// Elements of an array; some arrays of swept traces have fewer.
    pub array_elements: u32,
    /// Arrays are accessed in sweeps: runs, blocks and strides, forwards and backwards. Some arrays have a known length.
    pub sweeps: bool,
    /// Heap blocks of two elements that are allocated, accessed and freed.
    pub blocks: u32,
    /// Named variables with atomic accesses.
    pub atomics: u32,
    /// Objects of `post` and `wait`.
    pub objects: u32,
    /// The largest number of events, without the releases that close sections at the end. A trace has at least three quarters of
    /// this.
    pub events: u32,
    /// Of 100 plain accesses, how many write.
    pub write_percent: u32,
    /// Threads are forked and joined; else all of them run from the start.
    pub fork_join: bool,
    /// Locks are also acquired in shared mode.
    pub shared_locks: bool,
    /// Some acquires are tries (`trylock`), which do not wait.
    pub tries: bool,
    /// The orders that atomic operations and fences choose from.
    pub orders: &'static [MemoryOrder],
    /// There are fences.
    pub fences: bool,
    /// Variables with atomic accesses have plain ones too, and elements of arrays and blocks atomic ones.
    pub mixed: bool,
    /// Locks are released in any order; else the last acquired is released first.
    pub non_lifo: bool,
    /// Threads mostly acquire locks while they hold others, so that there are deadlocks.
    pub nested_locks: bool,
    /// Locks may still be held at the end, also by joined threads.
    pub open_sections: bool,
    /// There are `begin`, `end`, `request` and `branch` events.
    pub markers: bool,
    /// Some events break the rules of well-formedness, for tests of repairs.
    pub ill_formed: bool,
    /// Which locations events have.
    pub locations: Locations,
}

/// Which locations events have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Locations {
    /// None is known.
    Unknown,
    /// Each event has its own, named by its index.
    Distinct,
    /// Each event has one of this many.
    Few(u32),
}

impl Shape {
    /// Reads, writes and exclusive locks in LIFO order, all released at the end: the basic model of the papers.
    pub fn core() -> Shape {
        Shape {
            threads: 3,
            locks: 2,
            variables: 2,
            arrays: 0,
            array_elements: 2,
            sweeps: false,
            blocks: 0,
            atomics: 0,
            objects: 0,
            events: 24,
            write_percent: 50,
            fork_join: false,
            shared_locks: false,
            tries: false,
            orders: &MemoryOrder::ALL,
            fences: false,
            mixed: false,
            non_lifo: false,
            nested_locks: false,
            open_sections: false,
            markers: false,
            ill_formed: false,
            locations: Locations::Distinct,
        }
    }

    /// Core operations with fork and join, non-LIFO locking and open sections.
    pub fn threads_and_locks() -> Shape {
        Shape { threads: 4, fork_join: true, non_lifo: true, open_sections: true, ..Shape::core() }
    }

    /// As [`threads_and_locks`](Self::threads_and_locks), with shared sections.
    pub fn shared_locks() -> Shape {
        Shape { shared_locks: true, ..Shape::threads_and_locks() }
    }

    /// Atomics of every order and fences beside plain accesses.
    pub fn atomics() -> Shape {
        Shape { locks: 1, atomics: 2, fences: true, mixed: true, ..Shape::core() }
    }

    /// Posts and waits beside locks.
    pub fn post_wait() -> Shape {
        Shape { locks: 1, objects: 2, ..Shape::threads_and_locks() }
    }

    /// Heap blocks.
    pub fn heap() -> Shape {
        Shape { locks: 1, variables: 1, blocks: 2, ..Shape::threads_and_locks() }
    }

    /// Threads that sweep over arrays of up to `elements` elements and synchronise in every way in between.
    pub fn sweeps(elements: u32) -> Shape {
        Shape {
            locks: 1,
            variables: 1,
            arrays: 2,
            array_elements: elements,
            sweeps: true,
            objects: 1,
            events: 6 * elements + 20,
            ..Shape::shared_locks()
        }
    }

    /// Many locks and variables, long enough for chains of sections.
    pub fn many_locks() -> Shape {
        Shape { threads: 4, locks: 4, variables: 4, events: 40, ..Shape::threads_and_locks() }
    }

    /// Nested locks in all orders, so that there are deadlocks of two and three threads.
    pub fn nested_locks() -> Shape {
        Shape { locks: 3, variables: 1, nested_locks: true, ..Shape::core() }
    }

    /// Every operation at once.
    pub fn everything() -> Shape {
        Shape {
            arrays: 1,
            blocks: 1,
            atomics: 1,
            objects: 1,
            fences: true,
            mixed: true,
            markers: true,
            events: 30,
            ..Shape::shared_locks()
        }
    }

    /// Every operation, and events that need repairs.
    pub fn ill_formed() -> Shape {
        Shape { ill_formed: true, ..Shape::everything() }
    }

    /// Every shape above that is well formed, with at most `events` events.
    pub fn all_well_formed(events: u32) -> Vec<Shape> {
        let shapes = [
            Shape::core(),
            Shape::threads_and_locks(),
            Shape::many_locks(),
            Shape::shared_locks(),
            Shape::atomics(),
            Shape::post_wait(),
            Shape::heap(),
            Shape::everything(),
        ];
        shapes.map(|shape| shape.with_events(events)).to_vec()
    }

    /// The same with at most `events` events.
    pub fn with_events(self, events: u32) -> Shape {
        Shape { events, ..self }
    }
}
