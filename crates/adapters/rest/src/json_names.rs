//! A reader of JSON that bounds the names and numbers that a parser holds in memory.

use std::io::{self, Read};

/// A JSON text, unchanged, that ends with an error of kind `FileTooLarge` if a name, a number or another word is longer than a
/// parser should hold. Strings that are values of members may have any length.
pub(crate) struct BoundedNames<R> {
    text: R,
    limit: usize,
    place: Place,
    /// The length of the current name or word so far.
    length: usize,
    /// True if a string that begins here is the value of a member.
    is_behind_colon: bool,
}

enum Place {
    Outside,
    InString { is_value: bool, is_escaped: bool },
}

impl<R> BoundedNames<R> {
    /// Makes a reader with a limit in bytes for each.
    pub(crate) const fn new(text: R, limit: usize) -> Self {
        Self {
            text,
            limit,
            place: Place::Outside,
            length: 0,
            is_behind_colon: false,
        }
    }

    fn note(&mut self, byte: u8) {
        match self.place {
            Place::InString { is_escaped: false, .. } if byte == b'"' => {
                self.place = Place::Outside;
                self.is_behind_colon = false;
                self.length = 0;
            }
            Place::InString { is_value, is_escaped } => {
                self.place = Place::InString {
                    is_value,
                    is_escaped: byte == b'\\' && !is_escaped,
                };
                self.length += usize::from(!is_value);
            }
            Place::Outside => match byte {
                b'"' => {
                    self.place = Place::InString {
                        is_value: self.is_behind_colon,
                        is_escaped: false,
                    };
                    self.length = 0;
                }
                b' ' | b'\t' | b'\r' | b'\n' => self.length = 0,
                b':' | b',' | b'[' | b']' | b'{' | b'}' => {
                    self.is_behind_colon = byte == b':';
                    self.length = 0;
                }
                _ => {
                    self.is_behind_colon = false;
                    self.length += 1;
                }
            },
        }
    }
}

impl<R: Read> Read for BoundedNames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.text.read(buffer)?;
        for byte in buffer.iter().take(read) {
            self.note(*byte);
            if self.length > self.limit {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_read(text: &str) -> bool {
        let mut read = String::new();
        let outcome = BoundedNames::new(text.as_bytes(), 10).read_to_string(&mut read);
        match outcome {
            Ok(_) => read == text,
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
                false
            }
        }
    }

    #[test]
    fn names_and_words_are_bounded_and_values_are_not() {
        for fine in [
            r#"{"name": "a value of any length", "other" : "with \" an escape"}"#,
            r#"{"a": {"b": "a value of any length"}, "c": [1234567890, true], "d": "a value of any length"}"#,
            "12345       67890",
            r#"{"\\": "a value of any length", "b": 1}"#,
        ] {
            assert!(is_read(fine), "{fine}");
        }
        for long in [
            r#"{"a long name": 1}"#,
            r#"{"a": "b", "a long name": 1}"#,
            r#"{"a": {"a long name": 1}}"#,
            r#"{"a": "\"", "a long name": 1}"#,
            r#"{"a": 12345678901}"#,
            r#"{"a": ["an element is no value of a member"]}"#,
            "truetruetrue",
            r#"{"a":1"a long name"}"#,
        ] {
            assert!(!is_read(long), "{long}");
        }
    }
}
