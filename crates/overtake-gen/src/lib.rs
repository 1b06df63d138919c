//! Generated traces: seeded workloads in the shapes of real programs, hardness constructions with known answers, and
//! the golden traces.
//!
//! ```
//! use overtake_gen::{Parameters, Workload, find_shape};
//! use overtake_trace::Trace;
//!
//! let shape = find_shape("lock-heavy").expect("it is in the table");
//! let mut workload = Workload::new(shape, Parameters { events: 1000, seed: 7, ..shape.defaults })?;
//! let trace = Trace::read(&mut workload)?;
//! assert_eq!(trace.events.len(), 1000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Workloads are generated while they are read: a billion events need no more memory than a thousand. Gadgets are small and are built
//! in memory, together with their answer.
#![forbid(unsafe_code)]

mod adjacent;
mod arrays;
mod barrier;
mod fork_join;
pub mod gadgets;
mod golden;
mod parameters;
mod producer_consumer;
mod program;
mod rng;
mod rounds;
mod shapes;
mod sites;
mod tape;
mod workload;

pub use golden::{Golden, read_golden};
pub use parameters::{Parameter, ParameterError, Parameters};
pub use rounds::most_epsilon;
pub use shapes::{ALWAYS_RELEVANT, SHAPES, Shape, find_shape};
pub use tape::Expectation;
pub use workload::Workload;
