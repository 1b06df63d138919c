//! Drawings of schedules with many threads and many steps, at any width.

use serde_json::json;

use crate::browser::Browser;
use crate::{assert_no_complaints, browse, sample, schedules};

pub(crate) const WIDTHS: [u32; 3] = [1400, 1000, 420];

/// Whether the marks of both accesses are within the visible part of the drawing, and the drawing within the page.
pub(crate) const ACCESSES_IN_VIEW: &str = "(() => {
    const stage = document.querySelector('.stage').getBoundingClientRect();
    const marks = [...document.querySelectorAll('.stage .step .mark')].map((mark) => mark.getBoundingClientRect());
    const inside = ({ left, right, top, bottom }) => left >= stage.left && right <= stage.right && top >= stage.top && bottom <= stage.bottom;
    return marks.length >= 2 && marks.every(inside) && stage.left >= 0 && stage.right <= innerWidth;
})()";

/// Pairs of labels in the lanes of the accesses that overlap.
pub(crate) const OVERLAPS: &str = "(() => {
    const shown = (text) => +getComputedStyle(text.parentNode).opacity > 0;
    const labels = [...document.querySelectorAll('.stage .steps .step text, .stage .pinnable .step text, .stage .hand-over text')].filter(shown).map((text) => text.getBoundingClientRect());
    const apart = (one, other) => one.right <= other.left + 1 || other.right <= one.left + 1 || one.bottom <= other.top + 3 || other.bottom <= one.top + 3;
    return labels.flatMap((one, at) => labels.slice(at + 1).filter((other) => !apart(one, other))).length;
})()";

fn open(browser: &mut Browser, file: &std::path::Path) {
    browser.prefer(&[("prefers-reduced-motion", "reduce")]);
    browser.open(file, &format!("#{}", sample::PREDICTED));
    browser.wait_for("document.querySelector('.stage [data-step]') !== null");
}

#[test]
fn other_threads_share_a_lane_that_opens() {
    let Some((mut browser, file)) = browse(&schedules::crowd(16, 72), 1400, 900) else { return };
    open(&mut browser, &file);
    let lanes = "document.querySelectorAll('.stage .head').length";
    assert_eq!(browser.number(lanes), 3.0, "two threads with an access, and one lane for all others");
    browser.click(".stage-buttons [aria-pressed]");
    assert_eq!(browser.number(lanes), 16.0);
    assert!(
        browser.number("document.querySelector('.stage').scrollWidth") > 1000.0,
        "every thread has room, so that there is something to scroll"
    );
    browser.evaluate("document.querySelector('.stage').scrollLeft = 10000");
    browser.evaluate("document.querySelector('.stage').scrollIntoView()");
    browser.picture("crowd-opened");
    let topmost =
        "[...document.querySelectorAll('.stage .head title')].slice(-2).map((title) => title.textContent)";
    assert_eq!(browser.evaluate(topmost), json!(["T1", "T0"]), "their names cover those of the others");
    assert_eq!(browser.evaluate(ACCESSES_IN_VIEW), json!(true), "the lanes of the accesses stay");
    assert_no_complaints(&mut browser);
}

#[test]
fn what_was_overtaken_stays_as_a_ghost_and_the_hand_over_has_a_name() {
    let Some((mut browser, file)) = browse(&schedules::crowd(5, 28), 1400, 900) else { return };
    open(&mut browser, &file);
    let hand_over = "document.querySelector('.stage .hand-over text').textContent";
    assert_eq!(browser.text(hand_over), "hand-over of m");
    let note = browser.text("document.querySelector('.hand-over-note').textContent");
    assert_eq!(
        note,
        "Kept apart only by the hand-over of m from T0 (producer a.c:6) to T1 (consumer b.c:3)."
    );
    browser.choose("slider", "1000");
    let ghosts = browser.evaluate(
        "[...document.querySelectorAll('.stage .overtaken')].map((node) => +getComputedStyle(node).opacity)",
    );
    let ghosts: Vec<f64> = serde_json::from_value(ghosts).unwrap();
    assert!(!ghosts.is_empty() && ghosts.iter().all(|opacity| (0.2..0.7).contains(opacity)), "{ghosts:?}");
    assert_no_complaints(&mut browser);
}

