//! `overtake analyze`: the races of a trace.

use overtake_detect::{Entry, Promise, happens_before_for};
use overtake_report::result::Report;
use overtake_report::{Analysed, json, text};

use super::examine::Examined;
use super::tester;
use crate::args::AnalyzeArguments;
use crate::console::{Console, Stream};
use crate::failure::{Failure, Outcome};
use crate::files::Input;
use crate::reports;

/// Reports races.
pub(crate) fn run(arguments: &AnalyzeArguments, console: Console) -> Outcome {
    let mut input = Input::new(&arguments.checked.input);
    let mut detectors = arguments.detector.clone();
    if arguments.auto {
        choose_happens_before(&mut detectors, &mut input, console)?;
    }
    arguments.options.warn_of_unused(&detectors, console);
    if let [entry] = detectors[..]
        && entry.promise == Promise::PropertyTester
    {
        let examined = tester::Examined::of(&mut input, entry, arguments, console)?;
        let analysed = examined.analysed();
        return report(&analysed, || Ok(reports::collected_at_once(&analysed)), arguments, console);
    }
    if arguments.until.is_some() || arguments.budget.is_some() {
        return Err(Failure::Usage("--until and --budget are for -d rpt alone".into()));
    }
    let options = arguments.options.options();
    if !arguments.json || arguments.reports.are_wanted() {
        input.make_rereadable(arguments.checked.strictness(), console)?;
    }
    let examined = Examined::of(&mut input, &detectors, &options, arguments.checked.strictness(), console)?;
    let collected = || match arguments.json && !arguments.reports.are_wanted() {
        true => Ok(reports::collected_at_once(&examined.analysed())),
        false => reports::collected(&examined, &mut input, &arguments.reports),
    };
    report(&examined.analysed(), collected, arguments, console)
}

/// Tells what was found.
fn report(
    analysed: &Analysed<'_>,
    collected: impl FnOnce() -> Result<Report, Failure>,
    arguments: &AnalyzeArguments,
    console: Console,
) -> Outcome {
    let stream = match arguments.json {
        true => {
            console.write(|out| json::races(out, analysed))?;
            None
        }
        false => {
            console.say(&text::timing(analysed));
            Some(Stream::Output)
        }
    };
    reports::deliver(collected()?, &arguments.reports, stream, console)
}

/// Replaces `hb` by the happens-before detector that suits the trace.
fn choose_happens_before(
    detectors: &mut [&'static Entry],
    input: &mut Input,
    console: Console,
) -> Result<(), Failure> {
    let Some(place) = detectors.iter_mut().find(|entry| entry.name == "hb") else { return Ok(()) };
    let (threads, locks) = input.threads_and_locks(console)?;
    if let Some(chosen) = happens_before_for(threads, locks) {
        console.say(&format!("{} chosen for {threads} threads and {locks} locks", chosen.name));
        *place = chosen;
    }
    Ok(())
}
