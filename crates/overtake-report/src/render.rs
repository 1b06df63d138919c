//! The table of renderers. `--report FORMAT=FILE`, its help and the tests walk over it.
//!
//! To add one: a function over the finished [`Report`], and a row here.

use std::io::{self, Write};

use crate::result::Report;
use crate::{ci, html, perfetto, sarif, text, tsan};

/// A format of reports.
pub struct Renderer {
    /// The name on the command line.
    pub name: &'static str,
    /// One line for help and docs.
    pub summary: &'static str,
    /// Writes the report. The renderer does not buffer its writer.
    pub write: fn(&mut dyn Write, &Report) -> io::Result<()>,
    /// Whether it shows the [`Timeline`](crate::result::Timeline) of each run.
    pub wants_timeline: bool,
    /// Whether commands such as `overtake report` can read what it writes.
    pub is_result: bool,
}

impl Renderer {
    /// A renderer for people or other tools that shows findings only.
    const fn new(
        name: &'static str,
        summary: &'static str,
        write: fn(&mut dyn Write, &Report) -> io::Result<()>,
    ) -> Renderer {
        Renderer { name, summary, write, wants_timeline: false, is_result: false }
    }
}

/// Every renderer.
pub const RENDERERS: &[Renderer] = &[
    Renderer::new("text", "for people: every finding explained, a summary last", text::write),
    Renderer::new("sarif", "for code scanning and editors: SARIF 2.1.0", sarif::write),
    Renderer::new("tsan", "for CTest, CodeChecker and scripts: the lines of ThreadSanitizer", tsan::write),
    Renderer {
        wants_timeline: true,
        ..Renderer::new(
            "perfetto",
            "for ui.perfetto.dev: threads, critical sections and races on a timeline",
            perfetto::write,
        )
    },
    Renderer::new("html", "for people: one page for a browser, with a drawing of each schedule", html::write),
    Renderer::new("junit", "for build servers: JUnit's XML, a failed test for each cause", ci::write_junit),
    Renderer::new("github", "for GitHub Actions: annotations, to be printed", ci::write_annotations),
    Renderer::new(
        "markdown",
        "for GitHub Actions: a summary, to be appended to $GITHUB_STEP_SUMMARY",
        ci::write_summary,
    ),
    Renderer::new("gitlab", "for GitLab: a code quality report", ci::write_gitlab),
    Renderer {
        is_result: true,
        ..Renderer::new(
            "json",
            "for programs: the result, indented; docs/result.schema.json describes it",
            write_json,
        )
    },
    Renderer {
        is_result: true,
        ..Renderer::new(
            "result",
            "to be stored: the same as json on one line, for overtake report and explain",
            write_result,
        )
    },
];

/// The renderer called `name`.
pub fn find_renderer(name: &str) -> Option<&'static Renderer> {
    RENDERERS.iter().find(|renderer| renderer.name == name)
}

fn write_json(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, report)?;
    out.write_all(b"\n")
}

fn write_result(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    report.write(out)
}
