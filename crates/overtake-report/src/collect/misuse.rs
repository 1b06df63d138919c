//! Misuses: what the trace says that single operations did wrong. Those of one kind at one place in the code are one finding.

use std::collections::BTreeMap;

use overtake_detect::Verdict;
use overtake_trace::{Action, Freed, Misuse, MisuseKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::names::Names;
use crate::number::counted;
use crate::result::{Access, Finding, Kind, Memory};
use crate::rules::find_rule;

/// The findings: those of a recorded program in the order of its code, others in the order of the trace. A use of a block after its free that
/// nothing orders after the free is a race and no misuse: `races` are the names of blocks with such races.
pub(super) fn findings(misuses: &[Misuse], races: &FxHashSet<String>, names: &Names<'_>) -> Vec<Finding> {
    let freed = freed_by_name(names);
    let mut by_place: BTreeMap<(MisuseKind, Vec<u8>), Finding> = BTreeMap::new();
    for misuse in misuses {
        let Action::Misuse(marker) = misuse.event.action() else { continue };
        let (kind, object) = MisuseKind::split(names.symbols.markers.name(marker));
        let object = String::from_utf8_lossy(object).into_owned();
        if kind == MisuseKind::AccessAfterFree && races.contains(&object) {
            continue;
        }
        let place = match misuse.event.location().is_known() {
            true => names.line(misuse.event.location()).into_bytes(),
            false => names.symbols.markers.name(marker).to_vec(),
        };
        let known = by_place.entry((kind, place)).or_insert_with(|| {
            let frees = matches!(kind, MisuseKind::AccessAfterFree | MisuseKind::DoubleFree);
            let freed = freed.get(&object).filter(|_| frees);
            finding(kind, &object, freed.map(|freed| names.freed_memory(freed)), misuse, names)
        });
        if known.count > 0 && !object.is_empty() && !known.objects.contains(&object) {
            known.objects.push(object);
        }
        known.count += misuse.count;
        known.observed = known.count;
    }
    let mut findings: Vec<Finding> = by_place.into_values().collect();
    findings.sort_by_key(|finding| match (names.is_recorded(), finding.accesses.first()) {
        (false, Some(access)) => access.event,
        _ => 0,
    });
    for finding in &mut findings {
        if finding.objects.len() > 1 {
            let others = counted(finding.objects.len() as u64 - 1, "other object", "other objects");
            finding.notes.push(format!("The same happens to {others} at this place."));
        }
    }
    findings
}

/// The first free of each block that is used or freed again, by the block's name.
fn freed_by_name<'a>(names: &'a Names<'_>) -> FxHashMap<String, &'a Freed> {
    let freed = names.symbols.program.freed.iter().rev();
    freed.map(|freed| (names.array_name(freed.array), freed)).collect()
}

/// A finding that has not been counted yet.
fn finding(
    kind: MisuseKind,
    object: &str,
    memory: Option<Memory>,
    misuse: &Misuse,
    names: &Names<'_>,
) -> Finding {
    let rule = find_rule(kind.name(), Kind::Misuse);
    let thread = names.thread(misuse.event.thread());
    let access = Access {
        operation: operation(kind).to_owned(),
        object: object.to_owned(),
        event: misuse.index.0,
        stack: names.stack(misuse.event.location()),
        thread,
        ..Access::default()
    };
    let who = match access.site() {
        Some(frame) if !frame.function.is_empty() => frame.function_name(),
        _ => access.thread.name.clone(),
    };
    let headline = match memory.as_ref().map_or(object, |memory| &memory.name) {
        "" => who,
        object => format!("{object} in {who}"),
    };
    Finding {
        kind: Kind::Misuse,
        rule: rule.id.into(),
        verdict: Verdict::Observed,
        headline,
        memory,
        objects: Some(object.to_owned()).filter(|object| !object.is_empty()).into_iter().collect(),
        accesses: vec![access],
        count: 0,
        runs: vec![0],
        ..Finding::default()
    }
}

/// What the thread does, in a word or two.
fn operation(kind: MisuseKind) -> &'static str {
    match kind {
        MisuseKind::UnlockOfUnlocked | MisuseKind::UnlockByOther | MisuseKind::WriteUnlockOfReadLocked => {
            "unlock"
        }
        MisuseKind::ReadUnlockOfWriteLocked => "read unlock",
        MisuseKind::DoubleLock => "lock",
        MisuseKind::ReadLockOfWriteLocked => "read lock",
        MisuseKind::DestroyOfLocked => "destroy",
        MisuseKind::UseOfDestroyed | MisuseKind::LockHeld => "use",
        MisuseKind::ThreadLeak => "creation",
        MisuseKind::ErrnoInSignal => "signal handler",
        MisuseKind::SignalUnsafeCall => "call",
        MisuseKind::DoubleFree => "free",
        MisuseKind::AccessAfterFree => "access",
        _ => "operation",
    }
}
