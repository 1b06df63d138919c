//! `overtake gen`: a trace made to order.

use std::path::Path;

use overtake_gen::{ALWAYS_RELEVANT, Parameter, Parameters, SHAPES, Shape, Workload};
use overtake_report::{ExpectedFacts, GeneratedFacts, json, text};
use overtake_trace::{Block, EventSink, EventSource, Progress};

use crate::args::{GenArguments, WorkloadArguments};
use crate::console::{Bar, Console};
use crate::failure::{Failure, Outcome, Verdict};
use crate::files::OutputTrace;

/// Makes a trace, or lists what can be made.
pub(crate) fn run(arguments: &GenArguments, console: Console) -> Outcome {
    let (Some(shape), Some(out)) = (arguments.shape, &arguments.out) else {
        console.print(&list())?;
        return Ok(Verdict::Fine);
    };
    let parameters = arguments.parameters.applied_to(shape.defaults);
    let mut workload = Workload::new(shape, parameters).map_err(|error| Failure::Usage(error.to_string()))?;
    let mut output = OutputTrace::create(out, arguments.to)?;
    if arguments.json && output.is_standard() {
        return Err(Failure::Usage("the trace and --json cannot both go to standard output".into()));
    }
    match fill(&mut workload, &mut output, console.progress()) {
        Err(_) if output.pipe_is_closed() => return Ok(Verdict::Fine),
        filled => filled?,
    }
    let expected = workload.expectation().map(|expectation| ExpectedFacts {
        racy_variables: expectation.racy_variables.iter().copied().collect(),
        distance_to_race_free: expectation.distance_to_race_free,
    });
    let facts = GeneratedFacts {
        shape: shape.name,
        seed: parameters.seed,
        command: repeating_command(shape, &parameters, out),
        written: output.complete()?,
        expected,
        symbols: workload.symbols(),
    };
    if let Some(path) = &arguments.expected {
        write_expected(path, &facts)?;
    }
    console.say(&text::generated(&facts));
    if arguments.json {
        console.write(|out| json::generated(out, &facts))?;
    }
    Ok(Verdict::Fine)
}

fn fill(workload: &mut Workload, output: &mut OutputTrace, mut bar: Bar) -> Result<(), Failure> {
    let mut block = Block::default();
    while workload.next_block(&mut block).map_err(|error| output.failure(error))? {
        output.write(&block.events, workload.symbols()).map_err(|error| output.failure(error))?;
        bar.show(Progress { bytes_read: output.bytes(), bytes_total: None });
    }
    output.finish(workload.symbols()).map_err(|error| output.failure(error))
}

fn write_expected(path: &Path, facts: &GeneratedFacts<'_>) -> Result<(), Failure> {
    let mut document = Vec::new();
    json::generated(&mut document, facts)
        .and_then(|()| std::fs::write(path, document))
        .map_err(|error| Failure::in_file(path, error))
}

/// The command that makes the same trace again, whatever the defaults will be: every parameter that matters is in it.
fn repeating_command(shape: &Shape, parameters: &Parameters, out: &Path) -> String {
    let relevant = Parameter::ALL
        .into_iter()
        .filter(|parameter| ALWAYS_RELEVANT.contains(parameter) || shape.relevant.contains(parameter));
    let options: Vec<_> = relevant
        .map(|parameter| format!(" --{} {}", parameter.name(), parameters.value(parameter)))
        .collect();
    format!("overtake gen {}{} -o {}", shape.name, options.concat(), out.display())
}

/// Every shape with the parameters it uses besides those that all use.
fn list() -> String {
    let names = |parameters: &[Parameter]| -> String {
        parameters.iter().map(|parameter| format!(" --{}", parameter.name())).collect()
    };
    let mut text = String::new();
    for shape in SHAPES {
        text.push_str(&format!("{}\n    {}\n   {}\n", shape.name, shape.description, names(shape.relevant)));
    }
    format!("{text}\nall of them:{}\n", names(ALWAYS_RELEVANT))
}

impl WorkloadArguments {
    /// The parameters, with what was asked for in place of the defaults.
    fn applied_to(&self, defaults: Parameters) -> Parameters {
        Parameters {
            events: self.events.unwrap_or(defaults.events),
            threads: self.threads.unwrap_or(defaults.threads),
            locks: self.locks.unwrap_or(defaults.locks),
            variables: self.variables.unwrap_or(defaults.variables),
            sharing: self.sharing.unwrap_or(defaults.sharing),
            raciness: self.raciness.unwrap_or(defaults.raciness),
            nesting: self.nesting.unwrap_or(defaults.nesting),
            distance: self.distance.unwrap_or(defaults.distance),
            locations: self.locations.unwrap_or(defaults.locations),
            epsilon: self.epsilon.unwrap_or(defaults.epsilon),
            seed: self.seed.unwrap_or(defaults.seed),
        }
    }
}
