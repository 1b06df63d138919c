//! Lines of source files around what stacks name. A file that is missing or cannot be read has no lines.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::result::{Excerpt, Finding, Frame, innermost_own};

/// Lines before and after the one that is named.
const AROUND: u32 = 3;
/// Larger files are not sources that people read.
const MOST_BYTES: u64 = 16 << 20;
/// Longer lines are cut to this many bytes, those around the columns that stacks name.
const MOST_BYTES_OF_LINE: usize = 400;
/// Frames of an access whose lines are shown.
const FRAMES: usize = 8;

/// Lines that are wanted of a file, each with the first and the last column that a stack names; zeros if none does.
type Wanted = BTreeMap<u32, [u32; 2]>;

/// The excerpts for findings, from files below `directory` or with absolute paths.
pub(super) fn excerpts(findings: &[Finding], directory: &Path) -> BTreeMap<String, Excerpt> {
    let mut wanted: BTreeMap<&str, Wanted> = BTreeMap::new();
    for frame in findings.iter().flat_map(frames) {
        if frame.is_own() && frame.line > 0 {
            let lines = wanted.entry(&frame.file).or_default();
            for line in frame.line.saturating_sub(AROUND).max(1)..=frame.line.saturating_add(AROUND) {
                lines.entry(line).or_default();
            }
            let [first, last] = lines.entry(frame.line).or_default();
            *first = if *first == 0 { frame.column } else { frame.column.clamp(1, *first) };
            *last = frame.column.max(*last);
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
    let of_access = finding.accesses.iter().flat_map(|access| {
        let stack = access.stack.iter().take(FRAMES).chain(access.site());
        let held = access.held.iter().filter_map(|lock| innermost_own(&lock.taken_at));
        stack.chain(held).chain(innermost_own(&access.thread.created_at))
    });
    of_access.chain(innermost_own(finding.allocated_at())).chain(innermost_own(finding.freed_at()))
}

fn excerpt(path: &Path, wanted: &Wanted) -> Option<Excerpt> {
    let found = fs::metadata(path).ok()?;
    if !found.is_file() || found.len() > MOST_BYTES {
        return None;
    }
    let text = fs::read(path).ok()?;
    let mut excerpt = Excerpt::default();
    for (line, number) in text.split(|&byte| byte == b'\n').zip(1..) {
        if let Some(&columns) = wanted.get(&number) {
            let (text, cut) = shortened(&String::from_utf8_lossy(line), columns);
            excerpt.lines.insert(number, text);
            if cut > 0 {
                excerpt.cut.insert(number, cut);
            }
        }
    }
    (!excerpt.lines.is_empty()).then_some(excerpt)
}

/// The part of a line around columns, and how many bytes come before it.
fn shortened(line: &str, [first, last]: [u32; 2]) -> (String, u32) {
    let line = line.trim_end();
    if line.len() <= MOST_BYTES_OF_LINE {
        return (line.to_owned(), 0);
    }
    let middle = (first as usize + last as usize) / 2;
    let start = middle.saturating_sub(MOST_BYTES_OF_LINE / 2).min(line.len() - MOST_BYTES_OF_LINE);
    let start = line.floor_char_boundary(start);
    let end = line.floor_char_boundary(start + MOST_BYTES_OF_LINE);
    (line[start..end].to_owned(), start as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_around_what_is_accessed() {
        let line = format!("{}here{}", "ä".repeat(1_000), "b".repeat(3_000));
        for column in [2_001, 2_004] {
            let (text, cut) = shortened(&line, [column, column]);
            assert!(text.len() <= MOST_BYTES_OF_LINE && text.contains("ähereb"), "{text}");
            assert_eq!(&line[cut as usize..][..text.len()], text);
        }
        assert_eq!(shortened(&line, [0, 0]).1, 0);
        let (text, cut) = shortened(&line, [5_004, 5_004]);
        assert_eq!((text.len(), cut as usize), (MOST_BYTES_OF_LINE, line.len() - MOST_BYTES_OF_LINE));
        assert_eq!(shortened("short  ", [3, 3]), ("short".to_owned(), 0));
    }
}
