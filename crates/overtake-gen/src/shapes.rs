//! The table of shapes: help text, command line, tests and benchmarks iterate over it.

use overtake_trace::Symbols;

use crate::arrays::Sweeps;
use crate::arrays::pattern::Pattern;
use crate::fork_join::ForkJoin;
use crate::parameters::{Parameter, ParameterError, Parameters};
use crate::producer_consumer::ProducerConsumer;
use crate::program::{ProgramRun, Style};
use crate::rounds::Rounds;
use crate::tape::Generator;

/// One kind of workload.
#[derive(Debug)]
pub struct Shape {
    /// The name on the command line.
    pub name: &'static str,
    /// One line of help.
    pub description: &'static str,
    /// The parameters that this shape uses, besides those of [`ALWAYS_RELEVANT`].
    pub relevant: &'static [Parameter],
    /// The default parameters.
    pub defaults: Parameters,
    pub(crate) build: Build,
}

pub(crate) type Build = fn(&Parameters, &mut Symbols) -> Result<Box<dyn Generator>, ParameterError>;

/// The parameters that matter for every shape.
pub const ALWAYS_RELEVANT: &[Parameter] =
    &[Parameter::Events, Parameter::Threads, Parameter::Locations, Parameter::Seed];

const PROGRAM: &[Parameter] = &[
    Parameter::Locks,
    Parameter::Variables,
    Parameter::Sharing,
    Parameter::Raciness,
    Parameter::Nesting,
    Parameter::Distance,
];
const SWEEP: &[Parameter] = &[Parameter::Locks, Parameter::Variables, Parameter::Raciness];
const TREE: &[Parameter] = &[Parameter::Variables, Parameter::Sharing, Parameter::Raciness];
const QUEUES: &[Parameter] = &[Parameter::Locks, Parameter::Variables, Parameter::Raciness];
const FAR: &[Parameter] =
    &[Parameter::Locks, Parameter::Variables, Parameter::Raciness, Parameter::Nesting, Parameter::Distance];
const EPSILON: &[Parameter] =
    &[Parameter::Locks, Parameter::Variables, Parameter::Nesting, Parameter::Epsilon];

/// Sixteen threads over a few locks: the trace of the project's benchmarks.
const BASE: Parameters = Parameters {
    events: 10_000_000,
    threads: 16,
    locks: 32,
    variables: 20_000,
    sharing: 0.8,
    raciness: 0.000_02,
    nesting: 2,
    distance: 50,
    locations: 1000,
    epsilon: 0.01,
    seed: 1,
};

const ARRAYS: Parameters =
    Parameters { threads: 8, locks: 0, variables: 1_000_000, raciness: 0.0, locations: 24, ..BASE };

