//! A chapter: the Markdown of one file and of those it includes, with headings and links found.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

/// A page of the book.
pub struct Chapter {
    /// Its file, relative to the repository.
    pub file: PathBuf,
    /// The file itself, and what it includes, in the order of the text.
    pub parts: Vec<Part>,
}

/// Text that comes from one file.
pub struct Part {
    /// The file, relative to the repository: links are relative to it.
    pub file: PathBuf,
    /// Its Markdown.
    pub text: String,
}

/// A heading of a chapter.
pub struct Heading {
    /// 1 for the title.
    pub level: u8,
    /// The anchor, as GitHub makes it of the words.
    pub anchor: String,
    /// The words.
    pub words: String,
}

impl Chapter {
    /// Reads `docs/FILE` of the repository and what it includes.
    pub fn read(root: &Path, file: &str) -> io::Result<Chapter> {
        let file = resolve(Path::new("docs/SUMMARY.md"), file);
        let text = fs::read_to_string(root.join(&file))?;
        let mut parts = Vec::new();
        let mut own = String::new();
        for line in text.split_inclusive('\n') {
            match line.trim().strip_prefix("{{#include ").and_then(|rest| rest.strip_suffix("}}")) {
                Some(included) => {
                    let included = resolve(&file, included);
                    let text = fs::read_to_string(root.join(&included))?;
                    parts.push(Part { file: file.clone(), text: std::mem::take(&mut own) });
                    parts.push(Part { file: included, text });
                }
                None => own.push_str(line),
            }
        }
        parts.push(Part { file: file.clone(), text: own });
        Ok(Chapter { file, parts })
    }

    /// The name of its page.
    #[must_use]
    pub fn output(&self) -> String {
        format!("{}.html", self.file.file_stem().unwrap_or_default().to_string_lossy())
    }

    /// Its headings, in order.
    #[must_use]
    pub fn headings(&self) -> Vec<Heading> {
        let mut seen = BTreeMap::new();
        let mut headings = Vec::new();
        let mut open: Option<Heading> = None;
        for event in self.parts.iter().flat_map(|part| parser(&part.text)) {
            match event {
                Event::Start(Tag::Heading { level, .. }) => {
                    open = Some(Heading { level: level as u8, anchor: String::new(), words: String::new() });
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut open {
                        heading.words.push_str(&text);
                    }
                }
                Event::End(TagEnd::Heading(_)) => {
                    if let Some(mut heading) = open.take() {
                        heading.anchor = unique(&mut seen, anchor(&heading.words));
                        headings.push(heading);
                    }
                }
                _ => {}
            }
        }
        headings
    }

    /// Every link and picture: the file it is in, and where it leads to, as written.
    #[must_use]
    pub fn links(&self) -> Vec<(&Path, CowStr<'_>)> {
        let mut links = Vec::new();
        for part in &self.parts {
            for event in parser(&part.text) {
                if let Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) = event {
                    links.push((part.file.as_path(), dest_url));
                }
            }
        }
        links
    }
}

/// Markdown as GitHub reads it: with tables.
pub(crate) fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH)
}

/// Where `target`, as `file` spells it, is in the repository. Leading `..` that lead out of it stay.
pub(crate) fn resolve(file: &Path, target: &str) -> PathBuf {
    let mut found = file.parent().unwrap_or(Path::new("")).to_owned();
    for component in Path::new(target).components() {
        match component {
            Component::ParentDir if found.file_name().is_some() => drop(found.pop()),
            Component::CurDir => {}
            other => found.push(other),
        }
    }
    found
}

/// The anchor of a heading, as GitHub makes it: lower case, blanks become hyphens, punctuation goes.
fn anchor(words: &str) -> String {
    let kept = words.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect::<String>().to_lowercase()
}

/// The second heading of the same words gets `-1`, the third `-2`.
fn unique(seen: &mut BTreeMap<String, usize>, anchor: String) -> String {
    let count = seen.entry(anchor.clone()).and_modify(|count| *count += 1).or_insert(0);
    match count {
        0 => anchor,
        count => format!("{anchor}-{count}"),
    }
}
