//! Blog articles: their record, how it is shown, changed and deleted, and by whom.

use std::collections::BTreeSet;

use harness::{Answer, Client, Engine, Shop, both_engines, now};
use serde_json::{Value, json};

both_engines! {
    an_article_of_a_title_has_every_default
    an_article_reads_as_it_was_written
    each_field_changes_alone
    what_is_read_only_is_not_written
    lists_are_simple_and_single_reads_full
    fields_leave_only_what_is_named
    a_deleted_article_is_gone
    an_unknown_article_is_not_found
    articles_are_one_s_own
    each_operation_needs_its_scope
    a_repeated_write_is_replayed
    a_read_has_an_etag_and_a_write_a_precondition
    unknown_members_are_refused_by_request
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

async fn lists_are_simple_and_single_reads_full(engine: Engine) {
    let shop = Shop::open(engine).await;
    let made = article(&shop, &content()).await;
    let path = path_of(&made);
    has_members(&made, full());
    has_members(&shop.api.patch(&path, &json!({})).await.ok(), full());
    has_members(&shop.api.get(&path).await.ok(), full());
    has_members(&shop.api.get(&format!("{path}?view=full")).await.ok(), full());
    has_members(&shop.api.get(&format!("{path}?view=simple")).await.ok(), SIMPLE);
    has_members(&shop.api.list(BLOGS).await.items[0], SIMPLE);
    has_members(&shop.api.list(&format!("{BLOGS}?view=simple")).await.items[0], SIMPLE);
    has_members(&shop.api.list(&format!("{BLOGS}?view=full")).await.items[0], full());
    let mut simple = made;
    simple
        .as_object_mut()
        .unwrap()
        .retain(|member, _| SIMPLE.contains(&member.as_str()));
    assert_eq!(shop.api.list(BLOGS).await.items, [simple]);
}

async fn fields_leave_only_what_is_named(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &content()).await;
    for (query, expected) in [
        (
            "fields=url,tags",
            json!({"url": "tyres", "tags": ["winter", "Tyres & more"]}),
        ),
        (
            "fields=summary,version&view=simple",
            json!({"summary": "<p>In short.</p>", "version": 1}),
        ),
        ("fields=status,nonsense", json!({"status": "published"})),
    ] {
        assert_eq!(shop.api.get(&format!("{path}?{query}")).await.ok(), expected, "{query}");
        assert_eq!(
            shop.api.list(&format!("{BLOGS}?{query}")).await.items,
            [expected],
            "{query}"
        );
    }
}

async fn a_deleted_article_is_gone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let made = article(&shop, &json!({"title": "Ann"})).await;
    article(&shop, &json!({"title": "Bea"})).await;
    let path = path_of(&made);
    assert_eq!(
        shop.api.delete(&path).await.ok(),
        json!({"id": made["id"], "deleted": true})
    );
    shop.api.get(&path).await.refused(404, "blog_not_found");
    let patched = shop.api.patch(&path, &json!({"title": "Cleo"})).await;
    patched.refused(404, "blog_not_found");
    shop.api.delete(&path).await.refused(404, "blog_not_found");
    let list = shop.api.list(BLOGS).await;
    assert_eq!(
        (list.column("title"), &list.pagination["total"]),
        (vec![json!("Bea")], &json!(1))
    );
    // Its address is free again.
    assert_eq!(
        article(&shop, &json!({"title": "Dora", "url": "ann"})).await["url"],
        "ann"
    );
    assert!(shop.api.list("/2.0/events").await.items.is_empty());
}

async fn an_unknown_article_is_not_found(engine: Engine) {
    let shop = Shop::open(engine).await;
    article(&shop, &json!({"title": "Ann"})).await;
    for id in [
        "987654321",
        "0",
        "-1",
        "x",
        "ann",
        "1.5",
        "%20",
        "99999999999999999999",
        "%00",
    ] {
        let path = format!("{BLOGS}/{id}");
        shop.api.get(&path).await.refused(404, "blog_not_found");
        let patched = shop.api.patch(&path, &json!({"title": "Bea"})).await;
        patched.refused(404, "blog_not_found");
        shop.api.delete(&path).await.refused(404, "blog_not_found");
    }
    shop.api.put(BLOGS, &json!({})).await.refused(405, "method_not_allowed");
}

async fn articles_are_one_s_own(engine: Engine) {
    let shop = Shop::open(engine).await;
    let rival = shop.rival().await;
    let path = path(&shop, &content()).await;
    let before = shop.api.get(&path).await.ok();
    rival.get(&path).await.refused(404, "blog_not_found");
    let patched = rival.patch(&path, &json!({"title": "Stolen"})).await;
    patched.refused(404, "blog_not_found");
    rival.delete(&path).await.refused(404, "blog_not_found");
    for query in [
        "",
        "?view=full",
        "?status=published",
        "?category=advice",
        "?author=%25hill%25",
        "?tag=winter",
        "?url=tyres",
    ] {
        let list = rival.list(&format!("{BLOGS}{query}")).await;
        assert_eq!((list.items.len(), &list.pagination["total"]), (0, &json!(0)), "{query}");
    }
    assert!(rival.list("/2.0/events").await.items.is_empty());
    // Addresses are unique in a business alone.
    assert_eq!(rival.post(BLOGS, &content()).await.created()["url"], "tyres");
    assert_eq!(rival.list(BLOGS).await.items.len(), 1);
    assert_eq!(shop.api.list(BLOGS).await.items.len(), 1);
    assert_eq!(shop.api.get(&path).await.ok(), before);
}

