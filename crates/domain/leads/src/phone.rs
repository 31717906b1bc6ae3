//! Telephone numbers, by the numbering plan.

use forecourt_kernel::Country;
use phonenumber::Mode;

/// A telephone number in E.164, for example `+447700900123`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Phone(String);

impl Phone {
    /// Reads a number in any usual spelling. One without a country code is read as a number of `country`.
    ///
    /// # Errors
    /// [`InvalidPhone`] if it is no possible number of its country's plan.
    pub fn parse(text: &str, country: Country) -> Result<Self, InvalidPhone> {
        let region = country.code().parse().ok();
        let number = phonenumber::parse(region, text.trim()).map_err(|_| InvalidPhone)?;
        let e164 = number.format().mode(Mode::E164).to_string();
        // Numbers that a plan keeps for fiction and tests are not "valid" but can be dialled; length is what tells a
        // slip of the finger.
        let digits = e164.bytes().filter(u8::is_ascii_digit).count();
        let national = number.national().to_string().len();
        if (8..=15).contains(&digits) && national >= 6 {
            Ok(Self(e164))
        } else {
            Err(InvalidPhone)
        }
    }

    /// The number in E.164.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The number in E.164.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// The text is no telephone number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("must be a telephone number in international format")]
pub struct InvalidPhone;

#[cfg(test)]
mod tests {
    use super::*;

    fn gb(text: &str) -> Result<String, InvalidPhone> {
        Phone::parse(text, Country::GB).map(Phone::into_string)
    }

    #[test]
    fn every_usual_spelling_is_one_number() {
        for text in [
            "+447700900123",
            "07700 900123",
            "+44 (0)7700 900-123",
            "0044 7700 900123",
            " 07700900123 ",
        ] {
            assert_eq!(gb(text).as_deref(), Ok("+447700900123"), "{text:?}");
        }
        assert_eq!(gb("+1 415 555 2671").as_deref(), Ok("+14155552671"));
        assert_eq!(gb("01632 960123").as_deref(), Ok("+441632960123"));
    }

    #[test]
    fn what_cannot_be_dialled_is_refused() {
        for text in [
            "",
            "abc",
            "12",
            "0770",
            "+44",
            "+999123456789",
            "+44770090012345678",
            "07700900123\0",
        ] {
            assert_eq!(gb(text), Err(InvalidPhone), "{text:?}");
        }
    }
}
