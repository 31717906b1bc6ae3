//! Figures and tables for people.

/// The middle one, or the mean of the middle two.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.len() % 2, values.get(middle)) {
        (_, None) => f64::NAN,
        (1, Some(value)) => *value,
        (_, Some(value)) => (values[middle - 1] + value) / 2.0,
    }
}

/// A whole number, with its thousands apart.
pub(super) fn rate(number: f64) -> String {
    let digits = format!("{number:.0}");
    let first = digits.len() % 3;
    let (head, tail) = digits.split_at(first);
    let groups = tail.as_bytes().chunks(3).map(String::from_utf8_lossy);
    let head = (!head.is_empty()).then(|| head.into());
    head.into_iter().chain(groups).collect::<Vec<_>>().join(",")
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// Millions of bytes.
pub(super) fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}

/// A table that reads well as Markdown and on a terminal. The first column is text, the others are set to the right.
pub(super) fn table<const COLUMNS: usize>(heading: [&str; COLUMNS], rows: &[[String; COLUMNS]]) -> String {
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([heading[column].chars().count()]).max().unwrap_or_default()
    });
    let line = |cells: [&str; COLUMNS]| {
        let cells = cells.into_iter().zip(widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match column {
            0 => format!("| {cell:width$} "),
            _ => format!("| {cell:>width$} "),
        });
        cells.collect::<String>() + "|\n"
    };
    let rules = widths.map(|width| format!("{}:", "-".repeat(width.saturating_sub(1))));
    let first = "-".repeat(widths[0]);
    let rule = std::array::from_fn(|column| {
        if column == 0 {
            first.as_str()
        } else {
            rules[column].as_str()
        }
    });
    let rows = rows.iter().map(|row| line(row.each_ref().map(String::as_str)));
    line(heading) + &line(rule) + &rows.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median([4.0, 1.0]), 2.5);
        assert!(median([]).is_nan());
    }

    #[test]
    fn thousands_are_apart() {
        let texts = [7.4, 999.0, 1000.0, 1_234_567.0].map(rate);
        assert_eq!(texts, ["7", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["read", "1"], ["write", "1,000"]].map(|row| row.map(str::to_owned));
        let expected = "| what  |  rate |\n| ----- | ----: |\n| read  |     1 |\n| write | 1,000 |\n";
        assert_eq!(table(["what", "rate"], &rows), expected);
    }
}
