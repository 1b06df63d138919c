//! What stays the same of a race from run to run, and from version to version of its program.
//!
//! A fingerprint is a hash of the unordered pair of both sides and of the memory. A side is its operation and its functions
//! with the base names of their files, from the innermost to the first of the program itself: callers beyond it differ from
//! run to run where several lead to one race. Where a program has no symbols, the module and the offset in it take the
//! place of the function; in a trace, the location without its line. Memory is its kind, with the name of a global or variable,
//! or the function that allocated a block.
//!
//! Line numbers, addresses and thread numbers have no part in it. So races between the same functions on the same variable
//! can be alike; the second one of a report gets another fingerprint, the third yet another, in the order of their lines. A
//! baseline that holds three of them knows any three.

use std::collections::BTreeMap;

use crate::result::{Access, Finding, Frame, Memory, innermost_own};

use super::names::base_name;

/// Gives every finding its fingerprint.
pub(super) fn assign(findings: &mut [Finding]) {
    let mut order: Vec<usize> = (0..findings.len()).collect();
    order.sort_by_key(|&at| lines(&findings[at]));
    let mut alike: BTreeMap<String, u64> = BTreeMap::new();
    for at in order {
        let plain = description(&findings[at]);
        let number = alike.entry(plain.clone()).or_default();
        *number += 1;
        let text = if *number == 1 { plain } else { format!("{plain}\n{number}") };
        findings[at].fingerprint = format!("{:016x}", hash(text.as_bytes()));
    }
}

fn lines(finding: &Finding) -> Vec<(String, u32, u32)> {
    let place = |access: &Access| {
        let site = access.site().cloned().unwrap_or_default();
        (site.file, site.line, site.column)
    };
    let mut lines: Vec<_> = finding.accesses.iter().map(place).collect();
    lines.sort_unstable();
    lines
}

fn description(finding: &Finding) -> String {
    let mut sides: Vec<_> = finding.accesses.iter().map(side).collect();
    sides.sort_unstable();
    let about = match &finding.memory {
        Some(memory) => memory_words(memory),
        None => finding.rule.clone(),
    };
    format!("{}\n{about}", sides.join("\n"))
}

fn side(access: &Access) -> String {
    let own = access.stack.iter().position(Frame::is_own).unwrap_or(0);
    let frames = access.stack.iter().take(own + 1);
    frames.fold(access.operation.clone(), |text, frame| format!("{text}|{}", code(frame)))
}

fn code(frame: &Frame) -> String {
    match (frame.function.as_str(), frame.file.as_str()) {
        ("", "") => format!("{}+{:#x}", frame.module, frame.offset),
        ("", location) => without_line(base_name(location)).to_owned(),
        (function, file) => format!("{function} {}", base_name(file)),
    }
}

/// `main.c` of `main.c:12:3`; a location that is nothing but a number stays as it is.
fn without_line(location: &str) -> &str {
    let mut rest = location;
    while let Some((before, digits)) = rest.rsplit_once(':')
        && !before.is_empty()
        && digits.bytes().all(|digit| digit.is_ascii_digit())
    {
        rest = before;
    }
    rest
}

fn memory_words(memory: &Memory) -> String {
    let name = match memory.kind.as_str() {
        // An index or an offset is one of many that race.
        "variable" | "global" => memory.whole(),
        _ => innermost_own(&memory.allocated_at).map_or("", |frame| &frame.function),
    };
    format!("{} {name}", memory.kind)
}

/// FNV-1a of 64 bits: what is stored must be the same in every version.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_no_part_in_a_location() {
        assert_eq!(without_line("main.c:12:3"), "main.c");
        assert_eq!(without_line("main.c:12"), "main.c");
        assert_eq!(without_line("345"), "345");
        assert_eq!(without_line(":345"), ":345");
        assert_eq!(without_line("a:b"), "a:b");
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
