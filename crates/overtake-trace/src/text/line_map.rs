//! Which line each event of a block came from.

/// Lines of the events of one block, stored as runs of events on consecutive lines. If every line holds an event, there is one run.
#[derive(Default, Debug)]
pub(super) struct LineMap {
    /// Position in the block and line of the first event of each run.
    runs: Vec<(u64, u64)>,
    /// Line minus position, which is the same throughout a run.
    shift: u64,
}

impl LineMap {
    pub(super) fn clear(&mut self) {
        self.runs.clear();
    }

    /// Notes that the event at position `at` is from `line`. Positions come in order.
    #[inline]
    pub(super) fn note(&mut self, at: usize, line: u64) {
        let shift = line.wrapping_sub(at as u64);
        if shift != self.shift || self.runs.is_empty() {
            self.start_run(at, line);
        }
    }

    /// Notes that the events at positions `from..to` are all from `line`.
    #[cold]
    pub(super) fn note_all(&mut self, from: usize, to: usize, line: u64) {
        for at in from..to {
            self.note(at, line);
        }
    }

    #[cold]
    fn start_run(&mut self, at: usize, line: u64) {
        self.runs.push((at as u64, line));
        self.shift = line.wrapping_sub(at as u64);
    }

    /// The line of the event at position `at`, if one was noted at or before it.
    pub(super) fn line_of(&self, at: u64) -> Option<u64> {
        let run = self.runs.partition_point(|&(first, _)| first <= at).checked_sub(1)?;
        let (first, line) = self.runs[run];
        Some(line + (at - first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_on_consecutive_lines_are_one_run() {
        let mut map = LineMap::default();
        (0..100).for_each(|at| map.note(at, at as u64 + 7));
        assert_eq!(map.runs.len(), 1);
        assert_eq!(map.line_of(99), Some(106));
    }

    #[test]
    fn comments_and_lines_of_several_events_start_runs() {
        let mut map = LineMap::default();
        map.note(0, 1);
        map.note_all(1, 5, 4);
        map.note(5, 5);
        map.note(6, 9);
        let lines: Vec<_> = (0..7).map(|at| map.line_of(at).unwrap()).collect();
        assert_eq!(lines, [1, 4, 4, 4, 4, 5, 9]);
    }

    #[test]
    fn an_empty_map_knows_no_line() {
        assert_eq!(LineMap::default().line_of(0), None);
    }
}
