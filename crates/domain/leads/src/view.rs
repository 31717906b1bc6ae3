//! The representation of a lead in the API and webhooks (contract, "Lead").

use std::sync::LazyLock;

use forecourt_kernel::{ContactId, Date, LeadId, SiteId, StaffId, Timestamp, VehicleId, Version, View, layout_mark};
use forecourt_reference::{AppliedTag, Catalogue, LeadChannel, LeadType, TagResource};
use serde::Serialize;

use crate::data::{Added, AddedData, ShownData};
use crate::{AiRead, JunkConfidence, Lead, LeadDraft, Rating};

/// A lead in one of its views.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum LeadView<'a> {
    /// The fields that a list needs.
    Simple(SimpleLead<'a>),
    /// Every field.
    Full(Box<FullLead<'a>>),
}

/// A lead in the simple view.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SimpleLead))]
pub struct SimpleLead<'a> {
    /// Lead id.
    // First, because a preview is composed of the id and the rest.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: LeadId,
    /// Site id; 0 means none.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    site: SiteId,
    /// The channel of the enquiry.
    channel: LeadChannel,
    /// Lead reference number: 1, 2, 3 … within the business.
    reference: i64,
    /// Name.
    name: &'a str,
    /// Email address.
    email: &'a str,
    /// Landline in E.164.
    phone: &'a str,
    /// Mobile in E.164.
    mobile: &'a str,
    /// Linked contact id.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    contact: Option<ContactId>,
    /// The subject of the enquiry.
    #[serde(rename = "type")]
    types: &'a [LeadType],
    /// Status of the lead.
    status: StatusView,
    /// AI buying intent, 1 to 5; null when unrated.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u8>, required, minimum = 1, maximum = 5))]
    rating: Option<Rating>,
    /// AI summary of the conversation, at most 12 words.
    #[cfg_attr(feature = "openapi", schema(required))]
    summary: Option<&'a str>,
    /// Time of creation, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// Time of the last change, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    updated: Timestamp,
}

/// Status of a lead.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LeadStatus))]
struct StatusView {
    /// 0 to 5.
    #[cfg_attr(feature = "openapi", schema(maximum = 5))]
    id: u8,
    /// Name of the status.
    #[cfg_attr(feature = "openapi", schema(schema_with = status_name_schema))]
    name: &'static str,
}

#[cfg(feature = "openapi")]
fn status_name_schema() -> utoipa::openapi::schema::ObjectBuilder {
    utoipa::openapi::ObjectBuilder::new()
        .schema_type(utoipa::openapi::Type::String)
        .enum_values(Some(crate::LeadStatus::ALL.map(crate::LeadStatus::name)))
        .description(Some("What it is called."))
}

/// A lead in the full view.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Lead))]
pub struct FullLead<'a> {
    #[serde(flatten)]
    simple: SimpleLead<'a>,
    /// Raised by one with each change, from 1.
    #[cfg_attr(feature = "openapi", schema(value_type = i64, minimum = 1))]
    version: Version,
    /// Visitor session reference.
    session: &'a str,
    /// Avatar reference.
    avatar: &'a str,
    /// Assigned staff user ids.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<i64>))]
    assign: &'a [StaffId],
    /// Applied tags.
    tag: Vec<AppliedTag<'a>>,
    /// True if the lead counts toward reports.
    stat: bool,
    /// The day on which a closed lead reopens.
    #[cfg_attr(feature = "openapi", schema(required))]
    reopen: Option<Date>,
    /// Ids of the vehicles that the lead concerns, in the order in which they were associated.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<i64>))]
    vehicles: &'a [VehicleId],
    /// Free-form data: source, message, subject, url and the like. The server adds three members. `vehicle` is the first of
    /// `vehicles` or null, unless a caller has written this member. `junk` is `{by, at, confidence}` with `by` ai or user while
    /// the lead is junk, and null otherwise. `contact_suggestion` is `{contact, by}`. It is present if the lead names no contact
    /// and exactly one contact has its email, mobile or phone (`by`).
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    data: ShownData<'a>,
    /// The latest AI read; null when it has not run.
    #[cfg_attr(feature = "openapi", schema(required))]
    ai: Option<AiView<'a>>,
}

