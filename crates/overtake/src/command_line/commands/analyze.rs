//! `overtake analyze`: the races of a trace.

use overtake::reports;
use overtake::tester::{Patience, TestedTrace};
use overtake::{EXPLAINING, Error, Examined, Input, Listener};
use overtake_detect::{Entry, Reads, Registry};
use overtake_report::result::Report;
use overtake_report::{Analysed, json, text};

use crate::command_line::args::AnalyzeArguments;
use crate::command_line::console::{Console, Stream};
use crate::command_line::delivery::deliver;
use crate::command_line::verdict::Outcome;

/// Reports races.
pub(crate) fn run(arguments: &AnalyzeArguments, registry: Registry, console: Console) -> Outcome {
    arguments.reports.check()?;
    let mut input = arguments.checked.input.input();
    let search = arguments.detector.search(&arguments.options, registry);
    if search.detectors.is_empty() {
        // The length of the trace decides which detectors run.
        input.make_rereadable(arguments.checked.strictness(), &console)?;
    }
    let mut detectors = search.suited(&input)?;
    if arguments.auto {
        choose_faster(&mut detectors, &mut input, registry, console)?;
    }
    arguments.options.warn_of_unused(&detectors, console);
    if let [entry] = detectors[..]
        && let Reads::Windows(read_windows) = entry.reads
    {
        let given = arguments.options.given();
        let patience = Patience { until: arguments.until, budget: arguments.budget, given: &given };
        let strictness = arguments.checked.strictness();
        let detector = (entry, read_windows);
        let examined =
            TestedTrace::of(&mut input, detector, &search.options, &patience, strictness, &console)?;
        let analysed = examined.analysed();
        return report(&analysed, || Ok(reports::collected_at_once(&analysed)), arguments, console);
    }
    if arguments.until.is_some() || arguments.budget.is_some() {
        let of_windows = registry.entries().iter().filter(|entry| matches!(entry.reads, Reads::Windows(_)));
        let names: Vec<_> = of_windows.map(|entry| entry.name).collect();
        let message = format!("--until and --budget need -d {} and no other detector", names.join(" or "));
        return Err(Error::usage(message));
    }
    if !arguments.json || arguments.reports.are_wanted() {
        input.make_rereadable(arguments.checked.strictness(), &console)?;
    }
    let examined =
        Examined::of(&mut input, &detectors, &search.options, arguments.checked.strictness(), &console)?;
    let examined = examined.with_events()?;
    let collected = || match arguments.json && !arguments.reports.are_wanted() {
        true => Ok(reports::collected_at_once(&examined.analysed())),
        false => {
            let _work = console.working(EXPLAINING);
            reports::collected(&examined, &mut input, &arguments.reports.details())
        }
    };
    report(&examined.analysed(), collected, arguments, console)
}

/// Reports what was found.
fn report(
    analysed: &Analysed<'_>,
    collected: impl FnOnce() -> Result<Report, Error>,
    arguments: &AnalyzeArguments,
    console: Console,
) -> Outcome {
    let stream = match arguments.json {
        true => {
            console.write(|out| json::races(out, analysed))?;
            None
        }
        false => {
            // The figures of detectors are for those who develop them.
            if console.verbose {
                console.say(&text::timing(analysed));
            }
            Some(Stream::Output)
        }
    };
    deliver(collected()?, &arguments.reports, stream, console)
}

/// Replaces detectors by those that find the same races and suit the trace better.
fn choose_faster(
    detectors: &mut [&'static Entry],
    input: &mut Input,
    registry: Registry,
    console: Console,
) -> Result<(), Error> {
    for entry in registry.entries() {
        let Some(stand) = entry.stand else { continue };
        let Some(place) = detectors.iter_mut().find(|place| place.name == stand.instead_of) else { continue };
        let (threads, locks) = input.threads_and_locks(&console)?;
        if (stand.suits)(threads, locks) {
            *place = entry;
        }
        console.say(&format!("{} chosen for {threads} threads and {locks} locks", place.name));
    }
    Ok(())
}
