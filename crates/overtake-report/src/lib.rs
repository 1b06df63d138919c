//! What Overtake found, as text and HTML for people, and as JSON, SARIF and reports for continuous integration.
//!
//! [`Analysed`] holds results as the detectors left them, in ids. [`collect`] makes a [`result::Report`] of them, which has
//! everything spelled out and can be stored; every [`Renderer`] takes that. [`text`] and [`json`] also report on traces and
//! measurements. No race is detected here, and this is the only crate that knows serde.
//!
//! ```
//! use overtake_report::collect::{Collector, Settings};
//! use overtake_report::{Analysed, TraceFacts, find_renderer};
//! use overtake_trace::Symbols;
//!
//! let trace = TraceFacts { file: "run.std".into(), events: 3, ..TraceFacts::default() };
//! let symbols = Symbols::default();
//! let analysed = Analysed { trace: &trace, symbols: &symbols, findings: vec![], time: Default::default() };
//! let report = Collector::new(&analysed, &Settings::default()).finish();
//! let mut out = Vec::new();
//! (find_renderer("json").unwrap().write)(&mut out, &report).unwrap();
//! assert!(out.starts_with(b"{\n  \"schema\": 2"));
//! ```
//!
//! Same findings, same bytes: nothing rendered depends on hash order or on the clock, apart from the fields that state
//! times.
#![forbid(unsafe_code)]

mod cause;
pub mod ci;
pub mod collect;
mod diff;
mod event;
pub mod frames;
mod function_name;
pub mod html;
pub mod json;
mod model;
mod number;
pub mod perfetto;
mod render;
pub mod result;
pub mod rules;
pub mod sarif;
pub mod text;
pub mod triage;
pub mod tsan;

pub use cause::{Cause, Share, causes};
pub use diff::{Diff, diff};
pub use model::{
    Analysed, DeadlockWitnessFacts, ExpectedFacts, Findings, GeneratedFacts, Goal, Measurement,
    StatisticsFacts, TraceFacts, WitnessFacts, WrittenFacts,
};
pub use number::grouped;
pub use render::{RENDERERS, Renderer, find_renderer};
