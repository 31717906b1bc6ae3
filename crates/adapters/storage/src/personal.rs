//! The register of people's data.
//!
//! It names every place of the database, the files and the logs that can hold a person, with how it is exported and erased. Each
//! area declares its own tables, beside its store. A test holds the whole register against the schemas of both engines, the
//! events and the file stores.

/// A table of the database: each of its columns stands in one of the two lists.
#[derive(Clone, Copy, Debug)]
pub struct PersonalTable {
    /// The table's name.
    pub table: &'static str,
    /// The columns that can hold a person's data.
    pub personal: &'static [Held],
    /// The columns that cannot: ids, stamps, figures, and words of lists.
    pub impersonal: &'static [&'static str],
}

/// A place that can hold a person's data.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// The column, or the place's name.
    pub place: &'static str,
    /// The way in which a contact's export shows it.
    pub export: Export,
    /// The effect of a contact's erasure on it.
    pub erasure: Erasure,
}

/// The way in which a contact's export shows a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Export {
    /// In this member.
    Member(&'static str),
    /// Not at all, for this reason.
    Withheld(&'static str),
}

/// The effect of a contact's erasure on a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Erasure {
    /// It is deleted, with its row or its file.
    Deleted,
    /// It is emptied where it is the person's own.
    Cleared,
    /// The person is taken out of the text.
    Redacted,
    /// It is encrypted, and emptied by the number of the record that it shows.
    Sealed,
    /// It is a digest that cannot be computed without the server's secret key.
    Keyed,
    /// It follows from another place, and is written anew with it.
    Derived,
    /// It stays, for this reason.
    Kept(&'static str),
}

/// Declares a table.
pub(crate) const fn table(
    table: &'static str,
    personal: &'static [Held],
    impersonal: &'static [&'static str],
) -> PersonalTable {
    PersonalTable {
        table,
        personal,
        impersonal,
    }
}

/// Declares a place that a member of the export shows.
pub(crate) const fn held(place: &'static str, member: &'static str, erasure: Erasure) -> Held {
    Held {
        place,
        export: Export::Member(member),
        erasure,
    }
}

/// Declares a place that the export leaves out, and says why.
pub(crate) const fn withheld(place: &'static str, reason: &'static str, erasure: Erasure) -> Held {
    Held {
        place,
        export: Export::Withheld(reason),
        erasure,
    }
}

/// The resources whose events can show a person, and the part of these that an erasure leaves: an event keeps its number, name
/// and stamps.
pub const EVENTS: &[Held] = &[
    held("contact", "events", Erasure::Cleared),
    held("lead", "leads", Erasure::Redacted),
    held("vehicle", "vehicles", Erasure::Redacted),
    held("invoice", "invoices", Erasure::Redacted),
    held("order", "orders", Erasure::Redacted),
    held("review", "reviews", Erasure::Redacted),
    held("call", "calls", Erasure::Redacted),
    withheld("blog", "written for publication", Erasure::Redacted),
    held("appointment", "appointments", Erasure::Redacted),
    held("purchase", "purchases", Erasure::Redacted),
    held("deal", "deals", Erasure::Redacted),
    withheld("vehicle_job", "work on a vehicle of the dealership", Erasure::Redacted),
];

/// The operations that take files in, and the part of these files that an erasure leaves.
pub const UPLOADS: &[Held] = &[
    held("/2.0/vehicles/{id}/test-drives/photo", "drives", Erasure::Deleted),
    held(
        "/2.0/vehicles/{id}/documents",
        "documents",
        Erasure::Kept("it belongs to the vehicle; its name and description are redacted"),
    ),
    withheld(
        "/2.0/vehicles/{id}/jobs/{job_id}/documents",
        "work on a vehicle of the dealership",
        Erasure::Kept("it belongs to the vehicle; its name and description are redacted"),
    ),
    withheld(
        "/2.0/vehicles/{id}/media",
        "pictures of the vehicle",
        Erasure::Kept("pictures of the vehicle"),
    ),
];

/// The places outside of the database and the file store.
pub const OUTSIDE: &[Held] = &[
    withheld("<data folder>/mail/*.eml", "sent already", Erasure::Deleted),
    withheld("log", "it names no person", Erasure::Kept("it names no person")),
];
