//! `overtake stat`: what a trace is made of.

use overtake_report::{StatisticsFacts, json, text};
use overtake_trace::{Block, Statistics, Symbols, TraceSummary};

use crate::command_line::args::StatArguments;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Counts the events as they are in the input, and the repairs they need.
pub(crate) fn run(arguments: &StatArguments, console: Console) -> Outcome {
    let mut opened = arguments.checked.input.input().open()?;
    let mut statistics = Statistics::new();
    let mut checker = arguments.checked.strictness().checker();
    let mut made_by_repairs = NameCounts::default();
    let mut block = Block::default();
    let mut bar = console.progress();
    while opened.next_block(&mut block)? {
        statistics.add_events(block.first, &block.events);
        let before = NameCounts::of(opened.source().symbols());
        let checked = checker.check(&mut block, opened.source_mut().symbols_mut()).map(drop);
        checked.map_err(|error| opened.failure(opened.source().located(error)))?;
        made_by_repairs.add_growth(before, NameCounts::of(opened.source().symbols()));
        bar.show(opened.source().progress());
    }
    drop(bar);
    let symbols = opened.source().symbols();
    let mut summary = statistics.summary(symbols);
    made_by_repairs.remove_from(&mut summary);
    let facts = opened.facts(summary.parameters.events, checker.repairs());
    let bytes = Some(opened.source().progress().bytes_read).filter(|&bytes| bytes > 0);
    let statistics = StatisticsFacts { trace: &facts, summary: &summary, symbols, bytes };
    match arguments.json {
        true => console.write(|out| json::statistics(out, &statistics))?,
        false => console.print(&text::statistics(&statistics))?,
    }
    Ok(Verdict::Fine)
}

/// Numbers of names of the kinds that repairs add to.
#[derive(Clone, Copy, Default)]
struct NameCounts {
    threads: u64,
    variables: u64,
    arrays: u64,
    objects: u64,
}

impl NameCounts {
    fn of(symbols: &Symbols) -> NameCounts {
        NameCounts {
            threads: symbols.threads.len() as u64,
            variables: symbols.variables.len() as u64,
            arrays: symbols.variables.array_count() as u64,
            objects: symbols.objects.len() as u64,
        }
    }

    fn add_growth(&mut self, before: NameCounts, after: NameCounts) {
        self.threads += after.threads - before.threads;
        self.variables += after.variables - before.variables;
        self.arrays += after.arrays - before.arrays;
        self.objects += after.objects - before.objects;
    }

    /// The input's events use none of these names: they would count as unused.
    fn remove_from(&self, summary: &mut TraceSummary) {
        summary.parameters.threads -= self.threads;
        summary.parameters.variables -= self.variables;
        summary.variables.unused -= self.variables;
        summary.arrays -= self.arrays;
        // The only new arrays are blocks under a name that was taken.
        summary.blocks -= self.arrays;
        summary.objects -= self.objects;
    }
}
