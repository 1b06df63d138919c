//! Which table or figure of a paper each exhibit makes again.

/// Exhibits by name, and what they are in their papers.
const ORIGINALS: [(&str, &str); 37] = [
    ("short-races-groups-cost", "Table 3, Figures 2, 3 and 4"),
    ("short-races-groups-races", "Tables 3 and 4"),
    ("short-races-time", "Table 3 and Figure 3, by trace"),
    ("short-races-memory", "Table 3 and Figure 4, by trace"),
    ("short-races-events", "Tables 3 and 4, by trace"),
    ("short-races-variables", "Tables 3 and 4, by trace"),
    ("short-races-budget", "Figure 2, with a small limit"),
    ("short-races-yardstick", "Figures 3 and 4, beside the paper's own baseline"),
    ("short-races-windows", NOT_THERE),
    ("short-races-cost", NOT_THERE),
    ("slimstate-time", "Table III, time"),
    ("slimstate-space", "Table III, space"),
    ("slimstate-checks", "race checks, in the text of Section VI"),
    ("slimstate-cells", "Table III, and the first column of Table II"),
    ("slimstate-modes", "Figure 4, left"),
    ("slimstate-modes-cells", "Figure 4, right"),
    ("slimstate-sets", "Table II"),
    ("slimstate-ablation-time", NOT_THERE),
    ("slimstate-ablation-space", NOT_THERE),
    ("complexity-threads", "the bounds of the theorems; the paper measures nothing"),
    ("complexity-locks", "the bounds of the theorems; the paper measures nothing"),
    ("complexity-families", "Figures 2, 3 and 4: their constructions"),
    ("tester-traces", "Table 1"),
    ("tester-success", "Figure 4"),
    ("tester-detection", "Figure 4, by trace"),
    ("tester-time", "Figures 1, 2 and 3"),
    ("tester-epsilon", "Figure 9"),
    ("tester-warnings", "Figure 6"),
    ("tester-variables", "Figure 7"),
    ("tester-lines", "Figure 8"),
    ("tester-short", "Figure 5"),
    ("sync-preserving-races", "Table 1, racy events"),
    ("sync-preserving-variables", "Table 2"),
    ("sync-preserving-lines", "Table 1, source lines"),
    ("sync-preserving-distance", "Table 3"),
    ("sync-preserving-time", "Table 1, time"),
    ("sync-preserving-core", "Table 4"),
];

/// What has no counterpart.
const NOT_THERE: &str = "not in the paper";

/// What an exhibit is in its paper, in words.
pub(super) fn original(name: &str) -> String {
    match ORIGINALS.iter().find(|(known, _)| *known == name) {
        None | Some((_, NOT_THERE)) => NOT_THERE.to_owned(),
        Some((_, original)) => format!("in the paper: {original}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::commands::bench::papers::exhibit_names;

    #[test]
    fn whatever_is_named_here_is_made() {
        let made = exhibit_names();
        let unknown: Vec<_> =
            ORIGINALS.iter().filter(|(name, _)| !made.iter().any(|made| made == name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
        assert_eq!(original("nothing"), NOT_THERE);
    }
}
