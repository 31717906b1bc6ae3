//! Text filters: exact, or with `%` for keys that may search.

use harness::{Engine, Shop, both_engines, url_query};
use serde_json::{Value, json};

both_engines! {
    without_a_wildcard_the_whole_text_is_compared
    a_wildcard_stands_for_any_run_of_characters
    an_underscore_is_an_ordinary_character
    other_special_characters_are_ordinary_too
    letters_of_every_alphabet_are_compared_without_case
    a_search_needs_three_characters
    a_search_needs_its_scope
}

const LEADS: &str = "/2.0/leads";

async fn shop_with(engine: Engine, filter: &str, values: &[&str]) -> Shop {
    let shop = Shop::open(engine).await;
    for value in values {
        shop.lead(&json!({filter: value})).await;
    }
    shop
}

async fn found(shop: &Shop, filter: &str, text: &str) -> Vec<Value> {
    let mut values = shop.api.list(&url_query(LEADS, [(filter, text)])).await.column(filter);
    values.reverse();
    values
}

const EMAILS: [&str; 4] = [
    "ann@example.com",
    "Bea@Example.org",
    "a_b@example.net",
    "axb@example.net",
];

async fn emails(engine: Engine, table: &[(&str, &[&str])]) {
    let shop = shop_with(engine, "email", &EMAILS).await;
    for (text, expected) in table {
        assert_eq!(&found(&shop, "email", text).await, expected, "{text}");
    }
}

async fn without_a_wildcard_the_whole_text_is_compared(engine: Engine) {
    emails(
        engine,
        &[
            ("ann@example.com", &["ann@example.com"]),
            ("ANN@EXAMPLE.COM", &["ann@example.com"]),
            ("bea@example.org", &["Bea@Example.org"]),
            ("ann@example", &[]),
            ("nn@example.com", &[]),
        ],
    )
    .await;
}

async fn a_wildcard_stands_for_any_run_of_characters(engine: Engine) {
    emails(
        engine,
        &[
            ("%example%", &EMAILS),
            ("%EXAMPLE.COM", &["ann@example.com"]),
            ("ann%", &["ann@example.com"]),
            ("b%org", &["Bea@Example.org"]),
            ("a%example.net%", &["a_b@example.net", "axb@example.net"]),
            ("%a%n%n%", &["ann@example.com"]),
            ("%ann@example.com%", &["ann@example.com"]),
            ("%%%example.org", &["Bea@Example.org"]),
            ("example%", &[]),
            ("%nothing%", &[]),
        ],
    )
    .await;
}

async fn an_underscore_is_an_ordinary_character(engine: Engine) {
    emails(
        engine,
        &[
            ("a_b@%", &["a_b@example.net"]),
            ("a_b@example.net", &["a_b@example.net"]),
            ("a_n@example%", &[]),
        ],
    )
    .await;
}

async fn other_special_characters_are_ordinary_too(engine: Engine) {
    let names = [r"back\slash", "a*b?c[d]", "quote'quote", "100 percent", r"trail\"];
    let shop = shop_with(engine, "name", &names).await;
    let table: [(&str, &[&str]); 10] = [
        (r"back\slash", &[r"back\slash"]),
        (r"back\%", &[r"back\slash"]),
        (r"%k\sl%", &[r"back\slash"]),
        (r"%ail\", &[r"trail\"]),
        (r"trail\%", &[r"trail\"]),
        ("a*b?c[d]", &["a*b?c[d]"]),
        ("%*b?c%", &["a*b?c[d]"]),
        ("a*%c*", &[]),
        ("%e'q%", &["quote'quote"]),
        ("b*ck*", &[]),
    ];
    for (text, expected) in table {
        assert_eq!(found(&shop, "name", text).await, expected, "{text}");
    }
}

async fn letters_of_every_alphabet_are_compared_without_case(engine: Engine) {
    let names = ["Émile Übel", "ΑΘΗΝΑ", "Юлия", "Straße"];
    let shop = shop_with(engine, "name", &names).await;
    let table: [(&str, &[&str]); 6] = [
        ("émile übel", &["Émile Übel"]),
        ("ÉMILE%", &["Émile Übel"]),
        ("αθηνα", &["ΑΘΗΝΑ"]),
        ("%ЛИЯ", &["Юлия"]),
        ("STRAßE", &["Straße"]),
        ("emile%", &[]),
    ];
    for (text, expected) in table {
        assert_eq!(found(&shop, "name", text).await, expected, "{text}");
    }
}

async fn a_search_needs_three_characters(engine: Engine) {
    let shop = shop_with(engine, "email", &EMAILS).await;
    for short in ["%", "%%%", "%a", "ab%", "%a%b%", "%éü%"] {
        let answer = shop.api.get(&url_query(LEADS, [("email", short)])).await;
        answer.invalid(&["email"]);
    }
    for enough in ["%abc", "%a%b%c%", "%éüß%"] {
        shop.api.list(&url_query(LEADS, [("email", enough)])).await;
    }
}

async fn a_search_needs_its_scope(engine: Engine) {
    let shop = shop_with(engine, "email", &EMAILS).await;
    let reader = shop.client("leads:read").await;
    for filter in ["email", "name"] {
        for text in ["%example%", "%", "a%"] {
            let answer = reader.get(&url_query(LEADS, [(filter, text)])).await;
            let error = answer.refused(403, "scope_denied");
            assert_eq!(error["details"]["scope"], "search:wildcard", "{filter}={text}");
        }
    }
    let exact = reader.list(&url_query(LEADS, [("email", "ANN@example.com")])).await;
    assert_eq!(exact.column("email"), ["ann@example.com"]);
}
