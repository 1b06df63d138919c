//! Renders a report in several formats: `cargo run --example render_a_report`.
//!
//! A report holds everything spelled out, so that it can be stored, and rendered later without the trace.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use overtake::Search;
use overtake::report::RENDERERS;
use overtake::reports::stored;

fn main() -> Result<(), Box<dyn Error>> {
    show_formats(&mut std::io::stdout().lock())
}

/// Stores a report, reads it again, renders it in every format and prints how long each is.
fn show_formats(out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/bank.std");
    let report = Search::default().in_file(trace)?;

    let directory = tempfile::tempdir()?;
    let path = directory.path().join("races.result");
    report.write(&mut std::fs::File::create(&path)?)?;
    let again = stored(&path)?;

    for renderer in RENDERERS {
        let mut rendered = Vec::new();
        (renderer.write)(&mut rendered, &again)?;
        writeln!(out, "{}: {} bytes, {}", renderer.name, rendered.len(), renderer.summary)?;
    }
    Ok(())
}

#[test]
fn a_stored_report_is_rendered_in_every_format() {
    let mut out = Vec::new();
    show_formats(&mut out).expect("the example works");
    let text = String::from_utf8_lossy(&out);
    assert_eq!(text.lines().count(), RENDERERS.len(), "{text}");
    assert!(text.lines().all(|line| !line.contains(" 0 bytes")), "{text}");
}
