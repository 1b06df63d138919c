//! Findings on globals, named by member: `counters.hits` instead of `counters+8`.

use std::path::Path;

use overtake_report::result::{Memory, Report};
use overtake_seal::GlobalByte;
use overtake_trace::Module;

/// Names the members that findings are about, as far as the modules of the program are still there.
pub(crate) fn name_members(report: &mut Report, modules: &[Module]) {
    let is_asked = |memory: &Memory| memory.kind == "global" && memory.member.is_empty();
    let asked = report.findings.iter().filter_map(|finding| finding.memory.as_ref());
    let asked = asked.filter(|memory| is_asked(memory));
    let bytes: Vec<GlobalByte> = asked
        .map(|memory| GlobalByte { variable: memory.whole().to_owned(), offset: memory.offset })
        .collect();
    if bytes.is_empty() {
        return;
    }
    let mut found = vec![String::new(); bytes.len()];
    for module in modules {
        let members = overtake_seal::members(Path::new(&module.path), &module.build_id, &bytes);
        for (known, member) in found.iter_mut().zip(members).filter(|(known, _)| known.is_empty()) {
            *known = member;
        }
    }
    let asked = report.findings.iter_mut().filter(|finding| finding.memory.as_ref().is_some_and(is_asked));
    for (finding, member) in asked.zip(found).filter(|(_, member)| !member.is_empty()) {
        let Some(memory) = &mut finding.memory else { continue };
        let name = format!("{}{member}", memory.whole());
        let old = std::mem::replace(&mut memory.name, name.clone());
        memory.member = member;
        if let Some(rest) = finding.headline.strip_prefix(&old) {
            finding.headline = format!("{name}{rest}");
        }
        let steps = finding.schedule.iter_mut().flat_map(|schedule| &mut schedule.steps);
        steps.filter(|step| step.operand == old).for_each(|step| step.operand.clone_from(&name));
    }
}
