//! Tables, whose heading is repeated on each page that they continue on.

use forecourt_print::{Align, Cell, Table};

use crate::layout::{CellLines, Flow, GUTTER, LABEL, NORMAL, RowLines, SMALL, STRONG, height};
use crate::text::printable;

/// The space above and below a row's text.
const PADDING: f32 = 2.5;
/// The largest part of the width that a column of amounts takes.
const MAX_AMOUNT_PART: f32 = 0.2;
/// The least part of the width that is left to columns of text.
const MIN_TEXT_PART: f32 = 0.25;
/// The part of a page that a heading may take on each page. A higher one is printed once.
const MAX_REPEATED_PART: f32 = 0.3;

const LIGHT: u8 = 200;
const DARK: u8 = 90;

/// The place of a column.
struct Slot {
    x: f32,
    width: f32,
    align: Align,
}

/// Lays a table out.
pub(crate) fn lay_out(flow: &mut Flow<'_>, table: &Table) {
    let slots = slots(flow, table);
    let heading: RowLines = table
        .columns
        .iter()
        .zip(&slots)
        .map(|(column, slot)| CellLines {
            x: slot.x,
            lines: flow.lines(&column.heading, LABEL, slot.width, slot.align),
        })
        .collect();
    let heading_height = row_height(&heading);
    let repeated = (heading_height <= flow.body() * MAX_REPEATED_PART).then_some(&heading);
    let first_row = table.rows.first().map(|row| row_height(&cells(flow, row, &slots)));
    // A heading alone at the end of a page would be of no use.
    flow.reserve(heading_height + first_row.unwrap_or_default().min(5.0 * NORMAL.leading));
    place_row(flow, heading.clone(), None, DARK);
    for row in &table.rows {
        let row = cells(flow, row, &slots);
        place_row(flow, row, repeated, LIGHT);
    }
}

/// Places a row with the rule below it. It moves to the next page as a whole if that holds it.
fn place_row(flow: &mut Flow<'_>, mut row: RowLines, heading: Option<&RowLines>, shade: u8) {
    let heading_height = heading.map_or(0.0, row_height);
    let needed = row_height(&row);
    if needed > flow.left() && needed + heading_height <= flow.body() {
        turn_page(flow, heading);
    }
    flow.gap(PADDING);
    while !flow.place(&mut row) {
        turn_page(flow, heading);
        flow.gap(PADDING);
    }
    flow.gap(PADDING);
    let width = flow.width;
    flow.rule(0.0, width, shade);
}

fn turn_page(flow: &mut Flow<'_>, heading: Option<&RowLines>) {
    // An empty page is not turned: nothing would be gained.
    if flow.is_at_top() {
        return;
    }
    flow.turn_page();
    if let Some(heading) = heading {
        flow.place(&mut heading.clone());
        flow.gap(PADDING);
        let width = flow.width;
        flow.rule(0.0, width, DARK);
    }
}

fn row_height(row: &RowLines) -> f32 {
    row.iter().map(height).fold(0.0, f32::max) + 2.0 * PADDING
}

fn cells(flow: &Flow<'_>, row: &[Cell], slots: &[Slot]) -> RowLines {
    let cells = row.iter().zip(slots).map(|(cell, slot)| {
        let mut lines = flow.lines(&cell.text, NORMAL, slot.width, slot.align);
        for note in &cell.notes {
            lines.extend(flow.lines(note, SMALL, slot.width, slot.align));
        }
        CellLines { x: slot.x, lines }
    });
    cells.collect()
}

/// Divides the width: a column of amounts is as wide as its widest amount, and columns of text share the rest by their weights.
fn slots(flow: &Flow<'_>, table: &Table) -> Vec<Slot> {
    let gutters = GUTTER * f32::from(u8::try_from(table.columns.len().saturating_sub(1)).unwrap_or(u8::MAX));
    let width = (flow.width - gutters).max(flow.width * MIN_TEXT_PART);
    let mut amounts: Vec<f32> = Vec::new();
    for (place, column) in table.columns.iter().enumerate() {
        amounts.push(match column.align {
            Align::Start => 0.0,
            Align::End => amount_width(flow, table, place).min(width * MAX_AMOUNT_PART),
        });
    }
    let weights: f32 = table
        .columns
        .iter()
        .map(|column| text_weight(column.align, column.weight))
        .sum();
    let taken: f32 = amounts.iter().sum();
    let for_amounts = if weights > 0.0 {
        width * (1.0 - MIN_TEXT_PART)
    } else {
        width
    };
    // Columns without a text beside them fill the whole width too.
    let scale = if taken > for_amounts || (weights <= 0.0 && taken > 0.0) {
        for_amounts / taken
    } else {
        1.0
    };
    let for_texts = width - taken * scale;
    let mut x = 0.0;
    let mut slots = Vec::new();
    for (column, amount) in table.columns.iter().zip(amounts) {
        let text = for_texts * text_weight(column.align, column.weight) / weights.max(1.0);
        let width = amount * scale + text;
        slots.push(Slot {
            x,
            width,
            align: column.align,
        });
        x += width + GUTTER;
    }
    slots
}

fn text_weight(align: Align, weight: u16) -> f32 {
    match align {
        Align::Start => f32::from(weight.max(1)),
        Align::End => 0.0,
    }
}

/// Returns the width of a column's widest text, its heading included.
fn amount_width(flow: &Flow<'_>, table: &Table, place: usize) -> f32 {
    let width = |text: &str, style: crate::layout::Style| {
        let face = flow.faces.get(style.weight);
        let lines = printable(text, face);
        lines.lines().map(|line| face.width(line)).fold(0.0, f32::max) * style.size
    };
    let heading = table.columns.get(place).map(|column| width(&column.heading, STRONG));
    let cells = table.rows.iter().filter_map(|row| row.get(place));
    let cells = cells.map(|cell| width(&cell.text, NORMAL));
    // Rounding must not break the widest amount.
    heading.into_iter().chain(cells).fold(0.0, f32::max) + 0.1
}
