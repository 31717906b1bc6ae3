//! The cell of an installation: the range of ids that its records have, so that no two installations share one.

use std::fmt;

use forecourt_kernel::StoreError;

/// The binary digits of an id that count within a cell.
const DIGITS: u32 = 44;

/// A cell: 0 to 511. Its ids stay within the integers that JSON's numbers hold exactly.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cell(u16);

impl Cell {
    /// The last cell.
    pub const LAST: u16 = 511;

    /// Returns the cell with this number, or `None` beyond the last one.
    #[must_use]
    pub const fn new(number: u16) -> Option<Self> {
        if number <= Self::LAST { Some(Self(number)) } else { None }
    }

    /// Its number.
    #[must_use]
    pub const fn number(self) -> u16 {
        self.0
    }

    /// The id after which its records' ids begin.
    pub(crate) const fn base(self) -> i64 {
        (self.0 as i64) << DIGITS
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// The reason why a database does not become one of the wanted cell.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// It has given out ids of another one.
    #[error("this database is of cell {stored} and has given out ids: a database cannot move to another cell")]
    Other {
        /// Its cell.
        stored: Cell,
    },
    /// It cannot be reached.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_every_cell_are_exact_in_json() {
        assert_eq!(Cell::new(0).unwrap().base(), 0);
        assert_eq!(Cell::new(7).unwrap().base(), 7 * (1 << 44));
        let last = Cell::new(Cell::LAST).unwrap();
        assert!(last.base() + (1 << 44) <= 1 << 53);
        assert_eq!(Cell::new(512), None);
    }
}
