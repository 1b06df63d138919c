//! `overtake validate`: whether a trace is well formed.

use overtake_detect::{Driver, Options};
use overtake_report::{json, text};
use overtake_trace::ErrorKind;

use crate::command_line::args::StatArguments;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Reads the whole trace through the checker, with no detector behind it.
pub(crate) fn run(arguments: &StatArguments, console: Console) -> Outcome {
    let mut driver = Driver::start(&[], &Options::default(), arguments.checked.strictness())?;
    let mut opened = arguments.checked.input.input().open()?;
    let mut bar = console.progress();
    let checked = driver.pass(opened.source_mut(), &mut |progress| bar.show(progress));
    drop(bar);
    let violation = match checked {
        Err(error) if error.kind() != ErrorKind::IllFormed => return Err(opened.failure(error)),
        Err(error) => Some(opened.failure(error)),
        Ok(_) => None,
    };
    let facts = opened.facts(driver.events(), driver.repairs());
    if arguments.json {
        let violation = violation.as_ref().map(ToString::to_string);
        console.write(|out| json::validation(out, &facts, violation.as_deref()))?;
    } else if violation.is_none() {
        console.print(&text::validation(&facts, &console.layout(0)))?;
    }
    violation.map_or(Ok(Verdict::Fine), Err)
}
