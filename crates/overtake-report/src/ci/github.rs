//! GitHub Actions: annotations at the lines of a change, and a summary of the step.
//!
//! Annotations are workflow commands: print them to standard output. The summary is Markdown: append it to the file that
//! `GITHUB_STEP_SUMMARY` names. GitHub shows ten errors of a step, so that each cause gets one annotation, the most severe first.

use std::io::{self, Write};

use super::place_of;
use crate::cause::{Cause, Share, causes};
use crate::number::counted;
use crate::result::{Finding, Report};
use crate::rules::level_of;

/// Rows of the summary's table; GitHub refuses summaries of more than a megabyte.
const ROWS: usize = 100;
/// Findings that the summary explains.
const EXPLAINED: usize = 10;

/// Writes a workflow command for each new cause.
pub fn write_annotations(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    for cause in causes(report.new_findings()) {
        let finding = cause.head;
        let command = level_of(finding);
        let mut properties = vec![format!("title={}", property(&finding.title()))];
        if let Some(frame) = place_of(finding) {
            properties.push(format!("file={}", property(&frame.file)));
            properties.push(format!("line={}", frame.line));
            if frame.column > 0 {
                properties.push(format!("col={}", frame.column));
            }
        }
        let confirmation = finding.confirmation().unwrap_or_default();
        let paragraphs = [finding.headline.as_str(), &confirmation, &finding.why, &finding.remedy];
        let message: Vec<_> = paragraphs.into_iter().filter(|text| !text.is_empty()).collect();
        let more = match cause.variants.len() {
            0 => String::new(),
            more => {
                format!(" (and {} with the same cause)", counted(more as u64, "more place", "more places"))
            }
        };
        let message = escaped(&format!("{}{more}", message.join("\n")));
        writeln!(out, "::{command} {}::{message}", properties.join(","))?;
    }
    Ok(())
}

fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

/// Writes the summary.
pub fn write_summary(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let causes = causes(report.new_findings());
    let accepted = report.findings.len() - report.new_findings().count();
    match causes.len() {
        0 => writeln!(out, "### Overtake: nothing new found\n")?,
        number => writeln!(out, "### Overtake: {}\n", counted(number as u64, "cause", "causes"))?,
    }
    if accepted > 0 {
        writeln!(out, "{} known or suppressed.\n", counted(accepted as u64, "finding is", "findings are"))?;
    }
    if causes.is_empty() {
        return Ok(());
    }
    writeln!(out, "| | verdict | finding | where | |\n| ---: | --- | --- | --- | ---: |")?;
    let mut share = Share::new(&causes, Some(ROWS));
    for cause in causes.iter().filter(|cause| share.take(cause.head.verdict)) {
        write_row(out, cause)?;
    }
    if causes.len() > ROWS {
        writeln!(out, "\n{} more are in the report.", causes.len() - ROWS)?;
    }
    for cause in causes.iter().take(EXPLAINED) {
        write_details(out, cause.head)?;
    }
    Ok(())
}

fn write_row(out: &mut dyn Write, cause: &Cause<'_>) -> io::Result<()> {
    let finding = cause.head;
    let places: Vec<_> = finding
        .accesses
        .iter()
        .filter_map(|access| access.site())
        .map(|frame| format!("`{}`", code(&frame.place())))
        .collect();
    let more = if cause.variants.is_empty() { String::new() } else { format!("+{}", cause.variants.len()) };
    let (title, headline) = (markdown(&finding.title()), markdown(&finding.headline));
    writeln!(out, "| {} | {title} | {headline} | {} | {more} |", finding.id, places.join(", "))
}

fn write_details(out: &mut dyn Write, finding: &Finding) -> io::Result<()> {
    let (id, headline) = (finding.id, markdown(&finding.headline));
    writeln!(out, "\n<details><summary>{id}. {headline}</summary>\n")?;
    let confirmation = finding.confirmation().unwrap_or_default();
    for paragraph in [&confirmation, &finding.why, &finding.remedy] {
        if !paragraph.is_empty() {
            writeln!(out, "{}\n", markdown(paragraph))?;
        }
    }
    for access in &finding.accesses {
        writeln!(out, "- {} by {}", markdown(&access.operation), markdown(&access.thread.name))?;
        for (frame, _) in crate::frames::shown(&access.stack) {
            let function = if frame.is_lambda() { "lambda at".into() } else { frame.function_name() };
            writeln!(out, "  - `{}`", code(&format!("{function} {}", frame.place())))?;
        }
    }
    writeln!(out, "\n</details>")
}

/// Text that means nothing to Markdown, but for what is between backticks, which stays code.
fn markdown(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    let is_code = |at: usize| at % 2 == 1 && at + 1 < parts.len();
    let mut escaped = String::with_capacity(text.len());
    for (at, part) in parts.iter().enumerate() {
        match is_code(at) {
            true => escaped += &format!("`{}`", part.replace('|', "\\|").replace(char::is_control, " ")),
            false if at > 0 && !is_code(at - 1) => escaped += &format!("\\`{}", plain(part)),
            false => escaped += &plain(part),
        }
    }
    escaped
}

fn plain(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut escaped, letter| {
        match letter {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\\' | '*' | '_' | '[' | ']' | '|' | '#' | '!' => escaped.extend(['\\', letter]),
            letter if letter.is_control() => escaped.push(' '),
            letter => escaped.push(letter),
        }
        escaped
    })
}

/// Text between backticks, in a table.
fn code(text: &str) -> String {
    text.replace(['`', '\n', '\r'], "'").replace('|', "\\|").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_markup_stay_text() {
        assert_eq!(property("a:b,c%\n"), "a%3Ab%2Cc%25%0A");
        assert_eq!(markdown("<b>*x*|[y]"), "&lt;b&gt;\\*x\\*\\|\\[y\\]");
        assert_eq!(markdown("in `operator[]` of a_b"), "in `operator[]` of a\\_b");
        assert_eq!(markdown("`a_b`, `c|d` and ` alone_"), "`a_b`, `c\\|d` and \\` alone\\_");
        assert_eq!(code("a`b|c"), "a'b\\|c");
    }
}
