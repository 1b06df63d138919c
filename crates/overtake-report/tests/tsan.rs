//! The lines for tools, read with the expressions that tools use.

mod support;

use overtake_detect::Verdict;
use overtake_report::result::Kind;
use overtake_report::triage::{self, Suppressions};
use overtake_report::tsan;
use regex::Regex;
use support::{awkward, finding, rendered, report, sample};

fn text_of(report: &overtake_report::result::Report) -> String {
    String::from_utf8(rendered(tsan::write, report)).expect("it is text")
}

#[test]
fn the_sample_is_as_it_was() {
    support::assert_golden("sample.tsan", text_of(&sample()).as_bytes());
    support::assert_golden("awkward.tsan", text_of(&awkward()).as_bytes());
}

/// CTest looks at each line for this one, and takes the first group as the kind of defect.
#[test]
fn ctest_counts_each_race_once() {
    let expression = Regex::new(r"WARNING: ThreadSanitizer: (.*) \(pid=.*\)").unwrap();
    let text = text_of(&sample());
    let kinds: Vec<_> =
        text.lines().filter_map(|line| Some(expression.captures(line)?[1].to_owned())).collect();
    assert_eq!(kinds, ["data race"; 3]);
}

/// Two threads that run the same function may change places in another run.
#[test]
fn threads_that_do_the_same_are_told_in_one_order() {
    let mut one = finding(1, Verdict::Observed);
    for (access, name) in one.accesses.iter_mut().zip(["T10", "T2"]) {
        access.thread = support::thread(name);
        access.stack.truncate(1);
        access.stack[0].function = "work".into();
    }
    one.accesses[1].thread.created_at[0].line = 21;
    let mut other = one.clone();
    let [first, second] = &mut other.accesses[..] else { panic!("a race has two accesses") };
    std::mem::swap(&mut first.thread, &mut second.thread);
    let (one, other) = (report(vec![one]), report(vec![other]));
    assert_eq!(text_of(&one), text_of(&other));
    assert!(text_of(&one).contains("Previous write of size 8 at 0x000000000008 by thread T2:"));
    let sarif = |report| rendered(overtake_report::sarif::write, report);
    assert_eq!(sarif(&one), sarif(&other));
    // Where the explanation names the threads, they stay.
    let mut named = one.clone();
    named.findings[0].why = "T2 never waits for T10.".into();
    assert!(text_of(&named).contains("Previous write of size 8 at 0x000000000008 by thread T10:"));
}

/// ThreadSanitizer says which thread it was, and where it was created.
#[test]
fn a_thread_that_ends_while_it_is_ignored_is_named_in_the_headline() {
    let mut worker = finding(1, Verdict::Observed);
    (worker.kind, worker.rule, worker.memory) = (Kind::Misuse, "ignored-at-end".into(), None);
    worker.accesses.truncate(1);
    worker.accesses[0].thread = support::thread("T3");
    let mut main = worker.clone();
    main.accesses[0].thread.main = true;
    let text = text_of(&report(vec![worker, main]));
    for line in [
        "WARNING: ThreadSanitizer: thread T3 finished with ignores enabled (pid=1)",
        "ThreadSanitizer: thread T3 finished with ignores enabled, created at:",
        "WARNING: ThreadSanitizer: main thread finished with ignores enabled (pid=1)",
        "  Ignore was enabled at:",
    ] {
        assert!(text.lines().any(|other| other == line), "{line} in\n{text}");
    }
}

/// CodeChecker wants a numbered headline at the beginning of a line; then it takes every `path:line:column` up to a blank line.
#[test]
fn codechecker_finds_a_message_and_the_frames_of_the_access() {
    let headline =
        Regex::new(r"^==(?P<code>\d+)==(ERROR|WARNING): ThreadSanitizer: (?P<message>[\S \t]+)").unwrap();
    let place = Regex::new(r"(?P<path>[\S]+?):(?P<line>\d+)(:(?P<column>\d+))?").unwrap();
    let text = text_of(&report(vec![finding(1, Verdict::Predicted)]));
    let mut lines = text.lines();
    let found = lines.by_ref().find_map(|line| headline.captures(line)).expect("there is a headline");
    assert_eq!(&found["code"], "1", "the first process");
    assert_eq!(
        &found["message"],
        "predicted race on counters.hits: Server::poll reads while Stats::reset writes"
    );
    let places: Vec<_> = lines
        .take_while(|line| !line.trim().is_empty())
        .filter_map(|line| Some(place.captures(line)?[0].to_owned()))
        .collect();
    assert_eq!(places, ["src/server.cc:52:17", "src/server.cc:70:5"]);
}

/// What problem matchers and error formats of editors look for in frames and summaries.
#[test]
fn editors_find_frames_and_summaries() {
    let frame = Regex::new(r"^\s+#\d+ (.+) ([^ :]+):(\d+):(\d+) \(([^ ]+)\+0x([0-9a-f]+)\)$").unwrap();
    let summary = Regex::new(r"^SUMMARY: ThreadSanitizer: data race ([^ ]+?):(\d+):(\d+) in (.+)$").unwrap();
    let text = text_of(&report(vec![finding(1, Verdict::Observed)]));
    assert_eq!(text.lines().filter(|line| frame.is_match(line)).count(), 6, "{text}");
    let found = text.lines().find_map(|line| summary.captures(line)).expect("there is a summary");
    assert_eq!((&found[1], &found[2], &found[4]), ("src/server.cc", "52", "Server::poll()"));
}

/// The shape of a block, as scripts that cut logs into reports assume it.
#[test]
fn blocks_have_the_sections_that_scripts_look_for() {
    let text = text_of(&sample());
    let expected = [
        (r"^==================$", 6),
        (
            r"^  (Atomic )?(Read|Write) of size \d+ at 0x[0-9a-f]{12} by (main thread|thread T\d+)( \(mutexes: .*\))?:$",
            3,
        ),
        (
            r"^  Previous (atomic )?(read|write) of size \d+ at 0x[0-9a-f]{12} by (main thread|thread T\d+).*:$",
            3,
        ),
        (r"^  Location is heap block of size 64 at 0x[0-9a-f]{12} allocated by main thread:$", 1),
        (r"^  Location is global '.*' of size \d+ at 0x[0-9a-f]{12}", 2),
        (r"^  Thread T\d+ '.*' \(tid=\d+, running\) created by .* at:$", 2),
        (r"^SUMMARY: ThreadSanitizer: data race ", 3),
        (r"^ThreadSanitizer: reported 3 warnings$", 1),
    ];
    for (expression, count) in expected {
        let expression = Regex::new(expression).unwrap();
        assert_eq!(
            text.lines().filter(|line| expression.is_match(line)).count(),
            count,
            "{expression} in\n{text}"
        );
    }
}

#[test]
fn what_is_suppressed_is_counted_but_no_warning() {
    let mut report = sample();
    let rules = Suppressions::parse("x.supp", b"race:*").expect("it is a suppression file");
    triage::apply(&mut report, Some(&rules), None);
    assert_eq!(text_of(&report), "ThreadSanitizer: Matched 1 suppressions\n3 race:* (x.supp:1)\n");
}

#[test]
fn names_cannot_break_lines_or_reach_the_terminal() {
    let text = text_of(&awkward());
    assert!(text.chars().all(|letter| letter == '\n' || !letter.is_control()));
    assert!(text.lines().all(|line| line != "second line"));
}
