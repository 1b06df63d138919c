//! Tables as CSV, Markdown, LaTeX, HTML and text.

use std::fmt::Write;

use overtake_report::grouped;

/// What stands in a row and a column.
#[derive(Clone, PartialEq, Debug)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A count.
    Count(u64),
    /// A figure with so many digits after the point.
    Figure(f64, usize),
    /// Seconds, with three digits that count.
    Seconds(f64),
    /// A figure of an analysis that was stopped: at least this much, and the part of the trace that was seen in percent.
    Partial(Box<Cell>, f64),
    /// Nothing.
    Empty,
}

impl Cell {
    /// As people read it.
    pub fn shown(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Count(count) => grouped(*count),
            Cell::Figure(figure, digits) => format!("{figure:.digits$}"),
            Cell::Seconds(seconds) => format!("{seconds:.0$}", digits_after_the_point(*seconds)),
            Cell::Partial(cell, coverage) => format!("{} ({coverage:.0} %)", cell.shown()),
            Cell::Empty => String::new(),
        }
    }

    /// As programs read it.
    fn plain(&self) -> String {
        match self {
            Cell::Count(count) => count.to_string(),
            Cell::Partial(cell, _) => cell.plain(),
            other => other.shown(),
        }
    }
}

/// How many digits after the point of some seconds count, down to microseconds.
fn digits_after_the_point(seconds: f64) -> usize {
    match seconds {
        seconds if seconds >= 100.0 => 0,
        seconds if seconds >= 10.0 => 1,
        seconds if seconds >= 1.0 => 2,
        seconds if seconds >= 0.1 => 3,
        seconds if seconds >= 0.01 => 4,
        _ => 5,
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

/// A table with a heading for each column.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Table {
    /// The name of its files.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// What stands in for what, and what else must be known.
    pub note: String,
    /// Headings.
    pub columns: Vec<String>,
    /// As many cells in each as there are headings.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A table without rows.
    pub fn new(name: &str, title: &str, columns: impl IntoIterator<Item = impl Into<String>>) -> Table {
        Table {
            name: name.to_owned(),
            title: title.to_owned(),
            columns: columns.into_iter().map(Into::into).collect(),
            ..Table::default()
        }
    }

    /// Comma-separated values.
    pub fn csv(&self) -> String {
        let quoted = |text: &str| match text.contains([',', '"', '\n']) {
            true => format!("\"{}\"", text.replace('"', "\"\"")),
            false => text.to_owned(),
        };
        self.lines(|cell| quoted(&cell.plain()), |heading| quoted(heading), ",", "", "")
    }

    /// Markdown.
    pub fn markdown(&self) -> String {
        let escaped = |text: &str| text.replace('|', "\\|");
        let text = self.lines(|cell| escaped(&cell.shown()), |heading| escaped(heading), " | ", "| ", " |");
        let rule = format!("|{}", " --- |".repeat(self.columns.len()));
        let (heading, rows) = text.split_once('\n').unwrap_or((&text, ""));
        format!("**{}**\n\n{heading}\n{rule}\n{rows}{}", self.title, self.note_as("\n", "\n"))
    }

    /// LaTeX, with the rules of `booktabs`.
    pub fn latex(&self) -> String {
        let text = self.lines(|cell| latex(&cell.shown()), latex, " & ", "", " \\\\");
        let (heading, rows) = text.split_once('\n').unwrap_or((&text, ""));
        let columns = format!("l{}", "r".repeat(self.columns.len().saturating_sub(1)));
        let label =
            if self.name.is_empty() { String::new() } else { format!("\\label{{tab:{}}}\n", self.name) };
        let note = match self.note.as_str() {
            "" => String::new(),
            note => format!("\n\\smallskip\\footnotesize {}\n", latex(note)),
        };
        format!(
            "\\begin{{table}}\n\\caption{{{}}}\n{label}\\centering\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{heading}\n\\midrule\n{rows}\\bottomrule\n\
             \\end{{tabular}}\n{note}\\end{{table}}\n",
            latex(&self.title)
        )
    }

    /// Text with columns under each other.
    pub fn text(&self) -> String {
        let mut widths: Vec<_> = self.columns.iter().map(|heading| heading.chars().count()).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.shown().chars().count());
            }
        }
        let mut out = String::new();
        let headings = self.columns.iter().map(String::clone).collect::<Vec<_>>();
        let rows = self.rows.iter().map(|row| row.iter().map(Cell::shown).collect());
        for row in std::iter::once(headings).chain(rows) {
            for (at, (text, &width)) in row.iter().zip(&widths).enumerate() {
                let _ = match at {
                    0 => write!(out, "{text:<width$}"),
                    _ => write!(out, "  {text:>width$}"),
                };
            }
            out.truncate(out.trim_end().len());
            out.push('\n');
        }
        out
    }

    /// A part of an HTML page.
    pub fn html(&self) -> String {
        let cell = |found: &Cell| match found {
            Cell::Text(text) => format!("<td class=\"text\">{}</td>", html(text)),
            _ => format!("<td>{}</td>", html(&found.shown())),
        };
        // An option of a detector stands below its name, so that a table with several of them fits on a page. So does what a column is about.
        let heading =
            |text: &str| format!("<th>{}</th>", html(text).replace(" --", "<br>--").replace(": ", ":<br>"));
        let text = self.lines(cell, heading, "", "<tr>", "</tr>");
        let note = match self.note.as_str() {
            "" => String::new(),
            note => format!("<p class=\"note\">{}</p>\n", html(note)),
        };
        format!("<h3>{}</h3>\n<div class=\"table\"><table>\n{text}</table></div>\n{note}", html(&self.title))
    }

    fn note_as(&self, before: &str, after: &str) -> String {
        match self.note.is_empty() {
            true => String::new(),
            false => format!("{before}{}{after}", self.note),
        }
    }

    /// Headings and rows, a line for each.
    fn lines(
        &self,
        cell: impl Fn(&Cell) -> String,
        heading: impl Fn(&str) -> String,
        between: &str,
        before: &str,
        after: &str,
    ) -> String {
        let headings = self.columns.iter().map(|text| heading(text)).collect::<Vec<_>>();
        let rows = self.rows.iter().map(|row| row.iter().map(&cell).collect());
        let lines = std::iter::once(headings).chain(rows);
        lines.map(|line: Vec<String>| format!("{before}{}{after}\n", line.join(between))).collect()
    }
}

