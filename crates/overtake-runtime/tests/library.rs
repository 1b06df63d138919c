//! Functions of libc in the log: what they read and write, and what they order.

mod support;

use std::collections::BTreeSet;

use overtake_rawlog::{NETWORK, RecordKind as Kind};
use support::each_compiler;

#[test]
fn order_through_descriptors_is_recorded() {
    each_compiler("files.c", |run| {
        let log = run.log();
        let kinds = |name: &str| log.kinds_about(run.printed(name));
        assert_eq!(kinds("read")[..2], [Kind::FdForget, Kind::FdWait]);
        assert_eq!(kinds("write")[..3], [Kind::FdAlias, Kind::FdPost, Kind::FdClose]);
        assert_eq!(kinds("event")[..3], [Kind::FdForget, Kind::FdPost, Kind::FdWait]);
        assert_eq!(kinds("used"), [Kind::FdAlias, Kind::FdUse, Kind::FdUse]);
        assert_eq!(kinds("watcher"), [Kind::FdForget, Kind::FdPost, Kind::FdWait]);
        let alias = |name: &str| log.about(run.printed(name))[0].1.words[2];
        assert_eq!(alias("write"), run.printed("read"));
        assert_eq!(alias("second"), run.printed("first"));
        assert_ne!(alias("second"), NETWORK);
        let thread = &log.threads[&0];
        assert!(thread.count(Kind::Write, run.printed("buffer")) >= 1, "what was read into is written");
    });
}

#[test]
fn memory_that_streams_fill_and_write_out_is_recorded() {
    each_compiler("streams.c", |run| {
        let thread = &run.log().threads[&0];
        for (name, kind, bytes) in [
            ("fread", Kind::Write, 12),
            ("fgets", Kind::Write, 7),
            ("line", Kind::Write, 8),
            ("fwrite", Kind::Read, 12),
            ("fputs", Kind::Read, 6),
            ("puts", Kind::Read, 5),
        ] {
            let found = thread.accesses(kind == Kind::Write);
            assert!(found.contains(&(run.printed(name), bytes)), "{name}: {found:x?}");
        }
        let ends_with = |end: &str, kinds: &[Kind]| {
            let found = run.log().kinds_about(run.printed(end)); // of descriptors of this number before as well
            assert!(found.ends_with(kinds), "{end}: {found:?}");
        };
        ends_with("pipe_in", &[Kind::FdForget, Kind::FdWait]);
        ends_with("pipe_out", &[Kind::FdAlias, Kind::FdPost, Kind::FdPost, Kind::FdClose]);
    });
}

#[test]
fn formatted_text_is_recorded_and_comes_out_right() {
    each_compiler("formatted.c", |run| {
        let thread = &run.log().threads[&0];
        let writes = thread.accesses(true);
        let ranges = thread.records.iter().filter(|record| record.kind == Kind::WriteRange);
        let ranges: Vec<_> = ranges.map(|record| (record.value, record.words[1])).collect();
        for (name, bytes) in
            [("first", 64), ("second", 8), ("third", 5), ("fourth", 14), ("fifth", 8), ("sixth", 5)]
        {
            let written = (run.printed(name), bytes);
            assert!(
                writes.contains(&written) || ranges.contains(&written),
                "{name}: {writes:x?} {ranges:x?}"
            );
        }
        let of = |end| run.log().kinds_about(run.printed(end));
        assert!(of("pipe_out").ends_with(&[Kind::FdAlias, Kind::FdPost, Kind::FdPost]));
        assert!(of("pipe_in").ends_with(&[Kind::FdForget, Kind::FdWait, Kind::FdWait]));
    });
}

/// Functions in the files of tables that are not libc's.
const OWN: &[&str] = &["now", "moved<const WRITE: bool>"];

/// The functions of a table, by the lines that define them.
fn functions_of(table: &'static str) -> Vec<&'static str> {
    let rows = table.lines();
    let names = rows.filter_map(|line| line.strip_prefix("    fn ")?.split_once('(')).map(|(name, _)| name);
    let names: Vec<_> = names.filter(|name| !name.starts_with('$') && !OWN.contains(name)).collect();
    assert!(names.len() >= 10, "{names:?}");
    names
}

#[test]
fn functions_read_and_write_what_the_table_says() {
    check_table("table.c", &[include_str!("../src/libc_hooks/effects.rs")]);
}

#[test]
fn functions_for_letters_and_numbers_read_and_write_what_the_table_says() {
    let tables = [include_str!("../src/libc_hooks/letters.rs"), include_str!("../src/libc_hooks/numbers.rs")];
    check_table("letters.c", &tables);
}

#[test]
fn functions_of_the_system_read_and_write_what_the_table_says() {
    check_table("system.c", &[include_str!("../src/libc_hooks/system.rs")]);
}

/// Every row that the program prints is in the log: a function of libc, what it does, where, and how many bytes. Every
/// function of the tables is called.
fn check_table(program: &str, tables: &[&'static str]) {
    each_compiler(program, |run| {
        let thread = &run.logs[0].threads[&0]; // its children come after it
        let touched = |write: bool| {
            let range = if write { Kind::WriteRange } else { Kind::ReadRange };
            let ranges = thread.records.iter().filter(|record| record.kind == range);
            let ranges = ranges.map(|record| (record.value, record.words[1]));
            thread.accesses(write).into_iter().chain(ranges).collect::<Vec<_>>()
        };
        let (read, written) = (touched(false), touched(true));
        let text = String::from_utf8_lossy(&run.output.stdout).into_owned();
        let called: BTreeSet<&str> = text.lines().filter_map(|line| line.split(' ').next()).collect();
        let forgotten: Vec<_> = tables
            .iter()
            .flat_map(|table| functions_of(table))
            .filter(|name| !called.contains(name))
            .collect();
        assert!(forgotten.is_empty(), "the program does not call {forgotten:?}");
        for line in text.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [_, what, address, bytes] = words[..] else { panic!("{line}") };
            let start = u64::from_str_radix(address.trim_start_matches("0x"), 16).expect("an address");
            let end = start + bytes.parse::<u64>().expect("a number");
            let all = if what == "write" { &written } else { &read };
            let mut covered = start;
            while let Some((at, bytes)) =
                all.iter().find(|(at, bytes)| *at <= covered && at + bytes > covered)
            {
                covered = at + bytes;
            }
            assert!(covered >= end, "{line}: {} bytes are in the log", covered - start);
        }
    });
}

#[test]
fn functions_of_the_sanitizer_are_there_by_name() {
    each_compiler("unaligned.c", |run| {
        let log = run.log();
        let thread = &log.threads[&0];
        assert!(thread.accesses(true).contains(&(run.printed("bytes") + 5, 4)));
        assert!(thread.accesses(false).contains(&(run.printed("bytes") + 21, 2)));
        assert_eq!(log.kinds_about(run.printed("block")), [Kind::Alloc, Kind::Free]);
        assert_eq!(log.kinds_about(run.printed("barrier")), [], "the barrier orders nothing");
    });
}
