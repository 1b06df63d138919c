//! Source lines with the racing expression marked.

use super::super::{DIM, printable};
use super::lines::Line;
use crate::result::{Frame, Report};
use anstyle::Style;

/// A tab takes so many columns.
const TAB: usize = 4;

/// The lines around a frame, `around` before and after; nothing if its source is not known.
pub(super) fn excerpt(report: &Report, frame: &Frame, around: u32, mark: Style) -> Vec<Line> {
    let Some(excerpt) = report.sources.get(&frame.file) else { return Vec::new() };
    if !excerpt.lines.contains_key(&frame.line) {
        return Vec::new();
    }
    let range = frame.line.saturating_sub(around)..=frame.line.saturating_add(around);
    let digits = range.end().to_string().len();
    let mut lines = Vec::new();
    for (number, text) in excerpt.lines.range(range) {
        let source = expanded(text);
        if *number != frame.line {
            lines.push(Line::new(DIM, &format!("  {number:digits$} | {source}")));
            continue;
        }
        lines.push(Line::new(mark, "> ").and(Style::new(), &format!("{number:digits$} | {source}")));
        if let Some(marker) = marker(text, frame.column as usize) {
            lines.push(Line::new(DIM, &format!("  {:digits$} | ", "")).and(mark, &marker));
        }
    }
    lines
}

/// A source line as it is printed: tabs as blanks.
fn expanded(text: &str) -> String {
    printable(&text.replace('\t', &" ".repeat(TAB)))
}

/// `^` at the column that debug information names, `~` under the rest of the expression there.
fn marker(text: &str, column: usize) -> Option<String> {
    let letters: Vec<char> = text.chars().collect();
    // Columns count bytes.
    let at = text.char_indices().position(|(byte, _)| byte + 1 == column)?;
    let (start, end) = expression(&letters, at);
    let mut marker = String::new();
    for (position, letter) in letters[..end].iter().enumerate() {
        let mark = match position {
            _ if position == at => '^',
            _ if position < start => ' ',
            _ => '~',
        };
        let width = if *letter == '\t' { TAB } else { printable(&letter.to_string()).chars().count() };
        marker.extend(std::iter::repeat_n(mark, width));
    }
    Some(marker)
}

/// The expression at a position, as far as letters tell: the operand there with what it is a member or an element of, or an
/// operator with the operand before it.
fn expression(letters: &[char], at: usize) -> (usize, usize) {
    if is_name(letters[at]) {
        return (operand_start(letters, at), operand_end(letters, at));
    }
    let operator_end =
        at + letters[at..].iter().take_while(|letter| "=+-*/%&|^<>!".contains(**letter)).count();
    let before = letters[..at].iter().rposition(|letter| *letter != ' ');
    match before {
        Some(before) if operator_end > at && (is_name(letters[before]) || letters[before] == ']') => {
            (operand_start(letters, before), operator_end)
        }
        // A prefix operator, or a bracket: the operand behind it.
        _ => match letters.get(operator_end) {
            Some(&letter) if operator_end > at && is_name(letter) => (at, operand_end(letters, operator_end)),
            _ => (at, operator_end.max(at + 1)),
        },
    }
}

fn is_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Where the operand that ends at `at` begins.
fn operand_start(letters: &[char], at: usize) -> usize {
    let mut start = at + 1;
    loop {
        start = match &letters[..start] {
            [.., letter] if is_name(*letter) => start - 1,
            [.., '.'] => start - 1,
            [.., '-', '>'] | [.., ':', ':'] => start - 2,
            [rest @ .., ']'] => match rest.iter().rposition(|letter| *letter == '[') {
                Some(open) => open,
                None => return start,
            },
            _ => return start,
        };
    }
}

fn operand_end(letters: &[char], at: usize) -> usize {
    let mut end = at + 1;
    loop {
        end = match &letters[end..] {
            [letter, ..] if is_name(*letter) => end + 1,
            ['.', letter, ..] if is_name(*letter) => end + 1,
            ['-', '>', ..] | [':', ':', ..] => end + 2,
            ['[', rest @ ..] => match rest.iter().position(|letter| *letter == ']') {
                Some(close) => end + close + 2,
                None => return end,
            },
            ['+', '+', ..] | ['-', '-', ..] => return end + 2,
            _ => return end,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_marked() {
        for (text, column, expected) in [
            ("    transfers++;", 14, "    ~~~~~~~~~^~"),
            ("    transfers++;", 5, "    ^~~~~~~~~~~"),
            ("  if (!settings) {", 8, "       ^~~~~~~~"),
            ("  *result = shared->value;", 21, "            ~~~~~~~~^~~~~"),
            ("  a[i + 1] = 3;", 12, "  ~~~~~~~~~^"),
            ("  x = y;", 7, "      ^"),
            ("\tx = y;", 2, "    ^"),
            ("  delete shared;", 10, "         ^~~~~~"),
            ("  ++count;", 3, "  ^~~~~~~"),
            ("ä = x;", 6, "    ^"),
        ] {
            assert_eq!(marker(text, column).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn columns_outside_the_line_mark_nothing() {
        for (text, column) in [("x", 0), ("x", 3), ("", 1), ("ä", 2)] {
            assert_eq!(marker(text, column), None, "{text} {column}");
        }
    }
}
