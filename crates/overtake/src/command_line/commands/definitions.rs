//! Completions and manual pages, from the definitions of the command line.

use std::path::Path;

use clap_complete::Shell;
use clap_mangen::Man;
use overtake::Error;
use overtake_detect::Registry;

use crate::command_line::args;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Prints a completion script.
pub(crate) fn completions(shell: Shell, registry: Registry, console: Console) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(registry), "overtake", &mut script);
    console.write(|out| out.write_all(&script))?;
    Ok(Verdict::Fine)
}

/// Prints the manual page of the program, or writes one page per command to a directory.
pub(crate) fn manual(directory: Option<&Path>, registry: Registry, console: Console) -> Outcome {
    match directory {
        None => console.write(|out| Man::new(args::command(registry)).render(&mut { out }))?,
        Some(directory) => {
            std::fs::create_dir_all(directory).map_err(|error| Error::in_file(directory, error))?;
            clap_mangen::generate_to(args::command(registry), directory)
                .map_err(|error| Error::in_file(directory, error))?;
        }
    }
    Ok(Verdict::Fine)
}
