//! The page as people use it: list, filters, keys, addresses, the slide to the witness.

use serde_json::json;

use crate::browser::Browser;
use crate::{assert_no_complaints, browse, sample};

/// The headlines in the list, from above.
const LISTED: &str =
    "[...document.querySelectorAll('.row')].sort((a, b) => a.offsetTop - b.offsetTop).map(row => row.id)";

fn listed(browser: &mut Browser) -> Vec<String> {
    serde_json::from_value(browser.evaluate(LISTED)).unwrap()
}

/// Waits until the pane shows the finding at this place of the report.
fn wait_for_finding(browser: &mut Browser, number: usize) {
    browser.wait_for(&format!(
        "document.querySelector('main .position')?.textContent.startsWith('{number} of')"
    ));
}

#[test]
fn the_list_shows_searches_and_filters() {
    let Some((mut browser, file)) = browse(&sample::showcase(), 1280, 800) else { return };
    browser.open(&file, "");
    assert_eq!(browser.text("document.title"), "4 new races of 7 · ./server --port 0 and 1 more");
    assert_eq!(listed(&mut browser).len(), 7);
    assert_eq!(
        browser.text("document.querySelector('.row .headline').textContent"),
        browser.text("document.querySelector('main h2').textContent")
    );

    let rows = |places: &[usize]| places.iter().map(|place| format!("race-{place}")).collect::<Vec<_>>();
    for (field, value, expected) in [
        ("search", "Server::POLL resets", &[][..]),
        ("search", "stats::RESET hits", &[3]),
        ("search", "queue.mutex", &[0]),
        ("search", "invoke.h:74", &[0, 3, 5]),
        ("search", sample::UNKNOWN_CODE, &[2]),
        ("search", "", &[0, 1, 2, 3, 4, 5, 6]),
        ("file", "worker.c", &[6]),
        ("file", "", &[0, 1, 2, 3, 4, 5, 6]),
        ("thread", "worker-3", &[4, 5]),
    ] {
        browser.choose(field, value);
        assert_eq!(listed(&mut browser), rows(expected), "{field} {value}");
    }
    browser.click("#clear");
    browser.click("#verdicts .observed");
    assert_eq!(listed(&mut browser), rows(&[3, 4, 5, 6]));
    browser.click("#new-only");
    assert_eq!(listed(&mut browser), rows(&[3, 4]));
    assert_eq!(browser.text("document.getElementById('tally').textContent"), "2 of 7 races");
    browser.click("#clear");
    assert_eq!(listed(&mut browser).len(), 7);
    assert_no_complaints(&mut browser);
}

#[test]
fn keys_and_addresses_lead_to_findings() {
    let Some((mut browser, file)) = browse(&sample::showcase(), 1280, 800) else { return };
    browser.open(&file, "");
    wait_for_finding(&mut browser, 1);
    for (key, number) in
        [("j", 2), ("j", 3), ("k", 2), ("ArrowDown", 3), ("End", 7), ("ArrowUp", 6), ("Home", 1)]
    {
        browser.press(key);
        wait_for_finding(&mut browser, number);
        let marked = browser.text("document.querySelector('[aria-selected=true]').id");
        assert_eq!(marked, format!("race-{}", number - 1));
    }
    assert_eq!(browser.text("location.hash"), format!("#{}", sample::OBSERVED));
    browser.press("/");
    for letter in "jkn".chars() {
        browser.press(&letter.to_string());
    }
    assert_eq!(browser.text("document.activeElement.id + ' ' + document.activeElement.value"), "search jkn");
    browser.press("Escape");
    assert_eq!(browser.text("document.activeElement.id"), "list");
    browser.press("?");
    assert_eq!(browser.evaluate("document.getElementById('keys').open"), json!(true));
    browser.press("o");
    assert_eq!(
        browser.text("location.hash"),
        format!("#{}", sample::OBSERVED),
        "a dialog keeps the keys to itself"
    );

    browser.open(&file, &format!("#{}", sample::SUSPECTED));
    wait_for_finding(&mut browser, 7);
    assert!(browser.text("document.querySelector('main').textContent").contains("Known since 2026-11-15"));
    assert!(browser.text("document.querySelector('main').textContent").contains("event 9"), "of a trace");
    browser.open(&file, "#0123456789abcdef");
    assert_eq!(browser.text("document.querySelector('main h2').textContent"), "No such finding");
    browser.open(&file, "#overview");
    let overview = browser.text("document.querySelector('main').textContent");
    for expected in [
        "Cache::evict",
        "race:legacy::*",
        "were lost",
        "were given up",
        "48,211,907 events",
        "races.baseline",
    ] {
        assert!(overview.contains(expected), "{expected}");
    }
    assert_no_complaints(&mut browser);
}

