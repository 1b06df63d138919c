//! `overtake bench speed`: how fast reading, writing and every detector are, against their goals.
//!
//! The yardstick is W, the time of `wc -l` on the trace's STD text, measured in the same rounds as everything else. On recordings the unit is the
//! time that reading the trace takes: what programs do decides how long a line of text is, and how far apart the bytes lie that a detector looks up.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use overtake::{Error, Listener};
use overtake_detect::{Entry, Reads, Registry, Verdict as RaceVerdict};
use overtake_report::{Goal, Measurement, text};
use overtake_trace::{Block, OtrFile};

use super::lab::{Lab, Task, median};
use crate::command_line::args::SpeedArguments;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Most growth of time when the trace is ten times as long; predictive detectors may take a little more.
const GROWTH_GOAL: f64 = 11.0;
const PREDICTIVE_GROWTH_GOAL: f64 = 12.0;

/// How many times the time of reading a recording a detector without a goal of its own may take.
const MOST_READINGS: f64 = 40.0;

/// A kind of trace.
struct Shape {
    name: &'static str,
    options: &'static str,
    /// How many times the goals its detectors may take.
    allowance: f64,
    /// Whether the goals for reading and generating are about this kind.
    is_yardstick: bool,
}

impl Shape {
    fn goal(&self, goal: Goal) -> Option<Goal> {
        self.is_yardstick.then_some(goal)
    }
}

const SHAPES: [Shape; 3] = [
    Shape {
        name: "lock-heavy",
        options: "--threads 16 --locks 32 --variables 20000",
        allowance: 1.0,
        is_yardstick: true,
    },
    Shape {
        name: "interleaved",
        options: "--threads 16 --locks 32 --variables 20000",
        allowance: 2.5,
        is_yardstick: false,
    },
    Shape {
        name: "compute",
        options: "--threads 16 --variables 1000000",
        allowance: 2.0,
        is_yardstick: false,
    },
];

/// Measures and prints the table.
pub(crate) fn run(arguments: &SpeedArguments, registry: Registry, console: Console) -> Outcome {
    let mut bench = Bench { lab: Lab::new(&arguments.dir)?, arguments, registry, console, rows: Vec::new() };
    for shape in &SHAPES {
        bench.prepare(shape)?;
        bench.measure(shape)?;
    }
    for recording in &arguments.recordings {
        bench.measure_recording(recording)?;
    }
    bench.random_access()?;
    console.print(&text::bench(&bench.rows, &console.layout(0)))?;
    Ok(Verdict::Fine)
}

struct Bench<'a> {
    lab: Lab,
    arguments: &'a SpeedArguments,
    registry: Registry,
    console: Console,
    rows: Vec<Measurement>,
}

