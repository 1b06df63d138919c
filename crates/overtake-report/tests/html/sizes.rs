//! The page at every width, dark and light, with few and many findings and threads: nothing overlaps, nothing sticks out.

use std::path::Path;

use overtake_report::result::Report;
use serde_json::json;

use crate::browser::Browser;
use crate::drawing::{ACCESSES_IN_VIEW, OVERLAPS, WIDTHS};
use crate::{assert_no_complaints, browse, page, sample, schedules};

/// Texts that people see and that lie on each other, outside of the drawing.
const OVERLAPPING_TEXTS: &str = "(() => {
    const clipped = (node, rect) => {
        let { left, right, top, bottom } = rect;
        for (let at = node; at && at !== document.documentElement; at = at.parentElement) {
            if (getComputedStyle(at).overflow === 'visible') continue;
            const box = at.getBoundingClientRect();
            [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
            [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
        }
        [left, right] = [Math.max(left, 0), Math.min(right, innerWidth)];
        [top, bottom] = [Math.max(top, 0), Math.min(bottom, innerHeight)];
        return { left, right, top, bottom };
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const seen = [];
    for (let text = walker.nextNode(); text; text = walker.nextNode()) {
        const owner = text.parentElement;
        if (!text.textContent.trim() || !owner.checkVisibility() || owner.closest('.stage, script, style, select, .visually-hidden')) continue;
        const range = document.createRange();
        range.selectNodeContents(text);
        for (const part of range.getClientRects()) {
            const rect = clipped(owner, part);
            if (rect.right - rect.left < 2 || rect.bottom - rect.top < 2) continue;
            const top = document.elementFromPoint((rect.left + rect.right) / 2, (rect.top + rect.bottom) / 2);
            if (top && (top.contains(owner) || owner.contains(top))) seen.push({ rect, text, words: text.textContent.trim().slice(0, 40) });
        }
    }
    const apart = (one, other) => one.right <= other.left + 2 || other.right <= one.left + 2 || one.bottom <= other.top + 4 || other.bottom <= one.top + 4;
    return seen.flatMap((one, at) => seen.slice(at + 1).filter((other) => one.text !== other.text && !apart(one.rect, other.rect)).map((other) => `${one.words} / ${other.words}`));
})()";

/// What sticks out of the page, so that one has to scroll sideways.
const STICKING_OUT: &str = "[document.documentElement, document.body, document.querySelector('main'), document.querySelector('#list'), ...document.querySelectorAll('.scroll')]
    .filter((part) => part.checkVisibility() && part.scrollWidth > part.clientWidth + 1)
    .map((part) => `${part.tagName} ${part.scrollWidth} > ${part.clientWidth}`)";

/// A race in a schedule with so many threads, and so many findings beside it.
fn report(threads: u32, findings: u32) -> Report {
    let mut report = schedules::crowd(threads, 4 * threads + 8);
    let mut others = sample::many(findings);
    for finding in others.findings.iter_mut().skip(1) {
        finding.id += 1;
    }
    report.findings.extend(others.findings.into_iter().skip(1));
    report.sources.extend(others.sources);
    report
}

/// Opens the list, the race in both orders, and the page about the run, everywhere; says what is wrong in each of them.
fn look(browser: &mut Browser, file: &Path, case: &str) {
    for (name, fragment) in [("list", ""), ("race", sample::PREDICTED), ("about", "overview")] {
        let address = if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
        browser.open(file, &address);
        let orders: &[&str] = if name == "race" { &["0", "1000"] } else { &[""] };
        for order in orders {
            let case = format!("{case}-{name}{order}");
            if name == "race" {
                look_at_drawing(browser, order, &case);
            }
            browser.picture(&case);
            assert_eq!(browser.evaluate(OVERLAPPING_TEXTS), json!([]), "{case}");
            assert_eq!(browser.evaluate(STICKING_OUT), json!([]), "{case}");
        }
    }
}

fn look_at_drawing(browser: &mut Browser, order: &str, case: &str) {
    let height = "document.querySelector('.stage-runway').offsetHeight";
    browser.wait_for("document.querySelector('.stage [data-step]') !== null");
    let before = browser.number(height);
    browser.choose("slider", order);
    assert_eq!(browser.evaluate(ACCESSES_IN_VIEW), json!(true), "{case}");
    assert_eq!(browser.number(OVERLAPS), 0.0, "{case}");
    assert_eq!(browser.number(height), before, "{case}: the height stays the same");
    browser.evaluate("document.querySelector('.schedule').scrollIntoView()");
    assert_eq!(browser.evaluate(ACCESSES_IN_VIEW), json!(true), "{case}, scrolled to the drawing");
}

fn fits_everywhere(threads: u32) {
    let Some((mut browser, file)) = browse(&report(threads, 1), 1400, 900) else { return };
    for findings in [1, 1_200] {
        std::fs::write(&file, page(&report(threads, findings))).unwrap();
        for (width, scheme) in WIDTHS.into_iter().flat_map(|width| [(width, "light"), (width, "dark")]) {
            browser.resize(width, 900);
            browser.prefer(&[("prefers-color-scheme", scheme), ("prefers-reduced-motion", "reduce")]);
            look(&mut browser, &file, &format!("size-{threads}-{findings}-{width}-{scheme}"));
        }
    }
    assert_no_complaints(&mut browser);
}

#[test]
fn with_three_threads_the_page_fits_at_any_width_in_any_colours() {
    fits_everywhere(3);
}

#[test]
fn with_sixteen_threads_the_page_fits_at_any_width_in_any_colours() {
    fits_everywhere(16);
}

#[test]
fn with_two_hundred_threads_the_page_fits_at_any_width_in_any_colours() {
    fits_everywhere(200);
}
