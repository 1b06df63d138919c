//! Running detectors in tests.

use overtake_trace::{Block, Checker, EventSource, Trace};

use crate::registry::{Analysis, Options, Outcome, find};

/// Runs a registered detector over a trace, mended as the oracle mends it, in blocks of a few events.
pub(crate) fn run(name: &str, options: &Options, trace: &Trace) -> Box<dyn Analysis> {
    let entry = find(name).expect("a registered detector");
    let mut analysis = (entry.start)(options).expect("good options");
    run_analysis(analysis.as_mut(), trace);
    analysis
}

/// Runs an analysis over a trace, as often as it asks for.
pub(crate) fn run_analysis(analysis: &mut dyn Analysis, trace: &Trace) {
    run_analysis_with(analysis, trace, |_| {});
}

/// The same, looking at the analysis after each block.
pub(crate) fn run_analysis_with(
    analysis: &mut dyn Analysis,
    trace: &Trace,
    mut look: impl FnMut(&dyn Analysis),
) {
    loop {
        let (mut source, mut checker) = (trace.source().with_block_events(11), Checker::repairing());
        let mut block = Block::default();
        while source.next_block(&mut block).expect("a trace in memory") {
            let checked = checker.check(&mut block, source.symbols_mut()).expect("mended");
            analysis.feed(&checked);
            look(analysis);
        }
        if analysis.end_of_trace() == Outcome::Done {
            return;
        }
    }
}
