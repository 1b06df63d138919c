//! One page for people: a list of findings, and everything about each of them.
//!
//! The page is a single file that asks the network for nothing and opens from a disk, a mail or an artefact of a build. Its parts
//! lie in `page/` as the files a browser knows (HTML, CSS, JavaScript without a framework) and are put together here; what
//! was found follows as parcels (see `parcel.rs`).
//!
//! **Names are hostile.** Functions, files and source lines come from other people's programs. None of them is written into the
//! markup: parcels consist of letters and digits, and the scripts only ever set text, never markup. The page's own policy
//! forbids every script but its own and every connection.
//!
//! **Size.** The first parcel (see `data.rs`) holds what the list shows, searches and filters by; the details of a
//! finding lie in parcels of 64, which are opened when somebody looks.

mod data;
mod parcel;

use std::io::{self, Write};

use crate::result::Report;

/// How many findings share a parcel of details: few enough that opening one is not noticed, enough to compress well.
const FINDINGS_PER_PARCEL: usize = 64;

const FRAME: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");

/// The page's scripts, in order; together they are one function.
const SCRIPTS: &[&str] = &[
    include_str!("page/elements.js"),
    include_str!("page/parcels.js"),
    include_str!("page/words.js"),
    include_str!("page/filters.js"),
    include_str!("page/list.js"),
    include_str!("page/source.js"),
    include_str!("page/plan.js"),
    include_str!("page/drawing.js"),
    include_str!("page/stage.js"),
    include_str!("page/slider.js"),
    include_str!("page/finding.js"),
    include_str!("page/overview.js"),
    include_str!("page/printing.js"),
    include_str!("page/main.js"),
];

/// Writes the page.
pub fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let mut rest = FRAME;
    for (mark, part) in
        [("{{style}}", Part::Style), ("{{parcels}}", Part::Parcels), ("{{scripts}}", Part::Scripts)]
    {
        let (before, after) =
            rest.split_once(mark).ok_or_else(|| io::Error::other("a mark is missing in the page"))?;
        out.write_all(before.as_bytes())?;
        part.write(out, report)?;
        rest = after;
    }
    out.write_all(rest.as_bytes())
}

enum Part {
    Style,
    Parcels,
    Scripts,
}

impl Part {
    fn write(&self, out: &mut dyn Write, report: &Report) -> io::Result<()> {
        match self {
            Part::Style => out.write_all(STYLE.as_bytes()),
            Part::Scripts => SCRIPTS.iter().try_for_each(|script| out.write_all(script.as_bytes())),
            Part::Parcels => {
                let (contents, details) = data::split(report);
                parcel::write(out, "contents", &contents)?;
                parcel::write(out, "sources", &report.sources)?;
                for (number, details) in details.chunks(FINDINGS_PER_PARCEL).enumerate() {
                    parcel::write(out, &format!("details-{number}"), details)?;
                }
                Ok(())
            }
        }
    }
}
