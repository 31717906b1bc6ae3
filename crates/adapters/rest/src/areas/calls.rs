//! Calls over HTTP (decisions §10.10).

use forecourt_accounts::{Shown, ShownRecord};
use forecourt_calls::{
    self as calls, Call as CallRecord, CallChanges, CallDirection, CallError, CallFilter, CallId, CallOutcome,
    CallView, FullCall, NewCall, Reported,
};
use forecourt_dealership::Session;
use forecourt_kernel::{ContactId, LeadId, ListName, Phone, SiteId, StaffId, Target, VehicleId, View};
use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

use crate::{
    areas::{Area, EventRecord},
    call::Call,
    code::{Code, codes},
    conditional::RecordState,
    error::ApiError,
    list::{PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{ListRenderingParameters, PageParameters, RenderingParameters, filters, parameters},
    record::Personal,
    reply::{Answer, Deleted, Envelope, Reply},
    schemas::MomentRange,
    validated::ParsedBody,
};

pub(super) const AREA: Area = Area {
    tag: "calls",
    about: "What the telephone system reports, matched to people",
    operations,
    codes: CODES,
    records: &[EventRecord {
        resource: "call",
        schema: "CallEvent",
        example: calls::example_call,
    }],
};

const LIST: ListName = ListName::new("calls");

codes! {
    CODES;
    CALL_NOT_FOUND = NOT_FOUND, "call_not_found" {
        meaning: "The business has no such call.",
        cause: "The id is wrong, the call was deleted or is older than the business keeps calls, or it belongs to another business.",
        remedy: "Look the call up with `GET /2.0/calls`, and forget ids that answer 404.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_calls> list_calls,
        self::<__path_report_call> report_call { may_change: true },
        self::<__path_read_call> read_call,
        self::<__path_update_call> update_call,
        self::<__path_delete_call> delete_call,
    ])
}

/// List calls
///
/// Newest first.
#[utoipa::path(get, path = "/2.0/calls", tag = "calls", security(("bearer" = ["calls:read"])),
    params(FilterParameters, PageParameters, ListRenderingParameters),
    responses((status = 200, description = "A page of calls", body = PageEnvelope<CallView<'static>>)))]
async fn list_calls(call: Call) -> Result<Answer, ApiError> {
    let (filter, list) = call.filtered_list(LIST, View::Simple, FilterParameters::read)?;
    list.answer(
        call,
        RecordSize::Large,
        async move |session, call, page| calls::list_calls(session, &call.caller, &filter, page).await,
        |item, call| item.show(&CallView::of(call, item.view)),
    )
    .await
}

/// Report a call
///
/// A call whose `provider` and `external_id` are those of a stored call changes that one, and answers 200 without a `Location`:
/// telephone systems report one call several times. `If-Match` then names that call's version.
#[utoipa::path(post, path = "/2.0/calls", tag = "calls", security(("bearer" = ["calls:write"])), request_body = NewCallBody,
    responses((status = 200, description = "The call, which was known", body = Envelope<FullCall<'static>>),
        (status = 201, description = "The call that was created", body = Envelope<FullCall<'static>>)))]
async fn report_call(call: Call) -> Result<Reply, ApiError> {
    let body = call
        .read_body(|reported: NewCall, rules| {
            let errors = reported.faults(rules);
            Ok(ParsedBody::new(reported, errors))
        })
        .await;
    let reported = call
        .validated(body, async |session, NewCall(changes)| {
            Ok(calls::validate_call_references(session, &call.caller, changes).await?)
        })
        .await;
    call.write(reported, async |session: &mut dyn Session, reported| {
        let (clock, precondition) = (call.clock().as_ref(), &call.precondition);
        match calls::report_call(session, clock, &call.caller, precondition, reported).await? {
            Reported::Created(created) => call.created(&created),
            Reported::Known(known) => call.ok(&known),
        }
    })
    .await
}

/// Read a call
#[utoipa::path(get, path = "/2.0/calls/{id}", tag = "calls", security(("bearer" = ["calls:read"])), params(IdParameter, RenderingParameters),
    responses((status = 200, description = "The call", body = Envelope<CallView<'static>>),
        (status = 404, description = "`call_not_found`")))]
async fn read_call(call: Call) -> Result<Reply, ApiError> {
    let rendering = call.rendering()?;
    let id = call.id(Code::CALL_NOT_FOUND)?;

    let mut session = call.read().await?;
    let found = calls::read_call(session.as_mut(), &call.caller, id).await?;
    let state = RecordState {
        version: found.version,
        updated: found.updated,
    };
    call.record(state, &rendering, &CallView::of(&found, rendering.view))
}

/// Change a call
///
/// Only the supplied fields change.
#[utoipa::path(patch, path = "/2.0/calls/{id}", tag = "calls", security(("bearer" = ["calls:write"])), params(IdParameter),
    request_body = CallChanges, responses((status = 200, description = "The call", body = Envelope<FullCall<'static>>),
        (status = 404, description = "`call_not_found`")))]
async fn update_call(call: Call) -> Result<Reply, ApiError> {
    let body = call
        .read_body(|changes: CallChanges, rules| {
            let errors = changes.all_faults(rules);
            Ok(ParsedBody::new(changes, errors))
        })
        .await;
    let changes = call
        .validated(body, async |session, changes| {
            Ok(calls::validate_call_references(session, &call.caller, changes).await?)
        })
        .await;
    call.write(changes, async |session: &mut dyn Session, changes| {
        let id: Target<CallId> = call.target(Code::CALL_NOT_FOUND)?;
        let changed = calls::update_call(session, call.clock().as_ref(), &call.caller, id, changes).await?;
        call.ok(&changed)
    })
    .await
}

/// Delete a call
#[utoipa::path(delete, path = "/2.0/calls/{id}", tag = "calls", security(("bearer" = ["calls:delete"])), params(IdParameter),
    responses((status = 200, description = "The call is gone", body = Envelope<Deleted>),
        (status = 404, description = "`call_not_found`")))]
async fn delete_call(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let target: Target<CallId> = call.target(Code::CALL_NOT_FOUND)?;
        let id = target.id;
        calls::delete_call(session, &call.caller, target).await?;
        Reply::deleted(id.get())
    })
    .await
}

