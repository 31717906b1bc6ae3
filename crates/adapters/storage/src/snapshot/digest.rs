//! Digests of tables, which depend neither on the engine nor on the order of rows.

use sha2::{Digest as _, Sha256};

/// A value of a row, as both engines know it. Booleans are integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Null,
    Integer(i64),
    Text(String),
    Binary(Vec<u8>),
}

/// The number of a table's rows, and their digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDigest {
    /// The number of rows.
    pub rows: u64,
    /// The digest, as 32 hexadecimal digits.
    pub digest: String,
}

/// Sums the digests of rows.
#[derive(Default)]
pub(crate) struct TableHasher {
    rows: u64,
    sum: u128,
}

impl TableHasher {
    /// Adds a row. The columns are in the order of their names' bytes.
    pub(crate) fn add(&mut self, columns: &[String], row: &[Value]) {
        let mut hasher = Sha256::new();
        for (name, value) in columns.iter().zip(row) {
            hasher.update(name.as_bytes());
            hasher.update([0]);
            match value {
                Value::Null => hasher.update(b"n"),
                Value::Integer(number) => {
                    hasher.update(b"i");
                    hasher.update(number.to_be_bytes());
                }
                Value::Text(text) => with_length(&mut hasher, b't', text.as_bytes()),
                Value::Binary(bytes) => with_length(&mut hasher, b'b', bytes),
            }
        }
        let digest = hasher.finalize();
        let first = digest.first_chunk().copied().unwrap_or_default();
        self.sum = self.sum.wrapping_add(u128::from_be_bytes(first));
        self.rows += 1;
    }

    pub(crate) fn finish(self) -> TableDigest {
        TableDigest {
            rows: self.rows,
            digest: format!("{:032x}", self.sum),
        }
    }
}

fn with_length(hasher: &mut Sha256, kind: u8, bytes: &[u8]) {
    hasher.update([kind]);
    hasher.update((bytes.len() as u64).to_be_bytes());
    hasher.update(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(rows: &[Vec<Value>]) -> TableDigest {
        let columns = ["a".to_owned(), "b".to_owned()];
        let mut hasher = TableHasher::default();
        for row in rows {
            hasher.add(&columns, row);
        }
        hasher.finish()
    }

    #[test]
    fn the_bytes_of_a_row_are_those_of_the_format() {
        let row = vec![Value::Integer(-2), Value::Text("é".to_owned())];
        let bytes = b"a\0i\xff\xff\xff\xff\xff\xff\xff\xfeb\0t\0\0\0\0\0\0\0\x02\xc3\xa9";
        let expected: String = Sha256::digest(bytes)[..16]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(
            digest(&[row]),
            TableDigest {
                rows: 1,
                digest: expected
            }
        );
        assert_eq!(digest(&[]).digest, "0".repeat(32));
    }

    #[test]
    fn the_order_of_rows_does_not_count_and_every_value_does() {
        let rows = [
            vec![Value::Null, Value::Integer(0)],
            vec![Value::Text(String::new()), Value::Binary(Vec::new())],
            vec![Value::Integer(1), Value::Null],
        ];
        let mut turned = rows.to_vec();
        turned.reverse();
        assert_eq!(digest(&rows), digest(&turned));
        for (at, other) in [
            (0, Value::Text("n".to_owned())),
            (1, Value::Binary(vec![0])),
            (1, Value::Text(String::new())),
        ] {
            let mut changed = rows.to_vec();
            changed[1][at] = other;
            assert_ne!(digest(&rows), digest(&changed));
        }
        let twice = [rows[0].clone(), rows[0].clone()];
        assert_ne!(digest(&twice), digest(&rows[..1]));
    }
}
