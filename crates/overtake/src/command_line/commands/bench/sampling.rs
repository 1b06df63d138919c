//! `overtake bench sampling`: how often the property tester finds races, and how long it takes, as the trace grows.
//!
//! Success is counted over seeds, on traces of which a known part of all events must change to make them race free. The largest part is four times the epsilon
//! of the tester (or the most that can be generated), where the promise holds; the smallest is far below epsilon, where it does not. Time is the processor time
//! of the main thread, which judges its share of the windows; on an idle machine that is the time on the clock.

use std::path::PathBuf;

use overtake::files::Sealed;
use overtake::tester::workers;
use overtake::{Error, Listener};
use overtake_detect::{Judge, Plan, Stop, test};
use overtake_report::{Goal, Measurement, text};

use super::lab::{Lab, Task};
use crate::command_line::args::SamplingArguments;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Most growth of time when the trace becomes ten times as long.
const GROWTH_GOAL: f64 = 1.2;

/// The least number of events of a trace, and how many times faster than FastTrack the tester must be on it.
const SPEEDUP_GOALS: [(u64, f64); 2] = [(1_000_000_000, 15.0), (100_000_000, 2.0)];

/// Measures and prints the table.
pub(crate) fn run(arguments: &SamplingArguments, console: Console) -> Outcome {
    let temporary;
    let directory = match &arguments.dir {
        Some(directory) => directory.as_path(),
        None => {
            let failure = |error: std::io::Error| Error::failed(format!("a directory for traces: {error}"));
            temporary = tempfile::tempdir().map_err(failure)?;
            temporary.path()
        }
    };
    let mut bench = Bench { lab: Lab::new(directory)?, arguments, console, rows: Vec::new() };
    for distance in distances(arguments.epsilon, overtake_gen::most_epsilon(arguments.threads)) {
        bench.success(distance)?;
    }
    bench.times()?;
    console.print(&text::bench(&bench.rows, &console.layout(0)))?;
    Ok(Verdict::Fine)
}

/// Which part of the events must change in the traces that success is measured on: around `epsilon`, as far as traces can be
/// made, which is up to `most`.
fn distances(epsilon: f64, most: f64) -> Vec<f64> {
    const FACTORS: [f64; 6] = [4.0, 1.0, 1.0 / 16.0, 1.0 / 256.0, 1.0 / 2048.0, 1.0 / 8192.0];
    // The generator's own bound, less what is lost when the number is printed for its command line.
    let most = most * (1.0 - 1e-9);
    let mut distances: Vec<f64> = FACTORS.iter().map(|factor| (epsilon * factor).min(most)).collect();
    distances.dedup();
    distances
}

struct Bench<'a> {
    lab: Lab,
    arguments: &'a SamplingArguments,
    console: Console,
    rows: Vec<Measurement>,
}

impl Bench<'_> {
    fn row(&mut self, what: String, figure: f64, unit: &'static str, goal: Option<Goal>) {
        self.rows.push(Measurement { what, figure, unit, goal });
    }

    fn generate(&self, shape: &str, events: u64, options: &str) -> Result<PathBuf, Error> {
        let SamplingArguments { threads, locks, .. } = self.arguments;
        let file = self.lab.file(&format!("{shape}.otr"));
        self.console.say(&format!("generating {shape} with {events} events {options}"));
        let command = format!(
            "gen {shape} --events {events} --threads {threads} --locks {locks} --seed 1 {options} -o"
        );
        self.lab.time(&Task::overtake(&command, &file))?;
        Ok(file)
    }

    /// The part of seeds for which a race is found in a trace `distance` away from being race free.
    fn success(&mut self, distance: f64) -> Result<(), Error> {
        let SamplingArguments { events, epsilon, delta, seeds, .. } = *self.arguments;
        let file = self.generate("epsilon-far", events, &format!("--epsilon {distance}"))?;
        let sealed = Sealed::open(&file)?;
        let (mut found, mut read) = (0, 0);
        for seed in 0..seeds {
            let plan = Plan::new(sealed.file.parameters(), epsilon, delta, seed)?;
            let stop = Stop { at_first_race: true, at: None };
            let tested = test(&sealed, &plan, Judge::HappensBefore, workers(), stop);
            let tested = tested.map_err(|error| Error::in_file(&file, error))?;
            found += u64::from(!tested.races.is_empty());
            read += tested.events;
        }
        let goal = (distance >= epsilon).then_some(Goal::AtLeast(100.0 * (1.0 - delta)));
        let seeds = seeds.max(1);
        let what = format!("{distance:.7} of all events must change: a race is found, {seeds} seeds");
        self.row(what, 100.0 * found as f64 / seeds as f64, " %", goal);
        let what = format!("{distance:.7} of all events must change: read until the first race");
        self.row(what, read as f64 / seeds as f64, " events", None);
        Ok(())
    }

    /// Time of the tester and of FastTrack on traces of growing length.
    fn times(&mut self) -> Result<(), Error> {
        let SamplingArguments { epsilon, delta, runs, ref lengths, .. } = *self.arguments;
        let mut before: Option<(u64, f64)> = None;
        for &events in lengths {
            let file = self.generate("lock-heavy", events, "--variables 20000")?;
            let tester = format!("analyze -d rpt --epsilon {epsilon} --delta {delta}");
            let tasks = [Task::overtake(&tester, &file), Task::overtake("analyze -d fasttrack", &file)];
            let times = self.lab.medians(&tasks, runs.max(1))?;
            let [tester, full] = [times[0].as_secs_f64(), times[1].as_secs_f64()];
            self.row(format!("{events} events: rpt"), 1e3 * tester, " ms", None);
            self.row(format!("{events} events: fasttrack"), 1e3 * full, " ms", None);
            let goal = SPEEDUP_GOALS.iter().find(|(least, _)| events >= *least);
            let goal = goal.map(|&(_, times)| Goal::AtLeast(times));
            self.row(format!("{events} events: rpt is faster by"), full / tester.max(1e-9), " times", goal);
            if let Some((shorter, time)) = before {
                let goal = (shorter >= 100_000_000).then_some(Goal::AtMost(GROWTH_GOAL));
                let what = format!("rpt, from {shorter} to {events} events");
                self.row(what, tester / time.max(1e-9), " times", goal);
            }
            before = Some((events, tester));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_distance_is_beyond_what_can_be_generated() {
        let most = overtake_gen::most_epsilon(4);
        assert_eq!(distances(0.01, most)[..2], [0.04, 0.01]);
        let far = distances(0.05, most);
        assert!(far[0] < most && far[0] > 0.05, "{far:?}");
        assert_eq!(far[1], 0.05);
        assert_eq!(distances(0.5, most).iter().filter(|&&distance| distance > 0.07).count(), 1);
    }
}
