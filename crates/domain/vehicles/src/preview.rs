//! Vehicles in the simple view, written when they change, so that a list passes them on unread.
//!
//! A [`Placeholder`] stands for each text of the business's file, and is filled in when the preview is shown: so a changed file
//! changes the lists at once. A preview records which fields it was written with. One that was written by
//! a release with others, or before [`REVISION`] went up, is passed over, and its vehicle is read instead; the next change of
//! the vehicle renews it.

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

/// Goes up when a release shows the simple view otherwise than the one before it, although its fields are declared as before:
/// a state by another name, say, or another member beside the data. Then previews that are stored are not believed any more.
const REVISION: u64 = 1;

/// What stands before and behind a placeholder: JSON as it is written here has no line break of its own.
const EDGE: char = '\n';

/// Writes JSON in one line, but each placeholder on a line of its own.
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

/// What the simple view shows of a vehicle, except its id, with placeholders; `None` if that is not the same for every caller.
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

/// What every preview begins with that shows the same fields, by name, type and order.
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
