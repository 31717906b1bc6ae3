//! Blocks laid out on pages.

use forecourt_print::{Align, Block, Column, Paper, PaperSize, Row, Sum, TextStyle};

use crate::face::{Faces, Weight};
use crate::table;
use crate::text::{clipped, printable, wrap};

/// The margins at the sides and at the top, in points.
const MARGIN: f32 = 48.0;
/// The margin at the bottom, which has the line with the page's number.
const BOTTOM_MARGIN: f32 = 60.0;
/// The space between the bottom of a page and that line.
const FOOT: f32 = 34.0;
/// The space between the top of a page and the line with the title.
const HEAD: f32 = 34.0;
/// The space between columns.
pub(crate) const GUTTER: f32 = 10.0;
/// The space above a block.
const GAP: f32 = 12.0;
/// The largest size of a watermark's letters.
const MAX_WATERMARK: f32 = 110.0;

/// The look of a text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Style {
    pub(crate) weight: Weight,
    pub(crate) size: f32,
    /// The distance between lines.
    pub(crate) leading: f32,
    /// The lightness, from black at 0 to white at 255.
    pub(crate) shade: u8,
}

pub(crate) const TITLE: Style = Style {
    weight: Weight::Bold,
    size: 18.0,
    leading: 24.0,
    shade: 0,
};
pub(crate) const HEADING: Style = Style {
    weight: Weight::Bold,
    size: 10.5,
    leading: 15.0,
    shade: 0,
};
pub(crate) const NORMAL: Style = Style {
    weight: Weight::Regular,
    size: 9.0,
    leading: 12.5,
    shade: 0,
};
pub(crate) const STRONG: Style = Style {
    weight: Weight::Bold,
    ..NORMAL
};
pub(crate) const SMALL: Style = Style {
    size: 7.5,
    leading: 10.0,
    ..NORMAL
};
pub(crate) const LABEL: Style = Style { shade: 90, ..NORMAL };

/// A page, ready to be drawn.
#[derive(Default)]
pub(crate) struct Page {
    pub(crate) watermark: Option<Placed>,
    pub(crate) texts: Vec<Placed>,
    pub(crate) rules: Vec<Rule>,
}

/// A text at its place; `y` is that of the line it stands on, from the page's top.
pub(crate) struct Placed {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) text: String,
    pub(crate) style: Style,
}

/// A horizontal rule.
pub(crate) struct Rule {
    pub(crate) x: f32,
    pub(crate) y: f32,
    pub(crate) width: f32,
    pub(crate) shade: u8,
}

/// A line of a cell: texts, each at its distance from the cell's left side.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) pieces: Vec<(f32, String, Style)>,
    pub(crate) leading: f32,
}

/// Lines that stand beside those of other cells.
#[derive(Clone, Debug)]
pub(crate) struct CellLines {
    pub(crate) x: f32,
    pub(crate) lines: Vec<Line>,
}

/// Cells side by side.
pub(crate) type RowLines = Vec<CellLines>;

/// Returns the width and height of paper in points.
pub(crate) const fn dimensions(size: PaperSize) -> (f32, f32) {
    match size {
        PaperSize::A4 => (595.28, 841.89),
        PaperSize::Letter => (612.0, 792.0),
    }
}

/// Lays a paper out.
pub(crate) fn pages(paper: &Paper, faces: &Faces) -> Vec<Page> {
    let (width, height) = dimensions(paper.size);
    let mut flow = Flow {
        faces,
        width: width - 2.0 * MARGIN,
        top: MARGIN,
        bottom: height - BOTTOM_MARGIN,
        y: MARGIN,
        pages: Vec::new(),
        page: Page::default(),
    };
    for block in &paper.blocks {
        flow.block(block);
    }
    let pages = flow.finish();
    furnished(pages, paper, faces)
}

/// Adds to each page what does not depend on the blocks.
fn furnished(mut pages: Vec<Page>, paper: &Paper, faces: &Faces) -> Vec<Page> {
    let (width, height) = dimensions(paper.size);
    let face = faces.get(LABEL.weight);
    let line = |text: &str, x: f32, y: f32, width: f32| Placed {
        x,
        y,
        text: clipped(&printable(text, face), face, width / LABEL.size),
        style: LABEL,
    };
    let count = pages.len();
    for (place, page) in pages.iter_mut().enumerate() {
        page.watermark = paper
            .watermark
            .as_deref()
            .map(|text| watermark(text, faces, width, height));
        let inner = width - 2.0 * MARGIN;
        if place > 0 {
            page.texts.insert(0, line(&paper.head, MARGIN, HEAD, inner));
        }
        let number = paper.language.page_number(place + 1, count);
        let number_width = face.width(&number) * LABEL.size;
        let foot = height - FOOT;
        page.texts
            .push(line(&paper.foot, MARGIN, foot, inner - number_width - GUTTER));
        page.texts
            .push(line(&number, width - MARGIN - number_width, foot, number_width * 1.01));
    }
    pages
}

