//! Overtake finds the data races of one run of a concurrent program, and those that another schedule of the same run would
//! have had.
//!
//! This crate is what the command line of the same name is made of. Three calls are enough for most purposes: name a trace,
//! search it, render the report.
//!
//! ```
//! use overtake::{Search, report::find_renderer};
//!
//! # let directory = tempfile::tempdir()?;
//! # let trace = directory.path().join("trace.std");
//! // One line for each event: thread, operation, place in the source. Recorded programs leave `.otr` files.
//! std::fs::write(&trace, "T0|fork(T1)|main.c:3\nT0|w(x)|main.c:8\nT1|r(x)|worker.c:9\n")?;
//!
//! let report = Search::default().in_file(&trace)?;
//! assert_eq!(report.findings.len(), 1);
//! assert_eq!(report.findings[0].subject(), "x");
//!
//! let mut text = Vec::new();
//! (find_renderer("text").expect("a renderer").write)(&mut text, &report)?;
//! assert!(String::from_utf8(text)?.contains("worker.c:9"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The examples go further: `races_of_a_trace` chooses detectors and looks at what they found, `own_detector` adds a detector,
//! `render_a_report` writes reports in several formats (`cargo run --example NAME`).
//!
//! # What is where
//!
//! - [`Search`] looks for races in traces and logs. [`Examined`] runs detectors and keeps their results in ids;
//!   [`reports`] spells them out.
//! - [`runs`] analyses a directory of traces as one job.
//! - [`files`] opens traces of every format and writes files that appear complete or not at all.
//! - [`compile`] is the compiler that adds the recorder to a program, [`recording`] runs such programs.
//! - [`measure`] measures detectors, and shows figures in tables and curves.
//! - [`triage`] knows suppressions and baselines.
//! - `workers` lets several cores or machines share the work of detectors (feature `workers`).
//! - `command_line` is the program itself (feature `cli`). With a [`Registry`](detect::Registry) that has rows of your own it is a program
//!   with your own detectors.
//! - [`trace`], [`detect`] and [`report`] are the crates below: events and formats; race notions and their algorithms;
//!   renderers.
//!
//! # Limits
//!
//! Programs are recorded on x86-64 Linux with glibc; traces are read everywhere. Without the default feature `cli` there is no
//! program and nothing that only the program needs.
#![forbid(unsafe_code)]

pub mod circumstances;
#[cfg(feature = "cli")]
pub mod command_line;
pub mod compile;
pub mod confirm;
mod error;
mod examine;
mod excerpts;
pub mod files;
mod listener;
pub mod measure;
mod members;
pub mod recording;
pub mod reports;
pub mod runs;
mod search;
#[cfg(feature = "workers")]
pub mod slices;
pub mod surroundings;
pub mod tester;
pub mod triage;
#[cfg(feature = "workers")]
pub mod workers;

// The command line names what it uses as a program outside would.
#[cfg(feature = "cli")]
extern crate self as overtake;

pub use overtake_detect as detect;
pub use overtake_report as report;
pub use overtake_trace as trace;

pub use error::{Error, ErrorKind, Result};
pub use examine::Examined;
pub use files::Input;
pub use listener::{Listener, Watch, Working};
pub use search::{EXPLAINING, Search, Searched};