#[test]
fn a_witness_of_ten_thousand_steps_opens_at_once() {
    let Some((mut browser, file)) = browse(&schedules::crowd(40, 10_000), 1400, 900) else { return };
    open(&mut browser, &file);
    assert_eq!(browser.evaluate(ACCESSES_IN_VIEW), json!(true));
    browser.click(".stage-buttons [aria-pressed]:last-child");
    let nodes = "document.querySelectorAll('.stage *').length";
    assert!(
        browser.number("document.querySelector('.stage').scrollHeight") > 300_000.0,
        "all steps are there"
    );
    assert!(browser.number(nodes) < 2_000.0, "only what is in view exists: {}", browser.number(nodes));
    for time in ["300", "500", "1000"] {
        browser.choose("slider", time);
        assert!(browser.number(nodes) < 2_000.0);
    }
    assert_eq!(browser.evaluate(ACCESSES_IN_VIEW), json!(true), "it is scrolled to the accesses");
    browser.picture("ten-thousand-steps");
    assert_no_complaints(&mut browser);
}

#[test]
fn the_drawing_plays_by_itself_and_zooms() {
    let Some((mut browser, file)) = browse(&schedules::crowd(4, 24), 1400, 900) else { return };
    open(&mut browser, &file);
    browser.press("p");
    browser.wait_for("document.getElementById('slider').value === '1000'");
    browser.press("p");
    assert_eq!(browser.text("document.querySelector('.play').textContent"), "▶ Play");
    let height = "document.querySelector('.stage-runway').offsetHeight";
    let before = browser.number(height);
    browser.click(".stage-buttons button:nth-child(3)");
    assert!(browser.number(height) > before * 1.2);
    browser.click(".stage-buttons button:nth-child(2)");
    assert_eq!(browser.number(height), before);
    assert_no_complaints(&mut browser);
}

#[test]
fn long_lines_show_what_is_accessed() {
    let Some((mut browser, file)) = browse(&schedules::long_lines(), 1400, 900) else { return };
    for width in WIDTHS {
        browser.resize(width, 900);
        browser.open(&file, &format!("#{}", sample::PREDICTED));
        browser.wait_for("document.querySelector('.excerpt mark') !== null");
        let marks = "(() => [...document.querySelectorAll('.excerpt mark')].map((mark) => {
            const [place, frame] = [mark.getBoundingClientRect(), mark.closest('pre').getBoundingClientRect()];
            return mark.textContent === 'shared->value' && place.left >= frame.left && place.right <= frame.right;
        }))()";
        browser.wait_for(&format!("{marks}.every(Boolean)"));
        assert_eq!(browser.evaluate(marks), json!([true, true]), "{width} pixels");
        let neighbours = "[...document.querySelectorAll('.excerpt .line:not(.racing) code')].filter((code) => code.textContent.includes('short')).map((code) => {
            const [place, frame] = [code.getBoundingClientRect(), code.closest('pre').getBoundingClientRect()];
            return place.left >= frame.left && place.right <= frame.right;
        })";
        assert_eq!(browser.evaluate(neighbours), json!([true, true]), "short lines stay, {width} pixels");
        let covered = "[...document.querySelectorAll('.access.first .number')].filter((number) => {
            const { left, width, top, height } = number.getBoundingClientRect();
            return !document.elementFromPoint(left + width / 2, top + height / 2)?.closest('.number');
        }).length";
        assert_eq!(browser.number(covered), 0.0, "no line covers its number, {width} pixels");
        browser.picture(&format!("long-line-{width}"));
    }
    assert_no_complaints(&mut browser);
}

/// How many words of the drawing its right edge cuts off.
const CUT_OFF: &str = "(() => {
    const edge = document.querySelector('.stage').getBoundingClientRect().right;
    return [...document.querySelectorAll('.stage .step text')].filter((text) => text.getBoundingClientRect().right > edge).length;
})()";

