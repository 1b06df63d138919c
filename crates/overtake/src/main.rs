//! The program `overtake`. All of it is in the library, so that a program with detectors of its own is as short as this one.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    overtake::command_line::run(overtake::detect::Registry::default())
}
