//! The table of contents, `docs/SUMMARY.md`.
//!
//! A heading begins a part, a list item is a chapter, a link outside a list is a chapter before the first part. Chapters are not nested.

/// A chapter as the table of contents names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is called there.
    pub title: String,
    /// Its file, relative to `docs/`.
    pub file: String,
}

/// The table of contents.
#[derive(Debug, Default)]
pub struct Summary {
    /// Parts in their order: title (empty for chapters before the first part) and chapters.
    pub parts: Vec<(String, Vec<Entry>)>,
    /// Lines that are neither.
    pub problems: Vec<String>,
}

impl Summary {
    /// Reads the text of the file.
    #[must_use]
    pub fn parse(text: &str) -> Summary {
        let mut summary = Summary::default();
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line == "# Summary" {
                continue;
            }
            if let Some(title) = line.strip_prefix("# ") {
                summary.parts.push((title.to_owned(), Vec::new()));
            } else if let Some(entry) = entry(line.strip_prefix("- ").unwrap_or(line)) {
                if summary.parts.is_empty() {
                    summary.parts.push((String::new(), Vec::new()));
                }
                summary.parts.last_mut().expect("a part").1.push(entry);
            } else {
                summary.problems.push(format!(
                    "docs/SUMMARY.md:{}: expected a heading or a link, found `{line}`",
                    number + 1
                ));
            }
        }
        summary
    }

    /// All chapters in their order.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.parts.iter().flat_map(|(_, entries)| entries)
    }
}

/// Reads `[title](file)`.
fn entry(text: &str) -> Option<Entry> {
    let (title, file) = text.strip_prefix('[')?.strip_suffix(')')?.split_once("](")?;
    Some(Entry { title: title.to_owned(), file: file.to_owned() })
}
