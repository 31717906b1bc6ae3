//! Reads the data files beside the generators.

use forecourt_contacts::ContactType;
use forecourt_leads::LeadStatus;
use forecourt_reference::{LeadChannel, LeadType, StockType, VehicleClass};
use forecourt_vehicles::VehicleStatus;

/// Declares the tables of a data file: a static for each, read at its first use from the lines below the heading with its name.
macro_rules! tables {
    ($file:literal: $($(#[$meta:meta])* $name:ident: $row:ty,)+) => {
        $(
            $(#[$meta])*
            pub(super) static $name: std::sync::LazyLock<Vec<$row>> =
                std::sync::LazyLock::new(|| $crate::sample::data::table(include_str!($file), stringify!($name)));
        )+

        #[cfg(test)]
        #[test]
        fn every_line_of_the_tables_is_read() {
            let rows = [$($name.len()),+];
            let lines = $crate::sample::data::lines(include_str!($file));
            assert!(!rows.contains(&0), "{rows:?}");
            assert_eq!(rows.iter().sum::<usize>(), lines.filter(|line| !line.starts_with('[')).count());
        }
    };
}
pub(super) use tables;

/// A row of a table, or one of its columns.
pub(super) trait Row: Sized {
    /// Reads as many columns as it needs.
    fn read(columns: &mut dyn Iterator<Item = &'static str>) -> Option<Self>;
}

impl Row for &'static str {
    fn read(columns: &mut dyn Iterator<Item = &'static str>) -> Option<Self> {
        columns.next()
    }
}

/// A list, with commas between its elements.
impl Row for Vec<&'static str> {
    fn read(columns: &mut dyn Iterator<Item = &'static str>) -> Option<Self> {
        Some(columns.next()?.split(',').map(str::trim).collect())
    }
}

/// Implements [`Row`] for types with `FromStr`, of one column.
macro_rules! parsed {
    ($($type:ty),+) => {
        $(impl $crate::sample::data::Row for $type {
            fn read(columns: &mut dyn Iterator<Item = &'static str>) -> Option<Self> {
                columns.next()?.parse().ok()
            }
        })+
    };
}
pub(super) use parsed;
parsed!(
    u32,
    i32,
    i64,
    char,
    ContactType,
    LeadChannel,
    LeadStatus,
    LeadType,
    StockType,
    VehicleClass
);

impl Row for VehicleStatus {
    fn read(columns: &mut dyn Iterator<Item = &'static str>) -> Option<Self> {
        let name = columns.next()?;
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// A dash stands for `None`.
impl<T: Row> Row for Option<T> {
    fn read(columns: &mut dyn Iterator<Item = &'static str>) -> Option<Self> {
        match columns.next()? {
            "-" => Some(None),
            column => T::read(&mut std::iter::once(column)).map(Some),
        }
    }
}

impl<A: Row, B: Row> Row for (A, B) {
    fn read(columns: &mut dyn Iterator<Item = &'static str>) -> Option<Self> {
        Some((A::read(columns)?, B::read(columns)?))
    }
}

impl<A: Row, B: Row, C: Row> Row for (A, B, C) {
    fn read(columns: &mut dyn Iterator<Item = &'static str>) -> Option<Self> {
        Some((A::read(columns)?, B::read(columns)?, C::read(columns)?))
    }
}

/// Returns the lines that are neither empty nor a comment.
pub(super) fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// Returns the rows below the heading `[name]`, in upper or lower case. Rows that cannot be read are left out.
pub(super) fn table<R: Row>(text: &'static str, name: &str) -> Vec<R> {
    let heading = |line: &'static str| line.strip_prefix('[')?.strip_suffix(']');
    lines(text)
        .skip_while(|line| !heading(line).is_some_and(|heading| heading.eq_ignore_ascii_case(name)))
        .skip(1)
        .take_while(|line| heading(line).is_none())
        .filter_map(row)
        .collect()
}

fn row<R: Row>(line: &'static str) -> Option<R> {
    let mut columns = line.split('|').map(str::trim);
    let row = R::read(&mut columns)?;
    columns.next().is_none().then_some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_ends_at_the_next_heading() {
        const TEXT: &str = "# Of cars.\n[colours]\n3 | Grey | Slate, Ash\n\n1 | Red | Ruby\n[days]\nMonday, early\n";
        let colours: Vec<(u32, (&str, Vec<&str>))> = table(TEXT, "COLOURS");
        assert_eq!(
            colours,
            [(3, ("Grey", vec!["Slate", "Ash"])), (1, ("Red", vec!["Ruby"]))]
        );
        assert_eq!(table::<&str>(TEXT, "days"), ["Monday, early"]);
        assert_eq!(table::<&str>(TEXT, "nights"), [""; 0]);
    }

    #[test]
    fn a_line_of_too_few_or_too_many_columns_is_no_row() {
        const TEXT: &str = "[a]\nx\nx | 1\nx | 1 | 2\nx | y";
        assert_eq!(table::<(&str, u32)>(TEXT, "a"), [("x", 1)]);
    }
}
