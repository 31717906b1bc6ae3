//! The `url` of a blog article: a slug, unique in its business, that is written or derived from the title.

use std::collections::BTreeSet;

use harness::{Client, Engine, Shop, both_engines};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::blogs::{BLOGS, article, path, path_of};

both_engines! {
    a_slug_is_derived_from_the_title
    titles_of_every_script_have_a_valid_slug
    an_unreadable_title_has_its_id_as_slug
    the_second_of_a_name_is_numbered
    a_number_that_is_taken_is_passed_over
    a_long_title_has_a_slug_that_can_be_written
    simultaneous_articles_of_a_name_are_numbered_without_gaps
    a_written_url_is_a_slug
    a_taken_url_is_refused
    of_simultaneous_articles_at_a_url_one_is_made
    the_url_stays_when_the_title_changes
}

/// Asserts the form of a slug: words of lowercase letters and digits with single hyphens between them.
#[track_caller]
fn is_slug(url: &Value) -> &str {
    let slug = url.as_str().expect("a url is text");
    let word = |word: &str| !word.is_empty() && word.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'));
    assert!(slug.split('-').all(word), "{slug:?}");
    assert!(slug.chars().count() <= 255, "{slug:?}");
    slug
}

async fn slug(shop: &Shop, title: &str) -> String {
    let made = article(shop, &json!({"title": title})).await;
    assert_eq!(made["title"], title);
    is_slug(&made["url"]).to_owned()
}

async fn a_slug_is_derived_from_the_title(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (title, expected) in [
        ("Spring Sale 2026", "spring-sale-2026"),
        ("Hello, World!", "hello-world"),
        ("  Spaces   everywhere  ", "spaces-everywhere"),
        ("already-a-slug", "already-a-slug"),
        ("--- Dashes --- and ___ lines ---", "dashes-and-lines"),
        ("UPPER/lower\\case", "upper-lower-case"),
        ("10 tips", "10-tips"),
        ("Line\nbreak\ttab", "line-break-tab"),
        ("Café Crème", "cafe-creme"),
    ] {
        let made = shop.api.post(BLOGS, &json!({"title": title})).await.created();
        assert_eq!(is_slug(&made["url"]), expected, "{title:?}");
        // With null or an empty text a client leaves the url to the server.
        let again = shop
            .api
            .post(BLOGS, &json!({"title": title, "url": null}))
            .await
            .created();
        assert_eq!(again["url"], format!("{expected}-2"), "{title:?}");
    }
}

async fn titles_of_every_script_have_a_valid_slug(engine: Engine) {
    let shop = Shop::open(engine).await;
    let titles = [
        "Überraschung für Käufer: Größe & Spaß",
        "ÄÖÜ ẞ ß",
        "Новые автомобили со скидкой",
        "Съешь ещё этих мягких французских булок",
        "Νέα αυτοκίνητα στην Αθήνα",
        "新车促销活动",
        "新車セール、今週末まで",
        "자동차 할인 행사",
        "سيارات جديدة للبيع",
        "מכוניות חדשות",
        "नई कारें",
        "รถใหม่",
        "Ǆ İstanbul ıŞĞ",
        "ﬁne ligatures ﬀ ½ ² ™",
        "e\u{301}te\u{301}",
        "zero\u{200b}width\u{feff}",
        "\u{202e}right to left",
        "🚗🔑",
        "🇬🇧 👨‍👩‍👧 ❤️",
        "Ｆｕｌｌ　ｗｉｄｔｈ",
        "١٢٣ ४५६",
        "𝕭𝖔𝖑𝖉",
        "a\u{1}b\u{7f}c",
        "../../etc/passwd",
        "<script>alert(1)</script>",
        "%2e%2e%2f?x=1#y",
    ];
    let mut seen = BTreeSet::new();
    for title in titles.into_iter().chain(titles) {
        let slug = slug(&shop, title).await;
        let found = shop.api.list(&format!("{BLOGS}?url={slug}")).await;
        assert_eq!(found.column("title"), [title], "{slug}");
        assert!(seen.insert(slug.clone()), "{slug} is there twice");
    }
    assert_eq!(seen.len(), 2 * titles.len());
    // Each can be written again as it was read.
    for read in shop.api.list(&format!("{BLOGS}?view=full&per_page=500")).await.items {
        let back = shop.api.patch(&path_of(&read), &json!({"url": read["url"]})).await.ok();
        assert_eq!(back, read);
    }
}

