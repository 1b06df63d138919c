//! The list: what it says when nothing passes, how it sorts, and how it groups.

use serde_json::json;

use crate::browser::Browser;
use crate::{assert_no_complaints, browse, sample};

const HEADLINES: &str = "[...document.querySelectorAll('.row')].sort((a, b) => a.offsetTop - b.offsetTop).map((row) => row.querySelector('.headline').textContent.split(':')[0])";

fn tally(browser: &mut Browser) -> String {
    browser.text("document.getElementById('tally').textContent")
}

#[test]
fn a_search_without_hits_says_so() {
    let Some((mut browser, file)) = browse(&sample::showcase(), 1280, 800) else { return };
    browser.open(&file, "");
    let no_hits = "document.getElementById('no-hits').checkVisibility()";
    assert_eq!(browser.evaluate(no_hits), json!(false));
    browser.choose("search", "no such words");
    assert_eq!(browser.evaluate(no_hits), json!(true));
    let said = browser.text("document.getElementById('no-hits').textContent");
    assert_eq!(said, "Nothing matches “no such words”.");
    assert_eq!(tally(&mut browser), "0 of 7 races");
    browser.picture("no-hits");
    browser.click("#clear");
    assert_eq!(browser.evaluate(no_hits), json!(false));
    assert_no_complaints(&mut browser);
}

#[test]
fn findings_with_one_cause_share_a_row() {
    let mut report = sample::many(6);
    for finding in &mut report.findings[1..4] {
        finding.memory.as_mut().unwrap().name = "table_0.entry_0".into();
    }
    let Some((mut browser, file)) = browse(&report, 1280, 800) else { return };
    browser.open(&file, "");
    assert_eq!(tally(&mut browser), "6 races, 3 causes");
    assert_eq!(browser.number("document.querySelectorAll('.row').length"), 3.0);
    assert_eq!(browser.text("document.querySelector('.row .count').textContent"), "+3");
    let variants = "document.querySelectorAll('.variants li').length";
    browser.wait_for(&format!("{variants} === 3"));
    browser.click("#grouped");
    assert_eq!(tally(&mut browser), "6 races");
    assert_eq!(browser.number("document.querySelectorAll('.row').length"), 6.0);
    assert_no_complaints(&mut browser);
}

#[test]
fn the_list_sorts() {
    let mut report = sample::many(12);
    for (finding, count) in report.findings.iter_mut().zip([5, 1, 9, 3, 2, 8, 4, 7, 6, 12, 11, 10]) {
        finding.count = count;
        finding.headline = format!("{count:02}: f writes while g reads");
    }
    let Some((mut browser, file)) = browse(&report, 1280, 1600) else { return };
    browser.open(&file, "");
    browser.choose("order", "count");
    let expected: Vec<String> = (1..=12).rev().map(|count| format!("{count:02}")).collect();
    assert_eq!(browser.evaluate(HEADLINES), json!(expected));
    browser.choose("order", "severity");
    assert_ne!(browser.evaluate(HEADLINES), json!(expected));
    assert_no_complaints(&mut browser);
}

#[test]
fn about_this_run_counts_what_the_list_has() {
    let Some((mut browser, file)) = browse(&sample::showcase(), 1280, 800) else { return };
    browser.open(&file, "#overview");
    let shown = browser.text("document.querySelector('main').textContent");
    assert!(shown.contains("syncp: 5 races of the list, in 41 pairs of accesses."), "{shown}");
    assert!(shown.contains("fasttrack: 0 races of the list, in 12 pairs of accesses."), "{shown}");
}
