//! Finds the races of a trace: `cargo run --example races_of_a_trace -- [TRACE]`.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use overtake::Search;
use overtake::detect::find;

fn main() -> Result<(), Box<dyn Error>> {
    let named = std::env::args_os().nth(1);
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/bank.std");
    show_races(named.as_ref().map_or(&ours, Path::new), &mut std::io::stdout().lock())
}

/// Prints a line for each race and one for each of its two accesses.
fn show_races(trace: &Path, out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    // Races that this run had, and races that another schedule of the same run would have had.
    let detectors = ["hb", "syncp"].into_iter().filter_map(find).collect();
    let search = Search { detectors, ..Search::default() };
    let report = search.in_file(trace)?;
    for finding in &report.findings {
        writeln!(out, "{}. {}", finding.id, finding.headline)?;
        for access in &finding.accesses {
            let place = access.stack.first().map_or("?".to_owned(), |frame| frame.place());
            writeln!(out, "   {} by {} at {place}", access.operation, access.thread.name)?;
        }
    }
    Ok(())
}

#[test]
fn both_accesses_are_shown() {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/bank.std");
    let mut out = Vec::new();
    show_races(&trace, &mut out).expect("the example works");
    let text = String::from_utf8_lossy(&out);
    let expected = "1. transfers: bank.c:11 writes while bank.c:11 writes\n   write by T1 at bank.c:11\n   write by T2 at bank.c:11\n";
    assert_eq!(text, expected);
}
