//! `overtake diff`: what changed between two stored results.

use overtake::reports::stored;
use overtake_report::diff;

use crate::command_line::args::DiffArguments;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Compares two results. Findings that only the new one has fail the command.
pub(crate) fn run(arguments: &DiffArguments, console: Console) -> Outcome {
    let (old, new) = (stored(&arguments.old)?, stored(&arguments.new)?);
    let changes = diff(&old, &new);
    match arguments.json {
        true => console.write(|out| writeln!(out, "{:#}", changes.to_json()))?,
        false => console.print(&changes.to_text())?,
    }
    Ok(if changes.new.is_empty() { Verdict::Fine } else { Verdict::Races })
}