impl Bench<'_> {
    fn row(&mut self, what: impl Into<String>, figure: f64, unit: &'static str, goal: Option<Goal>) {
        self.rows.push(Measurement { what: what.into(), figure, unit, goal });
    }

    fn sealed(&self, shape: &Shape) -> PathBuf {
        self.lab.file(&format!("{}.otr", shape.name))
    }

    fn tenth(&self, shape: &Shape) -> PathBuf {
        self.lab.file(&format!("{}-tenth.otr", shape.name))
    }

    fn text(&self, shape: &Shape) -> PathBuf {
        self.lab.file(&format!("{}.std", shape.name))
    }

    /// Generates the traces of a shape; the time of it is the first row.
    fn prepare(&mut self, shape: &Shape) -> Result<(), Error> {
        let events = self.arguments.events;
        self.console.say(&format!("generating {} with {events} events", shape.name));
        let generate = |events: u64, to: PathBuf| {
            Task::overtake(
                &format!("gen {} --events {events} {} --seed 1 -o", shape.name, shape.options),
                &to,
            )
        };
        self.lab.time(&generate(events / 10, self.tenth(shape)))?;
        let time = self.lab.medians(&[generate(events, self.sealed(shape))], self.arguments.runs)?[0];
        let millions = events as f64 / time.as_secs_f64() / 1e6;
        self.row(
            format!("{}: generate to .otr", shape.name),
            millions,
            " M/s",
            shape.goal(Goal::AtLeast(10.0)),
        );
        let convert = format!("convert {}", self.sealed(shape).display());
        self.lab.time(&Task::overtake(&convert, &self.text(shape))).map(drop)
    }

    /// Reads the traces of a shape in every way, all in the same rounds.
    fn measure(&mut self, shape: &Shape) -> Result<(), Error> {
        self.console.say(&format!("measuring {} ({} rounds)", shape.name, self.arguments.runs));
        let (sealed, tenth, text) = (self.sealed(shape), self.tenth(shape), self.text(shape));
        let mut tasks = vec![
            Task::CountLines(text.clone()),
            Task::overtake("validate", &text),
            Task::overtake("bench read", &sealed),
        ];
        for entry in self.registry.entries() {
            let analyze = format!("analyze --detector {}", entry.name);
            tasks.push(Task::overtake(&analyze, &sealed));
            tasks.push(Task::overtake(&analyze, &tenth));
        }
        let times = self.lab.medians(&tasks, self.arguments.runs)?;
        self.reading_rows(shape, &times)?;
        for (entry, detector) in self.registry.entries().iter().zip(times[3..].chunks_exact(2)) {
            self.detector_rows(shape, entry, times[0], detector);
        }
        Ok(())
    }

    /// Gives a recording to every detector, all in the same rounds.
    fn measure_recording(&mut self, recording: &Path) -> Result<(), Error> {
        let name = recording.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let file = OtrFile::open(recording).map_err(|error| Error::in_file(recording, error))?;
        let events = file.parameters().events;
        self.console.say(&format!(
            "measuring the recording {name}, {events} events ({} rounds)",
            self.arguments.runs
        ));
        let analyses =
            self.registry.entries().iter().map(|entry| format!("analyze --detector {}", entry.name));
        let tasks = std::iter::once("bench read".to_owned()).chain(analyses);
        let tasks: Vec<_> = tasks.map(|task| Task::overtake(&task, recording)).collect();
        let times = self.lab.medians(&tasks, self.arguments.runs)?;
        self.row(format!("{name}: read .otr"), times[0].as_nanos() as f64 / events as f64, " ns/event", None);
        for (entry, &time) in self.registry.entries().iter().zip(&times[1..]) {
            let goal = Goal::AtMost(entry.speed_goal.unwrap_or(MOST_READINGS));
            self.row(format!("{name}: {}", entry.name), ratio(time, times[0]), " readings", Some(goal));
        }
        Ok(())
    }

    /// Opens a big file and reads a few events in the middle.
    fn random_access(&mut self) -> Result<(), Error> {
        let events = self.arguments.big_events;
        if events == 0 {
            return Ok(());
        }
        self.console.say(&format!("generating a file of {events} events for random access"));
        let big = self.lab.file("big.otr");
        let shape = &SHAPES[0];
        let generate = format!("gen {} --events {events} {} --seed 1 -o", shape.name, shape.options);
        self.lab.time(&Task::overtake(&generate, &big))?;
        let times: Result<Vec<_>, Error> =
            (0..self.arguments.runs.max(1)).map(|_| access_time(&big)).collect();
        let milliseconds = median(times?).as_secs_f64() * 1e3;
        self.row(
            "open the big file, read 1,000 events in the middle",
            milliseconds,
            " ms",
            Some(Goal::AtMost(20.0)),
        );
        Ok(())
    }

    /// W itself, reading text, reading the sealed file, and its size.
    fn reading_rows(&mut self, shape: &Shape, times: &[Duration]) -> Result<(), Error> {
        let (name, events) = (shape.name, self.arguments.events as f64);
        let sealed = self.sealed(shape);
        let bytes = std::fs::metadata(&sealed).map_err(|error| Error::in_file(&sealed, error))?.len();
        let line_count = times[0].as_nanos() as f64 / events;
        self.row(format!("{name}: 1 W (wc -l)"), line_count, " ns/event", None);
        self.row(
            format!("{name}: read and check STD"),
            ratio(times[1], times[0]),
            " W",
            shape.goal(Goal::AtMost(12.0)),
        );
        self.row(
            format!("{name}: read .otr"),
            ratio(times[2], times[0]),
            " W",
            shape.goal(Goal::AtMost(2.5)),
        );
        self.row(
            format!("{name}: size of .otr"),
            bytes as f64 / events,
            " B/event",
            shape.goal(Goal::AtMost(4.0)),
        );
        Ok(())
    }

    /// Time in W, and growth from a tenth of the trace to the whole.
    fn detector_rows(&mut self, shape: &Shape, entry: &Entry, unit: Duration, times: &[Duration]) {
        let goal = entry.speed_goal.map(|goal| Goal::AtMost(goal * shape.allowance));
        self.row(format!("{}: {}", shape.name, entry.name), ratio(times[0], unit), " W", goal);
        let growth = match (entry.reads, entry.verdict) {
            // It reads part of the one trace and all of the other; `overtake bench sampling` measures its growth.
            (Reads::Windows(_), _) => None,
            (_, RaceVerdict::Predicted) => Some(PREDICTIVE_GROWTH_GOAL),
            _ => Some(GROWTH_GOAL),
        };
        let what = format!("{}: {}, 10 times the events", shape.name, entry.name);
        self.row(what, ratio(times[0], times[1]), " times", growth.map(Goal::AtMost));
    }
}

fn ratio(time: Duration, unit: Duration) -> f64 {
    time.as_secs_f64() / unit.as_secs_f64().max(1e-9)
}

/// Time to open a sealed file and to read 1,000 events in the middle of it.
fn access_time(path: &Path) -> Result<Duration, Error> {
    let start = Instant::now();
    let read = || -> overtake_trace::Result<()> {
        let file = OtrFile::open(path)?;
        let middle = file.parameters().events / 2;
        file.read_events(middle..middle + 1000, &mut Block::default())
    };
    read().map_err(|error| Error::in_file(path, error))?;
    Ok(start.elapsed())
}
