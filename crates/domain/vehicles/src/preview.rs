//! Vehicles in the simple view, written when they change, so that a list passes them on unread.
//!
//! What a business has words of its own for ([`Term`]) is left blank, and filled in when the preview is shown: so a changed
//! file of the business changes the lists at once. A preview records which fields it was written with. One that was written by
//! a release with others, or before [`REVISION`] went up, is passed over, and its vehicle is read instead; the next change of
//! the vehicle renews it.

use std::borrow::Cow;
use std::cell::Cell;
use std::io;
use std::sync::LazyLock;

use forecourt_accounts::Business;
use forecourt_kernel::{ScopeSet, VehicleId, layout_mark};
use serde::ser::{Error as _, SerializeMap};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::ser::Formatter;

use crate::declare::{Detail, FieldValue, ViewContext};
use crate::view::{VehicleView, show_simple};
use crate::{Data, Vehicle};

/// Goes up when a release shows the simple view otherwise than the one before it, although its fields are declared as before:
/// a state by another name, say, or another member beside the data. Then previews that are stored are not believed any more.
const REVISION: u64 = 1;

/// What stands before and behind a blank: JSON as it is written here has no line break of its own.
const EDGE: char = '\n';

/// What a business has words of its own for. This is all of a vehicle's data that is shown as the business's file says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Term<'a> {
    /// The public address of the vehicle of that slug.
    #[serde(borrow)]
    Address(Cow<'a, str>),
    /// The location of that id.
    #[serde(borrow)]
    Location(Cow<'a, str>),
}

impl Term<'_> {
    /// What `business` says for it.
    fn said_by<'a>(&'a self, business: &'a Business) -> Cow<'a, str> {
        match self {
            Self::Address(slug) => business.vehicle_address(slug).into(),
            Self::Location(id) => {
                let location = business
                    .catalogue
                    .known_locations()
                    .find(|location| location.id == **id);
                // A location that was removed before former ones were kept is shown by its id.
                location.map_or(&**id, |location| &location.name).into()
            }
        }
    }
}

/// In whose words a vehicle is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Words<'a> {
    /// In those of a business.
    Of(&'a Business),
    /// Not yet in those of a business.
    Open(&'a Notes),
}

impl Words<'_> {
    /// Notes that something is not shown which those with some scope may see.
    pub(crate) fn withhold(&self) {
        if let Self::Open(notes) = self {
            notes.withholds.set(true);
        }
    }

    /// Shows `term`.
    pub(crate) fn tell<S: Serializer>(&self, term: &Term<'_>, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Of(business) => serializer.serialize_str(&term.said_by(business)),
            Self::Open(notes) => {
                notes.leaves_blank.set(true);
                term.serialize(serializer)
            }
        }
    }
}

/// What there is to know of a preview that is being written.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// Whether a blank comes next.
    leaves_blank: Cell<bool>,
    /// Whether it lacks something which those with some scope may see.
    withholds: Cell<bool>,
}

/// Writes JSON in one line, but each blank on a line of its own.
struct Blanks<'a> {
    notes: &'a Notes,
    in_blank: bool,
}

impl Formatter for Blanks<'_> {
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.in_blank = self.notes.leaves_blank.take();
        if self.in_blank {
            write!(writer, "{EDGE}")?;
        }
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"}")?;
        if std::mem::take(&mut self.in_blank) {
            write!(writer, "{EDGE}")?;
        }
        Ok(())
    }
}

/// What the simple view shows of a vehicle, except its id, with blanks; `None` if that is not the same for every caller.
fn members(vehicle: &Vehicle) -> serde_json::Result<Option<String>> {
    let notes = Notes::default();
    let mut json = Vec::new();
    let blanks = Blanks {
        notes: &notes,
        in_blank: false,
    };
    let mut serializer = serde_json::Serializer::with_formatter(&mut json, blanks);
    let mut members = serializer.serialize_map(None)?;
    show_simple(vehicle, &ViewContext::open(Detail::Simple, &notes), &mut members)?;
    members.end()?;
    let text = String::from_utf8(json).map_err(serde_json::Error::custom)?;
    Ok(Some(text).filter(|_| !notes.withholds.get()))
}

/// What every preview begins with that shows the same fields, by name, type and order.
static LAYOUT: LazyLock<String> = LazyLock::new(|| {
    let mut fields = String::new();
    Data::outline(&ViewContext::open(Detail::Simple, &Notes::default()), &mut fields);
    layout_mark(REVISION, &fields)
});

