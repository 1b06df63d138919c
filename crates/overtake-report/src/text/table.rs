//! Tables without frames: a heading, aligned columns.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::Layout;

/// A table whose columns from `numbers` to the end or to `words` are right-aligned.
pub(super) fn new(heading: &[&str], numbers: std::ops::Range<usize>, layout: &Layout) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(heading.iter().copied());
    match layout.width {
        Some(width) => table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
        None => table.set_content_arrangement(ContentArrangement::Disabled),
    };
    for at in 0..heading.len() {
        if let Some(column) = table.column_mut(at) {
            column.set_padding((0, 2));
            if numbers.contains(&at) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
    }
    table
}

/// The table's lines, without blanks at their ends.
pub(super) fn lines(table: &Table) -> String {
    let mut text = String::new();
    for line in table.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
