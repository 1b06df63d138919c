//! `overtake convert`: the same events in another format.

use overtake::files::{Opened, OutputTrace};
use overtake::{Error, Listener};
use overtake_report::{json, text};
use overtake_trace::{Action, Block, Event, EventSink, LocationId, Repairs};

use crate::command_line::args::ConvertArguments;
use crate::command_line::console::{Bar, Console};
use crate::command_line::verdict::{Outcome, Verdict};

/// Copies events as they are, without repairs, so that indices stay the same. Where salvage found events missing, the copy has
/// a `gap` event: what was lost may have ordered anything.
pub(crate) fn run(arguments: &ConvertArguments, console: Console) -> Outcome {
    let mut opened = arguments.input.input().open()?;
    let mut output = OutputTrace::create(&arguments.out, arguments.to)?;
    if arguments.json && output.is_standard() {
        return Err(Error::usage("the trace and --json cannot both go to standard output"));
    }
    match copy(&mut opened, &mut output, console.progress()) {
        Err(_) if output.pipe_is_closed() => return Ok(Verdict::Fine),
        copied => copied?,
    }
    let written = output.complete()?;
    let facts = opened.facts(written.events, &Repairs::default());
    console.say(&text::notes(&facts));
    console.say(&text::written(&written));
    if arguments.json {
        console.write(|out| json::converted(out, &facts, &written))?;
    }
    Ok(Verdict::Fine)
}

fn copy(opened: &mut Opened, output: &mut OutputTrace, mut bar: Bar) -> Result<(), Error> {
    let mut block = Block::default();
    let mut next = 0;
    while opened.next_block(&mut block)? {
        bar.show(opened.source().progress());
        if let Some(event) = block.events.first()
            && block.first.0 > next
        {
            block.events.insert(0, Event::new(event.thread(), Action::Gap, LocationId::UNKNOWN));
            next = block.first.0 - 1;
        } else {
            next = block.first.0;
        }
        next += block.events.len() as u64;
        output.write(&block.events, opened.source().symbols()).map_err(|error| output.failure(error))?;
    }
    output.finish(opened.source().symbols()).map_err(|error| output.failure(error))
}
