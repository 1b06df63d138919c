//! `overtake witness`: a checked schedule in which a predicted race happens.

use std::path::Path;

use overtake::files::OutputTrace;
use overtake::reports;
use overtake::{Error, Examined, Listener};
use overtake_detect::{Entry, Race, RaceGroup, Registry, Strictness, Witness};
use overtake_report::collect::Collector;
use overtake_report::result::Finding;
use overtake_report::{Analysed, WitnessFacts, json, text};
use overtake_trace::{Event, EventSink, Format};

use super::chosen::chosen;
use crate::command_line::args::WitnessArguments;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Finds the race again, builds its schedule, has it checked, and shows it.
pub(crate) fn run(arguments: &WitnessArguments, registry: Registry, console: Console) -> Outcome {
    let mut input = arguments.input.input();
    input.make_rereadable(Strictness::Repair, &console)?;
    let search = arguments.detector.search(&arguments.options, registry);
    let (detectors, options) = (search.suited(&input)?, &search.options);
    arguments.options.warn_of_unused(&detectors, console);
    let examined = Examined::of(&mut input, &detectors, options, Strictness::Repair, &console)?;
    let analysed = examined.analysed();
    let (collector, named) = chosen(&analysed, &arguments.race)?;
    let (group, way) = predicted(&analysed, &collector, named.id)
        .ok_or_else(|| Error::usage(without_schedule(&named, &detectors)))?;
    let is_recorded = analysed.symbols.program.is_recorded();
    if group.surest.verdict == overtake_detect::Verdict::Possible {
        return Err(Error::usage(format!(
            "race {} has no schedule: whether it can happen depends on what racy reads saw (verdict: possible)",
            group.id
        )));
    }
    // In a recording the first race of the group may be possible only.
    let race = if is_recorded { group.surest } else { group.example };
    let mut schedules = reports::witnesses(&mut input, &[(race, way)], is_recorded)?;
    let schedule = schedules.remove(0);
    let facts =
        WitnessFacts { trace: analysed.trace, symbols: analysed.symbols, group: &group, schedule: &schedule };
    show(arguments, &facts, console)?;
    if let Some(path) = &arguments.std {
        write_std(path, &facts, console)?;
    }
    Ok(Verdict::Races)
}

/// The race as reported by a detector whose races have schedules, with the number that it has in the report, and how its schedule is built.
fn predicted(analysed: &Analysed<'_>, collector: &Collector<'_>, id: u32) -> Option<(RaceGroup, Witness)> {
    let race = collector.example(0)?;
    let predictors = analysed.findings.iter().filter(|findings| findings.detector.witness != Witness::None);
    let mut groups = predictors
        .flat_map(|findings| findings.races.groups().iter().map(|group| (group, findings.detector.witness)));
    let (group, way) = groups.find(|(group, _)| {
        let places = |race: &Race| [race.first.at.location, race.second.at.location];
        [group.example, group.surest].contains(&race)
            || places(&group.example) == places(&race) && group.example.var == race.var
    })?;
    let example = if group.surest == race { race } else { group.example };
    Some((RaceGroup { id, example, ..*group }, way))
}

fn without_schedule(named: &Finding, detectors: &[&Entry]) -> String {
    let names: Vec<_> = detectors.iter().map(|entry| entry.name).collect();
    let id = named.id;
    match detectors.iter().any(|entry| entry.witness != Witness::None) {
        true => format!("race {id} has no other schedule: its accesses were unordered in the run itself"),
        false => format!(
            "race {id} has no schedule: expected a detector that predicts, found {}",
            names.join(", ")
        ),
    }
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
