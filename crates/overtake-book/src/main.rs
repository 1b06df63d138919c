//! `overtake-book [DIRECTORY]` writes the book of the repository in the working directory, by default to `target/book`. Exit code 1 if a link
//! leads nowhere.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "a program that says what it did")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use overtake_book::Book;

const USAGE: &str = "usage: overtake-book [DIRECTORY]

Writes the book of the repository in the working directory, by default to target/book.
Exit code 1 if a link leads nowhere.";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let directory = arguments.next().map_or_else(|| PathBuf::from("target/book"), PathBuf::from);
    if directory == Path::new("-h") || directory == Path::new("--help") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    if directory.as_os_str().as_encoded_bytes().starts_with(b"-") || arguments.next().is_some() {
        eprintln!("overtake-book: one directory at most\n{USAGE}");
        return ExitCode::from(2);
    }
    match build(&directory) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("overtake-book: {error}");
            ExitCode::FAILURE
        }
    }
}

fn build(directory: &Path) -> std::io::Result<bool> {
    let book = Book::read(Path::new("."))?;
    for problem in &book.problems {
        eprintln!("{problem}");
    }
    if !book.problems.is_empty() {
        return Ok(false);
    }
    book.write(directory)?;
    let links: usize = book.chapters.iter().map(|chapter| chapter.links().len()).sum();
    println!("{} chapters, {links} links: {}", book.chapters.len(), directory.join("index.html").display());
    Ok(true)
}
