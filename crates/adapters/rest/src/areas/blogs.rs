//! Blog articles over HTTP (contract, "Blog").

use forecourt_blogs::{
    self as blogs, Article, ArticleChanges, ArticleError, ArticleFilter, ArticleId, ArticleStatus, ArticleView,
    FullArticle, NewArticle, Shown, SimpleArticle,
};
use forecourt_dealership::Session;
use forecourt_kernel::{ListName, Target, TextFilter, View};

use crate::{
    areas::{Area, EventRecord},
    call::Call,
    code::{Code, codes},
    conditional::RecordState,
    error::ApiError,
    list::{PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{ListRenderingParameters, PageParameters, RenderingParameters, filters, parameters},
    reply::{Answer, Deleted, Envelope, Reply},
    schemas::MomentRange,
    validated::ParsedBody,
};

pub(super) const AREA: Area = Area {
    tag: "blogs",
    about: "What the dealership writes, and when the public may read it",
    operations,
    codes: CODES,
    records: &[EventRecord {
        resource: "blog",
        schema: "Article",
        example: blogs::example_article,
    }],
};

const LIST: ListName = ListName::new("blogs");

codes! {
    CODES;
    BLOG_NOT_FOUND = NOT_FOUND, "blog_not_found" {
        meaning: "The business has no such article.",
        cause: "The id is wrong, the article was deleted, or it belongs to another business.",
        remedy: "Look the article up with `GET /2.0/blogs`, and forget ids that answer 404.",
    }
}

fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_blogs> list_blogs,
        self::<__path_create_blog> create_blog,
        self::<__path_read_blog> read_blog,
        self::<__path_update_blog> update_blog,
        self::<__path_delete_blog> delete_blog,
    ])
}

/// List blog articles
///
/// Newest first; drafts and scheduled articles are included.
#[utoipa::path(get, path = "/2.0/blogs", tag = "blogs", security(("bearer" = ["blogs:read"])),
    params(FilterParameters, PageParameters, ListRenderingParameters),
    responses((status = 200, description = "A page of articles", body = PageEnvelope<ArticleView<'static>>)))]
async fn list_blogs(call: Call) -> Result<Answer, ApiError> {
    let (filter, list) = call.filtered_list(LIST, View::Simple, FilterParameters::read)?;
    match list.view {
        View::Simple => {
            list.answer(
                call,
                RecordSize::Large,
                async move |session, call, page| {
                    blogs::list_article_heads(session, call.clock().as_ref(), &call.caller, &filter, page).await
                },
                |item, article| {
                    let now = item.call.clock().now();
                    item.show(&SimpleArticle::from(&Shown { article, now }))
                },
            )
            .await
        }
        View::Full => {
            list.answer(
                call,
                RecordSize::Large,
                async move |session, call, page| {
                    blogs::list_articles(session, call.clock().as_ref(), &call.caller, &filter, page).await
                },
                |item, article| {
                    let now = item.call.clock().now();
                    item.show(&ArticleView::of(&Shown { article, now }, item.view))
                },
            )
            .await
        }
    }
}

/// Create a blog article
///
/// With `status` published it is public from `published_at` on: at once, or scheduled.
#[utoipa::path(post, path = "/2.0/blogs", tag = "blogs", security(("bearer" = ["blogs:write"])), request_body = NewArticle,
    responses((status = 201, description = "The article that was created", body = Envelope<FullArticle<'static>>)))]
async fn create_blog(call: Call) -> Result<Reply, ApiError> {
    let read = call.read_body(|new: NewArticle, _| {
        let errors = new.faults();
        Ok(ParsedBody::new(new, errors))
    });
    let read = read.await;
    let new = call
        .validated(read, async |session, new| {
            Ok(blogs::validate_references(session, &call.caller, None, &new.0).await?)
        })
        .await;
    call.write(new, async |session: &mut dyn Session, new| {
        let article = blogs::create_article(session, call.clock().as_ref(), &call.caller, new).await?;
        Reply::created(&full(&article, &call))
    })
    .await
}

/// Read a blog article
#[utoipa::path(get, path = "/2.0/blogs/{id}", tag = "blogs", security(("bearer" = ["blogs:read"])), params(IdParameter, RenderingParameters),
    responses((status = 200, description = "The article", body = Envelope<ArticleView<'static>>),
        (status = 404, description = "`blog_not_found`")))]
async fn read_blog(call: Call) -> Result<Reply, ApiError> {
    let rendering = call.rendering()?;
    let id = call.id(Code::BLOG_NOT_FOUND)?;

    let mut session = call.read().await?;
    let article = blogs::read_article(session.as_mut(), &call.caller, id).await?;
    let now = call.clock().now();
    let state = RecordState {
        version: article.version_at(now),
        updated: article.updated,
    };
    let shown = Shown { article: &article, now };
    call.record(state, &rendering, &ArticleView::of(&shown, rendering.view))
}

/// Change a blog article
///
/// Only the supplied fields change. `status` draft withdraws an article from the public.
#[utoipa::path(patch, path = "/2.0/blogs/{id}", tag = "blogs", security(("bearer" = ["blogs:write"])), params(IdParameter),
    request_body = ArticleChanges, responses((status = 200, description = "The article", body = Envelope<FullArticle<'static>>),
        (status = 404, description = "`blog_not_found`")))]
async fn update_blog(call: Call) -> Result<Reply, ApiError> {
    let read = call.read_body(|changes: ArticleChanges, _| {
        let errors = changes.faults();
        Ok(ParsedBody::new(changes, errors))
    });
    let read = read.await;
    let changes = call
        .validated(read, async |session, changes| {
            let id = call.id(Code::BLOG_NOT_FOUND).ok();
            Ok(blogs::validate_references(session, &call.caller, id, changes).await?)
        })
        .await;
    call.write(changes, async |session: &mut dyn Session, changes| {
        let id: Target<ArticleId> = call.target(Code::BLOG_NOT_FOUND)?;
        let article = blogs::update_article(session, call.clock().as_ref(), &call.caller, id, changes).await?;
        Reply::ok(&full(&article, &call))
    })
    .await
}

/// Delete a blog article
#[utoipa::path(delete, path = "/2.0/blogs/{id}", tag = "blogs", security(("bearer" = ["blogs:delete"])), params(IdParameter),
    responses((status = 200, description = "The article is gone", body = Envelope<Deleted>),
        (status = 404, description = "`blog_not_found`")))]
