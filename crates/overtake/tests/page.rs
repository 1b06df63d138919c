//! The HTML report of real runs, from the command line into a browser.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

#[allow(dead_code, reason = "the tests of the report use the rest")]
#[path = "../../overtake-report/tests/html/browser.rs"]
mod browser;
mod support;

use std::path::Path;

use browser::Browser;
use support::{Files, RACY, overtake};

/// Opens the page that `arguments` leave in `page.html`, and gives the text of the finding on display.
fn displayed(browser: &mut Browser, files: &Files, arguments: &[&str]) -> String {
    let page = files.path("page.html");
    let report = format!("html={page}");
    let arguments: Vec<&str> =
        arguments.iter().map(|&argument| if argument == "PAGE" { &report } else { argument }).collect();
    overtake(&arguments).expect_code(66);
    browser.open(Path::new(&page), "");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    browser.text("document.querySelector('main').innerText")
}

#[test]
fn a_recorded_program_and_a_trace_show_their_races() {
    let Some(mut browser) = Browser::start(1280, 900) else { return };
    let files = Files::new();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/logger.c");
    let text = displayed(&mut browser, &files, &["run", "--report", "PAGE", program]);
    for expected in [
        "Predicted race",
        "requests: late reads while early writes",
        "logger.c:30",
        "logger.c:21",
        "found by syncp",
    ] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
    for expected in ["log_lock", "requests++", "Why nothing orders them", "What would order them"] {
        assert!(text.contains(expected), "{expected} in\n{text}");
    }
    // The two accesses are apart in the run, and meet in the witness.
    let apart = "(([first, second]) => Math.abs(first - second))(['first', 'second'].map(role => \
        document.querySelector(`.stage .step.${role}`).transform.baseVal.consolidate().matrix.f))";
    browser.prefer(&[("prefers-reduced-motion", "reduce")]);
    browser.wait_for("document.querySelector('.stage .step') !== null");
    assert!(browser.number(apart) > 100.0);
    browser.press("w");
    assert_eq!(browser.number(apart), 0.0);
    browser.picture("recorded");
    let trace = files.write("racy.std", RACY);
    let text = displayed(&mut browser, &files, &["analyze", &trace, "--report", "PAGE"]);
    assert!(text.contains("race") && text.contains("event"), "{text}");
    browser.picture("trace");
    // Run where its sources are: operands are marked with their operators and what they are members of.
    let (page, root) = (files.path("marks.html"), concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let report = format!("html={page}");
    let trace = "testdata/recorded/reference_count.otr";
    let mut analysis = support::command(&["analyze", trace, "--source-root", ".", "--report", &report]);
    assert_eq!(analysis.current_dir(root).output().expect("it starts").status.code(), Some(66));
    browser.open(Path::new(&page), "");
    let marked = "[...document.querySelectorAll('.excerpt mark')].map(node => node.textContent).join(', ')";
    assert_eq!(browser.text(marked), "*shared->value, shared->value");
}
