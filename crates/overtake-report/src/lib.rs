//! What Overtake found, as text for people and as JSON for programs.
//!
//! The model ([`TraceFacts`], [`Findings`], [`Analysed`]) holds results as the detectors left them, in ids; the renderers
//! put names to them. [`text`] is for terminals, [`json`] is the documented machine form. There are no algorithms
//! here, and this is the only crate that knows serde.
//!
//! ```
//! use overtake_report::{Analysed, TraceFacts, text};
//! use overtake_trace::Symbols;
//!
//! let trace = TraceFacts { file: "run.std".into(), events: 3, ..TraceFacts::default() };
//! let symbols = Symbols::default();
//! let analysed = Analysed { trace: &trace, symbols: &symbols, findings: vec![], time: Default::default() };
//! assert_eq!(text::races(&analysed, &text::Layout::default()), "");
//! ```
//!
//! Same findings, same bytes: nothing rendered depends on hash order or on the clock, apart from the fields that state
//! times.
#![forbid(unsafe_code)]

mod event;
pub mod json;
mod model;
mod number;
pub mod recorded;
pub mod result;
pub mod text;

pub use model::{
    Analysed, ExpectedFacts, Findings, GeneratedFacts, Goal, Measurement, StatisticsFacts, TraceFacts,
    WitnessFacts, WrittenFacts,
};
