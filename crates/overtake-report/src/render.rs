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
    /// Writes the report. The writer need not be buffered by the renderer.
    pub write: fn(&mut dyn Write, &Report) -> io::Result<()>,
}

/// Every renderer.
pub const RENDERERS: &[Renderer] = &[
    Renderer {
        name: "text",
        summary: "for people: every finding explained, a summary last",
        write: text::write,
    },
    Renderer { name: "sarif", summary: "for code scanning and editors: SARIF 2.1.0", write: sarif::write },
    Renderer {
        name: "tsan",
        summary: "for CTest, CodeChecker and scripts: the lines of ThreadSanitizer",
        write: tsan::write,
    },
    Renderer {
        name: "perfetto",
        summary: "for ui.perfetto.dev: threads, critical sections and races on a timeline",
        write: perfetto::write,
    },
    Renderer {
        name: "html",
        summary: "for people: one page for a browser, with a drawing of each schedule",
        write: html::write,
    },
    Renderer {
        name: "junit",
        summary: "for build servers: JUnit's XML, a failed test for each cause",
        write: ci::write_junit,
    },
    Renderer {
        name: "github",
        summary: "for GitHub Actions: annotations, to be printed",
        write: ci::write_annotations,
    },
    Renderer {
        name: "markdown",
        summary: "for GitHub Actions: a summary, to be appended to $GITHUB_STEP_SUMMARY",
        write: ci::write_summary,
    },
    Renderer { name: "gitlab", summary: "for GitLab: a code quality report", write: ci::write_gitlab },
    Renderer {
        name: "json",
        summary: "for programs: the result, indented; docs/result.schema.json describes it",
        write: write_json,
    },
    Renderer {
        name: "result",
        summary: "to be stored: the same as json on one line, for overtake report and explain",
        write: write_result,
    },
];

impl Renderer {
    /// Whether it wants the [`Timeline`](crate::result::Timeline) of each run.
    pub fn wants_timeline(&self) -> bool {
        self.name == "perfetto"
    }
}

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