async fn each_operation_needs_its_scope(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &content()).await;
    let operations = [
        ("GET", BLOGS, "blogs:read"),
        ("POST", BLOGS, "blogs:write"),
        ("GET", &path, "blogs:read"),
        ("PATCH", &path, "blogs:write"),
        ("DELETE", &path, "blogs:delete"),
    ];
    let nothing = shop.client("none").await;
    for scope in ["blogs:read", "blogs:write", "blogs:delete", "reviews:read"] {
        let client = shop.client(scope).await;
        for (method, path, needed) in operations {
            // A body that is refused, so that a client that may write changes nothing.
            let send = async |client: &Client| client.request(method, path).body("[]").send().await;
            let lacks = |answer: Answer, code: &str| {
                assert_eq!(
                    answer.refused(403, code)["details"]["scope"],
                    needed,
                    "{method} with {scope}"
                );
            };
            lacks(send(&nothing).await, "scope_required");
            if needed != scope {
                lacks(send(&client).await, "scope_denied");
            } else if method != "DELETE" {
                assert_ne!(send(&client).await.status, 403, "{method} with {scope}");
            }
        }
    }
    shop.client("blogs:delete").await.delete(&path).await.ok();
}

async fn a_repeated_write_is_replayed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({"title": "Ann"})).await;
    let requests = [
        ("create", "POST", BLOGS, json!({"title": "Bea", "status": "published"})),
        ("refused", "POST", BLOGS, json!({"title": "Bea", "url": "bea"})),
        ("change", "PATCH", &path, json!({"title": "Cleo"})),
        ("delete", "DELETE", &path, json!({})),
    ];
    for (key, method, path, body) in requests {
        let send = async || shop.api.request(method, path).key(key).json(&body).send().await;
        let (first, again) = (send().await, send().await);
        assert_eq!((first.status, first.text()), (again.status, again.text()), "{key}");
        let replayed = [&first, &again].map(|answer| answer.header("X-Idempotent-Replay"));
        assert_eq!(replayed, [None, Some("true")], "{key}");
        assert_eq!(first.header("Location"), again.header("Location"), "{key}");
    }
    assert_eq!(shop.api.list(BLOGS).await.column("url"), ["bea"]);
    assert_eq!(shop.api.list("/2.0/events").await.column("event"), ["blog.published"]);
}

async fn a_read_has_an_etag_and_a_write_a_precondition(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({"title": "Ann"})).await;
    let tag = async |query: &str| {
        let answer = shop.api.get(&format!("{path}{query}")).await;
        answer.ok();
        answer.header("ETag").map(str::to_owned)
    };
    assert_eq!(tag("").await.as_deref(), Some("\"1\""));
    assert_eq!(tag("?view=simple").await.as_deref(), Some("\"1-simple\""));
    assert_eq!(tag("?fields=id").await, None);
    let known = async |tag: &str| shop.api.request("GET", &path).header("If-None-Match", tag).send().await;
    assert_eq!(known("\"1\"").await.status, 304);

    let at = async |method: &str, path: &str, tag: &str, body: Value| {
        let request = shop.api.request(method, path).header("If-Match", tag);
        request.json(&body).send().await
    };
    let stale = |answer: Answer, version: i64| {
        let error = answer.refused(412, "precondition_failed");
        assert_eq!(error["details"]["version"], version);
    };
    stale(at("PATCH", &path, "\"2\"", json!({"title": "Bea"})).await, 1);
    stale(at("DELETE", &path, "\"2\"", json!({})).await, 1);
    assert_eq!(
        at("PATCH", &path, "\"1\"", json!({"title": "Bea"})).await.ok()["version"],
        2
    );
    assert_eq!(known("\"1\"").await.ok()["title"], "Bea");
    assert_eq!(tag("").await.as_deref(), Some("\"2\""));
    at("PATCH", &path, "\"1\"", json!({"status": "scheduled"}))
        .await
        .invalid(&["status"]);
    let nobody = format!("{BLOGS}/987654321");
    at("PATCH", &nobody, "\"1\"", json!({}))
        .await
        .refused(404, "blog_not_found");
    at("DELETE", &path, "\"2\"", json!({})).await.ok();
}

async fn unknown_members_are_refused_by_request(engine: Engine) {
    let shop = Shop::open(engine).await;
    let strict = async |method: &str, path: &str, body: Value| {
        let request = shop.api.request(method, path).header("Prefer", "handling=strict");
        let request = if method == "GET" { request } else { request.json(&body) };
        request.send().await
    };
    let made = strict("POST", BLOGS, content()).await;
    assert_eq!(made.header("Preference-Applied"), Some("handling=strict"));
    let path = path_of(&made.created());
    let answer = strict("PATCH", &path, json!({"autor": "Ann", "status": "scheduled"})).await;
    answer.invalid(&["autor", "status"]);
    assert!(answer.text().contains("\\\"author\\\""), "{}", answer.text());
    strict("POST", BLOGS, json!({"title": "Ann", "autor": "Ann"}))
        .await
        .invalid(&["autor"]);
    strict("GET", &format!("{BLOGS}?stauts=draft"), json!({}))
        .await
        .invalid(&["stauts"]);
    strict("GET", &format!("{path}?fields=autor"), json!({}))
        .await
        .invalid(&["fields"]);
    assert_eq!(shop.api.patch(&path, &json!({"autor": "Ann"})).await.ok()["version"], 1);
    assert_eq!(shop.api.list(BLOGS).await.items.len(), 1);
}