#[test]
fn a_finding_shows_code_stacks_locks_memory_and_threads() {
    let Some((mut browser, file)) = browse(&sample::showcase(), 1280, 800) else { return };
    browser.open(&file, &format!("#{}", sample::OBSERVED));
    let excerpt = ".access.first .excerpt";
    assert_eq!(
        browser.text(&format!("document.querySelector('{excerpt} .racing').textContent")),
        "▸ 88    stats.hits += 1;"
    );
    let marked =
        browser.evaluate("[...document.querySelectorAll('.excerpt mark')].map(node => node.textContent)");
    assert_eq!(marked, json!(["stats.hits +=", "hits"]), "an operator with its left side, a name");
    assert_eq!(browser.text("document.querySelector('.explanation code').textContent"), "queue.mutex");
    assert!(!browser.text("document.querySelector('main').textContent").contains("event 1,000"), "recorded");
    browser.click(".access.first .stack li:nth-child(2) button");
    assert_eq!(
        browser.text(&format!("document.querySelector('{excerpt} .racing code').textContent")),
        "    while (poll())"
    );
    let shown = browser.text("document.querySelector('main').textContent");
    for expected in [
        "Holds 1 lock:queue.mutex",
        "Queue::pop src/queue.cpp:12",
        "allocated by worker-1",
        "Session::open",
        "Created by main",
        "share no lock",
        "Hold queue.mutex at both",
    ] {
        assert!(shown.contains(expected), "{expected}");
    }
    assert_eq!(
        browser.evaluate("document.getElementById('slider')"),
        json!(null),
        "an observed race needs no other order"
    );
    browser.open(&file, &format!("#{}", sample::UNKNOWN_CODE));
    let shown = browser.text("document.querySelector('main').textContent");
    assert!(
        shown.contains("libplugin.so+0x1234")
            && shown.contains("No debug information")
            && shown.contains("Nothing is known")
    );
    browser.open(&file, &format!("#{}", sample::LONG_NAMES));
    browser.click(".finding-head .quiet");
    assert!(browser.number("document.querySelector('main h2').textContent.length") > 2_000.0);
    assert!(browser.number("document.documentElement.scrollWidth") <= 1280.0);
    assert_no_complaints(&mut browser);
}

