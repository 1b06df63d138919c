//! Lines of styled text whose width is known, so that they can stand side by side.

use std::fmt::Write;

use anstyle::Style;

use super::super::printable;
use crate::function_name::abridged;

/// A line of text.
#[derive(Clone, Default, Debug)]
pub(super) struct Line {
    spans: Vec<(Style, String)>,
}

impl Line {
    /// A line in one style. Control characters are made visible.
    pub(super) fn new(style: Style, text: &str) -> Line {
        Line::default().and(style, text)
    }

    /// A line without a style.
    pub(super) fn plain(text: &str) -> Line {
        Line::new(Style::new(), text)
    }

    /// The line with more text at its end.
    pub(super) fn and(mut self, style: Style, text: &str) -> Line {
        self.spans.push((style, printable(text)));
        self
    }

    /// How many columns it takes.
    pub(super) fn width(&self) -> usize {
        self.spans.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// Writes the line, cut to `most` columns.
    fn write(&self, out: &mut String, most: usize) {
        let mut left = most;
        for (style, text) in self.spans.iter().filter(|(_, text)| !text.is_empty()) {
            let text = abridged(text, left);
            left = left.saturating_sub(text.chars().count());
            // Writing into a string does not fail.
            let _ = match *style == Style::new() {
                true => write!(out, "{text}"),
                false => write!(out, "{style}{text}{style:#}"),
            };
        }
    }
}

/// Writes lines below each other.
pub(super) fn stacked(out: &mut String, lines: &[Line], indent: usize, width: usize) {
    for line in lines {
        if line.spans.iter().any(|(_, text)| !text.is_empty()) {
            out.push_str(&" ".repeat(indent));
            line.write(out, width.saturating_sub(indent));
        }
        out.push('\n');
    }
}

/// The columns of each of two blocks side by side.
pub(super) fn column(indent: usize, width: usize) -> usize {
    width.saturating_sub(indent + 3) / 2
}

/// Writes two blocks of lines side by side.
pub(super) fn side_by_side(out: &mut String, blocks: [&[Line]; 2], indent: usize, width: usize) {
    let column = column(indent, width);
    for at in 0..blocks[0].len().max(blocks[1].len()) {
        let [left, right] = [0, 1].map(|side| blocks[side].get(at).cloned().unwrap_or_default());
        out.push_str(&" ".repeat(indent));
        left.write(out, column);
        if right.width() > 0 {
            out.push_str(&" ".repeat(column.saturating_sub(left.width()) + 3));
            right.write(out, column);
        }
        while out.ends_with(' ') {
            out.pop();
        }
        out.push('\n');
    }
}

/// Text broken into lines of at most `width` columns, at blanks; a word that is longer loses its middle.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace().map(|word| abridged(word, width)) {
        let line = lines.last_mut().expect("there is always one");
        match line.is_empty() || line.chars().count() + 1 + word.chars().count() <= width {
            true if line.is_empty() => line.push_str(&word),
            true => {
                line.push(' ');
                line.push_str(&word);
            }
            false => lines.push(word),
        }
    }
    lines
}