async fn delete_blog(call: Call) -> Result<Reply, ApiError> {
    call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let article: Target<ArticleId> = call.target(Code::BLOG_NOT_FOUND)?;
        let id = article.id;
        blogs::delete_article(session, &call.caller, article).await?;
        Reply::deleted(id.get())
    })
    .await
}

fn full<'a>(article: &'a Article, call: &Call) -> FullArticle<'a> {
    let now = call.clock().now();
    FullArticle::from(&Shown { article, now })
}

impl From<ArticleError> for ApiError {
    fn from(error: ArticleError) -> Self {
        match error {
            ArticleError::NotFound(_) => Self::new(Code::BLOG_NOT_FOUND, "this business has no such article"),
            ArticleError::VersionMismatch(mismatch) => mismatch.into(),
            ArticleError::Invalid(errors) => errors.into(),
            ArticleError::Store(error) => error.into(),
        }
    }
}

parameters! {
    path IdParameter;

    /// Article id.
    id: i64;
}

filters! {
    FilterParameters => ArticleFilter;

    /// Articles that read as this status: published ones whose time has not come are scheduled.
    status: ArticleStatus;
    /// Of this category, without regard to case; % stands for any characters (scope search:wildcard; at most 4 %, and 100 characters).
    category: TextFilter;
    /// By this author, without regard to case; % stands for any characters (scope search:wildcard; at most 4 %, and 100 characters).
    author: TextFilter;
    /// With this tag.
    tag: String;
    /// With this slug.
    url: String;
    /// Made between these two moments, both included; an empty one leaves that end open. `created=…` is just this moment.
    created: MomentRange;
    /// Last changed between these two moments, both included; an empty one leaves that end open. `updated=…` is just this
    /// moment.
    updated: MomentRange;
}
