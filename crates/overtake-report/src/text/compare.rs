//! Detectors beside each other, one row each. Rows are made one by one, so that each can be printed as soon as it is known; so the columns
//! have fixed widths.

use std::time::Duration;

use super::Layout;
use crate::TraceFacts;
use crate::number::{bytes, counted, grouped, rate, seconds};

/// What one detector did.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Compared {
    /// The detector.
    pub detector: String,
    /// Second events of races.
    pub racy_events: u64,
    /// Variables that race.
    pub variables: u64,
    /// Source locations of second events.
    pub locations: u64,
    /// Pairs of source locations that race, and deadlocks.
    pub pairs: u64,
    /// The largest distance of a race.
    pub distance: u64,
    /// Time in the detector.
    pub time: Duration,
    /// Events that it was given.
    pub events_read: u64,
    /// The most state it held.
    pub peak_state_bytes: u64,
    /// What its answer means.
    pub promise: String,
}

/// A heading, and the width of its column.
const COLUMNS: [(&str, usize); 9] = [
    ("detector", 14),
    ("racy events", 11),
    ("variables", 9),
    ("locations", 9),
    ("pairs", 6),
    ("distance", 9),
    ("time", 8),
    ("events/s", 8),
    ("peak state", 10),
];

/// Columns that narrow terminals do without.
const SPARED: [usize; 2] = [3, 7];

/// Room that a promise needs beside the figures. With less, it has lines of its own.
const PROMISE: usize = 40;

/// How rows are laid out in the room there is.
struct Arrangement {
    is_spare: bool,
    /// Where promises begin and how long their lines are. `None`: in a line of its own.
    promise_at: usize,
    width: usize,
    has_own_lines: bool,
}

impl Arrangement {
    fn of(layout: &Layout) -> Arrangement {
        let figures = |is_spare: bool| {
            let shown = COLUMNS.iter().enumerate().filter(|(at, _)| !is_spare || !SPARED.contains(at));
            shown.map(|(_, (_, width))| width + 2).sum::<usize>()
        };
        let all = figures(false);
        match layout.width.map(usize::from) {
            None => Arrangement { is_spare: false, promise_at: all, width: usize::MAX, has_own_lines: false },
            Some(width) if width >= all + PROMISE => {
                Arrangement { is_spare: false, promise_at: all, width, has_own_lines: false }
            }
            Some(width) => Arrangement { is_spare: width < all, promise_at: 4, width, has_own_lines: true },
        }
    }

    fn row(&self, figures: [String; 9], promise: &str) -> String {
        let mut text = String::new();
        for (at, (figure, (_, width))) in figures.iter().zip(COLUMNS).enumerate() {
            match at {
                0 => text.push_str(&format!("{figure:<width$}  ")),
                _ if self.is_spare && SPARED.contains(&at) => {}
                _ => text.push_str(&format!("{figure:>width$}  ")),
            }
        }
        let indent = " ".repeat(self.promise_at);
        if self.has_own_lines {
            text.truncate(text.trim_end().len());
            text.push('\n');
            text.push_str(&indent);
        }
        let room = self.width.saturating_sub(self.promise_at).max(PROMISE / 2);
        text.push_str(&wrapped(promise, room).join(&format!("\n{indent}")));
        text.truncate(text.trim_end().len());
        text.push('\n');
        text
    }
}

/// Words in lines of at most `room` letters, unless a word is longer.
fn wrapped(text: &str, room: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.chars().count().saturating_add(1 + word.chars().count()) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The headings.
pub fn compare_heading(layout: &Layout) -> String {
    Arrangement::of(layout).row(COLUMNS.map(|(heading, _)| heading.to_owned()), "promise")
}

/// A row.
pub fn compare_row(row: &Compared, layout: &Layout) -> String {
    let per_second = row.events_read as f64 / row.time.as_secs_f64().max(1e-9);
    let figures = [
        row.detector.clone(),
        grouped(row.racy_events),
        grouped(row.variables),
        grouped(row.locations),
        grouped(row.pairs),
        grouped(row.distance),
        seconds(row.time),
        rate(per_second),
        bytes(row.peak_state_bytes),
    ];
    Arrangement::of(layout).row(figures, &row.promise)
}

/// One line about the trace that rows are about.
pub fn compare_trace(trace: &TraceFacts, time: Duration) -> String {
    let sizes = trace.sizes;
    format!(
        "{}, {}, {}, {}; read and analysed in {}\n",
        counted(trace.events, "event", "events"),
        counted(sizes.threads as u64, "thread", "threads"),
        counted(sizes.locks as u64, "lock", "locks"),
        counted(sizes.variables as u64, "variable", "variables"),
        seconds(time)
    )
}