#[test]
fn sliding_brings_the_accesses_together() {
    let Some((mut browser, file)) = browse(&sample::showcase(), 1280, 1600) else { return };
    browser.open(&file, &format!("#{}", sample::PREDICTED));
    browser.wait_for("document.querySelector('.stage [data-step]') !== null");
    // Height and opacity of each step.
    let steps = |browser: &mut Browser| -> Vec<(f64, f64)> {
        let of_node = "[node.transform.baseVal.consolidate().matrix.f, +getComputedStyle(node).opacity]";
        let steps = browser.evaluate(&format!(
            "[...document.querySelectorAll('.stage [data-step]')].sort((one, other) => one.dataset.step - other.dataset.step).map(node => {of_node})"
        ));
        serde_json::from_value(steps).unwrap()
    };
    let before = steps(&mut browser);
    assert_eq!(before.len(), 13);
    assert!(before.windows(2).all(|pair| pair[0].0 < pair[1].0), "as it happened: {before:?}");
    assert!(before.iter().all(|step| step.1 == 1.0));

    browser.choose("slider", "500");
    let half = steps(&mut browser);
    assert!(half[4].0 > before[4].0 && half[12].0 < before[12].0, "the accesses approach each other");
    browser.picture("predicted-half");

    browser.press("w");
    browser.wait_for("document.getElementById('slider').value === '0'");
    browser.press("w");
    browser.wait_for("document.getElementById('slider').value === '1000'");
    let after = steps(&mut browser);
    assert_eq!(after[4].0, after[12].0, "the two accesses meet");
    let order = [0, 1, 2, 3, 8, 9, 10, 11, 4].map(|step: usize| after[step].0);
    assert!(order.is_sorted(), "as the witness has it: {after:?}");
    let gone: Vec<usize> = (0..13).filter(|&step| after[step].1 < 1.0).collect();
    assert_eq!(gone, [5, 6, 7], "the critical section that was overtaken");
    // One of the four arrows, the order of the lock, does not hold any more.
    let arrows = browser.evaluate(
        "[...document.querySelectorAll('.stage .arrow')].map(node => getComputedStyle(node).opacity)",
    );
    assert_eq!(arrows, json!(["1", "1", "1", "0"]));
    browser.picture("predicted-witness");

    browser.prefer(&[("prefers-reduced-motion", "reduce")]);
    browser.press("w");
    assert_eq!(
        browser.text("document.getElementById('slider').value"),
        "0",
        "without motion it is there at once"
    );
    browser.click(".schedule summary");
    browser.wait_for("document.querySelectorAll('.steps tbody tr').length === 13 + 10");
    assert_no_complaints(&mut browser);
}

#[test]
fn hostile_names_stay_text() {
    let Some((mut browser, file)) = browse(&sample::showcase(), 1280, 800) else { return };
    browser.open(&file, &format!("#{}", sample::HOSTILE_RACE));
    browser.wait_for("document.querySelector('.stage [data-step]') !== null");
    assert_eq!(browser.evaluate("typeof hacked"), json!("undefined"));
    assert_eq!(browser.number("document.querySelectorAll('img').length"), 0.0);
    let headline = browser.text("document.querySelector('main h2').textContent");
    assert_eq!(headline, sample::HOSTILE.replace('\u{202e}', "\\u{202e}"));
    assert_no_complaints(&mut browser);
}

#[test]
fn ten_thousand_races_open_and_filter() {
    let Some((mut browser, file)) = browse(&sample::many(10_000), 1280, 800) else { return };
    browser.open(&file, "");
    eprintln!("10,000 races: opened after {:.0} ms", browser.number("performance.now()"));
    assert!(browser.number("document.querySelectorAll('.row').length") < 40.0, "only rows in view exist");
    browser.picture("many");
    browser.press("End");
    wait_for_finding_text(&mut browser, "10,000 of 10,000");
    assert!(browser.number("document.querySelectorAll('.row').length") < 40.0);
    let time = "(() => { const start = performance.now(); const search = document.getElementById('search'); \
        search.value = 'component_26 handle_1'; search.dispatchEvent(new Event('input')); return performance.now() - start; })()";
    eprintln!("10,000 races: searched in {:.0} ms", browser.number(time));
    let tally = browser.text("document.getElementById('tally').textContent");
    assert!(tally.ends_with(" of 10,000 races") && !tally.starts_with("0 "), "{tally}");
    assert_no_complaints(&mut browser);
}

fn wait_for_finding_text(browser: &mut Browser, position: &str) {
    browser.wait_for(&format!("document.querySelector('main .position')?.textContent === {position:?}"));
}
