//! The traces that papers are measured on: generated ones, or those that are given.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

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
    /// What it is counted with in tables of groups.
    pub(super) group: String,
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
        Workload { group: String::new(), name, events, origin: Origin::File(path) }
    }

    /// A generated trace; `name` says how it differs from others of its shape.
    pub(super) fn shape(shape: &str, name: &str, change: impl FnOnce(&mut Parameters)) -> Option<Workload> {
        let shape = find_shape(shape)?;
        let mut parameters = shape.defaults;
        change(&mut parameters);
        let name = if name.is_empty() { shape.name.to_owned() } else { format!("{}-{name}", shape.name) };
        let (events, group) = (Some(parameters.events), shape.name.to_owned());
        Some(Workload { name, events, group, origin: Origin::Shape(shape, parameters) })
    }

    /// A construction with `vectors` vectors.
    pub(super) fn gadget(kind: &'static GadgetKind, vectors: u64) -> Workload {
        let size = Size { vectors, ..kind.default_size };
        Workload {
            name: format!("{}-{vectors}", kind.name),
            events: None,
            group: kind.name.to_owned(),
            origin: Origin::Gadget(kind, size),
        }
    }

    /// Which trace it is: two of the same name may differ.
    pub(super) fn source(&self) -> String {
        match &self.origin {
            Origin::File(path) => {
                let facts = std::fs::metadata(path).ok();
                let bytes = facts.as_ref().map_or(0, std::fs::Metadata::len);
                let age = facts.and_then(|facts| facts.modified().ok()?.duration_since(UNIX_EPOCH).ok());
                let changed = age.map_or(0, |age| age.as_millis());
                format!("{} of {bytes} bytes, changed {changed}", path.display())
            }
            Origin::Shape(shape, parameters) => format!("{} {parameters:?}", shape.name),
            Origin::Gadget(kind, size) => format!("{} {size:?}", kind.name),
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
    /// The same with few threads, of which the tester need not read everything.
    pub(super) tested: Vec<Workload>,
    /// Programs that sweep over arrays.
    pub(super) arrays: Vec<Workload>,
    /// Length of generated traces.
    pub(super) events: u64,
}

/// Threads of programs for the tester, whose windows are as long as there are threads.
const FEW_THREADS: u64 = 4;

/// Shapes of programs, with the group that each is counted in.
const PROGRAMS: [(&str, &str); 7] = [
    ("lock-heavy", "locks"),
    ("lock-dominated", "locks"),
    ("compute", "accesses"),
    ("far-races", "accesses"),
    ("fork-join", "patterns"),
    ("producer-consumer", "patterns"),
    ("mixed", "patterns"),
];
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
        let files = grouped(distinct(traces_of(traces)?.into_iter().map(Workload::file).collect()));
        let program = |&(shape, group): &(&str, &str), threads: Option<u64>| {
            let name = threads.map_or(String::new(), |threads| format!("{threads}-threads"));
            let workload = Workload::shape(shape, &name, |parameters| {
                parameters.threads = threads.unwrap_or(parameters.threads);
                parameters.events = events;
                parameters.variables = parameters.variables.min(events / 10).max(16);
                parameters.distance = parameters.distance.min(events / 20).max(2);
                if parameters.raciness > 0.0 {
                    parameters.raciness = parameters.raciness.max(20.0 / events as f64);
                }
            })?;
            Some(Workload { group: group.to_owned(), ..workload })
        };
        let array = |&shape: &&str| {
            Workload::shape(shape, "", |parameters| {
                parameters.events = events;
                parameters.variables = (events / 10).max(1000);
            })
        };
        let programs = match files.is_empty() {
            true => PROGRAMS.iter().filter_map(|shape| program(shape, None)).collect(),
            false => files.clone(),
        };
        let tested = match files.is_empty() {
            true => PROGRAMS.iter().filter_map(|shape| program(shape, Some(FEW_THREADS))).collect(),
            false => files.clone(),
        };
        let arrays = if files.is_empty() { ARRAYS.iter().filter_map(array).collect() } else { files };
        Ok(Corpus { programs, tested, arrays, events })
    }

    /// The groups of the programs, each with its traces; last all of them, if there are several groups.
    pub(super) fn groups(&self) -> Vec<(&str, Vec<&Workload>)> {
        let mut groups: Vec<(&str, Vec<&Workload>)> = Vec::new();
        for workload in &self.programs {
            match groups.iter_mut().find(|(group, _)| *group == workload.group) {
                Some((_, members)) => members.push(workload),
                None => groups.push((&workload.group, vec![workload])),
            }
        }
        if groups.len() > 1 {
            groups.push(("all", self.programs.iter().collect()));
        }
        groups
    }

    /// The length of the longest program, as far as lengths are known.
    pub(super) fn longest(&self) -> u64 {
        self.programs.iter().filter_map(|workload| workload.events).max().unwrap_or(self.events)
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

/// Groups traces by their directories; if all are in one, by their names up to the first dash: `x264-frames` is a run of `x264`.
fn grouped(mut files: Vec<Workload>) -> Vec<Workload> {
    let directory = |file: &Workload| match &file.origin {
        Origin::File(path) => path.parent().map(Path::to_path_buf),
        _ => None,
    };
    let are_in_several = files.iter().map(directory).collect::<BTreeSet<_>>().len() > 1;
    for file in &mut files {
        let parent = directory(file).filter(|_| are_in_several);
        let parent = parent.as_deref().map(|path| path.file_name().unwrap_or(path.as_os_str()));
        file.group = match parent {
            Some(name) if !name.is_empty() => name.to_string_lossy().into_owned(),
            _ => file.name.split('-').next().unwrap_or_default().to_owned(),
        };
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
    fn traces_are_grouped_by_directories_or_by_the_beginnings_of_their_names() {
        let directory = tempfile::tempdir().expect("a directory");
        let mut paths = Vec::new();
        for name in ["one/sort.std", "one/sort-racy.std", "two/lu.std"] {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("it can be made");
            std::fs::write(&path, "T0|w(x)|1\n").expect("it can be written");
            paths.push(path);
        }
        let groups = |paths: &[PathBuf]| {
            let corpus = Corpus::new(paths, 1000).expect("a corpus");
            let groups = corpus.groups().into_iter();
            groups.map(|(name, traces)| (name.to_owned(), traces.len())).collect::<Vec<_>>()
        };
        let expected = |groups: &[(&str, usize)]| -> Vec<_> {
            groups.iter().map(|&(name, traces)| (name.to_owned(), traces)).collect()
        };
        assert_eq!(groups(&paths), expected(&[("one", 2), ("two", 1), ("all", 3)]));
        assert_eq!(groups(&paths[..2]), expected(&[("sort", 2)]));
        assert_eq!(groups(&[])[..2], expected(&[("locks", 2), ("accesses", 2)]));
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
            for workload in corpus.programs.iter().chain(&corpus.tested).chain(&corpus.arrays) {
                let Origin::Shape(shape, parameters) = &workload.origin else { panic!("a shape") };
                assert!(Generated::new(shape, *parameters).is_ok(), "{} of {events} events", workload.name);
            }
        }
    }
}