async fn an_unreadable_title_has_its_id_as_slug(engine: Engine) {
    let shop = Shop::open(engine).await;
    for title in ["!!! ???", "…", "-", "___", "«—»", "/", "\u{10ffff}"] {
        let made = article(&shop, &json!({"title": title})).await;
        assert_eq!(is_slug(&made["url"]), made["id"].to_string(), "{title:?}");
        assert_eq!(made["version"], 1);
    }
    // Urls may be the ids of later articles.
    let last = article(&shop, &json!({"title": "Last"})).await["id"].as_i64().unwrap();
    let mut taken = BTreeSet::new();
    for ahead in 5..10 {
        let made = article(&shop, &json!({"title": "Ahead", "url": format!("{}", last + ahead)})).await;
        taken.insert(made["url"].as_str().unwrap().to_owned());
    }
    for _ in 0..8 {
        let made = article(&shop, &json!({"title": "!"})).await;
        let (slug, id) = (is_slug(&made["url"]).to_owned(), made["id"].to_string());
        assert_eq!(slug == id, !taken.contains(&id), "{made}");
        assert!(slug.starts_with(&id), "{made}");
        assert!(taken.insert(slug), "{made}");
    }
}

async fn the_second_of_a_name_is_numbered(engine: Engine) {
    let shop = Shop::open(engine).await;
    for expected in ["launch", "launch-2", "launch-3", "launch-4"] {
        assert_eq!(slug(&shop, "Launch").await, expected);
    }
    // Different titles may have the same slug.
    assert_eq!(slug(&shop, "LAUNCH!").await, "launch-5");
    // Another business counts for itself.
    let rival = shop.rival().await;
    let theirs = rival.post(BLOGS, &json!({"title": "Launch"})).await.created();
    assert_eq!(theirs["url"], "launch");
}

async fn a_number_that_is_taken_is_passed_over(engine: Engine) {
    let shop = Shop::open(engine).await;
    assert_eq!(slug(&shop, "Sale").await, "sale");
    assert_eq!(slug(&shop, "Sale 2").await, "sale-2");
    article(&shop, &json!({"title": "Other", "url": "sale-3"})).await;
    assert_eq!(slug(&shop, "Sale").await, "sale-4");
    assert_eq!(slug(&shop, "Sale 2").await, "sale-2-2");
}

async fn a_long_title_has_a_slug_that_can_be_written(engine: Engine) {
    let shop = Shop::open(engine).await;
    for title in [
        "a".repeat(255),
        "ab ".repeat(85).trim_end().to_owned(),
        "щ".repeat(255),
        "车".repeat(255),
        "ß".repeat(255),
    ] {
        let mut seen = BTreeSet::new();
        for _ in 0..11 {
            let made = article(&shop, &json!({"title": title})).await;
            assert!(seen.insert(is_slug(&made["url"]).to_owned()), "{}", made["url"]);
            let back = shop.api.patch(&path_of(&made), &json!({"url": made["url"]})).await;
            assert_eq!(back.ok(), made);
        }
    }
}

async fn simultaneous_articles_of_a_name_are_numbered_without_gaps(engine: Engine) {
    let shop = Shop::open(engine).await;
    let second = shop.installation().serve().start().await;
    let other = second.client(&shop.business.key("all").await.token);
    let mut writers = JoinSet::new();
    for client in [&shop.api, &other].into_iter().cycle().take(16) {
        let client = client.clone();
        writers.spawn(async move { client.post(BLOGS, &json!({"title": "Launch"})).await.created() });
    }
    let made = writers.join_all().await;
    let urls: BTreeSet<&str> = made.iter().map(|article| is_slug(&article["url"])).collect();
    let numbered: Vec<String> = (2..=16).map(|number| format!("launch-{number}")).collect();
    let expected = numbered.iter().map(String::as_str).chain(["launch"]);
    assert_eq!(urls, expected.collect());
    for article in &made {
        assert_eq!(&shop.api.get(&path_of(article)).await.ok(), article);
    }
}

