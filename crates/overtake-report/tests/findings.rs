//! Findings as text: layout, what is hidden, what happens to names that are too long or missing.

#[path = "html/sample.rs"]
#[allow(dead_code, reason = "the page's tests use the rest")]
mod sample;

use std::path::Path;

use overtake_report::RENDERERS;
use overtake_report::result::{Finding, Frame, Report, Status};
use overtake_report::text::{self, Detail, Layout};
use rustix::time::{ClockId, clock_gettime};

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

/// Time that this thread had the processor: other work on the machine does not count.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

#[test]
fn ten_thousand_races_take_less_than_two_seconds_in_every_format() {
    let report = sample::many(10_000);
    for renderer in RENDERERS {
        let start = processor_seconds();
        let mut out = Vec::new();
        (renderer.write)(&mut out, &report).expect("memory takes everything");
        let seconds = processor_seconds() - start;
        assert!(seconds < 2.0, "{}: {seconds} s for {} bytes", renderer.name, out.len());
    }
}
