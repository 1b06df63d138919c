//! Lines of source files around what stacks name. A file that is missing or cannot be read has no lines.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::result::{Excerpt, Finding, Frame, innermost_own};

/// Lines before and after the one that is named.
const AROUND: u32 = 3;
/// Larger files are no sources that people read.
const MOST_BYTES: u64 = 16 << 20;
/// Longer lines are cut.
const MOST_LETTERS: usize = 400;
/// Frames of an access whose lines are shown.
const FRAMES: usize = 8;

/// The excerpts for findings, from files below `directory` or with absolute paths.
pub(super) fn excerpts(findings: &[Finding], directory: &Path) -> BTreeMap<String, Excerpt> {
    let mut wanted: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for frame in findings.iter().flat_map(frames) {
        if frame.is_own() && frame.line > 0 {
            let around = frame.line.saturating_sub(AROUND).max(1)..=frame.line.saturating_add(AROUND);
            wanted.entry(&frame.file).or_default().extend(around);
        }
    }
    let excerpts = wanted.into_iter().filter_map(|(file, lines)| {
        let excerpt = excerpt(&directory.join(file), &lines)?;
        Some((file.to_owned(), excerpt))
    });
    excerpts.collect()
}

/// The frames whose lines matter.
fn frames(finding: &Finding) -> impl Iterator<Item = &Frame> {
    let accesses = [&finding.first, &finding.second].into_iter();
    let of_access = accesses.flat_map(|access| {
        let stack = access.stack.iter().take(FRAMES).chain(access.site());
        let held = access.held.iter().filter_map(|lock| innermost_own(&lock.taken_at));
        stack.chain(held).chain(innermost_own(&access.thread.created_at))
    });
    of_access.chain(innermost_own(&finding.memory.allocated_at))
}

fn excerpt(path: &Path, lines: &BTreeSet<u32>) -> Option<Excerpt> {
    let found = fs::metadata(path).ok()?;
    if !found.is_file() || found.len() > MOST_BYTES {
        return None;
    }
    let text = fs::read(path).ok()?;
    let numbered = text.split(|&byte| byte == b'\n').zip(1..);
    let lines: BTreeMap<u32, String> = numbered
        .filter(|(_, number)| lines.contains(number))
        .map(|(line, number)| {
            let line = String::from_utf8_lossy(line);
            (number, line.trim_end().chars().take(MOST_LETTERS).collect())
        })
        .collect();
    (!lines.is_empty()).then_some(Excerpt { lines })
}
