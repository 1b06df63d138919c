//! Reports for continuous integration: JUnit, GitHub and GitLab.
//!
//! Only new findings fail a run. Known and suppressed ones are counted, or listed as skipped where the format has a word for it.

mod github;
mod gitlab;
mod junit;

pub use github::{write_annotations, write_summary};
pub use gitlab::write as write_gitlab;
pub use junit::write as write_junit;

use crate::result::{Finding, Frame};

/// The frame that an annotation points at: of the first access whose file is one of the project.
fn place_of(finding: &Finding) -> Option<&Frame> {
    let mut sites = finding.accesses.iter().filter_map(|access| access.site());
    sites.find(|frame| frame.line > 0 && !frame.file.starts_with('/'))
}
