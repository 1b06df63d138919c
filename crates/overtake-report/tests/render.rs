//! Renderers on a small log of races made by hand.

use std::time::Duration;

use overtake_detect::{Access, AccessKind, At, Entry, Extent, Notion, Promise, Race, Verdict, Witness};
use overtake_report::collect::{Collector, Settings};
use overtake_report::{Analysed, Findings, TraceFacts, json, text};
use overtake_trace::{EventIndex, LocationId, Sizes, Symbols, ThreadId, VarId};

const DETECTOR: Entry = Entry {
    name: "example",
    summary: "an example",
    notion: Notion::SyncPreserving,
    promise: Promise::Exact,
    verdict: Verdict::Predicted,
    witness: Witness::LockOrderKept,
    ..Entry::BASIC
};

struct Example {
    symbols: Symbols,
    log: overtake_detect::Findings,
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
        Example { symbols: Symbols::default(), log: overtake_detect::Findings::new(), trace }
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

    fn text(&self, layout: &text::Layout) -> String {
        let analysed = self.analysed();
        plain(&text::findings(&Collector::new(&analysed, &Settings::default()).finish(), layout))
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
fn elements_that_race_together_are_one_line() {
    let mut example = Example::empty();
    let array = example.symbols.variables.intern_array(b"A3").unwrap();
    let elements: Vec<VarId> =
        (0..8).map(|index| example.symbols.variables.intern_element(array, index).unwrap()).collect();
    let first = example.access(3, "T1", AccessKind::Write, "main.c:12");
    let second = example.access(9, "T2", AccessKind::Read, "worker.c:30");
    let race = Race { var: elements[2], verdict: Verdict::Observed, first, second };
    example.log.report_extent(race, Extent { array, first: 2, end: 8, step: 2 }, 1);
    example.log.name_elements(&example.symbols);
    let text = example.text(&text::Layout::default());
    assert!(
        text.contains(
            "1. observed race on A3[2..8 step 2]: main.c:12 writes while worker.c:30 reads, 3 times\n"
        ),
        "{text}"
    );
    assert!(
        text.contains("Each access stands for those of its thread up to its next synchronisation."),
        "{text}"
    );
    let detector = &example.json()["detectors"][0];
    assert_eq!(detector["racy_variables"], serde_json::json!(["A3[2]", "A3[4]", "A3[6]"]));
    assert_eq!(detector["races"][0]["variable"], "A3[2]");
    assert_eq!(
        detector["races"][0]["extent"],
        serde_json::json!({"array": "A3", "first": 2, "end": 8, "step": 2, "elements": 3})
    );
}

#[test]
fn the_limit_says_what_it_hides() {
    let layout = text::Layout { limit: Some(1), ..text::Layout::default() };
    let text = Example::new().text(&layout);
    assert!(text.contains("... and 1 more cause; --limit 0 shows all\n"), "{text}");
    assert!(!text.contains("race on y:"), "{text}");
}

#[test]
fn a_clean_trace_is_one_line_and_what_it_means() {
    let example = Example::empty();
    let text = example.text(&text::Layout::default());
    assert_eq!(
        text,
        "no race in 1,234 events (example)\n  ignored: 7 lines of another tool\n  a sample of the trace\n"
    );
}

#[test]
fn names_cannot_steer_the_terminal() {
    let mut example = Example::empty();
    let first = example.access(0, "T1", AccessKind::Write, "a\u{1b}[2Jb");
    let second = example.access(1, "T2", AccessKind::Write, "c\rd");
    example.report("x\u{7}", Verdict::Observed, first, second);
    let text = example.text(&text::Layout::default());
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    assert!(text.contains(r"a\u{1b}[2Jb"), "{text:?}");
}

#[test]
fn rows_fit_the_width_they_are_given_and_lose_no_word_of_the_promise() {
    let row = text::Compared {
        detector: "short-syncp".into(),
        racy_events: 1_234_567,
        variables: 123_456,
        distance: 9_999_999,
        time: Duration::from_millis(1500),
        events_read: 3_000_000,
        peak_state_bytes: 3 << 20,
        promise:
            "predicted; reorderings: every access that races with one in the window before it, and no other"
                .into(),
        ..text::Compared::default()
    };
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for width in [Some(80), Some(100), Some(140), Some(200), None] {
        let layout = text::Layout { width, ..text::Layout::default() };
        let table = text::compare_heading(&layout) + &text::compare_row(&row, &layout);
        let widest = table.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(
            width.is_none_or(|width| widest <= usize::from(width)),
            "{widest} columns in {width:?}:\n{table}"
        );
        assert!(words(&table).contains(&row.promise), "{table}");
        assert!(table.contains("1,234,567    123,456"), "figures stand side by side:\n{table}");
    }
    let unlimited = text::compare_row(&row, &text::Layout { width: None, ..text::Layout::default() });
    assert_eq!(unlimited.lines().count(), 1, "{unlimited}");
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
            "id": 2, "verdict": "observed", "variable": "x", "extent": null,
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
