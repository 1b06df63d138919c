//! Source lines with the racing expression marked.

use std::ops::Range;

use super::super::{DIM, is_steering, printable};
use super::lines::Line;
use crate::result::{Frame, Report};
use anstyle::Style;

/// The columns that a tab takes.
const TAB: usize = 4;

/// What stands for the part of a line that is left out.
const DOTS: &str = "...";

/// The lines around a frame, `around` before and after, in `room` columns; nothing if its source is not known.
pub(super) fn excerpt(report: &Report, frame: &Frame, around: u32, mark: Style, room: usize) -> Vec<Line> {
    let Some(excerpt) = report.sources.get(&frame.file) else { return Vec::new() };
    if !excerpt.lines.contains_key(&frame.line) {
        return Vec::new();
    }
    let range = frame.line.saturating_sub(around)..=frame.line.saturating_add(around);
    let digits = range.end().to_string().len();
    let room = room.saturating_sub("> ".len() + digits + " | ".len());
    let mut lines = Vec::new();
    for (number, text) in excerpt.lines.range(range) {
        let is_cut = excerpt.cut.contains_key(number);
        if *number != frame.line {
            let (source, _) = windowed(text, is_cut, None, room);
            lines.push(Line::new(DIM, &format!("  {number:digits$} | {source}")));
            continue;
        }
        let (source, marker) = windowed(text, is_cut, marked(text, excerpt.column(frame) as usize), room);
        lines.push(Line::new(mark, "> ").and(Style::new(), &format!("{number:digits$} | {source}")));
        if !marker.is_empty() {
            lines.push(Line::new(DIM, &format!("  {:digits$} | ", "")).and(mark, &marker));
        }
    }
    lines
}

/// Columns of a printed line: those of the expression, and the one among them that debug information names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Marked {
    start: usize,
    at: usize,
    end: usize,
}

/// Letters as they are printed: a tab as blanks, a control character made visible.
fn expanded(letters: impl IntoIterator<Item = char>) -> Vec<char> {
    let mut printed = Vec::new();
    for letter in letters {
        match letter {
            '\t' => printed.extend([' '; TAB]),
            _ if is_steering(letter) => printed.extend(printable(letter.encode_utf8(&mut [0; 4])).chars()),
            _ => printed.push(letter),
        }
    }
    printed
}

/// What is accessed at a column, which counts bytes from 1.
fn marked(text: &str, column: usize) -> Option<Marked> {
    let letters: Vec<char> = text.chars().collect();
    let at = text.char_indices().position(|(byte, _)| byte + 1 == column)?;
    let (start, end) = expression(&letters, at);
    let width = |until: usize| expanded(letters[..until].iter().copied()).len();
    Some(Marked { start: width(start), at: width(at), end: width(end) })
}

/// The part of a line that fits into `room` columns, and the marks below it: `^` at the column that debug information names,
/// `~` under the rest of the expression. The expression stands in the middle of a line that is too long.
fn windowed(text: &str, is_cut: bool, marked: Option<Marked>, room: usize) -> (String, String) {
    let printed = expanded(text.chars());
    let window = window(printed.len(), marked, room, is_cut);
    let dots = |is_there: bool| if is_there { DOTS } else { "" };
    let (before, after) = (dots(window.start > 0 || is_cut), dots(window.end < printed.len()));
    let source = printed[window.clone()].iter().collect::<String>();
    let marker = marked.map_or_else(String::new, |Marked { start, at, end }| {
        let letter = |column: usize| match column {
            _ if column == at => '^',
            _ if column < start => ' ',
            _ => '~',
        };
        let marks = (window.start..window.end.min(end)).map(letter);
        " ".repeat(before.len()) + &marks.collect::<String>()
    });
    (format!("{before}{source}{after}"), marker)
}

/// The columns of a line that are shown: all of them, or those around the expression.
fn window(length: usize, marked: Option<Marked>, room: usize, is_cut: bool) -> Range<usize> {
    let dots = DOTS.len();
    let least = if is_cut { dots } else { 0 };
    if length + least <= room {
        return 0..length;
    }
    let Some(Marked { start, at, end }) = marked else { return 0..room.saturating_sub(least + dots) };
    let inner = room.saturating_sub(2 * dots).max(1);
    // If the expression does not fit, the column that debug information names is shown.
    let middle = if end - start <= inner { (start + end) / 2 } else { at };
    let from = middle.saturating_sub(inner / 2);
    match from {
        _ if from <= dots => 0..room.saturating_sub(least + dots).min(length),
        _ if from + inner + dots >= length => length.saturating_sub(room.saturating_sub(dots))..length,
        _ => from..from + inner,
    }
}