/// The latest AI read of a lead.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LeadAi))]
struct AiView<'a> {
    /// One of the ids used by `type`, or other.
    #[cfg_attr(feature = "openapi", schema(required))]
    intent: Option<LeadType>,
    /// The reason for the rating.
    #[cfg_attr(feature = "openapi", schema(required))]
    rating_reason: Option<&'a str>,
    /// Suggested next step.
    #[cfg_attr(feature = "openapi", schema(required))]
    next_action: Option<&'a str>,
    /// True if the latest message was found to be junk.
    junk: bool,
    /// The confidence of `junk`.
    #[cfg_attr(feature = "openapi", schema(required))]
    junk_confidence: Option<JunkConfidence>,
    /// Time of the latest AI read, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    processed: Option<Timestamp>,
}

impl<'a> LeadView<'a> {
    /// Shows `lead` in `view`. The colours and types of its tags are taken from `catalogue`.
    pub fn new(lead: &'a Lead, view: View, catalogue: &'a Catalogue) -> Self {
        match view {
            View::Simple => Self::Simple(SimpleLead::new(lead)),
            View::Full => Self::Full(Box::new(FullLead::new(lead, catalogue))),
        }
    }
}

/// The beginning of the simple view of a lead without an id.
const BEFORE_MEMBERS: &str = r#"{"id":0,"#;

/// Raised when a release shows the simple view differently although its fields are the same, for example with another name of a
/// status. Stored previews of earlier revisions are then ignored.
const REVISION: u64 = 1;

/// The beginning of every stored preview that shows the same fields.
static LAYOUT: LazyLock<String> = LazyLock::new(|| {
    let outline = SimpleLead {
        id: LeadId::new(0),
        site: SiteId::new(0),
        channel: LeadChannel::Sms,
        reference: 0,
        name: "",
        email: "",
        phone: "",
        mobile: "",
        contact: None,
        types: &[],
        status: StatusView { id: 0, name: "" },
        rating: None,
        summary: None,
        created: Timestamp::from_epoch_seconds(0),
        updated: Timestamp::from_epoch_seconds(0),
    };
    layout_mark(REVISION, &serde_json::to_string(&outline).unwrap_or_default())
});

/// A lead in the simple view, as it was written when the lead last changed. Lists pass it on without parsing it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeadPreview {
    id: LeadId,
    /// The result of [`LeadPreview::written`].
    text: String,
}

impl LeadPreview {
    /// Returns the preview to store with `lead`, so that a list need not read the lead. The lead's id need not be known yet.
    ///
    /// # Errors
    /// No cause is known: any lead can be written as JSON.
    pub fn written(lead: &Lead) -> serde_json::Result<String> {
        let without_id = SimpleLead {
            id: LeadId::new(0),
            ..SimpleLead::new(lead)
        };
        let mut text = serde_json::to_string(&without_id)?;
        text.pop();
        text.replace_range(..BEFORE_MEMBERS.len(), &LAYOUT);
        Ok(text)
    }

    /// Wraps the stored `text` of [`LeadPreview::written`]. `None` if it was written by a release with a different simple view;
    /// then the lead itself has to be read.
    pub fn stored(id: LeadId, text: String) -> Option<Self> {
        text.starts_with(&*LAYOUT).then_some(Self { id, text })
    }

    /// Shows `lead` in the simple view.
    ///
    /// # Errors
    /// No cause is known.
    pub fn of(lead: &Lead) -> serde_json::Result<Self> {
        Ok(Self {
            id: lead.id,
            text: Self::written(lead)?,
        })
    }

    /// The lead's id.
    pub const fn id(&self) -> LeadId {
        self.id
    }

