use super::*;
use crate::block::Trace;
use crate::error::{ErrorKind, Position};

fn read(text: &str) -> String {
    let trace = Trace::read(&mut CsvReader::new(text.as_bytes())).unwrap_or_else(|error| panic!("{error}"));
    String::from_utf8(trace.to_std().unwrap()).unwrap()
}

#[test]
fn the_column_is_the_thread() {
    assert_eq!(read("fork(T2)\nw(x),,\n,,r(x)\n"), "T0|fork(T2)\nT0|w(x)\nT2|r(x)\n");
}

#[test]
fn start_is_fork() {
    assert_eq!(read("start(T1)\n,r(x)\n"), "T0|fork(T1)\nT1|r(x)\n");
}

#[test]
fn quotes_keep_commas() {
    assert_eq!(read(",\"w(a,\"\"b\"\")\" ,\r\n"), "T1|w(a,\"b\")\n");
}

#[test]
fn a_first_row_without_operation_names_the_threads() {
    assert_eq!(read("main,,\"a,b\"\n\"fork(a,b)\"\n"), "main|fork(a,b)\n");
    assert_eq!(read("main,,\"a,b\"\n,,r(x)\n,r(x)\n"), "a,b|r(x)\nT1|r(x)\n");
}

#[test]
fn blank_rows_and_comments_are_no_events() {
    assert_eq!(read("# comment\n\n,,,\n  \nw(x)\n#\n"), "T0|w(x)\n");
}

#[test]
fn errors_say_where_what_was_expected_and_what_was_found() {
    for (text, line, column, expected, found) in [
        ("w(x)\nr(x),w(y)\n", 2, 6, "one filled cell", "`w(y)`"),
        ("w(x)\n,,\"r(x)\n", 2, 8, "closing `\"`", "end of the row"),
        ("w(x)\n,\"r(x)\"y\n", 2, 8, "`,`", "`y`"),
        ("w(x)\n, frob(x)\n", 2, 3, "an operation", "`frob`"),
        ("main,w(x)\n", 1, 6, "a thread's name", "`w(x)`"),
    ] {
        let error = Trace::read(&mut CsvReader::new(text.as_bytes())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Syntax);
        assert_eq!(error.position(), Position::Line { line, column }, "{text}: {error}");
        let (before, after) = error.message().split_once("found").expect("says what was found");
        assert!(before.contains(expected) && after.contains(found), "{text}: {error}");
    }
}

#[test]
fn threads_that_have_no_column_are_refused() {
    for name in ["main", "T", "T01", "T65536", "T99999999999999999999"] {
        let trace = Trace::parse_std(format!("{name}|w(x)\n").as_bytes()).unwrap();
        let error = trace.write(&mut CsvWriter::new(Vec::new())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.message().contains(name));
    }
}
