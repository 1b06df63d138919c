//! `overtake gen`: a trace made to order.

use std::path::Path;

use overtake::files::OutputTrace;
use overtake::{Error, Listener};
use overtake_gen::gadgets::{Expected, GADGETS, Gadget, GadgetKind, Races, Size};
use overtake_gen::{ALWAYS_RELEVANT, Parameter, ParameterError, Parameters, SHAPES, Shape, Workload};
use overtake_report::{ExpectedFacts, GeneratedFacts, json, text};
use overtake_trace::{Block, EventSink, EventSource, Progress, Symbols};

use crate::command_line::args::{GenArguments, Product, WorkloadArguments};
use crate::command_line::console::{Bar, Console};
use crate::command_line::verdict::{Outcome, Verdict};

/// Makes a trace, or lists what can be made.
pub(crate) fn run(arguments: &GenArguments, console: Console) -> Outcome {
    let (Some(product), Some(out)) = (arguments.shape, &arguments.out) else {
        console.print(&list())?;
        return Ok(Verdict::Fine);
    };
    let task = Task { arguments, out, console };
    match product {
        Product::Shape(shape) => task.workload(shape),
        Product::Gadget(kind) => task.gadget(kind),
    }
}

/// A trace to be made and where it goes.
struct Task<'a> {
    arguments: &'a GenArguments,
    out: &'a Path,
    console: Console,
}

impl Task<'_> {
    fn workload(&self, shape: &'static Shape) -> Outcome {
        let parameters = self.arguments.parameters.applied_to(shape.defaults);
        let mut workload = Workload::new(shape, parameters).map_err(wrong_parameter)?;
        let Some(output) = self.write(&mut workload)? else { return Ok(Verdict::Fine) };
        let expected = workload.expectation().map(|expectation| ExpectedFacts {
            on: None,
            notion: "hb",
            pairs: None,
            variables: Some(expectation.racy_variables.iter().copied().collect()),
        });
        let relevant = Parameter::ALL
            .into_iter()
            .filter(|parameter| ALWAYS_RELEVANT.contains(parameter) || shape.relevant.contains(parameter));
        let options = relevant.map(|parameter| (parameter.name(), parameters.value(parameter)));
        let command = self.repeating_command(shape.name, options);
        self.report(
            shape.name,
            parameters.seed,
            command,
            output,
            expected.into_iter().collect(),
            workload.symbols(),
        )
    }

    fn gadget(&self, kind: &'static GadgetKind) -> Outcome {
        let size = self.arguments.parameters.size(kind.default_size);
        let Gadget { trace, expected } = kind.build(&size).map_err(wrong_parameter)?;
        let Some(output) = self.write(&mut trace.source())? else { return Ok(Verdict::Fine) };
        let options = [("vectors", size.vectors), ("dimension", size.dimension), ("seed", size.seed)];
        let command =
            self.repeating_command(kind.name, options.map(|(name, value)| (name, value.to_string())));
        let expected = expected.into_iter().map(facts_of).collect();
        self.report(kind.name, size.seed, command, output, expected, &trace.symbols)
    }

    /// Writes all events. `None` if their reader has closed the pipe.
    fn write(&self, source: &mut dyn EventSource) -> Result<Option<OutputTrace>, Error> {
        let mut output = OutputTrace::create(self.out, self.arguments.to)?;
        if self.arguments.json && output.is_standard() {
            return Err(Error::usage("the trace and --json cannot both go to standard output"));
        }
        match fill(source, &mut output, self.console.progress()) {
            Err(_) if output.pipe_is_closed() => Ok(None),
            filled => filled.map(|()| Some(output)),
        }
    }

    /// The command that makes the same trace again. It names every parameter that matters, because defaults may change.
    fn repeating_command(
        &self,
        name: &str,
        options: impl IntoIterator<Item = (&'static str, String)>,
    ) -> String {
        let options: String = options.into_iter().map(|(name, value)| format!(" --{name} {value}")).collect();
        format!("overtake gen {name}{options} -o {}", self.out.display())
    }

    fn report(
        &self,
        shape: &str,
        seed: u64,
        command: String,
        output: OutputTrace,
        expected: Vec<ExpectedFacts>,
        symbols: &Symbols,
    ) -> Outcome {
        let is_standard = output.is_standard();
        let facts = GeneratedFacts { shape, seed, command, written: output.complete()?, expected, symbols };
        if let Some(path) = &self.arguments.expected {
            let mut document = Vec::new();
            json::generated(&mut document, &facts)
                .and_then(|()| std::fs::write(path, document))
                .map_err(|error| Error::in_file(path, error))?;
        }
        self.console.say(&text::generated(&facts));
        if self.arguments.json {
            self.console.write(|out| json::generated(out, &facts))?;
        } else if !is_standard && self.arguments.expected.is_none() {
            self.console.print(&text::expected(&facts))?;
        }
        Ok(Verdict::Fine)
    }
}

fn fill(source: &mut dyn EventSource, output: &mut OutputTrace, mut bar: Bar) -> Result<(), Error> {
    let mut block = Block::default();
    while source.next_block(&mut block).map_err(|error| output.failure(error))? {
        output.write(&block.events, source.symbols()).map_err(|error| output.failure(error))?;
        bar.show(Progress { bytes_read: output.bytes(), bytes_total: None });
    }
    output.finish(source.symbols()).map_err(|error| output.failure(error))
}

fn facts_of(expected: Expected) -> ExpectedFacts {
    let (pairs, on, variables) = match expected.races {
        Races::Pairs(pairs) => (Some(pairs.into_iter().collect()), None, None),
        Races::PairsOf(var, pairs) => (Some(pairs.into_iter().collect()), Some(var), None),
        Races::Variables(variables) => (None, None, Some(variables.into_iter().collect())),
    };
    ExpectedFacts { notion: expected.notion.name(), pairs, on, variables }
}

fn wrong_parameter(error: ParameterError) -> Error {
    Error::usage(error.to_string())
}

/// Everything that can be made, with the parameters that matter.
fn list() -> String {
    let names = |parameters: &[Parameter]| -> String {
        parameters.iter().map(|parameter| format!(" --{}", parameter.name())).collect()
    };
    let mut text = String::new();
    for shape in SHAPES {
        let options = names(ALWAYS_RELEVANT) + &names(shape.relevant);
        text.push_str(&format!("{}\n    {}\n   {options}\n", shape.name, shape.description));
    }
    for kind in GADGETS {
        text.push_str(&format!(
            "{}\n    {}\n    --vectors --dimension --seed\n",
            kind.name, kind.description
        ));
    }
    text
}

impl WorkloadArguments {
    /// The parameters of a workload, with what was asked for in place of the defaults.
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

    /// The size of a gadget, with what was asked for in place of the defaults.
    fn size(&self, defaults: Size) -> Size {
        Size {
            vectors: self.vectors.unwrap_or(defaults.vectors),
            dimension: self.dimension.unwrap_or(defaults.dimension),
            seed: self.seed.unwrap_or(defaults.seed),
        }
    }
}
