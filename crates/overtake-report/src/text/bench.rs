//! Measurements against their goals.

use super::{Layout, table};
use crate::model::{Goal, Measurement};

/// One row per measurement: the figure, the goal, and whether it was met.
pub fn bench(measurements: &[Measurement], layout: &Layout) -> String {
    let mut table = table::new(&["measured", "figure", "goal", ""], 1..3, layout);
    for Measurement { what, figure, unit, goal } in measurements {
        let (goal_text, met) = match *goal {
            None => (String::new(), ""),
            Some(Goal::AtMost(most)) => (format!("<= {}{unit}", short(most)), verdict(*figure <= most)),
            Some(Goal::AtLeast(least)) => (format!(">= {}{unit}", short(least)), verdict(*figure >= least)),
        };
        table.add_row([what.as_str(), &format!("{}{unit}", short(*figure)), &goal_text, met]);
    }
    table::lines(&table)
}

/// A table of figures: a column of names, columns of numbers, a column of remarks.
pub fn figures(heading: &[&str], rows: &[Vec<String>], layout: &Layout) -> String {
    let mut table = table::new(heading, 1..heading.len().saturating_sub(1), layout);
    for row in rows {
        table.add_row(row);
    }
    table::lines(&table)
}

fn verdict(met: bool) -> &'static str {
    if met { "pass" } else { "SHORT" }
}

fn short(figure: f64) -> String {
    if figure >= 100.0 || figure == figure.trunc() { format!("{figure:.0}") } else { format!("{figure:.2}") }
}
