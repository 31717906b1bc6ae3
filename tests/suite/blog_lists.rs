//! Lists of blog articles: filters, their faults, order, pages and cursors.

use harness::{Engine, Shop, both_engines, now, url_query};
use serde_json::{Value, json};

use crate::blogs::{BLOGS, article};

both_engines! {
    each_filter_alone_and_with_others
    categories_and_authors_are_searched_by_those_who_may
}

/// A query, and the titles that it finds.
type Case = (&'static [(&'static str, &'static str)], &'static [&'static str]);

async fn shop_with_articles(engine: Engine) -> Shop {
    let shop = Shop::open(engine).await;
    let later = now() + 1_000_000;
    for body in [
        json!({"title": "1", "category": "Advice", "author": "Sam Hill", "tags": ["winter", "tyres"], "status": "published"}),
        json!({"title": "2", "category": "advice for buyers", "author": "Ada Byrne", "tags": ["winter tyres"]}),
        json!({"title": "3", "category": "News", "author": "SAM HILL", "status": "published", "published_at": later, "tags": ["tyres"]}),
        json!({"title": "4", "url": "four", "published_at": later}),
        json!({"title": "5", "category": "100_% Übersicht", "status": "published", "published_at": 0}),
    ] {
        article(&shop, &body).await;
    }
    shop
}

/// Returns the titles of the articles that are found, oldest first.
async fn found(shop: &Shop, query: &[(&str, &str)]) -> Vec<Value> {
    let path = url_query(BLOGS, query.iter().copied());
    let list = shop.api.list(&path).await;
    assert_eq!(list.pagination["total"], list.items.len(), "{path}");
    let mut titles = list.column("title");
    titles.reverse();
    titles
}

async fn each_filter_alone_and_with_others(engine: Engine) {
    let shop = shop_with_articles(engine).await;
    let table: [Case; 26] = [
        (&[], &["1", "2", "3", "4", "5"]),
        // The status is the one that reads show: future articles are not published yet.
        (&[("status", "published")], &["1", "5"]),
        (&[("status", "scheduled")], &["3"]),
        (&[("status", "draft")], &["2", "4"]),
        (&[("category", "ADVICE")], &["1"]),
        (&[("category", "advice%")], &["1", "2"]),
        (&[("category", "%BUYERS")], &["2"]),
        (&[("category", "adv")], &[]),
        (&[("category", "100_%über%")], &["5"]),
        (&[("category", "n_ws%")], &[]),
        (&[("author", "sam hill")], &["1", "3"]),
        (&[("author", "%byrne")], &["2"]),
        (&[("author", "sam")], &[]),
        (&[("tag", "winter")], &["1"]),
        (&[("tag", "tyres")], &["1", "3"]),
        (&[("tag", "winter tyres")], &["2"]),
        (&[("tag", "tyre")], &[]),
        (&[("url", "four")], &["4"]),
        (&[("url", "1")], &["1"]),
        (&[("url", "fou")], &[]),
        (
            &[
                ("status", ""),
                ("category", ""),
                ("author", ""),
                ("tag", ""),
                ("url", ""),
            ],
            &["1", "2", "3", "4", "5"],
        ),
        (&[("author", "sam hill"), ("status", "published")], &["1"]),
        (
            &[("author", "sam hill"), ("status", "scheduled"), ("tag", "tyres")],
            &["3"],
        ),
        (&[("category", "%advice%"), ("author", "%ada%")], &["2"]),
        (&[("url", "four"), ("status", "scheduled")], &[]),
        (&[("nonsense", "1"), ("title", "1")], &["1", "2", "3", "4", "5"]),
    ];
    for (query, expected) in table {
        assert_eq!(found(&shop, query).await, expected, "{query:?}");
    }
}

async fn categories_and_authors_are_searched_by_those_who_may(engine: Engine) {
    let shop = shop_with_articles(engine).await;
    let reader = shop.client("blogs:read").await;
    let searcher = shop.client("blogs:read,search:wildcard").await;
    for filter in ["category", "author"] {
        for text in ["%advice%", "%", "a%"] {
            let answer = reader.get(&url_query(BLOGS, [(filter, text)])).await;
            let error = answer.refused(403, "scope_denied");
            assert_eq!(error["details"]["scope"], "search:wildcard", "{filter}={text}");
        }
        for short in ["%", "%%", "ad%", "%a%d%", "%éü%"] {
            let answer = searcher.get(&url_query(BLOGS, [(filter, short)])).await;
            answer.invalid(&[filter]);
        }
    }
    let exact = reader.list(&url_query(BLOGS, [("author", "SAM hill")])).await;
    assert_eq!(exact.column("title"), ["3", "1"]);
    let list = searcher.list(&url_query(BLOGS, [("category", "%advice%")])).await;
    assert_eq!(list.column("title"), ["2", "1"]);
}
