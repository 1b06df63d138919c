//! The golden traces: small traces with their correct answers, each kept for one mistake that detectors make.
//!
//! A golden trace is `<name>.std`, whose first line is a comment that says why it exists, and `<name>.expected`, with a line for each
//! notion:
//!
//! ```text
//! repairs: reentrant-acquire
//! hb: 1 2
//! shb: 1
//! syncp: 1
//! osr: 1
//! wcp: 1
//! predictable: 1
//! lock-cover: 1 2
//! lock-set: x
//! ```
//!
//! A line `m2: 1` says which events `m2` has to find, which has no definition for more than two threads. After `lock-set` come names of variables, after the other notions the indices, from 0, of the events that race with an
//! earlier one. An empty list means that there are none; a missing notion means that its answer is not stated. `repairs` names the
//! repairs that the trace needs; without this line the trace is well formed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

/// A golden trace as text, and its answers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Golden {
    /// The name of its files.
    pub name: String,
    /// Why it exists.
    pub why: String,
    /// The trace in STD text.
    pub std: String,
    /// Repairs that it needs.
    pub repairs: Vec<String>,
    /// Indices of racy second events, by notion.
    pub second_events: BTreeMap<String, BTreeSet<u64>>,
    /// Names of the variables that are lock-set races.
    pub lock_set: Option<BTreeSet<String>>,
}

/// All golden traces of a directory, by name.
pub fn read_golden(directory: &Path) -> io::Result<Vec<Golden>> {
    let mut traces = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "std") {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let std = fs::read_to_string(&path)?;
            let expected = fs::read_to_string(path.with_extension("expected"))?;
            traces.push(parse(name, std, &expected)?);
        }
    }
    traces.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(traces)
}

fn parse(name: String, std: String, expected: &str) -> io::Result<Golden> {
    let invalid = |message: String| io::Error::new(io::ErrorKind::InvalidData, message);
    let why = std.lines().next().and_then(|line| line.strip_prefix("# "));
    let why = why.ok_or_else(|| invalid(format!("{name}.std: expected a comment in line 1")))?.to_owned();
    let mut golden =
        Golden { name, why, std, repairs: Vec::new(), second_events: BTreeMap::new(), lock_set: None };
    for line in expected.lines() {
        let Some((key, values)) = line.split_once(':') else {
            return Err(invalid(format!(
                "{}.expected: expected `notion: values`, found `{line}`",
                golden.name
            )));
        };
        let values = values.split_whitespace();
        match key {
            "repairs" => golden.repairs = values.map(str::to_owned).collect(),
            "lock-set" => golden.lock_set = Some(values.map(str::to_owned).collect()),
            _ => {
                let indices: Result<BTreeSet<u64>, _> = values.map(str::parse).collect();
                let indices = indices.map_err(|_| {
                    invalid(format!("{}.expected: expected indices, found `{line}`", golden.name))
                })?;
                golden.second_events.insert(key.to_owned(), indices);
            }
        }
    }
    Ok(golden)
}
