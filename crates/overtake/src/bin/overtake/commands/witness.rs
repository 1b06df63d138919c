//! `overtake witness`: the schedule that exhibits a predicted race.

use std::path::Path;

use overtake::files::OutputTrace;
use overtake::reports;
use overtake::{Error, Examined, Listener};
use overtake_detect::{RaceGroup, Strictness};
use overtake_report::{WitnessFacts, json, text};
use overtake_trace::{Event, EventSink, Format};

use crate::args::WitnessArguments;
use crate::console::Console;
use crate::verdict::{Outcome, Verdict};

/// Finds the race again, builds its schedule, has it checked, and shows it.
pub(crate) fn run(arguments: &WitnessArguments, console: Console) -> Outcome {
    let mut input = arguments.input.input();
    input.make_rereadable(Strictness::Repair, &console)?;
    arguments.options.warn_of_unused(&[arguments.detector], console);
    let options = arguments.options.options();
    let examined = Examined::of(&mut input, &[arguments.detector], &options, Strictness::Repair, &console)?;
    let analysed = examined.analysed();
    let groups = analysed.findings[0].races.groups();
    let group =
        groups.iter().find(|group| group.id == arguments.race).ok_or_else(|| unknown(arguments, groups))?;

    let mut schedules = reports::witnesses(&mut input, &[group.example])?;
    let schedule = schedules.remove(0);
    let facts = WitnessFacts { trace: analysed.trace, symbols: analysed.symbols, group, schedule: &schedule };
    show(arguments, &facts, console)?;
    if let Some(path) = &arguments.std {
        write_std(path, &facts, console)?;
    }
    Ok(Verdict::Races)
}

fn show(arguments: &WitnessArguments, facts: &WitnessFacts<'_>, console: Console) -> Result<(), Error> {
    match arguments.json {
        true => console.write(|out| json::witness(out, facts)),
        false => console.print(&text::witness(facts, arguments.full, &console.layout(0))),
    }
}

/// The reordered run as a trace of its own.
fn write_std(path: &Path, facts: &WitnessFacts<'_>, console: Console) -> Result<(), Error> {
    let events: Vec<Event> = facts.schedule.events().map(|step| step.event).collect();
    let mut output = OutputTrace::create(path, Some(Format::Std))?;
    let written = output.write(&events, facts.symbols).and_then(|()| output.finish(facts.symbols));
    written.map_err(|error| output.failure(error))?;
    console.say(&text::written(&output.complete()?));
    Ok(())
}

fn unknown(arguments: &WitnessArguments, groups: &[RaceGroup]) -> Error {
    let name = arguments.detector.name;
    Error::usage(match groups.len() {
        0 => format!(
            "expected a race that {name} reports, found {}: it reports none in this trace",
            arguments.race
        ),
        count => {
            format!("expected a race from 1 to {count}, as {name} numbers them, found {}", arguments.race)
        }
    })
}
