//! Blog articles: their record, how it is shown, changed and deleted, and by whom.

use std::collections::BTreeSet;

use harness::{Engine, Shop, both_engines, now};
use serde_json::{Value, json};

both_engines! {
    an_article_of_a_title_has_every_default
    an_article_reads_as_it_was_written
    each_field_changes_alone
    what_is_read_only_is_not_written
    a_deleted_article_is_gone
}

pub(crate) const BLOGS: &str = "/2.0/blogs";
const SIMPLE: [&str; 8] = [
    "id",
    "url",
    "title",
    "category",
    "author",
    "status",
    "tags",
    "published_at",
];
const FULL: [&str; 7] = [
    "version",
    "summary",
    "summary_image",
    "summary_thumbnail",
    "content",
    "related",
    "site",
];

pub(crate) async fn article(shop: &Shop, body: &Value) -> Value {
    shop.api.post(BLOGS, body).await.created()
}

pub(crate) fn path_of(article: &Value) -> String {
    format!("{BLOGS}/{}", article["id"])
}

pub(crate) async fn path(shop: &Shop, body: &Value) -> String {
    path_of(&article(shop, body).await)
}

/// Returns an article with a value in every field that is not its default; `related` is tested separately.
pub(crate) fn content() -> Value {
    json!({
        "title": "Winter tyres <new>", "url": "tyres", "category": "Advice", "author": "Sam Hill",
        "tags": ["winter", "Tyres & more"], "summary": "<p>In short.</p>", "content": "<h2>Tyres</h2><p>At <b>length</b>.</p>",
        "summary_image": "https://acme.example/tyres.jpg", "summary_thumbnail": "http://acme.example/small/tyres.jpg?w=80",
        "status": "published", "published_at": 1_700_000_000,
    })
}

#[track_caller]
fn has_members(record: &Value, expected: impl IntoIterator<Item = &'static str>) {
    let members: BTreeSet<&str> = record.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, expected.into_iter().collect());
}

fn full() -> impl Iterator<Item = &'static str> {
    SIMPLE.into_iter().chain(FULL)
}

async fn an_article_of_a_title_has_every_default(engine: Engine) {
    let shop = Shop::open(engine).await;
    let before = now();
    let answer = shop.api.post(BLOGS, &json!({"title": "Spring Sale"})).await;
    let mut made = answer.created();
    let path = path_of(&made);
    assert_eq!(answer.header("Location"), Some(path.as_str()));
    assert_eq!(shop.api.get(&path).await.ok(), made);
    let (id, at) = (made["id"].take(), made["published_at"].take());
    assert!(id.as_i64().is_some_and(|id| id > 0), "{id}");
    assert!(at.as_i64().is_some_and(|at| (before..=now()).contains(&at)), "{at}");
    let expected = json!({
        "id": null, "url": "spring-sale", "title": "Spring Sale", "category": "", "author": "", "status": "draft", "tags": [],
        "published_at": null, "version": 1, "summary": "", "summary_image": "", "summary_thumbnail": "", "content": "",
        "related": [], "site": 0,
    });
    assert_eq!(made, expected);
}

async fn an_article_reads_as_it_was_written(engine: Engine) {
    let shop = Shop::open(engine).await;
    let other = article(&shop, &json!({"title": "Other"})).await;
    let mut body = content();
    body["related"] = json!([other["id"]]);
    let made = article(&shop, &body).await;
    for (member, value) in body.as_object().unwrap() {
        assert_eq!(&made[member], value, "{member}");
    }
    assert_eq!(shop.api.get(&path_of(&made)).await.ok(), made);
    assert_eq!(
        shop.api.list(&format!("{BLOGS}?view=full&url=tyres")).await.items,
        [made]
    );
}

async fn each_field_changes_alone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let other = article(&shop, &json!({"title": "Other"})).await;
    let path = path(&shop, &content()).await;
    let mut expected = shop.api.get(&path).await.ok();
    let table = [
        ("title", json!("Summer tyres")),
        ("url", json!("summer-tyres-2")),
        ("category", json!("News")),
        ("author", json!("Ada Byrne")),
        ("tags", json!(["summer"])),
        ("summary", json!("<p>Shorter.</p>")),
        ("content", json!("<p>Longer.</p>")),
        ("summary_image", json!("https://acme.example/summer.jpg")),
        ("summary_thumbnail", json!("https://acme.example/small/summer.jpg")),
        ("related", json!([other["id"]])),
        ("published_at", json!(1_700_000_001)),
        ("status", json!("draft")),
        ("summary_image", json!("")),
        ("category", json!("")),
        ("tags", json!([])),
        ("related", json!([])),
        ("content", json!("")),
    ];
    for (number, (member, value)) in table.into_iter().enumerate() {
        let seen = shop.api.patch(&path, &json!({member: value})).await.ok();
        expected[member] = value;
        expected["version"] = json!(number + 2);
        assert_eq!(seen, expected, "{member}");
        assert_eq!(shop.api.get(&path).await.ok(), expected, "{member}");
    }
    // A write that changes nothing keeps the version.
    for same in [
        json!({}),
        json!({"tags": [], "status": "draft"}),
        json!({"published_at": 1_700_000_001.0}),
        expected.clone(),
    ] {
        assert_eq!(shop.api.patch(&path, &same).await.ok(), expected, "{same}");
    }
}

async fn what_is_read_only_is_not_written(engine: Engine) {
    let shop = Shop::open(engine).await;
    let body = json!({"title": "Ann", "id": 77, "version": 9, "site": 2, "nonsense": 1});
    let made = article(&shop, &body).await;
    assert_eq!((&made["version"], &made["site"]), (&json!(1), &json!(0)));
    has_members(&made, full());
    assert_eq!(shop.api.patch(&path_of(&made), &body).await.ok(), made);
}

async fn a_deleted_article_is_gone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let made = article(&shop, &json!({"title": "Ann"})).await;
    let path = path_of(&made);
    assert_eq!(
        shop.api.delete(&path).await.ok(),
        json!({"id": made["id"], "deleted": true})
    );
    // Its address is free again.
    assert_eq!(
        article(&shop, &json!({"title": "Dora", "url": "ann"})).await["url"],
        "ann"
    );
    assert!(shop.api.list("/2.0/events").await.items.is_empty());
}
