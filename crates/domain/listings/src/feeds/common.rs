//! Functions that the formats share: reading a listing, and writing rows.

use std::borrow::Cow;
use std::fmt::Write as _;

use ::csv::{QuoteStyle, Terminator, WriterBuilder};
use forecourt_kernel::{Currency, Date, Money};
use serde_json::Value;
use url::Url;

use super::Missing;

/// Maximum length of an address. Google accepts 2,000 characters, and the link template adds some.
const MAX_ADDRESS_BYTES: usize = 1_980;
/// Length of a vehicle identification number (ISO 3779).
const VIN_CHARS: usize = 17;

/// Paths of the fields in a listing that the formats read. [`Missing`] names a field by the same path.
pub(super) mod field {
    pub(in super::super) const ID: &str = "id";
    pub(in super::super) const TAG: &str = "tag";
    pub(in super::super) const REGISTRATION: &str = "registration";
    pub(in super::super) const URL: &str = "url_full";
    pub(in super::super) const STATUS: &str = "status";
    pub(in super::super) const MEDIA: &str = "media";
    pub(in super::super) const CLASS: &str = "data.vehicle.type";
    pub(in super::super) const MAKE: &str = "data.vehicle.make";
    pub(in super::super) const MODEL: &str = "data.vehicle.model";
    pub(in super::super) const GENERATION: &str = "data.vehicle.generation";
    pub(in super::super) const DERIVATIVE: &str = "data.vehicle.derivative";
    pub(in super::super) const TRIM: &str = "data.vehicle.trim";
    pub(in super::super) const ENGINE_SIZE: &str = "data.vehicle.engine_size";
    pub(in super::super) const BODY: &str = "data.vehicle.body";
    pub(in super::super) const COLOUR: &str = "data.vehicle.colour";
    pub(in super::super) const COLOUR_NAME: &str = "data.vehicle.colour_name";
    pub(in super::super) const FUEL: &str = "data.vehicle.fuel";
    pub(in super::super) const TRANSMISSION: &str = "data.vehicle.transmission";
    pub(in super::super) const DRIVETRAIN: &str = "data.vehicle.drivetrain";
    pub(in super::super) const SEATS: &str = "data.vehicle.seats";
    pub(in super::super) const DOORS: &str = "data.vehicle.doors";
    pub(in super::super) const MILEAGE: &str = "data.vehicle.mileage";
    pub(in super::super) const REGISTERED: &str = "data.vehicle.registered";
    pub(in super::super) const DRIVER_POSITION: &str = "data.vehicle.driver_position";
    pub(in super::super) const UPHOLSTERY: &str = "data.vehicle.interior_upholstery";
    pub(in super::super) const INTERIOR_COLOUR: &str = "data.vehicle.interior_colour";
    pub(in super::super) const YEAR: &str = "data.history.year";
    pub(in super::super) const CONDITION: &str = "data.history.condition";
    pub(in super::super) const KEYS: &str = "data.history.keys";
    pub(in super::super) const SERVICE_HISTORY: &str = "data.history.service_history";
    pub(in super::super) const PRICE: &str = "data.stock.price_website";
    pub(in super::super) const RRP: &str = "data.stock.price_rrp";
    pub(in super::super) const VIN: &str = "data.stock.vin";
    pub(in super::super) const ATTENTION: &str = "data.option.attention";
    pub(in super::super) const DESCRIPTION: &str = "data.option.description";
    pub(in super::super) const FEATURE: &str = "data.option.feature";
    pub(in super::super) const OPTION_CUSTOM: &str = "data.option.option_custom";
    pub(in super::super) const CAPACITY: &str = "data.spec.engine.capacity";
    pub(in super::super) const BHP: &str = "data.spec.engine.bhp";
    pub(in super::super) const TORQUE: &str = "data.spec.engine.nm";
    pub(in super::super) const CO2: &str = "data.spec.fuel.emission_co2";
}

/// The availability of a vehicle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Offer {
    /// It is for sale.
    Available,
    /// A customer has reserved it.
    Reserved,
    /// It is sold, and perhaps handed over.
    Sold,
}

/// A listing, as the formats read it. A value of another type than in the contract counts as absent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item<'a>(&'a Value);

impl<'a> Item<'a> {
    pub(super) const fn new(listing: &'a Value) -> Self {
        Self(listing)
    }

