//! Reviews over HTTP (contract, "Reviews").

use forecourt_dealership::Session;
use forecourt_kernel::{ListName, Target, TextFilter, View};
use forecourt_reviews::{
    self as reviews, FullReview, ReviewChanges, ReviewError, ReviewFilter, ReviewId, ReviewStatus, ReviewView,
};

use crate::{
    areas::{Area, EventRecord},
    call::Call,
    code::{Code, codes},
    conditional::RecordState,
    error::ApiError,
    list::{PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{Flag, ListRenderingParameters, PageParameters, RenderingParameters, filters, parameters},
    reply::{Answer, Deleted, Envelope, Reply},
    schemas::MomentRange,
};

pub(super) const AREA: Area = Area {
    tag: "reviews",
    about: "What customers say of the dealership",
    operations,
    codes: CODES,
    records: &[EventRecord {
        resource: "review",
        schema: "Review",
        example: reviews::example_review,
    }],
};

const LIST: ListName = ListName::new("reviews");

codes! {
    CODES;
    REVIEW_NOT_FOUND = NOT_FOUND, "review_not_found" {
        meaning: "The business has no such review.",
        cause: "The id is wrong, the review was deleted, or it belongs to another business.",
        remedy: "Look the review up with `GET /2.0/reviews`, and forget ids that answer 404.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_reviews> list_reviews,
        self::<__path_create_review> create_review,
        self::<__path_read_review> read_review,
        self::<__path_update_review> update_review,
        self::<__path_delete_review> delete_review,
    ])
}

/// List reviews
///
/// Newest first; pending ones are included.
#[utoipa::path(get, path = "/2.0/reviews", tag = "reviews", security(("bearer" = ["reviews:read"])),
    params(FilterParameters, PageParameters, ListRenderingParameters),
    responses((status = 200, description = "A page of reviews", body = PageEnvelope<ReviewView<'static>>)))]
async fn list_reviews(call: Call) -> Result<Answer, ApiError> {
    let (filter, list) = call.filtered_list(LIST, View::Simple, FilterParameters::read)?;
    list.answer(
        call,
        RecordSize::Large,
        async move |session, call, page| reviews::list_reviews(session, &call.caller, &filter, page).await,
        |item, review| item.show(&ReviewView::of(review, item.view)),
    )
    .await
}

/// Create a review
#[utoipa::path(post, path = "/2.0/reviews", tag = "reviews", security(("bearer" = ["reviews:write"])), request_body = ReviewChanges,
    responses((status = 201, description = "The review that was created", body = Envelope<FullReview<'static>>)))]
async fn create_review(call: Call) -> Result<Reply, ApiError> {
    let changes = call
        .valid(|review: &ReviewChanges, rules| review.faults_at(rules.now))
        .await;
    call.write(changes, async |session: &mut dyn Session, changes| {
        let review = reviews::create_review(session, call.clock().as_ref(), &call.caller, changes).await?;
        Reply::created(&FullReview::from(&review))
    })
    .await
}

/// Read a review
#[utoipa::path(get, path = "/2.0/reviews/{id}", tag = "reviews", security(("bearer" = ["reviews:read"])), params(IdParameter, RenderingParameters),
    responses((status = 200, description = "The review", body = Envelope<ReviewView<'static>>),
        (status = 404, description = "`review_not_found`")))]
async fn read_review(call: Call) -> Result<Reply, ApiError> {
    let rendering = call.rendering()?;
    let id = call.id(Code::REVIEW_NOT_FOUND)?;

    let mut session = call.read().await?;
    let review = reviews::read_review(session.as_mut(), &call.caller, id).await?;
    let state = RecordState {
        version: review.version,
        updated: review.updated,
    };
    call.record(state, &rendering, &ReviewView::of(&review, rendering.view))
}

/// Change a review
///
/// Only the supplied fields change. `status` approves it or withdraws the approval.
#[utoipa::path(patch, path = "/2.0/reviews/{id}", tag = "reviews", security(("bearer" = ["reviews:write"])), params(IdParameter),
    request_body = ReviewChanges, responses((status = 200, description = "The review", body = Envelope<FullReview<'static>>),
        (status = 404, description = "`review_not_found`")))]
async fn update_review(call: Call) -> Result<Reply, ApiError> {
    let changes = call
        .valid(|review: &ReviewChanges, rules| review.faults_at(rules.now))
        .await;
    call.write(changes, async |session: &mut dyn Session, changes| {
        let id: Target<ReviewId> = call.target(Code::REVIEW_NOT_FOUND)?;
        let review = reviews::update_review(session, call.clock().as_ref(), &call.caller, id, changes).await?;
        Reply::ok(&FullReview::from(&review))
    })
    .await
}

/// Delete a review
#[utoipa::path(delete, path = "/2.0/reviews/{id}", tag = "reviews", security(("bearer" = ["reviews:delete"])), params(IdParameter),
    responses((status = 200, description = "The review is gone", body = Envelope<Deleted>),
        (status = 404, description = "`review_not_found`")))]
async fn delete_review(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let review: Target<ReviewId> = call.target(Code::REVIEW_NOT_FOUND)?;
        let id = review.id;
        reviews::delete_review(session, &call.caller, review).await?;
        Reply::deleted(id.get())
    })
    .await
}

impl From<ReviewError> for ApiError {
    fn from(error: ReviewError) -> Self {
        match error {
            ReviewError::NotFound(_) => Self::new(Code::REVIEW_NOT_FOUND, "this business has no such review"),
            ReviewError::VersionMismatch(mismatch) => mismatch.into(),
            ReviewError::Store(error) => error.into(),
        }
    }
}

parameters! {
    path IdParameter;

    /// Review id.
    id: i64;
}

filters! {
    FilterParameters => ReviewFilter;

    /// In this state.
    status: ReviewStatus;
    /// From this source, without regard to case; % stands for any characters (scope search:wildcard; at most 4 %, and 100 characters).
    source: TextFilter;
    /// 1: known to come from a customer; 0: not known to.
    verified: Flag;
    /// Made between these two moments, both included; an empty one leaves that end open. `created=…` is just this moment.
    created: MomentRange;
    /// Last changed between these two moments, both included; an empty one leaves that end open. `updated=…` is just this
    /// moment.
    updated: MomentRange;
}
