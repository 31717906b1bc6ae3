//! Blog articles over HTTP (contract, "Blog").

use forecourt_blogs::{
    self as blogs, Article, ArticleChanges, ArticleError, ArticleFilter, ArticleId, ArticleStatus, ArticleView,
    FullArticle, ListedArticle, NewArticle, Shown, SimpleArticle,
};
use forecourt_dealership::Session;
use forecourt_kernel::{Line, ListName, PageRequest, Target, ValidationErrors, View};
use utoipa::IntoParams;

use crate::{
    areas::{Area, EventRecord},
    call::Call,
    code::{Code, codes},
    conditional::RecordState,
    error::ApiError,
    openapi::Declared,
    operation::{Operation, operations},
    query::{ListRenderingParameters, PageParameters, Query, Rendering, RenderingParameters},
    reply::{self, Answer, Deleted, Envelope, PageEnvelope, RecordSize, Reply},
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
/// Newest first; drafts and scheduled articles are among them.
#[utoipa::path(get, path = "/2.0/blogs", tag = "blogs", security(("bearer" = ["blogs:read"])),
    params(FilterParameters, PageParameters, ListRenderingParameters),
    responses((status = 200, description = "A page of articles", body = PageEnvelope<ArticleView<'static>>)))]
async fn list_blogs(call: Call) -> Result<Answer, ApiError> {
    let mut query = call.query();
    let filter = filter(&mut query, &call);
    let page = query.page(LIST, 1);
    let rendering = query.rendering(View::Simple);
    let (filter, page, Rendering { view, fields }) = query.finish((filter, page, rendering))?;

    if view == View::Simple && fields.is_none() {
        let read = async move |call: &Call, part: PageRequest| {
            let mut session = call.read().await?;
            let clock = call.clock().as_ref();
            Ok(blogs::list_article_heads(session.as_mut(), clock, &call.caller, &filter, &part).await?)
        };
        let show = |call: &Call, article: &ListedArticle, body: &mut Vec<u8>| {
            let now = call.clock().now();
            reply::append(&SimpleArticle::from(&Shown { article, now }), None, body)
        };
        return reply::page(call, LIST, page, RecordSize::Large, read, show).await;
    }
    let read = async move |call: &Call, part: PageRequest| {
        let mut session = call.read().await?;
        let clock = call.clock().as_ref();
        Ok(blogs::list_articles(session.as_mut(), clock, &call.caller, &filter, &part).await?)
    };
    let show = move |call: &Call, article: &Article, body: &mut Vec<u8>| {
        let now = call.clock().now();
        reply::append(&ArticleView::of(&Shown { article, now }, view), fields.as_ref(), body)
    };
    reply::page(call, LIST, page, RecordSize::Large, read, show).await
}

/// Create a blog article
///
/// With `status` published it is public from `published_at` on: at once, or scheduled.
#[utoipa::path(post, path = "/2.0/blogs", tag = "blogs", security(("bearer" = ["blogs:write"])), request_body = NewArticle,
    responses((status = 201, description = "The article that was created", body = Envelope<FullArticle<'static>>)))]
async fn create_blog(call: Call) -> Result<Reply, ApiError> {
    let new: Result<NewArticle, ApiError> = call.body_aside().await;
    let new = match new {
        Ok(new) => validated(&call, new.faults(), None, &new.0).await.map(|()| new),
        Err(error) => Err(error),
    };
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
    let mut query = call.query();
    let rendering = query.rendering(View::Full);
    let rendering = query.finish(rendering)?;
    let id = call.id(Code::BLOG_NOT_FOUND)?;

    let mut session = call.read().await?;
    let article = blogs::read_article(session.as_mut(), &call.caller, id).await?;
    let now = call.clock().now();
    let state = RecordState {
        version: article.version_at(now),
        updated: article.updated,
    };
    let shown = Shown { article: &article, now };
    Reply::record(&call, state, &rendering, &ArticleView::of(&shown, rendering.view))
}

/// Change a blog article
///
/// Only the supplied fields change. `status` draft takes an article back from the public.
#[utoipa::path(patch, path = "/2.0/blogs/{id}", tag = "blogs", security(("bearer" = ["blogs:write"])), params(IdParameter),
    request_body = ArticleChanges, responses((status = 200, description = "The article", body = Envelope<FullArticle<'static>>),
        (status = 404, description = "`blog_not_found`")))]
async fn update_blog(call: Call) -> Result<Reply, ApiError> {
    let changes: Result<ArticleChanges, ApiError> = call.body_aside().await;
    let id: Result<ArticleId, ApiError> = call.id(Code::BLOG_NOT_FOUND);
    let changes = match changes {
        Ok(changes) => validated(&call, changes.faults(), id.ok(), &changes)
            .await
            .map(|()| changes),
        Err(error) => Err(error),
    };
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

/// Lets a body pass that has no faults. Of another one it is looked up as well what it refers to: a caller learns of every
/// fault at once.
async fn validated(
    call: &Call,
    mut faults: ValidationErrors,
    id: Option<ArticleId>,
    changes: &ArticleChanges,
) -> Result<(), ApiError> {
    if faults.is_empty() && call.unknown.is_empty() {
        return Ok(());
    }
    let mut session = call.read().await?;
    faults.extend(blogs::validate_references(session.as_mut(), &call.caller, id, changes).await?);
    Ok(faults.into_result(())?)
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

#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "declares the parameter; the path gives it")]
struct IdParameter {
    /// Article id.
    id: i64,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "declares the parameters; filter reads them")]
struct FilterParameters {
    /// Reading so now: published articles whose time has not come are scheduled.
    status: Option<ArticleStatus>,
    /// Of this category, without regard to case; % stands for any characters (scope search:wildcard; at most 4 %, and 100 characters).
    #[param(inline)]
    category: Option<Line>,
    /// By this author, without regard to case; % stands for any characters (scope search:wildcard; at most 4 %, and 100 characters).
    #[param(inline)]
    author: Option<Line>,
    /// With this tag.
    #[param(inline)]
    tag: Option<Line>,
    /// With this slug.
    #[param(inline)]
    url: Option<Line>,
}

fn filter(query: &mut Query<'_>, call: &Call) -> ArticleFilter {
    ArticleFilter {
        status: query.parsed("status"),
        category: query.filter("category", &call.caller),
        author: query.filter("author", &call.caller),
        tag: query.parsed("tag"),
        url: query.parsed("url"),
    }
}
