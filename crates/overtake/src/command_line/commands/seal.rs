//! `overtake seal`: the log of a recorded process as a trace.

use overtake::recording::{coalesced, is_incomplete, losses, missing, seal_log, trusted};
use overtake::{Error, Listener};
use overtake_report::{WrittenFacts, text};

use crate::command_line::args::SealArguments;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Seals one log.
pub(crate) fn run(arguments: &SealArguments, console: Console) -> Outcome {
    trusted(&arguments.log)?;
    let (sealed, bytes) = seal_log(&arguments.log, &arguments.out)?;
    console.say(&losses(&sealed));
    console.say(&missing(&sealed));
    console.say(&coalesced(&sealed));
    console.say(&text::written(&WrittenFacts {
        file: arguments.out.display().to_string(),
        format: "otr".into(),
        events: sealed.events,
        bytes,
        lost_locations: 0,
    }));
    match is_incomplete(&sealed) {
        true => Err(Error::failed("not everything was recorded")),
        false => Ok(Verdict::Fine),
    }
}
