//! Bounds for reading rows that may be large.

use diesel::sql_types::Text;

/// The number of bytes of such rows that are read at once, unless a single one has more.
pub(super) const BYTES_AT_ONCE: i64 = 1024 * 1024;

diesel::define_sql_function! {
    /// The number of bytes of a text. Only the beginning of a long one is read.
    fn octet_length(text: Text) -> Integer;
}

/// Returns the last of the records, given by number and size, that is read at once with those before it. `None` if there are no
/// records.
pub(super) fn within_bytes(sizes: &[(i64, i32)]) -> Option<i64> {
    let mut bytes = 0;
    let mut last = None;
    for (number, size) in sizes {
        bytes += i64::from(*size);
        if last.is_some() && bytes > BYTES_AT_ONCE {
            break;
        }
        last = Some(*number);
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_read_however_large_and_then_what_fits() {
        const MIB: i32 = 1024 * 1024;
        assert_eq!(within_bytes(&[]), None);
        assert_eq!(within_bytes(&[(7, 5 * MIB), (8, 1)]), Some(7));
        assert_eq!(within_bytes(&[(7, MIB - 1), (8, 1), (9, 1)]), Some(8));
        assert_eq!(within_bytes(&[(7, 1), (8, 1)]), Some(8));
    }
}
