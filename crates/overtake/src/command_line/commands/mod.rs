//! One file per command.

mod again;
mod analyze;
mod ask;
mod baseline;
mod bench;
mod build;
mod certify;
mod chosen;
mod cluster;
mod compare;
mod confirm;
mod convert;
mod definitions;
mod diff;
mod doctor;
mod explain;
mod finish;
mod generate;
mod record;
mod report;
mod run;
mod seal;
mod sources;
mod stat;
mod validate;
mod witness;

use std::ffi::OsString;

use overtake::compile::{self, Language};
use overtake_detect::Registry;

use crate::command_line::args::Command;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Does what was asked for.
pub(crate) fn run(command: &Command, registry: Registry, console: Console) -> Outcome {
    match command {
        Command::Run(arguments) => run::run(arguments, registry, console),
        Command::Record(arguments) => record::run(arguments, console),
        Command::Cc(arguments) => compiled(Language::C, &arguments.arguments),
        Command::Cxx(arguments) => compiled(Language::Cpp, &arguments.arguments),
        Command::Build(arguments) => build::run(arguments, console),
        Command::Seal(arguments) => seal::run(arguments, console),
        Command::Doctor => doctor::run(console),
        Command::Finish { log } => finish::run(log.as_deref(), registry, console),
        Command::Analyze(arguments) => analyze::run(arguments, registry, console),
        Command::Cluster(arguments) => cluster::run(arguments),
        Command::Baseline(arguments) => baseline::run(arguments, registry, console),
        Command::Explain(arguments) => explain::run(arguments, registry, console),
        Command::Report(arguments) => report::run(arguments, console),
        Command::Diff(arguments) => diff::run(arguments, console),
        Command::Confirm(arguments) => confirm::run(arguments, console),
        Command::Witness(arguments) => witness::run(arguments, registry, console),
        Command::Ask(arguments) => ask::run(arguments, console),
        Command::Certify(arguments) => certify::run(arguments, console),
        Command::Compare(arguments) => compare::run(arguments, registry, console),
        Command::Validate(arguments) => validate::run(arguments, console),
        Command::Stat(arguments) => stat::run(arguments, console),
        Command::Convert(arguments) => convert::run(arguments, console),
        Command::Gen(arguments) => generate::run(arguments, console),
        Command::Bench(command) => bench::run(command, registry, console),
        Command::Completions { shell } => definitions::completions(*shell, registry, console),
        Command::Man { out } => definitions::manual(out.as_deref(), registry, console),
    }
}

/// A compiler behind options of our own: `overtake -q cc`.
fn compiled(language: Language, arguments: &[OsString]) -> Outcome {
    compile::run(&compile::Call { language, link: None, arguments }).map(Verdict::Program)
}
