//! The traces that papers are measured on: generated ones, or those that are given.

use std::path::{Path, PathBuf};

use overtake::files::{OutputTrace, traces_of};
use overtake::{Error, Input, Listener};
use overtake_gen::gadgets::{GADGETS, Gadget, GadgetKind, Size};
use overtake_gen::{Parameters, Shape, Workload as Generated, find_shape};
use overtake_trace::{Block, EventSink, EventSource};

use crate::command_line::console::Console;

/// A trace by name.
#[derive(Clone)]
pub(super) struct Workload {
    /// What tables call it, and the name of its file.
    pub(super) name: String,
    /// How many events it has; `None` if that is not known before it is read.
    pub(super) events: Option<u64>,
    origin: Origin,
}

#[derive(Clone)]
enum Origin {
    File(PathBuf),
    Shape(&'static Shape, Parameters),
    Gadget(&'static GadgetKind, Size),
}

impl Workload {
    /// A trace that is there.
    fn file(path: PathBuf) -> Workload {
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        let events = Input::new(&path).at_any_place().map(|file| file.parameters().events);
        Workload { name, events, origin: Origin::File(path) }
    }

    /// A generated trace; `name` says how it differs from others of its shape.
    pub(super) fn shape(shape: &str, name: &str, change: impl FnOnce(&mut Parameters)) -> Option<Workload> {
        let shape = find_shape(shape)?;
        let mut parameters = shape.defaults;
        change(&mut parameters);
        let name = if name.is_empty() { shape.name.to_owned() } else { format!("{}-{name}", shape.name) };
        Some(Workload { name, events: Some(parameters.events), origin: Origin::Shape(shape, parameters) })
    }

    /// A construction with `vectors` vectors.
    pub(super) fn gadget(kind: &'static GadgetKind, vectors: u64) -> Workload {
        let size = Size { vectors, ..kind.default_size };
        Workload {
            name: format!("{}-{vectors}", kind.name),
            events: None,
            origin: Origin::Gadget(kind, size),
        }
    }

    /// Whether it stands in for a real program.
    fn is_generated(&self) -> bool {
        !matches!(self.origin, Origin::File(_))
    }

    /// Where it lies, once it is made.
    pub(super) fn path(&self, directory: &Path) -> PathBuf {
        match &self.origin {
            Origin::File(path) => path.clone(),
            Origin::Shape(..) | Origin::Gadget(..) => directory.join(format!("{}.otr", self.name)),
        }
    }

    /// Generates it. Traces of an earlier run are made anew: they may have had another length.
    pub(super) fn make(&self, directory: &Path, console: Console) -> Result<(), Error> {
        let path = self.path(directory);
        let failure = |error: overtake_gen::ParameterError| Error::failed(format!("{}: {error}", self.name));
        match &self.origin {
            Origin::File(_) => Ok(()),
            Origin::Shape(shape, parameters) => {
                console.say(&format!("generating {} with {} events", self.name, parameters.events));
                write(&path, &mut Generated::new(shape, *parameters).map_err(failure)?)
            }
            Origin::Gadget(kind, size) => {
                let Gadget { trace, .. } = kind.build(size).map_err(failure)?;
                write(&path, &mut trace.source())
            }
        }
    }
}

fn write(path: &Path, source: &mut dyn EventSource) -> Result<(), Error> {
    let mut output = OutputTrace::create(path, None)?;
    let mut block = Block::default();
    let failure = |error| Error::in_file(path, error);
    while source.next_block(&mut block).map_err(failure)? {
        output.write(&block.events, source.symbols()).map_err(failure)?;
    }
    output.finish(source.symbols()).map_err(failure)?;
    output.complete().map(drop)
}

/// All traces of a run.
pub(super) struct Corpus {
    /// Runs of programs: those that are given, else generated ones.
    pub(super) programs: Vec<Workload>,
    /// Programs that sweep over arrays.
    pub(super) arrays: Vec<Workload>,
    /// Length of generated traces.
    pub(super) events: u64,
}

const PROGRAMS: [&str; 7] =
    ["lock-heavy", "lock-dominated", "compute", "far-races", "fork-join", "producer-consumer", "mixed"];
const ARRAYS: [&str; 10] = [
    "array-whole",
    "array-halves",
    "array-blocks",
    "array-strided",
    "array-prefix",
    "array-wavefront",
    "array-triangular",
    "array-random",
    "array-sparse",
    "array-grow",
];

impl Corpus {
    /// The given traces, which may be directories of traces, or else generated ones of this many events.
    pub(super) fn new(traces: &[PathBuf], events: u64) -> Result<Corpus, Error> {
        let files = distinct(traces_of(traces)?.into_iter().map(Workload::file).collect());
        let program = |&shape: &&str| {
            Workload::shape(shape, "", |parameters| {
                parameters.events = events;
                parameters.variables = parameters.variables.min(events / 10).max(16);
                parameters.distance = parameters.distance.min(events / 20).max(2);
                if parameters.raciness > 0.0 {
                    parameters.raciness = parameters.raciness.max(20.0 / events as f64);
                }
            })
        };
        let array = |&shape: &&str| {
            Workload::shape(shape, "", |parameters| {
                parameters.events = events;
                parameters.variables = (events / 10).max(1000);
            })
        };
        let programs = match files.is_empty() {
            true => PROGRAMS.iter().filter_map(program).collect(),
            false => files.clone(),
        };
        let arrays = if files.is_empty() { ARRAYS.iter().filter_map(array).collect() } else { files };
        Ok(Corpus { programs, arrays, events })
    }

    /// Constructions of the papers on hardness.
    pub(super) fn gadgets() -> impl Iterator<Item = &'static GadgetKind> {
        GADGETS.iter()
    }
}

/// Names traces of the same name by their paths: what is measured is kept by name.
fn distinct(mut files: Vec<Workload>) -> Vec<Workload> {
    let names: Vec<_> = files.iter().map(|file| file.name.clone()).collect();
    for file in &mut files {
        if let Origin::File(path) = &file.origin
            && names.iter().filter(|name| **name == file.name).count() > 1
        {
            file.name = path.display().to_string();
        }
    }
    files
}

/// What stands in for the programs of a paper.
pub(super) fn note(workloads: &[Workload]) -> String {
    let origin = match workloads {
        [] => return String::new(),
        workloads if workloads.iter().all(Workload::is_generated) => "Generated traces",
        _ => "The traces that were given",
    };
    format!("{origin} stand in for the programs of the paper.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_of_the_same_name_are_told_apart() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["first", "second"] {
            std::fs::create_dir(directory.path().join(name)).expect("it can be made");
            std::fs::write(directory.path().join(name).join("a.std"), "T0|w(x)|1\n")
                .expect("it can be written");
        }
        let corpus = Corpus::new(&["first", "second"].map(|name| directory.path().join(name)), 1000);
        let names: Vec<_> = corpus.expect("a corpus").programs.into_iter().map(|file| file.name).collect();
        assert!(names.len() == 2 && names[0] != names[1], "{names:?}");
        assert!(names[0].ends_with("a.std"), "{names:?}");
    }

