//! `overtake compare`: every detector on one trace.

use overtake::{Examined, Listener};
use overtake_detect::Registry;
use overtake_report::{json, text};

use crate::command_line::args::CompareArguments;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Prints the table.
pub(crate) fn run(arguments: &CompareArguments, registry: Registry, console: Console) -> Outcome {
    let entries: Vec<_> = registry.entries().iter().collect();
    let mut input = arguments.checked.input.input();
    let options = arguments.options.options();
    let examined = Examined::of(&mut input, &entries, &options, arguments.checked.strictness(), &console)?;
    let examined = examined.with_events()?;
    let analysed = examined.analysed();
    console.say(&text::notes(analysed.trace));
    match arguments.json {
        true => console.write(|out| json::races(out, &analysed))?,
        false => console.print(&text::compare(&analysed, &console.layout(0)))?,
    }
    Ok(if analysed.has_races() { Verdict::Races } else { Verdict::Fine })
}
