//! The representation of a lead that the API and webhooks show (contract, "Lead").

use forecourt_kernel::{ContactId, Date, LeadId, SiteId, StaffId, Timestamp, View};
use forecourt_reference::{AppliedTag, Catalogue, LeadChannel, LeadType, TagResource};
use serde::Serialize;

use crate::{AiRead, JunkConfidence, Lead, LeadData, LeadDraft, Rating};

/// A lead as it is shown: the fields of the simple view, and below `full` those that only the full one has.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Lead))]
pub struct LeadView<'a> {
    /// Lead id.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    id: LeadId,
    /// Site id; 0 means none.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    site: SiteId,
    /// The channel that the lead came in on.
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
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    contact: Option<ContactId>,
    /// What the enquiry is about.
    #[serde(rename = "type")]
    types: &'a [LeadType],
    /// Where the lead stands.
    status: StatusView,
    /// AI buying intent, 1 to 5; null when unrated.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<u8>, minimum = 1, maximum = 5))]
    rating: Option<Rating>,
    /// AI summary of the conversation, at most 12 words.
    summary: Option<&'a str>,
    /// When the lead came in, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    created: Timestamp,
    /// When the lead last changed, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    updated: Timestamp,
    #[serde(flatten)]
    #[cfg_attr(feature = "openapi", schema(inline))]
    full: Option<FullView<'a>>,
}

/// A lead's state.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LeadStatus))]
struct StatusView {
    /// 0 to 5.
    #[cfg_attr(feature = "openapi", schema(maximum = 5))]
    id: u8,
    /// new, new_message, read, replied, closed or junk.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    name: &'static str,
}

/// The fields that only the full view has.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LeadFull))]
struct FullView<'a> {
    /// Visitor session reference. Full view only.
    session: &'a str,
    /// Avatar reference. Full view only.
    avatar: &'a str,
    /// Assigned staff user ids. Full view only.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<i64>))]
    assign: &'a [StaffId],
    /// Applied tags. Full view only.
    tag: Vec<AppliedTag<'a>>,
    /// Whether the lead counts toward reports. Full view only.
    stat: bool,
    /// The day on which a closed lead reopens. Full view only.
    reopen: Option<Date>,
    /// Free-form detail: source, message, subject, url and the like. Full view only.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    data: &'a LeadData,
    /// The latest AI read; null when it has not run. Full view only.
    ai: Option<AiView<'a>>,
}

/// The latest AI read of a lead.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LeadAi))]
struct AiView<'a> {
    /// One of the ids used by `type`, or other.
    intent: Option<LeadType>,
    /// Why the rating was given.
    rating_reason: Option<&'a str>,
    /// Suggested next step.
    next_action: Option<&'a str>,
    /// Whether the latest message was judged junk.
    junk: bool,
    /// How sure that judgement is.
    junk_confidence: Option<JunkConfidence>,
    /// When the AI last ran, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    processed: Option<Timestamp>,
}

impl<'a> LeadView<'a> {
    /// `lead` as `view` shows it, its tags painted as `catalogue` says.
    pub fn new(lead: &'a Lead, view: View, catalogue: &'a Catalogue) -> Self {
        let Lead {
            id,
            reference,
            created,
            updated,
            content,
        } = lead;
        let LeadDraft {
            site,
            channel,
            name,
            email,
            phone,
            mobile,
            contact,
            types,
            status,
            rating,
            summary,
            session,
            avatar,
            assign,
            tags,
            stat,
            reopen,
            data,
            ai,
        } = content;
        let full = (view == View::Full).then(|| FullView {
            session,
            avatar,
            assign,
            tag: catalogue.applied_tags(TagResource::Lead, tags),
            stat: *stat,
            reopen: *reopen,
            data,
            ai: ai.as_ref().map(AiView::new),
        });
        Self {
            id: *id,
            site: *site,
            channel: *channel,
            reference: *reference,
            name,
            email,
            phone,
            mobile,
            contact: *contact,
            types,
            status: StatusView {
                id: status.code(),
                name: status.name(),
            },
            rating: *rating,
            summary: summary.as_deref(),
            created: *created,
            updated: *updated,
            full,
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