    #[test]
    fn a_directory_stands_for_its_traces_in_the_order_of_their_names() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["b.std", "a.std"] {
            std::fs::write(directory.path().join(name), "T0|w(x)|1\n").expect("it can be written");
        }
        let corpus = Corpus::new(&[directory.path().to_owned()], 1000).expect("a corpus");
        assert_eq!(corpus.programs.iter().map(|workload| &workload.name).collect::<Vec<_>>(), ["a", "b"]);
        assert!(note(&corpus.programs).contains("were given"));
        assert!(Corpus::new(&[directory.path().join("none")], 1000).is_err());
        assert!(note(&Corpus::new(&[], 1000).expect("a corpus").programs).contains("Generated"));
        assert!(note(&[]).is_empty());
    }

    #[test]
    fn every_generated_trace_can_be_made_at_any_length() {
        for events in [10_000, 100_000] {
            let corpus = Corpus::new(&[], events).expect("a corpus");
            assert_eq!((corpus.programs.len(), corpus.arrays.len()), (PROGRAMS.len(), ARRAYS.len()));
            for workload in corpus.programs.iter().chain(&corpus.arrays) {
                let Origin::Shape(shape, parameters) = &workload.origin else { panic!("a shape") };
                assert!(Generated::new(shape, *parameters).is_ok(), "{} of {events} events", workload.name);
            }
        }
    }
}
