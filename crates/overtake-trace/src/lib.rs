//! Events of concurrent programs: the model, readers and writers, validation, statistics.
//!
//! Everything Overtake does starts from a trace: a sequence of events (thread, operation, operand, source location)
//! that one run of a concurrent program performed. This crate turns files of several formats into blocks of
//! 16-byte [`Event`]s with dense ids, checks or repairs them, and writes them back. It knows no detector.
#![forbid(unsafe_code)]

mod block;
mod check;
mod error;
mod event;
#[doc(hidden)]
pub mod fuzzing;
mod id;
mod input;
mod misuse;
mod open;
mod otr;
mod pages;
mod parameters;
mod rapid_bin;
mod stats;
mod symbols;
pub mod text;

pub use block::{BLOCK_EVENTS, Block, EventSink, EventSource, LeftOut, MemorySource, Part, Progress, Trace};
pub use check::{
    Checked, Checker, HeldLock, Landmark, Landmarks, Renumbered, Repair, Repairs, Run, Seen, Stretch, chain,
};
pub use error::{Error, ErrorKind, Position, Result};
pub use event::{Action, Event, MemoryOrder, Op, OperandKind};
pub use id::{
    ArrayId, EventIndex, Id, IdVec, LocationId, LockId, MarkerId, SyncId, ThreadId, TraceIds, VarId,
};
pub use misuse::{Misuse, MisuseKind, Misuses};
pub use open::{Format, Opened, open};
pub use otr::{Damage, OtrFile, OtrReader, OtrWriter, RelaySink, RelaySource, relay};
pub use pages::Pages;
pub use parameters::Parameters;
pub use rapid_bin::RapidBinReader;
pub use stats::{CriticalSection, LockUsage, Statistics, TraceSummary, VariableUsage};
pub use symbols::{
    ArrayFacts, Common, Frame, Freed, Memory, MemoryKind, Module, Names, Program, Site, Sizes, Symbols,
    SyncObjects, ThreadFacts, Variable, Variables,
};
pub use text::{CsvReader, CsvWriter, RoadRunnerReader, StdReader, StdWriter};
