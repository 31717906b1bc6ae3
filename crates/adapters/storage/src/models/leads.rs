use diesel::define_sql_function;
use diesel::dsl::{exists, sql};
use diesel::expression::SqlLiteral;
use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};
use diesel::sqlite::Sqlite;
use forecourt_kernel::{
    BoxError, BusinessId, ContactId, LeadId, StoreError, StoreResult, Timestamp, VehicleId, Version, fold, fold_email,
};
use forecourt_leads::{Lead, LeadDraft, LeadPreview};

use super::ERASURE;
use super::changes::values;
use crate::error::other;
use crate::preview::Preview;
use crate::schema::deletions;

/// The length of a folded name in its index, in characters: less than any index's limit, and enough to distinguish any two names.
const NAME_KEY_CHARS: usize = 64;

diesel::table! {
    /// Enquiries.
    leads (business_id, id) {
        business_id -> BigInt,
        id -> BigInt,
        reference -> BigInt,
        site -> BigInt,
        channel -> Text,
        status -> Integer,
        contact -> Nullable<BigInt>,
        rating -> Nullable<Integer>,
        name_key -> Text,
        name_folded -> Text,
        email_folded -> Text,
        phone -> Nullable<Text>,
        mobile -> Nullable<Text>,
        reopens -> Nullable<BigInt>,
        suggested -> Nullable<BigInt>,
        created -> BigInt,
        updated -> BigInt,
        version -> BigInt,
        preview -> Text,
        document -> Text,
    }
}

/// The columns of a lead that are read. The document has everything but its identity and its stamps.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = leads, check_for_backend(Pg, Sqlite))]
pub(crate) struct LeadRow {
    pub(crate) id: i64,
    pub(crate) reference: i64,
    pub(crate) created: i64,
    pub(crate) updated: i64,
    pub(crate) version: i64,
    pub(crate) document: String,
    #[diesel(select_expression = names_a_deleted_contact(), select_expression_type = names_a_deleted_contact)]
    pub(crate) unlinked: bool,
    #[diesel(select_expression = associated_vehicles(), select_expression_type = SqlLiteral<Nullable<Text>>)]
    pub(crate) associated: Option<String>,
}

/// The ids of the vehicles that a lead concerns, with commas between them.
fn associated_vehicles() -> SqlLiteral<Nullable<Text>> {
    sql(
        "(SELECT string_agg(CAST(lead_vehicles.vehicle_id AS TEXT), ',' ORDER BY lead_vehicles.created, lead_vehicles.vehicle_id) \
         FROM lead_vehicles WHERE lead_vehicles.business_id = leads.business_id AND lead_vehicles.lead_id = leads.id)",
    )
}

define_sql_function! {
    /// The first of the two that is not null.
    fn coalesce(first: Nullable<BigInt>, second: Nullable<BigInt>) -> Nullable<BigInt>;
}

/// The condition that the lead still names a deleted contact, linked or suggested, which no caller may see. A lead that is linked
/// to a contact has none suggested, so at most one is looked up.
#[diesel::dsl::auto_type]
pub(crate) fn names_a_deleted_contact() -> _ {
    let erasure: i32 = ERASURE;
    exists(
        deletions::table
            .filter(deletions::business_id.eq(leads::business_id))
            .filter(deletions::kind.eq(erasure))
            .filter(
                deletions::record
                    .nullable()
                    .eq(coalesce(leads::contact, leads::suggested)),
            ),
    )
}

/// A new lead of many, but for the id that the database gives it.
#[derive(Clone, Debug, Insertable)]
#[diesel(table_name = leads, check_for_backend(Pg, Sqlite), treat_none_as_default_value = false)]
pub(crate) struct NewLeadRow {
    pub(crate) business_id: i64,
    pub(crate) reference: i64,
    pub(crate) created: i64,
    #[diesel(embed)]
    pub(crate) values: LeadValues,
    pub(crate) version: i64,
}

impl NewLeadRow {
    /// The row of `lead`, which is new.
    pub(crate) fn new(business: BusinessId, lead: &Lead) -> StoreResult<Self> {
        Ok(Self {
            business_id: business.get(),
            reference: lead.reference,
            created: lead.created.epoch_seconds(),
            values: LeadValues::new(lead)?,
            version: lead.version.number(),
        })
    }
}

values! {
    /// The columns of a lead that are written, first and at each change: the document, and beside it the columns that lists
    /// filter by and show.
    pub(crate) struct LeadValues, LeadUpdate in leads {
        site: i64,
        channel: String,
        status: i32,
        contact: Option<i64>,
        rating: Option<i32>,
        name_key: String,
        name_folded: String,
        email_folded: String,
        phone: Option<String>,
        mobile: Option<String>,
        reopens: Option<i64>,
        suggested: Option<i64>,
        updated: i64,
        preview: String,
        document: String,
    }
}

impl LeadValues {
    /// The columns of `lead`, whose id need not be known yet.
    pub(crate) fn new(lead: &Lead) -> StoreResult<Self> {
        let content = &lead.content;
        let name_folded = fold(&content.name);
        Ok(Self {
            site: content.site.get(),
            channel: content.channel.id().to_owned(),
            status: content.status.code().into(),
            contact: content.contact.map(ContactId::get),
            rating: content.rating.map(|rating| rating.get().into()),
            name_key: name_key(&name_folded),
            name_folded,
            email_folded: fold_email(&content.email),
            phone: known(&content.phone),
            mobile: known(&content.mobile),
            reopens: content.reopen.map(|day| day.midnight().epoch_seconds()),
            suggested: content.suggestion.map(|suggestion| suggestion.contact.get()),
            updated: lead.updated.epoch_seconds(),
            preview: LeadPreview::written(lead).map_err(other)?,
            document: serde_json::to_string(content).map_err(other)?,
        })
    }
}

/// Returns the number if it is known; an unknown one is not indexed.
fn known(number: &str) -> Option<String> {
    (!number.is_empty()).then(|| number.to_owned())
}

/// Returns the beginning of a folded name, by which it is found.
pub(crate) fn name_key(folded: &str) -> String {
    folded.chars().take(NAME_KEY_CHARS).collect()
}

impl TryFrom<LeadRow> for Lead {
    type Error = StoreError;

    fn try_from(row: LeadRow) -> StoreResult<Self> {
        let LeadRow {
            id,
            reference,
            created,
            updated,
            version,
            document,
            unlinked,
            associated,
        } = row;
        let mut version = Version::new(version);
        let mut content: LeadDraft = serde_json::from_str(&document)
            .map_err(|failure| StoreError::Other(BoxError::from(format!("lead {id} cannot be read: {failure}"))))?;
        if unlinked {
            content.contact = None;
            content.suggestion = None;
            version = version.shown_with(content.contact);
        }
        let lead = Self {
            id: LeadId::new(id),
            reference,
            created: Timestamp::from_epoch_seconds(created),
            updated: Timestamp::from_epoch_seconds(updated),
            version,
            content,
        };
        let ids = associated.as_deref().unwrap_or_default().split(',');
        let associated: Vec<VehicleId> = ids.filter_map(|id| id.parse().ok()).map(VehicleId::new).collect();
        Ok(lead.concerning(&associated))
    }
}

impl Preview for LeadPreview {
    type Record = Lead;

    fn stored(id: i64, text: String) -> Option<Self> {
        Self::stored(LeadId::new(id), text)
    }

    fn of(lead: Lead) -> StoreResult<Self> {
        Self::of(&lead).map_err(other)
    }

    fn id(&self) -> i64 {
        self.id().get()
    }
}