/// Every shape, in the order of help texts.
pub const SHAPES: &[Shape] = &[
    Shape {
        name: "lock-heavy",
        description: "half of the events are lock operations, the rest accesses under the guarding lock; the benchmark trace",
        relevant: PROGRAM,
        defaults: BASE,
        build: |parameters, symbols| program(parameters, symbols, Style::plain(0.5)),
    },
    Shape {
        name: "lock-dominated",
        description: "few locks and few variables: short sections, much contention",
        relevant: PROGRAM,
        defaults: Parameters { locks: 8, variables: 200, ..BASE },
        build: |parameters, symbols| program(parameters, symbols, Style::plain(0.6)),
    },
    Shape {
        name: "interleaved",
        description: "as lock-heavy, but another thread runs after each event",
        relevant: PROGRAM,
        defaults: BASE,
        build: |parameters, symbols| program(parameters, symbols, Style { slice: 1, ..Style::plain(0.5) }),
    },
    Shape {
        name: "compute",
        description: "computation over very many variables with little synchronisation",
        relevant: PROGRAM,
        defaults: Parameters { locks: 64, variables: 1_000_000, sharing: 0.3, ..BASE },
        build: |parameters, symbols| {
            program(parameters, symbols, Style { constants: true, ..Style::plain(0.02) })
        },
    },
    Shape {
        name: "many-threads",
        description: "thousands of threads that come and go, at most 128 of them at a time",
        relevant: PROGRAM,
        defaults: Parameters { threads: 10_000, locks: 256, variables: 100_000, ..BASE },
        build: |parameters, symbols| program(parameters, symbols, Style { alive: 128, ..Style::plain(0.3) }),
    },
    Shape {
        name: "far-races",
        description: "race-free work with planted races whose accesses are exactly `distance` events apart",
        relevant: FAR,
        defaults: Parameters { distance: 100_000, raciness: 0.000_1, ..BASE },
        build: |parameters, symbols| Ok(Box::new(Rounds::far_races(parameters, symbols)?)),
    },
    Shape {
        name: "epsilon-far",
        description: "at least `epsilon` of all events must change to make the trace free of happens-before races",
        relevant: EPSILON,
        defaults: BASE,
        build: |parameters, symbols| Ok(Box::new(Rounds::epsilon_far(parameters, symbols)?)),
    },
    Shape {
        name: "fork-join",
        description: "a binary tree of threads that divide, work and combine, without locks",
        relevant: TREE,
        defaults: Parameters { threads: 63, locks: 0, sharing: 0.3, raciness: 0.0, ..BASE },
        build: |parameters, symbols| Ok(Box::new(ForkJoin::new(parameters, symbols)?)),
    },
    Shape {
        name: "producer-consumer",
        description: "bounded queues with a lock for the indices and a semaphore for each state of a slot",
        relevant: QUEUES,
        defaults: Parameters { locks: 4, variables: 2_000, raciness: 0.0, locations: 24, ..BASE },
        build: |parameters, symbols| Ok(Box::new(ProducerConsumer::new(parameters, symbols)?)),
    },
    Shape {
        name: "mixed",
        description: "every operation there is: shared locks, atomics of all orders, fences, semaphores, heap blocks",
        relevant: PROGRAM,
        defaults: Parameters { locks: 40, ..BASE },
        build: |parameters, symbols| {
            program(parameters, symbols, Style { all_operations: true, ..Style::plain(0.5) })
        },
    },
    sweep(
        "array-whole",
        "arrays written by one thread and read by all, from end to end",
        |parameters, symbols| sweeps(Pattern::Whole, parameters, symbols),
    ),
    sweep(
        "array-halves",
        "two threads write one half of an array each, the others read halves",
        |parameters, symbols| sweeps(Pattern::Halves, parameters, symbols),
    ),
    sweep(
        "array-blocks",
        "every thread updates its block of an array and reads its neighbour's",
        |parameters, symbols| sweeps(Pattern::Blocks, parameters, symbols),
    ),
    sweep(
        "array-strided",
        "every thread updates every T-th element, as columns of a matrix",
        |parameters, symbols| sweeps(Pattern::Strided, parameters, symbols),
    ),
    sweep("array-prefix", "buffers of which only the beginning is used", |parameters, symbols| {
        sweeps(Pattern::Prefix, parameters, symbols)
    }),
    sweep("array-wavefront", "a matrix computed diagonal by diagonal", |parameters, symbols| {
        sweeps(Pattern::Wavefront, parameters, symbols)
    }),
    sweep(
        "array-triangular",
        "the lower triangle of a matrix, by rows and by columns",
        |parameters, symbols| sweeps(Pattern::Triangular, parameters, symbols),
    ),
    sweep("array-random", "all elements in random order, randomly owned", |parameters, symbols| {
        sweeps(Pattern::Random, parameters, symbols)
    }),
    sweep("array-sparse", "a few scattered elements of a large array", |parameters, symbols| {
        sweeps(Pattern::Sparse, parameters, symbols)
    }),
    sweep(
        "array-grow",
        "arrays of unknown length, filled bit by bit and read as far as filled",
        |parameters, symbols| sweeps(Pattern::Grow, parameters, symbols),
    ),
];

/// The shape of this name.
pub fn find_shape(name: &str) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| shape.name == name)
}

const fn sweep(name: &'static str, description: &'static str, build: Build) -> Shape {
    Shape { name, description, relevant: SWEEP, defaults: ARRAYS, build }
}

fn program(
    parameters: &Parameters,
    symbols: &mut Symbols,
    style: Style,
) -> Result<Box<dyn Generator>, ParameterError> {
    Ok(Box::new(ProgramRun::new(parameters, style, symbols)?))
}

fn sweeps(
    pattern: Pattern,
    parameters: &Parameters,
    symbols: &mut Symbols,
) -> Result<Box<dyn Generator>, ParameterError> {
    Ok(Box::new(Sweeps::new(pattern, parameters, symbols)?))
}