/// The expression at a position, as far as the letters show: the operand there with what it is a member or an element of, or an
/// operator with the operand before it.
fn expression(letters: &[char], at: usize) -> (usize, usize) {
    if is_name(letters[at]) {
        return (operand_start(letters, at), operand_end(letters, at));
    }
    let operator_end =
        at + letters[at..].iter().take_while(|letter| "=+-*/%&|^<>!".contains(**letter)).count();
    if let Some(start) = callee_start(letters, at).or_else(|| closed_start(letters, at)) {
        return (start, at + 1);
    }
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

/// Where the function begins that is called by the parenthesis at a position: compilers name that for a call.
fn callee_start(letters: &[char], at: usize) -> Option<usize> {
    let before = if letters[at] == '(' { at.checked_sub(1)? } else { return None };
    let name_end = match letters[before] {
        '>' => opening(letters, before, ['<', '>'])?.checked_sub(1)?,
        _ => before,
    };
    is_name(letters[name_end]).then(|| operand_start(letters, name_end))
}

/// Where the element or call begins whose last bracket is at a position: compilers name that for operators of classes.
fn closed_start(letters: &[char], at: usize) -> Option<usize> {
    let open = match letters[at] {
        ')' => opening(letters, at, ['(', ')'])?,
        ']' => opening(letters, at, ['[', ']'])?,
        _ => return None,
    };
    let is_element =
        letters[at] == ']' && open > 0 && (is_name(letters[open - 1]) || letters[open - 1] == ']');
    let start = if is_element { Some(operand_start(letters, open - 1)) } else { callee_start(letters, open) };
    Some(start.unwrap_or(open))
}

/// Where the bracket opens that closes at a position.
fn opening(letters: &[char], end: usize, [open, close]: [char; 2]) -> Option<usize> {
    let mut depth = 0_u32;
    (0..=end).rev().find(|&at| {
        if letters[at] == close {
            depth += 1;
        } else if letters[at] == open {
            depth -= 1;
        }
        depth == 0
    })
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
            [.., ']'] => match opening(letters, start - 1, ['[', ']']) {
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
            ("  items.push_back(i);", 18, "  ~~~~~~~~~~~~~~~^"),
            ("  p = std::make_shared<Pair<int>>(1);", 34, "      ~~~~~~~~~~~~~~~~~~~~~~~~~~~^"),
            ("  if (a > (b)) {", 11, "          ^"),
            ("  (x)->run();", 3, "  ^"),
            ("  um[i + n[7]] = 1;", 14, "  ~~~~~~~~~~~^"),
            ("  t.rows[i][j] = 1;", 14, "  ~~~~~~~~~~~^"),
            ("  p = make<int>(f(n));", 21, "      ~~~~~~~~~~~~~~^"),
            ("  use((a + b));", 13, "      ~~~~~~^"),
            ("  ])", 3, "  ^"),
        ] {
            let (source, marker) = windowed(text, false, marked(text, column), 100);
            assert_eq!((marker.as_str(), source), (expected, text.replace('\t', "    ")));
        }
    }

    #[test]
    fn columns_outside_the_line_mark_nothing() {
        for (text, column) in [("x", 0), ("x", 3), ("", 1), ("ä", 2)] {
            assert_eq!(marked(text, column), None, "{text} {column}");
        }
    }

    #[test]
    fn marks_stand_below_what_they_mark_at_any_width() {
        let text = format!("\tcall({}, shared->value, {});", "a, ".repeat(30), "b, ".repeat(40));
        let column = text.find("value").expect("it is there") + 1;
        for (room, is_cut) in (20..300).flat_map(|room| [(room, false), (room, true)]) {
            let (source, marker) = windowed(&text, is_cut, marked(&text, column), room);
            assert!(source.chars().count() <= room, "{room}: {source}");
            let below = |mark: char| -> String {
                let pairs = source.chars().zip(marker.chars());
                pairs.filter(|(_, below)| *below == mark).map(|(letter, _)| letter).collect()
            };
            assert_eq!((below('^'), below('~')), ("v".into(), "shared->alue".into()), "{source}\n{marker}");
        }
    }

    #[test]
    fn an_expression_that_does_not_fit_shows_the_named_column() {
        let text = format!("x = {}->{};", "a".repeat(100), "b".repeat(100));
        let (source, marker) = windowed(&text, false, marked(&text, 107), 30);
        assert_eq!(source.chars().count(), 30);
        assert_eq!(marker.chars().position(|mark| mark == '^'), source.find("bb"), "{source}\n{marker}");
    }

    #[test]
    fn lines_without_a_mark_keep_their_beginning() {
        assert_eq!(windowed("abcdefghij", false, None, 8), ("abcde...".into(), String::new()));
        assert_eq!(windowed("abcdefghij", true, None, 9), ("...abc...".into(), String::new()));
    }
}
