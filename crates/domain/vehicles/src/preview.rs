//! Vehicles in the simple view, written when they change, so that a list can send them without reading them.
//!
//! A [`Placeholder`] replaces each text of the business's record, and is filled in when the preview is shown. So a changed record
//! changes the lists at once. A preview also records the fields that it was written with. If a release with other fields wrote
//! it, or it is from before [`REVISION`] went up, it is ignored and its vehicle is read instead. The next change of the vehicle
//! renews it.

use std::io;
use std::sync::LazyLock;

use forecourt_accounts::Business;
use forecourt_kernel::{ScopeSet, VehicleId, layout_mark};
use serde::Serializer;
use serde::ser::{Error as _, SerializeMap};
use serde_json::ser::Formatter;

use crate::declare::{Detail, FieldValue, ViewContext};
use crate::placeholder::{Placeholder, PreviewNotes};
use crate::view::{VehicleView, show_simple};
use crate::{Data, Vehicle};

/// Must go up when a release changes the simple view without changing the declared fields: for example another name for a state,
/// or another member beside the data. Stored previews are ignored from then on.
const REVISION: u64 = 1;

/// The separator around a placeholder. JSON as it is written here contains no line break.
const EDGE: char = '\n';

/// Writes JSON in one line, with each placeholder on a line of its own.
struct PlaceholderLines<'a> {
    notes: &'a PreviewNotes,
    in_placeholder: bool,
}

impl Formatter for PlaceholderLines<'_> {
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.in_placeholder = self.notes.is_placeholder_next.take();
        if self.in_placeholder {
            write!(writer, "{EDGE}")?;
        }
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"}")?;
        if std::mem::take(&mut self.in_placeholder) {
            write!(writer, "{EDGE}")?;
        }
        Ok(())
    }
}

/// Writes the simple view of a vehicle without its id, with placeholders. `None` if it is not the same for every caller.
fn members(vehicle: &Vehicle) -> serde_json::Result<Option<String>> {
    let notes = PreviewNotes::default();
    let mut json = Vec::new();
    let formatter = PlaceholderLines {
        notes: &notes,
        in_placeholder: false,
    };
    let mut serializer = serde_json::Serializer::with_formatter(&mut json, formatter);
    let mut members = serializer.serialize_map(None)?;
    show_simple(vehicle, &ViewContext::for_preview(Detail::Simple, &notes), &mut members)?;
    members.end()?;
    let text = String::from_utf8(json).map_err(serde_json::Error::custom)?;
    Ok(Some(text).filter(|_| !notes.withholds.get()))
}

/// The beginning of every preview that shows the same fields, by name, type and order.
static LAYOUT: LazyLock<String> = LazyLock::new(|| {
    let mut fields = String::new();
    Data::outline(
        &ViewContext::for_preview(Detail::Simple, &PreviewNotes::default()),
        &mut fields,
    );
    layout_mark(REVISION, &fields)
});

/// A vehicle of a list in the simple view.
#[derive(Clone, PartialEq, Debug)]
pub struct VehiclePreview(Source);

#[derive(Clone, PartialEq, Debug)]
enum Source {
    /// The text that was written when the vehicle last changed.
    Written { id: VehicleId, text: String },
    /// A vehicle whose text is not yet written.
    Read(Box<Vehicle>),
}

impl VehiclePreview {
    /// Returns the text to store with `vehicle`, so that a list need not read the vehicle. Its id need not be known yet. `None`
    /// if the simple view shows more to callers with certain scopes.
    ///
    /// # Errors
    /// None known: any stored vehicle can be written as JSON.
    pub fn written(vehicle: &Vehicle) -> serde_json::Result<Option<String>> {
        Ok(members(vehicle)?.map(|members| format!("{}{members}", *LAYOUT)))
    }

    /// Creates the preview of a vehicle from the `text` that [`VehiclePreview::written`] returned. `None` if a later release has
    /// changed the simple view since; then the vehicle itself must be read.
    pub fn stored(id: VehicleId, text: String) -> Option<Self> {
        text.starts_with(&*LAYOUT).then_some(Self(Source::Written { id, text }))
    }

    /// Returns `true` if it is a stored text, not the vehicle itself.
    pub const fn is_stored(&self) -> bool {
        matches!(self.0, Source::Written { .. })
    }

    /// Returns the id of the vehicle.
    pub fn id(&self) -> VehicleId {
        match &self.0 {
            Source::Written { id, .. } => *id,
            Source::Read(vehicle) => vehicle.id,
        }
    }

    /// Appends its JSON for a caller of `business` with `scopes`. The vehicle must be one of `business`.
    ///
    /// # Errors
    /// None known, if [`VehiclePreview::written`] returned the text.
    pub fn write_to(&self, business: &Business, scopes: ScopeSet, json: &mut Vec<u8>) -> serde_json::Result<()> {
        let (id, text) = match &self.0 {
            Source::Written { id, text } => (id, text),
            Source::Read(vehicle) => {
                let view = VehicleView::new(vehicle, business, Detail::Simple, scopes);
                return serde_json::to_writer(json, &view);
            }
        };
        // The members follow the brace, after which the id was left out.
        let members = text.get(LAYOUT.len() + 1..).unwrap_or_default();
        json.extend_from_slice(br#"{"id":"#);
        serde_json::to_writer(&mut *json, id)?;
        json.push(b',');
        let mut parts = members.split(EDGE);
        while let Some(plain) = parts.next() {
            json.extend_from_slice(plain.as_bytes());
            if let Some(placeholder) = parts.next() {
                let placeholder: Placeholder<'_> = serde_json::from_str(placeholder)?;
                serde_json::to_writer(&mut *json, &placeholder.text(business))?;
            }
        }
        Ok(())
    }
}

impl From<Vehicle> for VehiclePreview {
    /// Creates the preview of a vehicle that has no stored one.
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
        /// The same fields, more of them in the simple view.
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

    /// Returns the outline of `T` in the simple view, and whether a field is withheld.
    fn outline<T: FieldValue>() -> (String, bool) {
        let notes = PreviewNotes::default();
        let mut names = String::new();
        T::outline(&ViewContext::for_preview(Detail::Simple, &notes), &mut names);
        (names, notes.withholds.get())
    }

    #[test]
    fn what_is_flagged_otherwise_is_another_layout() {
        assert_eq!(outline::<Before>(), ("{one: String,}".into(), false));
        assert_eq!(outline::<Behind>(), ("{one: String,more_*: Figures,}".into(), true));
    }
}
