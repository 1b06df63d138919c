//! Builds the book from the documents of the repository, and checks their links.
//!
//! The layout is that of mdBook: `book.toml`, `docs/SUMMARY.md` with the chapters in their order, `{{#include FILE}}` on a line of its own.
//! This crate needs nothing but Cargo, builds in seconds where mdBook takes minutes, and is stricter. A link that leads nowhere, an
//! anchor that no heading has and a page that is not in the table of contents are problems, and a book with problems is not written.
//!
//! Links between pages become links between chapters. A link to a file that a chapter includes leads to that chapter. Other files below
//! `docs/` are copied; files elsewhere in the repository are linked to where the repository is published.
#![forbid(unsafe_code)]

mod chapter;
mod links;
mod page;
mod summary;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use chapter::Chapter;
pub use summary::{Entry, Summary};

/// Where files that are not in the book can be read.
const REPOSITORY: &str = "https://github.com/overtake-race/overtake/blob/main/";

/// Files beside the chapters that every page uses.
const ASSETS: &[(&str, &str)] =
    &[("book.css", include_str!("book.css")), ("book.js", include_str!("book.js"))];

/// A book that has been read, with what is wrong with it.
pub struct Book {
    /// The table of contents.
    pub summary: Summary,
    /// The chapters in their order.
    pub chapters: Vec<Chapter>,
    /// Links that lead nowhere, pages that are missing in the table of contents: a line each.
    pub problems: Vec<String>,
    root: PathBuf,
}

impl Book {
    /// Reads the book of the repository at `root`.
    pub fn read(root: &Path) -> io::Result<Book> {
        let summary = Summary::parse(&fs::read_to_string(root.join("docs/SUMMARY.md"))?);
        let mut problems = summary.problems.clone();
        let mut chapters = Vec::new();
        for entry in summary.entries() {
            match Chapter::read(root, &entry.file) {
                Ok(chapter) => chapters.push(chapter),
                Err(error) => problems.push(format!("docs/SUMMARY.md: {}: {error}", entry.file)),
            }
        }
        problems.extend(links::pages_in_no_chapter(root, &chapters)?);
        problems.extend(links::broken(root, &chapters));
        Ok(Book { summary, chapters, problems, root: root.to_owned() })
    }

    /// Writes the pages to `directory`, which is created if it does not exist.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        fs::create_dir_all(directory)?;
        let homes = self.homes();
        for (at, chapter) in self.chapters.iter().enumerate() {
            let html = page::render(self, at, &homes);
            fs::write(directory.join(chapter.output()), html)?;
            if at == 0 {
                fs::write(directory.join("index.html"), page::render(self, at, &homes))?;
            }
        }
        for (name, content) in ASSETS {
            fs::write(directory.join(name), content)?;
        }
        fs::write(directory.join("search.js"), page::search_index(&self.chapters))?;
        self.copy_files(directory)
    }

    /// Which chapter shows a file of the repository, by the file's path.
    fn homes(&self) -> BTreeMap<PathBuf, String> {
        let mut homes = BTreeMap::new();
        for chapter in &self.chapters {
            for part in &chapter.parts {
                homes.entry(part.file.clone()).or_insert_with(|| chapter.output());
            }
        }
        homes
    }

    /// Copies what chapters show or link to and is no page: pictures, the schema.
    fn copy_files(&self, directory: &Path) -> io::Result<()> {
        for target in self.chapters.iter().flat_map(links::local_targets) {
            let Ok(inside) = target.strip_prefix("docs") else { continue };
            if inside.extension().is_some_and(|extension| extension == "md") {
                continue;
            }
            let copy = directory.join(inside);
            if let Some(parent) = copy.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::copy(self.root.join(&target), copy)?;
        }
        Ok(())
    }
}
