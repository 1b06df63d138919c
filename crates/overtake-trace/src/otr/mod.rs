//! The sealed trace format, `.otr`.
//!
//! A file is a header, *chunks*, and a trailer. A chunk has a marker, its length, and checksums over its header and its
//! payload, so that intact chunks behind damage can be found. Chunks are blocks of events, symbol chunks (the names
//! that are new since the last symbol chunk, always before the blocks that use them), and the footer's sections: the
//! trace's parameters and the offsets of all blocks and symbol chunks. `docs/trace-format.md` is the normative description.
//!
//! What follows from this:
//!   - [`OtrReader`] reads from front to back and needs no seeking, so pipes work.
//!   - [`OtrFile`] reaches any event by the block index and reads nothing before it; threads decode blocks in parallel.
//!   - A file that is cut short lacks its footer and at most the block that was being written. Salvage finds the rest by the
//!     markers; a block stores the index of its first event, so events keep their indices across gaps.
//!
//! **Trust.** A number in a file is trusted only if its checksum matches, and only within what the file's
//! size and the format's limits allow: at most 32 MiB of payload, 1,048,576 events in a block, 65,536 names in a symbol
//! chunk. Every id is checked against its table when it is decoded.

mod column;
mod cutter;
mod damage;
mod events;
mod file;
mod footer;
mod layout;
mod names;
mod pack;
mod program;
mod reader;
mod relay;
mod scan;
#[cfg(test)]
mod tests;
mod wire;
mod writer;

pub use damage::Damage;
pub use file::OtrFile;
pub use reader::OtrReader;
pub use relay::{RelaySink, RelaySource, relay};
pub use writer::OtrWriter;
