//! JUnit's XML, which every build server reads: a test case for each cause, failed if it is new.
//!
//! Where nothing was found there is one case that passed, so that an empty file is never taken for a clean run.

use std::io::{self, Write};

use crate::cause::{Cause, causes};
use crate::result::{Report, Status};
use crate::text::{self, Layout};

/// Writes the report.
pub fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let causes = causes(&report.findings);
    let is_new = |cause: &&Cause<'_>| status_of(cause) == Status::New;
    let failures = causes.iter().filter(is_new).count();
    let (tests, skipped) = (causes.len().max(1), causes.len() - failures);
    let sums = format!("tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\"");
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"overtake\" {sums}>")?;
    writeln!(out, "<testsuite name=\"overtake\" {sums}>")?;
    for cause in &causes {
        write_case(out, report, cause)?;
    }
    if causes.is_empty() {
        writeln!(out, "<testcase classname=\"overtake\" name=\"nothing found\"/>")?;
    }
    writeln!(out, "</testsuite>\n</testsuites>")
}

/// A cause is new if one of its findings is.
fn status_of(cause: &Cause<'_>) -> Status {
    let mut all = std::iter::once(&cause.head).chain(&cause.variants);
    match all.any(|finding| finding.status == Status::New) {
        true => Status::New,
        false => cause.head.status.clone(),
    }
}

fn write_case(out: &mut dyn Write, report: &Report, cause: &Cause<'_>) -> io::Result<()> {
    let finding = cause.head;
    let site = finding.accesses.iter().find_map(|access| access.site());
    let class = site.map_or("overtake", |frame| frame.file.as_str());
    let (class, name) = (escaped(class), escaped(&finding.sentence()));
    writeln!(out, "<testcase classname=\"{class}\" name=\"{name}\">")?;
    match status_of(cause) {
        Status::New => {
            let explained = text::cause(report, cause, &Layout::default());
            let explained = escaped(&anstream::adapter::strip_str(&explained).to_string());
            writeln!(
                out,
                "<failure type=\"{}\" message=\"{name}\">{explained}</failure>",
                escaped(&finding.rule)
            )?;
        }
        Status::Known { reason, .. } => writeln!(out, "<skipped message=\"known: {}\"/>", escaped(&reason))?,
        Status::Suppressed { by } => writeln!(out, "<skipped message=\"suppressed: {}\"/>", escaped(&by))?,
    }
    writeln!(out, "</testcase>")
}

/// Text in markup. Characters that XML cannot hold at all become question marks.
fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut escaped, letter| {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\t' => escaped.push('\t'),
            letter if letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}') => escaped.push('?'),
            letter => escaped.push(letter),
        }
        escaped
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_become_markup() {
        assert_eq!(escaped("</a b=\"x\">&\u{1b}\n"), "&lt;/a b=&quot;x&quot;&gt;&amp;?&#10;");
    }
}