async fn a_written_url_is_a_slug(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({"title": "Ann"})).await;
    for good in ["a", "7", "2026", "new-cars", "a-1-b-2", "x".repeat(100).as_str()] {
        assert_eq!(shop.api.patch(&path, &json!({"url": good})).await.ok()["url"], good);
        let made = article(&shop, &json!({"title": "Bea", "url": format!("{good}-bea")})).await;
        assert_eq!(made["url"], format!("{good}-bea"));
    }
    for bad in [
        "New-Cars",
        "new cars",
        "new_cars",
        "new/cars",
        "/new-cars",
        "new.cars",
        "neue-wägen",
        "новости",
        "🚗",
        "new-cars ",
        " new-cars",
        "new\ncars",
        "new-cars?x=1",
        "new-cars#x",
        "%6eew",
        "https://acme.example/new-cars",
        "../x",
        "new—cars",
        "ｎｅｗ",
        "٣",
        "a\0b",
        "ı",
    ] {
        let mut body = json!({"url": bad});
        shop.api.patch(&path, &body).await.invalid(&["url"]);
        body["title"] = json!("Bea");
        shop.api.post(BLOGS, &body).await.invalid(&["url"]);
    }
}

async fn a_taken_url_is_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let one = article(&shop, &json!({"title": "One"})).await;
    let two = article(&shop, &json!({"title": "Two", "url": "second", "status": "published"})).await;
    for (taken, path) in [("one", path_of(&two)), ("second", path_of(&one))] {
        shop.api.patch(&path, &json!({"url": taken})).await.invalid(&["url"]);
        shop.api
            .post(BLOGS, &json!({"title": "Three", "url": taken}))
            .await
            .invalid(&["url"]);
    }
    // An article's own slug is not taken, and one that is given up is free.
    assert_eq!(shop.api.patch(&path_of(&one), &json!({"url": "one"})).await.ok(), one);
    shop.api.patch(&path_of(&one), &json!({"url": "first"})).await.ok();
    assert_eq!(
        shop.api.patch(&path_of(&two), &json!({"url": "one"})).await.ok()["url"],
        "one"
    );
    assert_eq!(slug(&shop, "Second").await, "second");
    // Another business's is unknown here.
    let rival = shop.rival().await;
    let theirs = rival
        .post(BLOGS, &json!({"title": "Theirs", "url": "one"}))
        .await
        .created();
    assert_eq!(theirs["url"], "one");
}

async fn of_simultaneous_articles_at_a_url_one_is_made(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut writers = JoinSet::new();
    for _ in 0..16 {
        let api: Client = shop.api.clone();
        writers.spawn(async move { api.post(BLOGS, &json!({"title": "Launch", "url": "launch-day"})).await });
    }
    let (made, refused): (Vec<_>, Vec<_>) = writers
        .join_all()
        .await
        .into_iter()
        .partition(|answer| answer.status == 201);
    assert_eq!(made.len(), 1);
    for answer in refused {
        answer.invalid(&["url"]);
    }
    assert_eq!(shop.api.list(BLOGS).await.column("url"), ["launch-day"]);
}

async fn the_url_stays_when_the_title_changes(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = path(&shop, &json!({"title": "Spring Sale"})).await;
    for title in ["Summer Sale", "!!!", "Распродажа"] {
        let seen = shop
            .api
            .patch(&path, &json!({"title": title, "status": "published"}))
            .await
            .ok();
        assert_eq!((&seen["title"], &seen["url"]), (&json!(title), &json!("spring-sale")));
    }
    assert_eq!(slug(&shop, "Spring Sale").await, "spring-sale-2");
    assert_eq!(slug(&shop, "Summer Sale").await, "summer-sale");
}