/// Returns the word across a page, as large as the page allows.
fn watermark(text: &str, faces: &Faces, width: f32, height: f32) -> Placed {
    let face = faces.get(Weight::Bold);
    let text = printable(text, face).replace('\n', " ");
    let em_width = face.width(&text).max(0.1);
    let size = (0.85 * width / em_width).min(MAX_WATERMARK);
    Placed {
        x: (width - em_width * size) / 2.0,
        y: height / 2.0,
        text,
        style: Style {
            weight: Weight::Bold,
            size,
            leading: size,
            shade: 222,
        },
    }
}

/// The pages laid out so far, and the place on the last of them.
pub(crate) struct Flow<'a> {
    pub(crate) faces: &'a Faces,
    /// The width between the margins.
    pub(crate) width: f32,
    top: f32,
    bottom: f32,
    y: f32,
    pages: Vec<Page>,
    page: Page,
}

impl Flow<'_> {
    fn block(&mut self, block: &Block) {
        match block {
            Block::Title(text) => {
                self.gap(GAP);
                self.text(text, TITLE);
            }
            Block::Heading(text) => {
                self.gap(GAP);
                self.reserve(HEADING.leading + 4.0 * NORMAL.leading);
                self.text(text, HEADING);
            }
            Block::Text(text, style) => {
                self.gap(GAP / 3.0);
                self.text(
                    text,
                    match style {
                        TextStyle::Normal => NORMAL,
                        TextStyle::Strong => STRONG,
                        TextStyle::Small => SMALL,
                    },
                );
            }
            Block::Columns(columns) => {
                self.gap(GAP);
                self.columns(columns);
            }
            Block::Table(table) => {
                self.gap(GAP / 2.0);
                table::lay_out(self, table);
            }
            Block::Sums(sums) => {
                self.gap(GAP / 2.0);
                self.sums(sums);
            }
            Block::Signatures(labels) => self.signatures(labels),
        }
    }

    fn finish(mut self) -> Vec<Page> {
        self.pages.push(self.page);
        self.pages
    }

    /// Returns the height of an empty page.
    pub(crate) fn body(&self) -> f32 {
        self.bottom - self.top
    }

    pub(crate) fn left(&self) -> f32 {
        self.bottom - self.y
    }

    pub(crate) fn is_at_top(&self) -> bool {
        self.y <= self.top
    }

    pub(crate) fn turn_page(&mut self) {
        self.pages.push(std::mem::take(&mut self.page));
        self.y = self.top;
    }

    /// Leaves space, except at the top of a page.
    pub(crate) fn gap(&mut self, height: f32) {
        if !self.is_at_top() {
            self.y += height;
        }
    }

    /// Turns the page if it has not `height` left. What needs more than a page begins where it is.
    pub(crate) fn reserve(&mut self, height: f32) {
        if height > self.left() && height <= self.body() && !self.is_at_top() {
            self.turn_page();
        }
    }

    pub(crate) fn rule(&mut self, x: f32, width: f32, shade: u8) {
        self.page.rules.push(Rule {
            x: MARGIN + x,
            y: self.y,
            width,
            shade,
        });
    }

    /// Places what is left of a row's lines on this page, as far as they fit, and returns whether all of them did.
    pub(crate) fn place(&mut self, row: &mut RowLines) -> bool {
        let mut used: f32 = 0.0;
        for cell in row.iter_mut() {
            let mut height = 0.0;
            let fits = |line: &&Line| {
                height += line.leading;
                height <= self.bottom - self.y
            };
            let count = cell.lines.iter().take_while(fits).count();
            let mut down = self.y;
            for line in cell.lines.drain(..count) {
                down += line.leading;
                self.page
                    .texts
                    .extend(line.pieces.into_iter().map(|(x, text, style)| Placed {
                        x: MARGIN + cell.x + x,
                        // The descenders of the line end above the next one.
                        y: down - line.leading * 0.28,
                        text,
                        style,
                    }));
            }
            used = used.max(down - self.y);
        }
        self.y += used;
        row.iter().all(|cell| cell.lines.is_empty())
    }

    /// Places a row, on as many pages as it takes.
    fn flow(&mut self, mut row: RowLines) {
        while !self.place(&mut row) {
            self.turn_page();
        }
    }

    /// Breaks a text into the lines of a cell.
    pub(crate) fn lines(&self, text: &str, style: Style, width: f32, align: Align) -> Vec<Line> {
        let face = self.faces.get(style.weight);
        let text = printable(text, face);
        let lines = wrap(&text, face, width / style.size).into_iter();
        let placed = lines.map(|text| {
            let x = match align {
                Align::Start => 0.0,
                Align::End => (width - face.width(&text) * style.size).max(0.0),
            };
            Line {
                pieces: vec![(x, text, style)],
                leading: style.leading,
            }
        });
        placed.collect()
    }

    fn text(&mut self, text: &str, style: Style) {
        let lines = self.lines(text, style, self.width, Align::Start);
        self.flow(vec![CellLines { x: 0.0, lines }]);
    }

    fn columns(&mut self, columns: &[Column]) {
        // A number of columns that no page holds still takes one.
        let count = f32::from(u8::try_from(columns.len().max(1)).unwrap_or(u8::MAX));
        let width = (self.width - (count - 1.0) * GUTTER) / count;
        let mut x = 0.0;
        let mut row = RowLines::new();
        for column in columns {
            let lines = self.column_lines(column, width);
            row.push(CellLines { x, lines });
            x += width + GUTTER;
        }
        let needed = row.iter().map(height).fold(0.0, f32::max);
        self.reserve(needed);
        self.flow(row);
    }

    fn column_lines(&self, column: &Column, width: f32) -> Vec<Line> {
        let mut lines = self.lines(&column.title, LABEL, width, Align::Start);
        let labels = column.rows.iter().filter_map(|row| match row {
            Row::Pair(label, _) => Some(self.faces.get(LABEL.weight).width(label) * LABEL.size),
            Row::Text(_) | Row::Strong(_) => None,
        });
        let label_width = labels.fold(0.0, f32::max).min(0.55 * width);
        let value_x = label_width + GUTTER * 0.6;
        for row in &column.rows {
            match row {
                Row::Text(text) => lines.extend(self.lines(text, NORMAL, width, Align::Start)),
                Row::Strong(text) => lines.extend(self.lines(text, STRONG, width, Align::Start)),
                Row::Pair(label, value) => {
                    // Wide enough for the longest label, whatever rounding does.
                    let label = self.lines(label, LABEL, label_width + 0.1, Align::Start);
                    let value = self.lines(value, NORMAL, width - value_x, Align::Start);
                    lines.extend(beside(label, value, value_x));
                }
            }
        }
        lines
    }

    fn sums(&mut self, sums: &[Sum]) {
        let width = self.width * 0.45;
        let left = self.width - width;
        let mut rows = Vec::new();
        for sum in sums {
            let style = if sum.strong { STRONG } else { NORMAL };
            let face = self.faces.get(style.weight);
            let natural = face.width(&printable(&sum.value, face)) * style.size + 0.1;
            let value_width = natural.min(width * 0.7);
            let label_width = width - value_width - GUTTER;
            let label = self.lines(&sum.label, style, label_width, Align::Start);
            let value = self.lines(&sum.value, style, value_width, Align::End);
            rows.extend(beside(label, value, label_width + GUTTER));
        }
        let cell = CellLines { x: left, lines: rows };
        self.reserve(height(&cell));
        self.flow(vec![cell]);
    }

    fn signatures(&mut self, labels: &[String]) {
        const SPACE_TO_SIGN: f32 = 48.0;
        let width = (self.width - 3.0 * GUTTER) / 2.0;
        for pair in labels.chunks(2) {
            let mut row = RowLines::new();
            let mut x = 0.0;
            for label in pair {
                let lines = self.lines(label, LABEL, width, Align::Start);
                row.push(CellLines { x, lines });
                x += width + 3.0 * GUTTER;
            }
            let needed = row.iter().map(height).fold(0.0, f32::max);
            self.reserve(SPACE_TO_SIGN + needed);
            self.y += SPACE_TO_SIGN;
            for cell in &row {
                self.rule(cell.x, width, 0);
            }
            self.flow(row);
        }
    }
}

/// Returns the height of a cell.
pub(crate) fn height(cell: &CellLines) -> f32 {
    cell.lines.iter().map(|line| line.leading).sum()
}

/// Puts the lines of a value beside those of its label.
fn beside(label: Vec<Line>, value: Vec<Line>, x: f32) -> Vec<Line> {
    let mut lines = label;
    for (place, line) in value.into_iter().enumerate() {
        let pieces = line
            .pieces
            .into_iter()
            .map(|(inner, text, style)| (x + inner, text, style));
        match lines.get_mut(place) {
            Some(beside) => beside.pieces.extend(pieces),
            None => lines.push(Line {
                pieces: pieces.collect(),
                leading: line.leading,
            }),
        }
    }
    lines
}
