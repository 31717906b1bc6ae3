//! The record of an article.

use forecourt_html::{Html, ImageAddress};
use forecourt_kernel::{
    BoundedList, FromJson, InvalidValue, Line, Timestamp, ValidationErrors, Version,
    bounds::{MAX_ARTICLE_CHARS, MAX_TEXT_CHARS},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ArticleStatus, Slug};

forecourt_kernel::ids! {
    /// Identifies an article, uniquely across businesses.
    ArticleId;
}

/// The tags of an article.
pub type Tags = BoundedList<Line>;
/// The articles to which an article refers.
pub type Related = BoundedList<ArticleId>;
/// The summary of an article.
pub type SummaryHtml = Html<MAX_TEXT_CHARS>;
/// The content of an article.
pub type ContentHtml = Html<MAX_ARTICLE_CHARS>;

impl FromJson for ArticleId {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        i64::from_json(value).map(Self::new)
    }
}

/// The time from which an article is public, in epoch seconds: from 1970 to the year 9999.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PublicationTime(pub Timestamp);

/// The last second of the year 9999.
const LATEST: i64 = 253_402_300_799;

impl FromJson for PublicationTime {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        match i64::from_json(value)? {
            seconds @ 0..=LATEST => Ok(Self(Timestamp::from_epoch_seconds(seconds))),
            _ => Err(InvalidValue::here(
                "must be a Unix timestamp, from 1970 to the year 9999",
            )),
        }
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for PublicationTime {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        use utoipa::openapi::{KnownFormat, ObjectBuilder, SchemaFormat, schema::Type};
        ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
            .minimum(Some(0))
            .maximum(Some(LATEST))
            .into()
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for PublicationTime {}

// The serialised forms of both parts are also the stored forms. Each part is stored separately, so that a list does not read what
// it does not show. A new field needs `#[serde(default)]` before its type, and no field is ever renamed.
forecourt_kernel::fields! {
    /// The fields of an article in lists.
    content ArticleHead;
    /// The fields of an article in lists, as they are written.
    changes HeadChanges;

    /// The slug of its address, unique per business; by default made from the title.
    url: Slug;
    /// Title.
    title: Line;
    /// Any text.
    category: Line;
    /// The author's name, as it is shown.
    author: Line;
    /// draft by default. A published article whose published_at is in the future is shown as scheduled until then.
    status: ArticleStatus;
    /// Any texts, each once.
    tags: Tags;
    /// Time from which the article is public, epoch seconds. By default the time at which it is first published; until then, the
    /// time of its creation.
    published_at: PublicationTime;
}

forecourt_kernel::fields! {
    /// The additional fields of the full view.
    #[derive(Default)]
    content ArticleBody;
    /// The additional fields of the full view, as they are written.
    changes BodyChanges;

    /// HTML, sanitised to the elements and attributes that the documentation lists.
    summary: SummaryHtml;
    /// The address of an image; http or https.
    summary_image: ImageAddress;
    /// The address of a small image; http or https.
    summary_thumbnail: ImageAddress;
    /// HTML, sanitised like the summary.
    content: ContentHtml;
    /// The ids of other articles of the business, each once.
    related: Related;
}

/// Changes to an article. Only the supplied fields change.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
pub struct ArticleChanges {
    /// The fields in lists.
    #[serde(flatten)]
    pub head: HeadChanges,
    /// The additional fields of the full view.
    #[serde(flatten)]
    pub body: BodyChanges,
}

impl ArticleChanges {
    /// Returns the faults of the body, each with the path to it.
    pub fn faults(&self) -> ValidationErrors {
        let mut errors = self.head.faults();
        let untitled = self.head.title.value().is_some_and(|title| title.trim().is_empty());
        if untitled || self.head.title == forecourt_kernel::Field::Null {
            errors.add("title", "must not be empty");
        }
        errors.extend(self.body.faults());
        errors
    }
}

/// A new article.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct NewArticle(pub ArticleChanges);

impl NewArticle {
    /// Returns the faults of the body, each with the path to it.
    pub fn faults(&self) -> ValidationErrors {
        let mut errors = ValidationErrors::new();
        if self.0.head.title == forecourt_kernel::Field::Absent {
            errors.add("title", "is required");
        }
        errors.extend(self.0.faults());
        errors
    }
}

/// The schema of a body that writes an article. Its title is not blank, and its status is not `scheduled`, which follows from the
/// time.
///
/// The schema declares both members on its own and not beside their declarations in `HeadChanges`, because some client generators
/// cannot merge two declarations of a member.
#[cfg(feature = "openapi")]
#[expect(
    deprecated,
    reason = "the examples of all bodies are written as the derive of schemas writes them"
)]
fn written(about: &str, is_new: bool, example: Value) -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    use forecourt_kernel::bounds::MAX_LINE_CHARS;
    use utoipa::openapi::{
        Ref, RefOr,
        schema::{AllOfBuilder, ObjectBuilder, OneOfBuilder, Schema, Type},
    };
    let mut head = <HeadChanges as utoipa::PartialSchema>::schema();
    if let RefOr::T(Schema::Object(head)) = &mut head {
        let title = ObjectBuilder::new()
            .schema_type(Type::String)
            .max_length(Some(MAX_LINE_CHARS))
            .pattern(Some(r"\S"))
            .description(Some("Title."));
        head.properties.insert("title".to_owned(), title.into());
        let words = [ArticleStatus::Draft, ArticleStatus::Published].map(ArticleStatus::name);
        let word = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(words))
            .description(Some(
                "draft by default; published with a published_at in the future reads scheduled until then.",
            ));
        let null = ObjectBuilder::new().schema_type(Type::Null);
        let status = Schema::OneOf(OneOfBuilder::new().item(word).item(null).build());
        head.properties.insert("status".to_owned(), status.into());
        if is_new {
            head.required.push("title".to_owned());
        }
    }
    AllOfBuilder::new()
        .item(head)
        .item(Ref::from_schema_name("BodyChanges"))
        .description(Some(about))
        .example(Some(example))
        .into()
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for ArticleChanges {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        let example = serde_json::json!({"status": "published", "category": "Advice"});
        written(
            "An article to be changed. Only the supplied fields change.",
            false,
            example,
        )
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for ArticleChanges {
    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
        use utoipa::PartialSchema;
        schemas.push(("BodyChanges".to_owned(), BodyChanges::schema()));
        <HeadChanges as utoipa::ToSchema>::schemas(schemas);
        <BodyChanges as utoipa::ToSchema>::schemas(schemas);
    }
}