/// A vehicle of a list in the simple view.
#[derive(Clone, PartialEq, Debug)]
pub struct VehiclePreview(Source);

#[derive(Clone, PartialEq, Debug)]
enum Source {
    /// As it was written when the vehicle last changed.
    Written { id: VehicleId, text: String },
    /// To be written now.
    Read(Box<Vehicle>),
}

impl VehiclePreview {
    /// What to store beside `vehicle`, whose id need not be known yet, so that a list need not read it. `None` if the simple
    /// view shows more to callers with some scope.
    ///
    /// # Errors
    /// None are known: any stored vehicle can be written as JSON.
    pub fn written(vehicle: &Vehicle) -> serde_json::Result<Option<String>> {
        Ok(members(vehicle)?.map(|members| format!("{}{members}", *LAYOUT)))
    }

    /// The vehicle for which [`VehiclePreview::written`] gave `text`. `None` if the simple view was another one then, which
    /// a later release has changed: now the vehicle itself has to be read.
    pub fn stored(id: VehicleId, text: String) -> Option<Self> {
        text.starts_with(&*LAYOUT).then_some(Self(Source::Written { id, text }))
    }

    /// Whether it is one that was stored, and not the vehicle itself.
    pub const fn is_stored(&self) -> bool {
        matches!(self.0, Source::Written { .. })
    }

    /// Which vehicle it is.
    pub fn id(&self) -> VehicleId {
        match &self.0 {
            Source::Written { id, .. } => *id,
            Source::Read(vehicle) => vehicle.id,
        }
    }

    /// Appends its JSON, as `business`, whose vehicle it is, shows it to a caller with `scopes`.
    ///
    /// # Errors
    /// None are known, if the text is one that [`VehiclePreview::written`] gave.
    pub fn write_to(&self, business: &Business, scopes: ScopeSet, json: &mut Vec<u8>) -> serde_json::Result<()> {
        let (id, text) = match &self.0 {
            Source::Written { id, text } => (id, text),
            Source::Read(vehicle) => {
                let view = VehicleView::new(vehicle, business, Detail::Simple, scopes);
                return serde_json::to_writer(json, &view);
            }
        };
        // Behind the brace, where the id was left out.
        let members = text.get(LAYOUT.len() + 1..).unwrap_or_default();
        json.extend_from_slice(br#"{"id":"#);
        json.extend_from_slice(id.to_string().as_bytes());
        json.push(b',');
        let mut parts = members.split(EDGE);
        while let Some(told) = parts.next() {
            json.extend_from_slice(told.as_bytes());
            if let Some(blank) = parts.next() {
                let term: Term<'_> = serde_json::from_str(blank)?;
                serde_json::to_writer(&mut *json, &term.said_by(business))?;
            }
        }
        Ok(())
    }
}

impl From<Vehicle> for VehiclePreview {
    /// A vehicle of which no preview was stored.
    fn from(vehicle: Vehicle) -> Self {
        Self(Source::Read(Box::new(vehicle)))
    }
}

#[cfg(test)]
#[expect(unreachable_pub, reason = "sections are public wherever they are declared")]
mod tests {
    use super::*;
    use crate::Figures;
    use crate::declare::section;

    section! {
        /// Some fields.
        pub struct Before: BeforePatch {
            /// One.
            one: String, simple;
            /// Another.
            other: String;
            /// Figures of which there are none.
            more as "more_*": Figures;
            /// Shown to few callers.
            secret: String, pricing;
        }
    }

    section! {
        /// The same, of which the simple view shows more.
        pub struct Behind: BehindPatch {
            /// One.
            one: String, simple;
            /// Another.
            other: String;
            /// Figures of which there are none.
            more as "more_*": Figures, simple;
            /// Shown to few callers.
            secret: String, pricing, simple;
        }
    }

    /// The outline of `T` in the simple view, and whether that withholds something.
    fn outline<T: FieldValue>() -> (String, bool) {
        let notes = Notes::default();
        let mut names = String::new();
        T::outline(&ViewContext::open(Detail::Simple, &notes), &mut names);
        (names, notes.withholds.get())
    }

    #[test]
    fn what_is_flagged_otherwise_is_another_layout() {
        assert_eq!(outline::<Before>(), ("{one: String,}".into(), false));
        assert_eq!(outline::<Behind>(), ("{one: String,more_*: Figures,}".into(), true));
    }
}
