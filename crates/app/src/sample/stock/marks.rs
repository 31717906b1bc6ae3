//! Registration marks and vehicle identification numbers.

use chrono::{Datelike, NaiveDate};
use forecourt_vehicles::{Registration, Vin};
use rand::{Rng, RngExt};

use crate::sample::{
    data::tables,
    pick::{chance, one},
};

/// First letters of marks: the region in which a vehicle was registered.
const REGIONS: &[u8] = b"ABCDEFGHKLMNOPRSVWY";
/// Second letters: the office.
const OFFICES: &[u8] = b"ABCDEFGHJKLMNOPRSTUVWXY";
/// The letters at the end.
const SERIALS: &[u8] = b"ABCDEFGHJKLMNOPRSTUVWXYZ";
tables! { "marks.txt":
    /// The last two letters of marks of Northern Ireland.
    NORTHERN_IRELAND: &'static str,
    /// First letters of marks before September 2001: the year and month from which one was used, and the letter.
    PREFIXES: (i32, u32, char),
    /// The beginning of the makers' vehicle identification numbers.
    MAKERS: (&'static str, &'static str),
}

/// The characters of a vehicle identification number: I, O and Q are excluded.
const VIN_CHARACTERS: &[u8] = b"ABCDEFGHJKLMNPRSTUVWXYZ0123456789";
/// The tenth character, by year of make from 1980 on; it repeats after 30 years.
const VIN_YEARS: &[u8; 30] = b"ABCDEFGHJKLMNPRSTVWXY123456789";

/// Returns the two digits of a mark that was issued on that day: those of the year, plus 50 from September to February. `None`
/// before such marks were issued.
pub(super) fn age_identifier(registered: NaiveDate) -> Option<u32> {
    let (year, month) = (registered.year(), registered.month());
    let identifier = match month {
        1..3 => year - 2001 + 50,
        3..9 => year - 2000,
        _ => year - 2000 + 50,
    };
    let issued = (year, month) >= (2001, 9);
    u32::try_from(identifier).ok().filter(|&digits| issued && digits < 100)
}

/// Makes a mark that a vehicle could have been given on that day; a few are from Northern Ireland, where marks show no age.
pub(super) fn registration(rng: &mut impl Rng, registered: NaiveDate) -> Option<Registration> {
    let letter = |rng: &mut _, of| char::from(*one(rng, of));
    if chance(rng, 3) {
        let (first, office) = (letter(rng, SERIALS), one(rng, &NORTHERN_IRELAND));
        return format!("{first}{office}{}", rng.random_range(1_000..10_000))
            .parse()
            .ok();
    }
    let serial: [char; 3] = std::array::from_fn(|_| letter(rng, SERIALS));
    let serial = String::from_iter(serial);
    let mark = match age_identifier(registered) {
        Some(age) => {
            let (region, office) = (letter(rng, REGIONS), letter(rng, OFFICES));
            format!("{region}{office}{age:02}{serial}")
        }
        None => {
            let day = (registered.year(), registered.month());
            let prefix = PREFIXES.iter().find(|&&(year, month, _)| day >= (year, month))?.2;
            format!("{prefix}{}{serial}", rng.random_range(1..1_000))
        }
    };
    mark.parse().ok()
}

/// Makes a vehicle identification number of 17 characters for a vehicle of that make and year. It has no check digit, which
/// Europe does not require.
pub(super) fn vin(rng: &mut impl Rng, make: &str, year: i32) -> Option<Vin> {
    let mut number = String::with_capacity(Vin::MAX_CHARS);
    match MAKERS.iter().find(|(known, _)| *known == make) {
        Some((_, prefix)) => number.push_str(prefix),
        None => {
            number.push_str("SA");
            number.extend(
                make.chars()
                    .next()
                    .filter(|letter| !"IOQ".contains(*letter))
                    .or(Some('Z')),
            );
        }
    }
    for _ in 0..6 {
        number.push(char::from(*one(rng, VIN_CHARACTERS)));
    }
    let cycle = usize::try_from((year - 1980).rem_euclid(30)).unwrap_or(0);
    number.push(char::from(VIN_YEARS[cycle]));
    number.push(char::from(*one(rng, VIN_CHARACTERS)));
    for _ in 0..6 {
        number.push(char::from(*one(rng, b"0123456789")));
    }
    number.parse().ok()
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::Xoshiro256PlusPlus};

    use super::*;

    #[test]
    fn marks_show_the_half_year_that_they_were_issued_in() {
        let identifier = |year, month| age_identifier(NaiveDate::from_ymd_opt(year, month, 1).unwrap());
        assert_eq!(identifier(2001, 8), None);
        assert_eq!(identifier(2001, 9), Some(51));
        assert_eq!(identifier(2002, 2), Some(51));
        assert_eq!(identifier(2002, 3), Some(2));
        assert_eq!(identifier(2019, 8), Some(19));
        assert_eq!(identifier(2019, 9), Some(69));
        assert_eq!(identifier(2020, 1), Some(69));
    }

    #[test]
    fn marks_have_a_british_shape() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for at in 0..1_000 {
            let day = NaiveDate::from_ymd_opt(1994 + at % 30, 5, 1).unwrap();
            let mark = registration(&mut rng, day).unwrap().to_string();
            assert!(mark.contains(' ') && mark.is_ascii(), "{mark}");
        }
    }

    #[test]
    fn numbers_have_the_form_of_the_standard() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        for make in ["Ford", "Vauxhall", "Swift", "Ifor Williams", "John Deere", ""] {
            let vin = vin(&mut rng, make, 2015).unwrap();
            assert!(vin.is_standard(), "{vin}");
            assert_eq!(vin.as_str().as_bytes()[9], b'F');
        }
        assert!(vin(&mut rng, "Ford", 2019).unwrap().as_str().starts_with("WF0"));
    }
}
