//! Findings as text: layout, what is hidden, what happens to names that are too long or missing.

#[path = "html/sample.rs"]
#[allow(dead_code, reason = "the page's tests use the rest")]
mod sample;

use std::io::{self, Write};
use std::path::Path;

use overtake_report::RENDERERS;
use overtake_report::result::{Finding, Frame, Report, Status};
use overtake_report::text::{self, Detail, Layout};

fn rendered(report: &Report, width: Option<u16>, detail: Detail) -> String {
    let layout = Layout { width, limit: None, detail };
    anstream::adapter::strip_str(&text::findings(report, &layout)).to_string()
}

/// Compares with the golden file `name`; `BLESS=1` rewrites it.
#[track_caller]
fn expect_golden(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().expect("a directory")).expect("writable");
        std::fs::write(&path, found).expect("the golden file is written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{name} differs; BLESS=1 cargo test rewrites it");
}

#[test]
fn narrow_and_wide_terminals_are_used_well() {
    let report = sample::showcase();
    expect_golden("showcase.narrow.txt", &rendered(&report, Some(80), Detail::Explained));
    expect_golden("showcase.wide.txt", &rendered(&report, Some(150), Detail::Explained));
    expect_golden("showcase.everything.txt", &rendered(&report, None, Detail::Everything));
    expect_golden("showcase.headlines.txt", &rendered(&report, Some(80), Detail::Headlines));
}

#[test]
fn verdicts_differ_in_words_and_in_colours() {
    let mut report = sample::showcase();
    report.findings.iter_mut().for_each(|finding| finding.status = Status::New);
    let styled = text::findings(&report, &Layout { limit: None, ..Layout::default() });
    for (word, colour) in [("observed", "31m"), ("predicted", "35m"), ("suspected", "33m")] {
        let headline = styled.lines().find(|line| line.contains(&format!("{word} race"))).expect(word);
        assert!(headline.contains(colour), "{headline:?}");
    }
}

#[test]
fn lines_are_no_longer_than_the_terminal() {
    let mut report = sample::many(50);
    let long = format!("Cache<{}>::get(std::vector<int> const&)", "std::pair<Key, Value>, ".repeat(90));
    assert!(long.len() > 2_000);
    for finding in &mut report.findings {
        for frame in finding.accesses.iter_mut().flat_map(|access| &mut access.stack) {
            frame.function.clone_from(&long);
        }
    }
    for width in [40, 80, 119, 120, 200] {
        let text = rendered(&report, Some(width), Detail::Explained);
        // Headlines and the sum are one line however long they are.
        for line in text.lines().filter(|line| !line.contains(" race on ") && !line.contains(" races in ")) {
            assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
        }
    }
}

#[test]
fn code_without_symbols_is_named_by_its_module() {
    let mut report = sample::showcase();
    report.sources.clear();
    let bare = |frame: &mut Frame| {
        *frame = Frame { module: "server".into(), offset: 0x4_2a0, ..Frame::default() };
    };
    let stacks = |finding: &mut Finding| {
        for access in &mut finding.accesses {
            access.stack.iter_mut().for_each(bare);
            access.thread.created_at.iter_mut().for_each(bare);
            access.held.iter_mut().for_each(|lock| lock.taken_at.iter_mut().for_each(bare));
        }
        let memory = finding.memory.iter_mut();
        memory.flat_map(|memory| &mut memory.allocated_at).for_each(bare);
    };
    report.findings.iter_mut().for_each(stacks);
    let text = rendered(&report, None, Detail::Explained);
    assert!(text.contains("#0 (server+0x42a0)"), "{text}");
    assert!(!text.contains(" | "), "no source: {text}");
}

#[test]
fn nothing_a_report_names_steers_the_terminal() {
    for detail in [Detail::Headlines, Detail::Explained, Detail::Everything] {
        let mut report = sample::showcase();
        for finding in &mut report.findings {
            finding.headline.push('\u{1b}');
            finding.why.push_str("\u{1b}[2J");
            finding.memory.iter_mut().for_each(|memory| memory.name.push('\r'));
            finding.accesses[0].thread.name.push('\u{7}');
            finding.accesses[0].stack.iter_mut().for_each(|frame| frame.function.push_str("\u{9b}2J"));
        }
        let text = rendered(&report, Some(100), detail);
        let steering = text.chars().find(|letter| letter.is_control() && *letter != '\n');
        assert_eq!(steering, None, "{text:?}");
    }
}

#[test]
fn a_stored_report_is_the_same_report() {
    for report in [sample::showcase(), sample::clean(), sample::many(20)] {
        let mut stored = Vec::new();
        report.write(&mut stored).expect("memory takes everything");
        assert_eq!(Report::read(&*stored).expect("it was written by us"), report);
    }
}

/// Counts what is written.
#[derive(Default)]
struct Counter {
    calls: usize,
    bytes: usize,
}

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.calls += 1;
        self.bytes += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn ten_times_the_races_are_ten_times_the_work_in_every_format() {
    let (few, many) = (sample::many(1_000), sample::many(10_000));
    for renderer in RENDERERS {
        let [few, many] = [&few, &many].map(|report| {
            let mut counter = Counter::default();
            (renderer.write)(&mut counter, report).expect("the counter takes everything");
            counter
        });
        // Numbers get longer, too.
        assert!(many.bytes <= 12 * few.bytes, "{}: {} and {} bytes", renderer.name, few.bytes, many.bytes);
        assert!(many.calls <= 12 * few.calls, "{}: {} and {} calls", renderer.name, few.calls, many.calls);
    }
}

/// Ten races of one cause come before another cause: both causes are in the table, whatever the limit.
#[test]
fn the_table_has_a_row_for_each_cause() {
    let mut report = sample::many(12);
    for (at, finding) in report.findings.iter_mut().enumerate() {
        let memory = finding.memory.as_mut().expect("a race");
        let name = if at < 10 { "busy" } else { "rare" };
        (memory.kind, memory.name, memory.member) = ("global".into(), name.into(), String::new());
    }
    let layout = Layout { width: None, limit: Some(5), detail: Detail::Explained };
    let text = anstream::adapter::strip_str(&text::findings(&report, &layout)).to_string();
    let table = text.rsplit_once("fingerprint").expect("a table").1;
    let rows = |name: &str| table.lines().filter(|row| row.contains(name)).count();
    assert_eq!([rows(" busy "), rows(" rare ")], [4, 1], "{text}");
    assert!(table.contains("... and 7 more rows; --limit 0 shows all\n"), "{text}");
}
