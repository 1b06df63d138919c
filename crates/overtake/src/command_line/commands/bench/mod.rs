//! `overtake bench`: measurements, for developers.

mod lab;
mod papers;
mod sampling;
mod slimstate;
mod speed;

use overtake_detect::Registry;
use overtake_trace::Block;

use crate::command_line::args::{BenchCommand, InputArguments};
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Does the measurement that was asked for.
pub(crate) fn run(command: &BenchCommand, registry: Registry, console: Console) -> Outcome {
    match command {
        BenchCommand::Speed(arguments) => speed::run(arguments, registry, console),
        BenchCommand::Sampling(arguments) => sampling::run(arguments, console),
        BenchCommand::Slimstate(arguments) => slimstate::run(arguments, console),
        BenchCommand::Papers(arguments) => papers::run(arguments, registry, console),
        BenchCommand::Read(arguments) => read(arguments, console),
    }
}

/// Reads a trace and does nothing with it.
fn read(arguments: &InputArguments, console: Console) -> Outcome {
    let mut opened = arguments.input().open()?;
    let mut block = Block::default();
    let mut events = 0;
    while opened.next_block(&mut block)? {
        events += block.events.len();
    }
    console.print(&format!("{events}\n"))?;
    Ok(Verdict::Fine)
}
