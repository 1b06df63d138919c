//! `overtake witness`: a checked schedule in which a predicted race happens, or that leads to a predicted deadlock.

use std::path::Path;

use overtake::files::OutputTrace;
use overtake::reports;
use overtake::{Error, Examined, Listener};
use overtake_detect::{Entry, Race, RaceGroup, Registry, Strictness, Witness};
use overtake_report::collect::Collector;
use overtake_report::result::{Finding, Kind};
use overtake_report::{Analysed, DeadlockWitnessFacts, WitnessFacts, json, text};
use overtake_trace::{Event, EventSink, Format, Symbols};

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
    if named.kind == Kind::Deadlock {
        let deadlocks = collector.deadlocks_to_be_witnessed();
        let schedules = reports::deadlock_witnesses(&mut input, &deadlocks)?;
        let [schedule] = &schedules[..] else {
            return Err(Error::usage(deadlock_without_schedule(&named)));
        };
        let (trace, symbols, id) = (analysed.trace, analysed.symbols, named.id);
        let facts = DeadlockWitnessFacts { trace, symbols, id, schedule };
        return show_deadlock(arguments, &facts, console);
    }
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
        let events: Vec<Event> = schedule.events().map(|step| step.event).collect();
        write_std(path, &events, facts.symbols, console)?;
    }
    Ok(Verdict::Races)
}

/// Shows the schedule that leads to a deadlock. No trace can have an acquire that waits forever: `--std` writes what comes before.
fn show_deadlock(
    arguments: &WitnessArguments,
    facts: &DeadlockWitnessFacts<'_>,
    console: Console,
) -> Outcome {
    match arguments.json {
        true => console.write(|out| json::deadlock_witness(out, facts)),
        false => console.print(&text::deadlock_witness(facts, arguments.full, &console.layout(0))),
    }?;
    if let Some(path) = &arguments.std {
        let events: Vec<Event> = facts.schedule.steps.iter().map(|step| step.event).collect();
        write_std(path, &events, facts.symbols, console)?;
    }
    Ok(Verdict::Races)
}

fn deadlock_without_schedule(named: &Finding) -> String {
    let why = match named.verdict {
        overtake_detect::Verdict::Observed => "the run itself ends in it",
        overtake_detect::Verdict::Possible => {
            "whether it can happen depends on what racy reads saw (verdict: possible)"
        }
        _ => "it is only suspected; the detector `deadlock` finds those that have one",
    };
    format!("deadlock {} has no schedule: {why}", named.id)
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
fn write_std(path: &Path, events: &[Event], symbols: &Symbols, console: Console) -> Result<(), Error> {
    let mut output = OutputTrace::create(path, Some(Format::Std))?;
    let written = output.write(events, symbols).and_then(|()| output.finish(symbols));
    written.map_err(|error| output.failure(error))?;
    console.say(&text::written(&output.complete()?));
    Ok(())
}