    fn at(self, path: &str) -> Option<&'a Value> {
        path.split('.').try_fold(self.0, |value, name| value.get(name))
    }

    /// Returns a text on one line; `None` if it is blank.
    pub(super) fn line(self, path: &str) -> Option<String> {
        Some(line(self.at(path)?.as_str()?)).filter(|text| !text.is_empty())
    }

    /// Returns a text with its line breaks; `None` if it is blank.
    pub(super) fn paragraphs(self, path: &str) -> Option<String> {
        Some(paragraphs(self.at(path)?.as_str()?)).filter(|text| !text.is_empty())
    }

    /// Returns a whole number from 0.
    pub(super) fn integer(self, path: &str) -> Option<u64> {
        self.at(path)?.as_u64()
    }

    /// Returns a whole number from 0 as text; empty if there is none.
    pub(super) fn digits(self, path: &str) -> String {
        self.integer(path).map_or_else(String::new, |number| number.to_string())
    }

    /// Returns a figure of the data sheet above 0. Texts with a unit of their own are not numbers and are ignored.
    pub(super) fn figure(self, path: &str) -> Option<f64> {
        let figure = match self.at(path)? {
            Value::Number(number) => number.as_f64()?,
            Value::String(text) => text.trim().parse().ok()?,
            _ => return None,
        };
        (figure.is_finite() && figure > 0.0).then_some(figure)
    }

    /// Returns an amount above 0, in the dealer's currency.
    pub(super) fn money(self, path: &str) -> Option<Money> {
        let amount: Money = self.at(path)?.as_str()?.parse().ok()?;
        (amount > Money::ZERO).then_some(amount)
    }

    /// Returns an amount above 0 with its currency: `9995.00 GBP`.
    pub(super) fn price(self, path: &str, currency: Currency) -> Option<String> {
        self.money(path).map(|amount| format!("{amount} {currency}"))
    }

    /// Returns the year, if it has four digits.
    pub(super) fn year(self) -> Option<u64> {
        self.integer(field::YEAR).filter(|year| (1_000..10_000).contains(year))
    }

    /// Returns the day of first registration, YYYY-MM-DD.
    pub(super) fn registered(self) -> Option<String> {
        let day: Date = self.at(field::REGISTERED)?.as_str()?.parse().ok()?;
        Some(day.to_string())
    }

    /// Returns the vehicle identification number, if it has the standard's length. Older, shorter numbers are ignored.
    pub(super) fn vin(self) -> Option<String> {
        let vin = self.line(field::VIN)?;
        let is_whole = vin.len() == VIN_CHARS && vin.bytes().all(|byte| byte.is_ascii_alphanumeric());
        is_whole.then(|| vin.to_ascii_uppercase())
    }

    /// Returns the value of an option list, unless it stands for an unknown value.
    pub(super) fn word(self, path: &str) -> Option<String> {
        self.line(path).filter(|word| {
            !["Not Stated", "Unlisted"]
                .iter()
                .any(|none| none.eq_ignore_ascii_case(word))
        })
    }

    /// Returns `true` if the condition is new. Every other vehicle is offered as used.
    pub(super) fn is_new(self) -> bool {
        self.line(field::CONDITION)
            .is_some_and(|condition| condition.eq_ignore_ascii_case("New"))
    }

    /// Returns the mileage. A new vehicle without one has 0.
    pub(super) fn mileage(self) -> Option<u64> {
        self.integer(field::MILEAGE).or_else(|| self.is_new().then_some(0))
    }

    /// Returns the availability; `None` if the listing does not say.
    pub(super) fn offer(self) -> Option<Offer> {
        match self.at(field::STATUS)?.get("name")?.as_str()? {
            "for-sale" => Some(Offer::Available),
            "reserved" => Some(Offer::Reserved),
            "sold" | "complete" => Some(Offer::Sold),
            _ => None,
        }
    }

    /// Returns the title of the advert: year, make, model and derivative.
    pub(super) fn title(self) -> String {
        let year = self.year().map(|year| year.to_string());
        let names = [field::MAKE, field::MODEL, field::DERIVATIVE].map(|path| self.line(path));
        let parts: Vec<String> = year.into_iter().chain(names.into_iter().flatten()).collect();
        parts.join(" ")
    }

    /// Returns the plain text of the advert. Without one it is the attention line, else the title.
    pub(super) fn description(self) -> String {
        self.paragraphs(field::DESCRIPTION)
            .or_else(|| self.line(field::ATTENTION))
            .unwrap_or_else(|| self.title())
    }

    /// Returns the address of the vehicle's public page.
    pub(super) fn page(self) -> Option<String> {
        web_address(self.at(field::URL)?.as_str()?)
    }

    /// Returns the addresses of its media of a type, in the order of display.
    pub(super) fn media(self, kind: &str) -> Vec<String> {
        let media = self
            .at(field::MEDIA)
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        let mut found: Vec<_> = media
            .iter()
            .filter(|medium| medium.get("type").and_then(Value::as_str) == Some(kind))
            .filter_map(|medium| {
                let position = medium.get("position").and_then(Value::as_u64).unwrap_or(u64::MAX);
                Some((position, web_address(medium.get("url")?.as_str()?)?))
            })
            .collect();
        found.sort_by_key(|(position, _)| *position);
        found.into_iter().map(|(_, address)| address).collect()
    }

    /// Returns its equipment without duplicates: the factory options by group, then the dealer's own.
    pub(super) fn equipment(self) -> Vec<String> {
        let groups = self.at(field::FEATURE).and_then(Value::as_object);
        let factory = groups.into_iter().flat_map(|groups| groups.values());
        let mut names: Vec<String> = Vec::new();
        for list in factory.chain(self.at(field::OPTION_CUSTOM)).filter_map(Value::as_array) {
            for name in list.iter().filter_map(Value::as_str).map(line) {
                if !name.is_empty() && !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }
}

/// A collector of the fields that a feed lacks.
#[derive(Debug, Default)]
pub(super) struct Needs(Vec<Missing>);

impl Needs {
    /// Adds `field` with `reason`, unless it is there.
    pub(super) fn require(&mut self, is_there: bool, field: &str, reason: impl Into<String>) {
        if !is_there {
            self.0.push(Missing {
                field: field.to_owned(),
                reason: reason.into(),
            });
        }
    }

    pub(super) fn into_missing(self) -> Vec<Missing> {
        self.0
    }
}

/// Returns a text on one line: each run of spaces, line breaks and control characters becomes one space.
pub(super) fn line(text: &str) -> String {
    let words = text.split(|character: char| character.is_whitespace() || character.is_control());
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Returns a text with its line breaks as line feeds, and without other control characters.
fn paragraphs(text: &str) -> String {
    let unix = text.replace("\r\n", "\n").replace('\r', "\n");
    let clean = unix.replace(|character: char| character.is_control() && character != '\n', " ");
    clean.trim().to_owned()
}

/// Cuts a text to fewer than `limit` characters. One is left for the apostrophe that its cell may get.
pub(super) fn shortened(mut text: String, limit: usize) -> String {
    if let Some((end, _)) = text.char_indices().nth(limit.saturating_sub(1)) {
        text.truncate(end);
    }
    text
}

/// Returns an address on the web as RFC 3986 writes it, in ASCII. Characters that browsers allow and RFC 3986 does not are
/// escaped. `None` if it is no such address, is too long, or names a user.
pub(super) fn web_address(text: &str) -> Option<String> {
    let address = Url::parse(text).ok()?;
    let is_public = matches!(address.scheme(), "http" | "https")
        && address.has_host()
        && address.username().is_empty()
        && address.password().is_none();
    if !is_public {
        return None;
    }
    let mut escaped = String::with_capacity(address.as_str().len());
    for character in address.as_str().chars() {
        if matches!(character, '{' | '}' | '|' | '\\' | '^' | '`' | '"' | '<' | '>') {
            let _ = write!(escaped, "%{:02X}", u32::from(character));
        } else {
            escaped.push(character);
        }
    }
    (escaped.is_ascii() && escaped.len() <= MAX_ADDRESS_BYTES).then_some(escaped)
}

/// The separator of the cells of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Separator {
    /// Comma, by RFC 4180: lines end with CR LF.
    Comma,
    /// Tab; lines end with LF.
    Tab,
}

/// Writes a row. A cell that a spreadsheet would take for a formula gets an apostrophe in front.
pub(super) fn write_row<S: AsRef<str>>(separator: Separator, cells: &[S], out: &mut Vec<u8>) {
    let (delimiter, terminator) = match separator {
        Separator::Comma => (b',', Terminator::CRLF),
        Separator::Tab => (b'\t', Terminator::Any(b'\n')),
    };
    let mut writer = WriterBuilder::new()
        .delimiter(delimiter)
        .terminator(terminator)
        .quote_style(QuoteStyle::Necessary)
        .from_writer(&mut *out);
    let cells = cells.iter().map(|cell| defused(separator, cell.as_ref()));
    // Writing to memory does not fail, and a writer's only record has as many cells as all of its records.
    let _ = writer.write_record(cells.map(|cell| cell.into_owned().into_bytes()));
    let _ = writer.flush();
}

/// Writes a row of comma-separated cells by RFC 4180. A cell that a spreadsheet would take for a formula gets an apostrophe in
/// front.
pub fn write_csv_row<S: AsRef<str>>(cells: &[S], out: &mut Vec<u8>) {
    write_row(Separator::Comma, cells, out);
}

/// Returns a cell that no spreadsheet takes for a formula (OWASP, "CSV injection"). Plain numbers stay unchanged. Tab-separated
/// cells are put on one line.
fn defused(separator: Separator, cell: &str) -> Cow<'_, str> {
    let cell = match separator {
        Separator::Comma => Cow::Borrowed(cell),
        Separator::Tab => Cow::Owned(line(cell)),
    };
    // Spreadsheets in East Asian settings also read the full-width signs.
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r', '＝', '＋', '－', '＠']) && !is_number(&cell);
    if is_formula {
        Cow::Owned(format!("'{cell}"))
    } else {
        cell
    }
}

/// Returns `true` for a decimal number with or without a sign.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, part) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    [whole, part]
        .iter()
        .all(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}
