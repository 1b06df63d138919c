//! Renderers on a small log of races made by hand.

use std::time::Duration;

use overtake_detect::{Access, AccessKind, At, Entry, Notion, OptionError, Promise, Race, RaceLog, Verdict};
use overtake_report::{Analysed, Findings, TraceFacts, json, text};
use overtake_trace::{EventIndex, LocationId, Sizes, Symbols, ThreadId};

const DETECTOR: Entry = Entry {
    name: "example",
    summary: "an example",
    notion: Notion::SyncPreserving,
    promise: Promise::Exact,
    verdict: Verdict::Predicted,
    options: &[],
    start: |_| Err(OptionError("not to be run".into())),
};

struct Example {
    symbols: Symbols,
    log: RaceLog,
    trace: TraceFacts,
}

impl Example {
    /// Races on `x` (twice, between lines 12 and 30) and on `y` (once, without locations).
    fn new() -> Example {
        let mut example = Example::empty();
        let write = example.access(3, "T1", AccessKind::Write, "main.c:12");
        let read = example.access(9, "T2", AccessKind::Read, "worker.c:30");
        let again = example.access(20, "T2", AccessKind::Read, "worker.c:30");
        let load = example.access(30, "T1", AccessKind::Load, "");
        let plain = example.access(1_031, "T2", AccessKind::Write, "");
        example.report("y", Verdict::Predicted, load, plain);
        example.report("x", Verdict::Predicted, write, read);
        example.report("x", Verdict::Observed, write, again);
        example
    }

    fn empty() -> Example {
        let trace = TraceFacts {
            file: "run.std".into(),
            format: "std".into(),
            events: 1_234,
            sizes: Sizes { threads: 2, locks: 0, variables: 2, locations: 2, ..Sizes::default() },
            ignored: vec![("lines of another tool".into(), 7)],
            ..TraceFacts::default()
        };
        Example { symbols: Symbols::default(), log: RaceLog::new(), trace }
    }

    fn access(&mut self, index: u64, thread: &str, kind: AccessKind, location: &str) -> Access {
        let thread: ThreadId = self.symbols.threads.intern(thread.as_bytes()).unwrap();
        let location = match location {
            "" => LocationId::UNKNOWN,
            known => self.symbols.locations.intern(known.as_bytes()).unwrap(),
        };
        Access { at: At { index: EventIndex(index), thread, location }, kind }
    }

    fn report(&mut self, variable: &str, verdict: Verdict, first: Access, second: Access) {
        let var = self.symbols.variables.intern(variable.as_bytes()).unwrap();
        self.log.report(Race { var, verdict, first, second });
    }

    fn analysed(&self) -> Analysed<'_> {
        let findings = Findings {
            detector: &DETECTOR,
            races: &self.log,
            figures: vec![("clock joins", 12)],
            remarks: vec!["a sample of the trace".into()],
            time: Duration::from_millis(2),
            events_read: 1_234,
            peak_state_bytes: 2_048,
        };
        let time = Duration::from_millis(5);
        Analysed { trace: &self.trace, symbols: &self.symbols, findings: vec![findings], time }
    }

    fn json(&self) -> serde_json::Value {
        let mut out = Vec::new();
        json::races(&mut out, &self.analysed()).unwrap();
        serde_json::from_slice(&out).unwrap()
    }
}

fn plain(styled: &str) -> String {
    anstream::adapter::strip_str(styled).to_string()
}

#[test]
fn races_are_listed_most_frequent_first_and_summed_up_last() {
    let expected = "\
example: every access that races with an earlier one, and no other
observed: nothing orders the two accesses in this run
predicted: another schedule of this very run brings the two accesses side by side

2. observed race on x: main.c:12 writes while worker.c:30 reads, 2 times, 1 of them observed
     first   T1  write  at main.c:12    event 3
     second  T2  read   at worker.c:30  event 9

1. predicted race on y: T1 loads atomically while T2 writes
     first   T1  atomic load  at an unknown location  event 30
     second  T2  write        at an unknown location  event 1,031

example: 2 pairs of locations race: 3 accesses to 2 variables, at most 1,001 events apart; 1 pair is predicted only
";
    assert_eq!(plain(&text::races(&Example::new().analysed(), &text::Layout::default())), expected);
}

#[test]
fn the_limit_says_what_it_hides() {
    let layout = text::Layout { limit: Some(1), ..text::Layout::default() };
    let text = plain(&text::races(&Example::new().analysed(), &layout));
    assert!(text.contains("... and 1 pair of locations more; --limit 0 shows all\n"), "{text}");
    assert!(!text.contains("race on y"), "{text}");
}

#[test]
fn a_clean_trace_is_one_line() {
    let example = Example::empty();
    let text = plain(&text::races(&example.analysed(), &text::Layout::default()));
    assert_eq!(text, "example: no race in 1,234 events\n");
}

#[test]
fn names_cannot_steer_the_terminal() {
    let mut example = Example::empty();
    let first = example.access(0, "T1", AccessKind::Write, "a\u{1b}[2Jb");
    let second = example.access(1, "T2", AccessKind::Write, "c\rd");
    example.report("x\u{7}", Verdict::Observed, first, second);
    let text = plain(&text::races(&example.analysed(), &text::Layout::default()));
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    assert!(text.contains(r"a\u{1b}[2Jb"), "{text:?}");
}

#[test]
fn the_table_fits_the_width_it_is_given() {
    let example = Example::new();
    for width in [80, 100, 140] {
        let layout = text::Layout { width: Some(width), ..text::Layout::default() };
        let table = text::compare(&example.analysed(), &layout);
        let widest = table.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= usize::from(width), "{widest} columns in {width}:\n{table}");
    }
}

#[test]
fn json_has_the_documented_fields() {
    let document = Example::new().json();
    assert_eq!(document["schema"], 1);
    assert_eq!(document["trace"]["ignored"]["lines of another tool"], 7);
    let detector = &document["detectors"][0];
    assert_eq!(detector["name"], "example");
    assert_eq!(detector["racy_events"], serde_json::json!([9, 20, 1031]));
    assert_eq!(detector["racy_variables"], serde_json::json!(["y", "x"]));
    assert_eq!(detector["racy_locations"], serde_json::json!(["worker.c:30"]));
    assert_eq!(detector["location_pairs"], 2);
    assert_eq!(detector["max_distance"], 1001);
    assert_eq!(detector["figures"]["clock joins"], 12);
    assert_eq!(detector["remarks"][0], "a sample of the trace");
    assert_eq!(
        detector["races"][1],
        serde_json::json!({
            "id": 2, "verdict": "observed", "variable": "x",
            "first": {"index": 3, "thread": "T1", "op": "write", "location": "main.c:12"},
            "second": {"index": 9, "thread": "T2", "op": "read", "location": "worker.c:30"},
            "count": 2, "observed": 1
        })
    );
    assert_eq!(detector["races"][0]["first"]["location"], serde_json::Value::Null);
    assert_eq!(detector["races"][0]["first"]["op"], "load");
}

#[test]
fn notes_name_what_was_passed_over() {
    assert_eq!(text::notes(&Example::new().trace), "ignored: 7 lines of another tool\n");
}