#[cfg(feature = "openapi")]
impl utoipa::PartialSchema for NewArticle {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        let example = serde_json::json!({
            "title": "Five things to check before an MOT",
            "category": "Advice",
            "author": "Sam Hill",
            "tags": ["mot"],
            "summary": "<p>Half of all failures are bulbs, tyres and wipers.</p>",
            "content": "<h2>Lights</h2><p>Walk round the car with every light on.</p>",
            "status": "published"
        });
        written("An article to be created.", true, example)
    }
}

#[cfg(feature = "openapi")]
impl utoipa::ToSchema for NewArticle {
    fn schemas(schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>) {
        <ArticleChanges as utoipa::ToSchema>::schemas(schemas);
    }
}

impl ArticleHead {
    /// The defaults of the fields of an article that is made at `now`.
    pub fn blank(now: Timestamp) -> Self {
        Self {
            url: Slug::default(),
            title: Line::default(),
            category: Line::default(),
            author: Line::default(),
            status: ArticleStatus::default(),
            tags: BoundedList::default(),
            published_at: PublicationTime(now),
        }
    }

    /// The status that is shown at `now`.
    pub fn status_at(&self, now: Timestamp) -> ArticleStatus {
        match self.status {
            ArticleStatus::Published if self.published_at.0 > now => ArticleStatus::Scheduled,
            status => status,
        }
    }
}

/// The state of an article's publication.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Publication {
    /// Set once an event has recorded that the article became public.
    pub announced: bool,
    /// Set if no time was ever sent for the article and it has not been published yet.
    pub undated: bool,
}

/// An article.
#[derive(Clone, PartialEq, Debug)]
pub struct Article {
    /// The article's id, unique across businesses.
    pub id: ArticleId,
    /// The record's version.
    pub version: Version,
    /// The time of its creation.
    pub created: Timestamp,
    /// The time of its last change.
    pub updated: Timestamp,
    /// The state of its publication.
    pub publication: Publication,
    /// The fields in lists.
    pub head: ArticleHead,
    /// The additional fields of the full view.
    pub body: ArticleBody,
}

impl Article {
    /// Drops related articles that no longer exist. The version becomes that of the representation without them.
    pub fn retain_related(&mut self, exists: impl Fn(&ArticleId) -> bool) {
        if self.body.related.iter().all(&exists) {
            return;
        }
        let mut related = std::mem::take(&mut self.body.related).into_vec();
        related.retain(exists);
        self.version = self.version.shown_with(&related);
        self.body.related = Related::new(related).unwrap_or_default();
    }

    /// Returns the version of the representation at `now`. It differs from the record's if the article became public since its
    /// last write, because that shows without a write.
    pub fn version_at(&self, now: Timestamp) -> Version {
        let status = self.head.status_at(now);
        if status == self.head.status_at(self.updated) {
            self.version
        } else {
            self.version.shown_with(status)
        }
    }
}
