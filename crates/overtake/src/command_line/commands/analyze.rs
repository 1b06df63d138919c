//! `overtake analyze`: the races of a trace.

use std::path::Path;
use std::sync::Arc;

use overtake::reports;
use overtake::runs::Runs;
use overtake::slices::{KeptSlices, Slices};
use overtake::tester::{Patience, TestedTrace};
use overtake::workers::Crew;
use overtake::{EXPLAINING, Error, Examined, Input, Listener, Search, workers};
use overtake_detect::{Entry, Options, Reads, Registry};
use overtake_report::result::Report;
use overtake_report::{Analysed, json, text};

use crate::command_line::args::AnalyzeArguments;
use crate::command_line::console::{Console, Stream};
use crate::command_line::delivery::deliver;
use crate::command_line::verdict::{Outcome, Verdict};

/// Reports races.
pub(crate) fn run(arguments: &AnalyzeArguments, registry: Registry, console: Console) -> Outcome {
    arguments.reports.check()?;
    let crew = arguments.crew.crew()?;
    if is_directory_of_traces(&arguments.checked.input.trace) {
        return in_directory(arguments, registry, console);
    }
    if arguments.crew.resume.is_some() && arguments.crew.slices == 1 {
        return Err(Error::usage("--resume is for a directory of traces, or for a trace with --slices"));
    }
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
    let Some(examined) = examined(&mut input, &detectors, &search.options, (arguments, crew), console)?
    else {
        return Ok(Verdict::Fine); // another process reports
    };
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

/// Whether a directory is given that is not the log of a process.
fn is_directory_of_traces(path: &Path) -> bool {
    path.is_dir() && !path.join("process").is_file()
}

/// Reports the findings of all traces of a directory.
fn in_directory(arguments: &AnalyzeArguments, registry: Registry, console: Console) -> Outcome {
    let crew = &arguments.crew;
    if arguments.json || arguments.auto || crew.hosts.is_some() || crew.slices > 1 {
        return Err(Error::usage(
            "--json, --auto, --hosts and --slices are for one trace, not for a directory of them",
        ));
    }
    let search = arguments.detector.search(&arguments.options, registry);
    let search = Search { details: arguments.reports.details(), ..search };
    let workers = crew.workers.unwrap_or(1).into();
    let parts = crew.resume.as_deref();
    let runs = Runs { search: &search, strictness: arguments.checked.strictness(), workers, parts };
    let work = console.working("analysing the traces of a directory");
    let found = runs.in_directory(&arguments.checked.input.trace)?;
    drop(work);
    if found.resumed > 0 {
        console.say(&format!(
            "{} of {} traces had been analysed before",
            found.resumed,
            found.report.runs.len()
        ));
    }
    found.failures.iter().for_each(|failure| Console::default().say(&failure.to_string()));
    let verdict = deliver(found.report, &arguments.reports, Some(Stream::Output), console)?;
    match found.failures.len() {
        0 => Ok(verdict),
        count => Err(Error::failed(format!("{count} traces could not be analysed"))),
    }
}

/// Runs the detectors, with as many workers as were asked for. None if another process of the job has the answer.
fn examined(
    input: &mut Input,
    detectors: &[&'static Entry],
    options: &Options,
    (arguments, crew): (&AnalyzeArguments, Option<Crew>),
    console: Console,
) -> Result<Option<Examined>, Error> {
    let strictness = arguments.checked.strictness();
    let Some(crew) = crew else {
        return Examined::of(input, detectors, options, strictness, &console).map(Some);
    };
    // The first process speaks for all.
    let console = if crew.is_first() { console } else { Console { quiet: true, verbose: false } };
    let count = arguments.crew.slices;
    let kept = match arguments.crew.resume.as_deref().filter(|_| crew.is_first()) {
        Some(directory) => {
            let trace = &arguments.checked.input.trace;
            let asked = (options, strictness);
            Some(Arc::new(KeptSlices::in_directory(directory, trace, detectors, asked, count)?))
        }
        None => None,
    };
    let slices = Slices { count, kept };
    let shared = workers::examine(input, detectors, options, strictness, (&crew, &slices), &console)?;
    Ok(shared.map(|(examined, sharing)| {
        if console.verbose && !sharing.workers.is_empty() {
            console.say(&sharing.describe());
        }
        examined
    }))
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
