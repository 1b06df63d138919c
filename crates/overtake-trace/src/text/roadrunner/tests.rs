use super::*;
use crate::block::{EventSource, Trace};
use crate::error::{ErrorKind, Position};

fn read(text: &str) -> String {
    let trace =
        Trace::read(&mut RoadRunnerReader::new(text.as_bytes())).unwrap_or_else(|error| panic!("{error}"));
    String::from_utf8(trace.to_std().unwrap()).unwrap()
}

#[test]
fn accesses_have_variables_and_locations() {
    assert_eq!(
        read("@ Rd(0,@05.pkg/Class.field_I)  shadow  File.java:50:7\n"),
        "0|r(@05.pkg/Class.field_I)|File.java:50:7\n"
    );
    assert_eq!(read("@   Wr(0,null.C.f_I)[1 -> 2 (two)]  s  F.java:5:7\r\n"), "0|w(null.C.f_I)|F.java:5:7\n");
    assert_eq!(read("@ AWr(3,@07[3])  s  F.java:5\n"), "3|w(@07[3])|F.java:5\n");
    let trace = Trace::read(&mut RoadRunnerReader::new(&b"@ ARd(3,@07[3])\n"[..])).unwrap();
    assert_eq!(trace.symbols.variables.array_count(), 1);
    assert!(!trace.events[0].location().is_known());
}

#[test]
fn a_shadow_word_is_no_location() {
    assert_eq!(read("@ Rd(0,@05.f)  shadow\n"), "0|r(@05.f)\n");
    assert_eq!(read("@ Rd(0,@05.f)  F.java:12\n"), "0|r(@05.f)|F.java:12\n");
    assert_eq!(read("@ VRd(0,@05.f)  F.java:12\n"), "0|load.volatile(@05.f)\n");
}

#[test]
fn the_first_print_of_start_is_the_fork() {
    assert_eq!(
        read("@ Start(0,1)\n@ Rd(1,@1.f)\n@ Start(0,1)\n@ Rd(0,@1.f)\n"),
        "0|fork(1)\n1|r(@1.f)\n0|r(@1.f)\n"
    );
}

#[test]
fn the_second_print_of_join_is_the_join() {
    assert_eq!(read("@ Join(0,1)\n@ Rd(1,@1.f)\n@ Join(0,1)\n"), "1|r(@1.f)\n0|join(1)\n");
}

#[test]
fn a_join_printed_once_lies_before_the_next_event() {
    assert_eq!(read("@ Join(0,1)\n@ Rd(1,@1.f)\n@ Rd(0,@1.f)\n"), "1|r(@1.f)\n0|join(1)\n0|r(@1.f)\n");
    assert_eq!(read("@ Rd(0,@1.f)\n@ Join(0,1)\n"), "0|r(@1.f)\n", "a join that never returned is none");
    assert_eq!(read("@ Join(0,1)\n@ Join(0,2)\n@ Join(0,2)\n"), "0|join(1)\n0|join(2)\n");
}

#[test]
fn wait_releases_and_acquires() {
    let log = "@ Acquire(0,@2)\n@ Wait(0,@2)\n@ Acquire(1,@2)\n@ Notify(1,@2,false)\n@ Notify(1,@2,false)\n\
               @ Release(1,@2)\n@ Wait(0,@2)\n@ Release(0,@2)\n";
    let expected = "0|acq(@2)\n0|rel(@2)\n1|acq(@2)\n1|post(notify(@2)#1)\n1|rel(@2)\n\
                    0|wait(notify(@2)#1)\n0|acq(@2)\n0|rel(@2)\n";
    assert_eq!(read(log), expected);
}

#[test]
fn every_second_notify_is_a_second_print() {
    let log = "@ Notify(1,@2,true)\n".repeat(4);
    assert_eq!(read(&log), "1|post(notify(@2)#1)\n1|post(notify(@2)#2)\n");
}

#[test]
fn exits_wait_for_the_round_that_was_entered() {
    let log = "@ Barrier(0,@1,Enter)\n@ Barrier(1,@1,Enter)\n@ Barrier(0,@1,Exit)\n@ Barrier(0,@1,Enter)\n\
               @ Barrier(1,@1,Exit)\n@ Barrier(1,@1,Enter)\n@ Barrier(1,@1,Exit)\n@ Barrier(0,@1,Exit)\n";
    let posts_and_waits: Vec<_> = read(log).lines().map(|line| line.replace("barrier(@1)", "b")).collect();
    let expected = [
        "0|post(b#1)",
        "1|post(b#1)",
        "0|wait(b#1)",
        "0|post(b#2)",
        "1|wait(b#1)",
        "1|post(b#2)",
        "1|wait(b#2)",
        "0|wait(b#2)",
    ];
    assert_eq!(posts_and_waits, expected);
}

#[test]
fn class_initialisation_orders_accesses() {
    let log = "@ ClassInited(0,pkg/C)\n@ ClassAccssed(1,pkg/C)\n@ ClassAccessed(2,pkg/C)\n";
    assert_eq!(read(log), "0|post(class(pkg/C))\n1|wait(class(pkg/C))\n2|wait(class(pkg/C))\n");
}

#[test]
fn lines_without_event_are_counted_by_kind() {
    let log =
        "[banner]\nhello\n@ Enter(0,C.m(I)V) from x\n@ Exit(0,C.m(I)V)\n! Rd(0,@1.f)\n@ test acquire @02\n";
    let mut reader = RoadRunnerReader::new(log.as_bytes());
    assert!(Trace::read(&mut reader).unwrap().events.is_empty());
    assert_eq!(reader.ignored().iter().map(|(_, count)| count).sum::<u64>(), 6);
    assert_eq!(reader.ignored().len(), 6);
}

#[test]
fn errors_say_where_what_was_expected_and_what_was_found() {
    for (text, column, expected, found) in [
        ("@ Frob(0,@1)", 3, "an event", "`Frob(0,@1)`"),
        ("@", 2, "an event", "nothing"),
        ("@   Rd(0,@1.f", 14, "`)`", "end of the line"),
        ("@ Rd(0)", 6, "a thread, `,` and an operand", "`0`"),
        ("@ Rd(x,@1.f)", 6, "a thread's number", "`x`"),
        ("@ Rd(0,)", 8, "an operand", "nothing"),
        ("@ Start(0,one)", 11, "the other thread's number", "`one`"),
        ("@ Barrier(0,@1,Leave)", 16, "`Enter` or `Exit`", "`Leave`"),
    ] {
        let log = format!("hello\n{text}\n");
        let error = Trace::read(&mut RoadRunnerReader::new(log.as_bytes())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Syntax);
        assert_eq!(error.position(), Position::Line { line: 2, column }, "{text}: {error}");
        let (before, after) = error.message().split_once("found").expect("says what was found");
        assert!(before.contains(expected) && after.contains(found), "{text}: {error}");
    }
}
