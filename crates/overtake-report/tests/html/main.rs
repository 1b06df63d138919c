//! The HTML report: its bytes, and the page in a real browser.
//!
//! `OVERTAKE_SCREENSHOTS=DIRECTORY` keeps pictures of what the tests see.

mod browser;
mod bytes;
mod drawing;
mod list;
mod looks;
mod sample;
mod schedules;
mod sizes;
mod usage;

use std::path::PathBuf;

use overtake_report::html;
use overtake_report::result::Report;

use browser::Browser;

/// The page of a report.
fn page(report: &Report) -> Vec<u8> {
    let mut page = Vec::new();
    html::write(&mut page, report).unwrap();
    page
}

/// A browser of this size, and a file with the page of a report; nothing if tests in a browser are not wanted.
fn browse(report: &Report, width: u32, height: u32) -> Option<(Browser, PathBuf)> {
    let browser = Browser::start(width, height)?;
    let file = browser.directory.path().join("report.html");
    std::fs::write(&file, page(report)).unwrap();
    Some((browser, file))
}

fn assert_no_complaints(browser: &mut Browser) {
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