#[test]
fn a_deadlock_shows_who_waits_for_whom() {
    for threads in [2, 3, 5] {
        let Some((mut browser, file)) = browse(&schedules::deadlock(threads), 1400, 900) else { return };
        for (width, scheme) in [(1400, "light"), (1000, "dark"), (420, "light")] {
            browser.resize(width, 900);
            browser.prefer(&[("prefers-color-scheme", scheme), ("prefers-reduced-motion", "reduce")]);
            browser.open(&file, &format!("#{}", sample::PREDICTED));
            browser.wait_for("document.querySelector('.stage [data-step]') !== null");
            let waits = "[...document.querySelectorAll('.stage .waits-for')].map((node) => +getComputedStyle(node).opacity)";
            let marks = "document.querySelectorAll('.stage .step .mark').length";
            browser.choose("slider", "0");
            assert_eq!(browser.evaluate(waits), json!(vec![0; threads as usize]), "nobody waits in the run");
            browser.choose("slider", "1000");
            assert_eq!(browser.evaluate(waits), json!(vec![1; threads as usize]), "everybody waits");
            assert_eq!(browser.number(marks), f64::from(threads));
            assert_eq!(browser.number(OVERLAPS), 0.0, "{threads} threads, {width} pixels");
            assert_eq!(browser.number(CUT_OFF), 0.0, "{threads} threads, {width} pixels");
            assert_eq!(browser.evaluate(ACCESSES_IN_VIEW), json!(true), "{threads} threads, {width} pixels");
            browser.evaluate("document.querySelector('.schedule').scrollIntoView()");
            browser.picture(&format!("deadlock-{threads}-{width}-{scheme}"));
        }
        assert_no_complaints(&mut browser);
    }
}

/// Whether no section of a lock begins before the one above it ends.
const SECTIONS_APART: &str = "(() => {
  const boxes = [...document.querySelectorAll('.stage .section')].map((node) => node.getBoundingClientRect());
  boxes.sort((left, right) => left.top - right.top);
  return boxes.length > 1 && boxes.every((box, at) => at === 0 || boxes[at - 1].bottom <= box.top + 1);
})()";

#[test]
fn a_lock_of_a_predicted_deadlock_is_held_to_the_end_only_where_its_threads_wait() {
    let Some((mut browser, file)) = browse(&schedules::deadlock_without_releases(3), 420, 900) else {
        return;
    };
    browser.prefer(&[("prefers-reduced-motion", "reduce")]);
    open(&mut browser, &file);
    browser.choose("slider", "0");
    assert_eq!(browser.evaluate(SECTIONS_APART), json!(true), "in the run one thread came after the other");
    let names = "[...document.querySelectorAll('.stage .operation')].map((node) => node.textContent)";
    let names: Vec<String> = serde_json::from_value(browser.evaluate(names)).expect("texts");
    assert!(names.iter().all(|name| name.contains("fork_")), "locks are named: {names:?}");
    browser.choose("slider", "1000");
    assert_eq!(browser.evaluate(SECTIONS_APART), json!(false), "all are held while everybody waits");
    browser.picture("deadlock-without-releases");
    assert_no_complaints(&mut browser);
}

#[test]
fn a_possible_race_that_was_confirmed_has_its_drawing() {
    let Some((mut browser, file)) = browse(&schedules::confirmed(), 1400, 900) else { return };
    open(&mut browser, &file);
    assert_eq!(
        browser.text("document.querySelector('.verdict strong').textContent"),
        "Confirmed, possible race"
    );
    let confirmed = browser.text("document.querySelector('section.confirmed').textContent");
    assert!(confirmed.contains("The threads met in 9 of 10 runs, B before A."), "{confirmed}");
    assert!(confirmed.contains("T2 stood before its write of 4 bytes at 0x7f00"), "{confirmed}");
    let hint = "document.querySelector('.schedule .hint').textContent";
    assert!(browser.text(hint).contains("if the reads of the recording saw"), "{}", browser.text(hint));
    browser.choose("slider", "1000");
    assert_eq!(browser.evaluate(ACCESSES_IN_VIEW), json!(true));
    let clipped = "[...document.querySelectorAll('#verdicts button')].filter((button) => button.scrollWidth > button.clientWidth).length";
    assert_eq!(browser.number(clipped), 0.0, "four verdicts have room");
    browser.picture("confirmed");
    assert_no_complaints(&mut browser);
}

#[test]
fn only_a_deadlock_with_a_witness_is_called_checked() {
    for was_checked in [true, false] {
        let mut report = schedules::deadlock(2);
        if !was_checked {
            report.findings[0].schedule.as_mut().expect("it has one").witness.clear();
        }
        let Some((mut browser, file)) = browse(&report, 1400, 900) else { return };
        open(&mut browser, &file);
        let meaning = browser.text("document.querySelector('.finding-head .meaning').textContent");
        assert_eq!(meaning.contains("checked"), was_checked, "{meaning}");
    }
}