    /// Appends the preview's JSON.
    ///
    /// # Errors
    /// No cause is known.
    pub fn write_to(&self, json: &mut Vec<u8>) -> serde_json::Result<()> {
        let members = self.text.get(LAYOUT.len()..).unwrap_or_default();
        json.extend_from_slice(br#"{"id":"#);
        serde_json::to_writer(&mut *json, &self.id)?;
        json.push(b',');
        json.extend_from_slice(members.as_bytes());
        json.push(b'}');
        Ok(())
    }
}

impl<'a> SimpleLead<'a> {
    fn new(lead: &'a Lead) -> Self {
        let Lead {
            id,
            reference,
            created,
            updated,
            version: _,
            content,
        } = lead;
        Self {
            id: *id,
            site: content.site,
            channel: content.channel,
            reference: *reference,
            name: &content.name,
            email: &content.email,
            phone: &content.phone,
            mobile: &content.mobile,
            contact: content.contact,
            types: &content.types,
            status: StatusView {
                id: content.status.code(),
                name: content.status.name(),
            },
            rating: content.rating,
            summary: content.summary.as_deref(),
            created: *created,
            updated: *updated,
        }
    }
}

impl<'a> FullLead<'a> {
    /// Shows all fields of `lead`. The colours and types of its tags are taken from `catalogue`.
    pub fn new(lead: &'a Lead, catalogue: &'a Catalogue) -> Self {
        // Every field is named, so that a new field does not compile until it has its place here or in the simple view.
        let LeadDraft {
            site: _,
            channel: _,
            name: _,
            email: _,
            phone: _,
            mobile: _,
            contact: _,
            types: _,
            status: _,
            rating: _,
            summary: _,
            session,
            avatar,
            assign,
            tags,
            stat,
            reopen,
            data,
            ai,
            suggestion,
            vehicles,
            junk: _,
            answered: _,
        } = &lead.content;
        let added = AddedData {
            vehicle: Added::Vehicle(vehicles.first().copied()),
            junk: lead.junk_mark(),
            contact_suggestion: *suggestion,
        };
        Self {
            simple: SimpleLead::new(lead),
            version: lead.version,
            session,
            avatar,
            assign,
            tag: catalogue.applied_tags(TagResource::Lead, tags),
            stat: *stat,
            reopen: *reopen,
            vehicles,
            data: data.shown_with(added),
            ai: ai.as_ref().map(AiView::new),
        }
    }
}

impl<'a> AiView<'a> {
    fn new(read: &'a AiRead) -> Self {
        let AiRead {
            intent,
            rating_reason,
            next_action,
            junk,
            junk_confidence,
            processed,
        } = read;
        Self {
            intent: *intent,
            rating_reason: rating_reason.as_deref(),
            next_action: next_action.as_deref(),
            junk: *junk,
            junk_confidence: *junk_confidence,
            processed: *processed,
        }
    }
}

/// Uses "any of", because a full lead is a simple one too. A derive would use "one of".
#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for LeadView<'_> {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::{Ref, schema::AnyOfBuilder};
        let views = ["Lead", "SimpleLead"].map(Ref::from_schema_name);
        let views = views.into_iter().fold(AnyOfBuilder::new(), AnyOfBuilder::item);
        utoipa::openapi::Schema::AnyOf(views.build()).into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for LeadView<'_> {
    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
        use utoipa::PartialSchema;
        schemas.push(("Lead".to_owned(), FullLead::schema()));
        schemas.push(("SimpleLead".to_owned(), SimpleLead::schema()));
        <FullLead<'_> as utoipa::ToSchema>::schemas(schemas);
        <SimpleLead<'_> as utoipa::ToSchema>::schemas(schemas);
    }
}

/// An example of a lead in an event, for the documentation.
#[cfg(feature = "openapi")]
pub fn example_lead() -> serde_json::Value {
    serde_json::json!({
        "id": 1042,
        "site": 0,
        "channel": "website",
        "reference": 17,
        "name": "Ann Smith",
        "email": "ann@example.com",
        "phone": "",
        "mobile": "+447700900123",
        "contact": null,
        "type": ["test_drive"],
        "status": {"id": 0, "name": "new"},
        "rating": null,
        "summary": null,
        "created": 1_767_225_600,
        "updated": 1_767_225_600,
        "version": 1,
        "session": "",
        "avatar": "",
        "assign": [],
        "tag": [],
        "stat": true,
        "reopen": null,
        "vehicles": [73],
        "data": {"message": "Is it still there? I would like to drive it on Saturday.", "vehicle": 73, "junk": null},
        "ai": null
    })
}
