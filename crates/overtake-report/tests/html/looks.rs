//! The page as people see it: dark and light, narrow and on paper, and read aloud.

use serde_json::{Value, json};

use crate::browser::Browser;
use crate::{assert_no_complaints, browse, sample};

/// The lowest contrast between a colour of text and a ground it stands on, of those that the style sheet names.
const LOWEST_CONTRAST: &str = "(() => {
    const probe = document.body.appendChild(document.createElement('span'));
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const luminance = (name) => {
        probe.style.color = `var(--${name})`;
        canvas.fillStyle = getComputedStyle(probe).color;
        canvas.fillRect(0, 0, 1, 1);
        const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)
            .map((part) => part / 255)
            .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
    };
    const contrasts = ['ink', 'muted', 'observed', 'predicted', 'suspected', 'first', 'second'].flatMap((text) =>
        ['paper', 'raised', 'sunken'].map((ground) => {
            const [low, high] = [luminance(text), luminance(ground)].sort((left, right) => left - right);
            return (high + 0.05) / (low + 0.05);
        }));
    probe.remove();
    return Math.min(...contrasts);
})()";

const PAPER: &str = "getComputedStyle(document.body).backgroundColor";

#[test]
fn dark_and_light_are_readable() {
    let Some((mut browser, file)) = browse(&sample::showcase(), 1440, 900) else { return };
    let mut papers = Vec::new();
    for scheme in ["light", "dark"] {
        browser.prefer(&[("prefers-color-scheme", scheme)]);
        for (name, race) in [
            ("observed", sample::OBSERVED),
            ("predicted", sample::PREDICTED),
            ("suspected", sample::SUSPECTED),
            ("overview", "overview"),
        ] {
            browser.open(&file, &format!("#{race}"));
            browser.picture(&format!("{scheme}-{name}"));
        }
        // The ratio that the accessibility guidelines of the Web ask for.
        let contrast = browser.number(LOWEST_CONTRAST);
        assert!(contrast >= 4.5, "{scheme}: {contrast}");
        papers.push(browser.text(PAPER));
    }
    assert_ne!(papers[0], papers[1]);
    browser.press("t");
    assert_eq!(browser.text(PAPER), papers[0], "the choice overrules the system");
    assert_no_complaints(&mut browser);
}

#[test]
fn a_narrow_screen_shows_one_thing_at_a_time() {
    let Some((mut browser, file)) = browse(&sample::showcase(), 400, 800) else { return };
    let visible = |browser: &mut Browser| {
        browser.evaluate("['#list', 'main'].map(part => document.querySelector(part).checkVisibility())")
    };
    browser.open(&file, "");
    assert_eq!(visible(&mut browser), json!([true, false]));
    browser.picture("narrow-list");
    browser.click("#race-3");
    browser.wait_for("document.querySelector('main .position')?.textContent.startsWith('4 of')");
    assert_eq!(visible(&mut browser), json!([false, true]));
    assert!(
        browser.number("document.querySelector('main').scrollWidth") <= 400.0,
        "nothing is wider than the screen"
    );
    browser.picture("narrow-finding");
    browser.evaluate("history.back()");
    browser.wait_for("document.querySelector('#list').checkVisibility()");
    assert_no_complaints(&mut browser);
}

#[test]
fn paper_has_the_list_and_both_orders() {
    let Some((mut browser, file)) = browse(&sample::showcase(), 1280, 800) else { return };
    browser.prefer(&[("prefers-color-scheme", "dark")]);
    browser.open(&file, &format!("#{}", sample::PREDICTED));
    // What is added for printing is removed afterwards. A listener that runs last sees it.
    browser.evaluate("addEventListener('beforeprint', () => { window.printed = [
        document.querySelectorAll('#print-list tr').length, document.querySelectorAll('.printed-orders svg').length,
        document.querySelectorAll('main .aside[open]').length]; })");
    assert!(browser.print("paper") > 10_000);
    assert_eq!(browser.evaluate("printed"), json!([7, 2, 3]));
    assert_eq!(
        browser
            .number("document.querySelectorAll('#print-list tr, .printed-orders, main .aside[open]').length"),
        0.0
    );
    assert_no_complaints(&mut browser);
}

#[test]
fn everything_that_takes_focus_has_a_name() {
    let Some((mut browser, file)) = browse(&sample::showcase(), 1280, 800) else { return };
    browser.open(&file, &format!("#{}", sample::PREDICTED));
    let tree = browser.call("Accessibility.getFullAXTree", json!({}));
    let nodes = tree["nodes"].as_array().unwrap();
    let role = |node: &Value| node["role"]["value"].as_str().unwrap_or_default().to_owned();
    let focusable = |node: &&Value| {
        let properties = node["properties"].as_array();
        properties.is_some_and(|all| {
            all.iter().any(|property| property["name"] == "focusable" && property["value"]["value"] == true)
        })
    };
    let nameless: Vec<String> = nodes
        .iter()
        .filter(focusable)
        .filter(|node| node["name"]["value"].as_str().unwrap_or_default().is_empty())
        .map(role)
        .filter(|role| role != "main")
        .collect();
    assert_eq!(nameless, Vec::<String>::new());
    let roles: Vec<String> = nodes.iter().map(role).collect();
    for expected in ["search", "listbox", "option", "main", "slider", "article", "status"] {
        assert!(roles.iter().any(|role| role == expected), "{expected} among {roles:?}");
    }
    assert_no_complaints(&mut browser);
}

#[test]
fn a_clean_run_says_so() {
    let Some((mut browser, file)) = browse(&sample::clean(), 1280, 800) else { return };
    browser.open(&file, "");
    assert_eq!(browser.text("document.querySelector('main h2').textContent"), "No races");
    browser.picture("clean");
    assert_no_complaints(&mut browser);
}