/// Text in which LaTeX sees no commands.
fn latex(text: &str) -> String {
    text.chars().fold(String::new(), |mut out, letter| {
        match letter {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', letter]),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '\\' => out.push_str("\\textbackslash{}"),
            '<' => out.push_str("\\textless{}"),
            '>' => out.push_str("\\textgreater{}"),
            '|' => out.push_str("\\textbar{}"),
            // Two in a row would be a dash.
            '-' if out.ends_with('-') => out.push_str("{}-"),
            other => out.push(other),
        }
        out
    })
}

/// Text in which browsers see no tags.
pub(crate) fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new("t", "Races & time", ["trace", "hb_1", "50 %"]);
        table.rows.push(vec!["a,\"b\"|<c>".into(), Cell::Count(12_345), Cell::Figure(1.25, 1)]);
        table.rows.push(vec!["d".into(), Cell::Empty, Cell::Partial(Box::new(Cell::Count(3)), 40.0)]);
        table
    }

    #[test]
    fn every_format_escapes_what_it_gives_a_meaning_to() {
        let table = sample();
        assert_eq!(table.csv(), "trace,hb_1,50 %\n\"a,\"\"b\"\"|<c>\",12345,1.2\nd,,3\n");
        assert!(table.markdown().contains("| a,\"b\"\\|<c> | 12,345 | 1.2 |"), "{}", table.markdown());
        assert!(
            table.markdown().contains("| trace | hb_1 | 50 % |\n| --- | --- | --- |\n"),
            "{}",
            table.markdown()
        );
        assert!(table.latex().contains("trace & hb\\_1 & 50 \\% \\\\"), "{}", table.latex());
        assert!(table.latex().contains("\\textbar{}\\textless{}c\\textgreater{}"), "{}", table.latex());
        assert_eq!(latex("hb --window 3"), "hb -{}-window 3");
        assert!(
            table.html().contains("<td class=\"text\">a,&quot;b&quot;|&lt;c&gt;</td>"),
            "{}",
            table.html()
        );
        assert!(table.html().contains("<td>3 (40 %)</td>"), "{}", table.html());
    }

    #[test]
    fn on_a_page_options_stand_below_the_name() {
        let table = Table::new("t", "Time", ["trace", "short-hb --window 1000"]);
        assert!(table.html().contains("<th>short-hb<br>--window 1000</th>"), "{}", table.html());
    }

    #[test]
    fn seconds_have_three_digits_that_count() {
        let shown = [0.0, 0.000_123_4, 0.012_34, 0.1234, 1.234, 12.34, 1234.5]
            .map(|seconds| Cell::Seconds(seconds).shown());
        assert_eq!(shown, ["0.00000", "0.00012", "0.0123", "0.123", "1.23", "12.3", "1234"]);
    }

    #[test]
    fn columns_of_text_stand_under_each_other() {
        assert_eq!(
            sample().text(),
            "trace        hb_1      50 %\na,\"b\"|<c>  12,345       1.2\nd                  3 (40 %)\n"
        );
    }
}