impl Personal for CallRecord {
    type View<'a> = FullCall<'a>;

    fn view<'a>(&'a self, _: &'a Call) -> FullCall<'a> {
        FullCall::from(self)
    }

    fn shown(&self) -> Shown {
        Shown {
            contact: self.content.contact,
            record: Some(ShownRecord::Call(self.id)),
        }
    }
}

impl From<CallError> for ApiError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::NotFound(_) => Self::new(Code::CALL_NOT_FOUND, "this business has no such call"),
            CallError::Invalid(errors) => errors.into(),
            CallError::VersionMismatch(mismatch) => mismatch.into(),
            CallError::Store(error) => error.into(),
        }
    }
}

parameters! {
    path IdParameter;

    /// Call id.
    id: i64;
}

filters! {
    FilterParameters => CallFilter;

    /// Of this site.
    site: SiteId;
    /// In this direction.
    direction: CallDirection;
    /// With this outcome.
    outcome: CallOutcome;
    /// With this contact.
    contact: ContactId;
    /// About this lead.
    lead: LeadId;
    /// About this vehicle.
    vehicle: VehicleId;
    /// Of this staff user.
    staff: StaffId;
    /// From this number, in any usual spelling.
    from: Phone;
    /// To this number, in any usual spelling.
    to: Phone;
    /// From or to this number, in any usual spelling.
    number: Phone;
    /// Reported by this telephone system.
    provider: String;
    /// With this id of a telephone system.
    external_id: String;
    /// Of this number or campaign.
    tracking: String;
    /// Began between these two moments, both included; an empty one leaves that end open. `started=…` is just this moment.
    started: MomentRange;
    /// Made between these two moments, both included; an empty one leaves that end open. `created=…` is just this moment.
    created: MomentRange;
    /// Last changed between these two moments, both included; an empty one leaves that end open. `updated=…` is just this
    /// moment.
    updated: MomentRange;
}

/// A call to be created: [`CallChanges`] with a direction and the moment at which it began.
enum NewCallBody {}

impl PartialSchema for NewCallBody {
    fn schema() -> RefOr<Schema> {
        let mut schema = CallChanges::schema();
        if let RefOr::T(Schema::Object(body)) = &mut schema {
            body.required.extend(["direction", "started"].map(str::to_owned));
            body.description = Some("A call to be created.".to_owned());
            body.example = Some(an_example());
        }
        schema
    }
}

impl ToSchema for NewCallBody {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        CallChanges::schemas(schemas);
    }
}

fn an_example() -> Value {
    json!({
        "direction": "in",
        "from": "+447700900123",
        "to": "+441132000000",
        "started": 1_767_225_600,
        "ended": 1_767_225_625,
        "outcome": "missed",
        "provider": "switchboard",
        "tracking": "spring-sale",
    })
}
