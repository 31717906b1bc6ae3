//! Malicious or meaningless input is stored or refused, but it never makes the server fail.

use harness::{Engine, Shop, both_engines, url_query};
use serde_json::{Value, json};

both_engines! {
    every_character_survives_a_round_trip
    nul_characters_do_no_harm
    half_characters_do_no_harm
    deep_nesting_does_no_harm
    huge_numbers_do_no_harm
    repeated_members_do_no_harm
    long_texts_do_no_harm
    markup_and_statements_are_just_text
    odd_queries_do_no_harm
    long_queries_do_no_harm
}

const LEADS: &str = "/2.0/leads";

/// Sends a create as text; the server may give any answer but must not fail.
async fn harmless(shop: &Shop, body: &str) -> u16 {
    let answer = shop.api.request("POST", LEADS).body(body.to_owned()).send().await;
    answer.not_our_fault();
    shop.api.get(LEADS).await.ok();
    answer.status
}

async fn every_character_survives_a_round_trip(engine: Engine) {
    let shop = Shop::open(engine).await;
    let texts = [
        "Zoë Åström 🚗",
        "\u{202e}right to left",
        "zero\u{200b}width",
        "e\u{301} composed, é not",
        "\u{1}\u{1f}\u{7f}\u{85}\u{2028}",
        "\u{fffd}\u{ffff}\u{10ffff}",
        "tab\tnewline\nreturn\r",
        "\"quotes\" \\ 'and' /slashes/",
    ];
    for text in texts {
        // A name is a single line.
        let name = text.replace(['\n', '\r'], " ");
        let body = json!({"name": name, "channel_id": text, "data": {text: {"deep": [text]}}});
        let made = shop.lead(&body).await;
        let read = shop.api.get(&format!("{LEADS}/{}", made["id"])).await.ok();
        assert_eq!(made, read);
        assert_eq!(
            (&read["name"], &read["data"]["channel_id"]),
            (&json!(name), &json!(text))
        );
        assert_eq!(read["data"][text], json!({"deep": [text]}));
        let found = shop.api.list(&url_query(LEADS, [("name", name.as_str())])).await;
        assert_eq!(found.ids(), [read["id"].as_i64().unwrap()], "{text:?}");
    }
}

async fn nul_characters_do_no_harm(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let bodies = [
        json!({"name": "a\0b"}),
        json!({"email": "a\0b@example.com"}),
        json!({"phone": "+44\0 7700 900123"}),
        json!({"mobile": "07700900123\0"}),
        json!({"channel": "api\0"}),
        json!({"channel_id": "\0"}),
        json!({"type": "email\0"}),
        json!({"type": ["email", "\0"]}),
        json!({"tag": ["Hot\0"]}),
        json!({"vehicle_tag": "\0"}),
        json!({"data": {"message": "a\0b"}}),
        json!({"data": {"a\0b": 1}}),
        json!({"data": {"deep": [{"\0": ["\0"]}]}}),
        json!({"unknown\0": "\0"}),
    ];
    for body in bodies {
        harmless(&shop, &body.to_string()).await;
        shop.api.patch(&lead, &body).await.not_our_fault();
    }
    let status = shop
        .api
        .patch(&format!("{lead}/status"), &json!({"status": "read\0"}))
        .await;
    status.invalid(&["status"]);
    for parameter in [
        "name",
        "email",
        "phone",
        "channel",
        "status",
        "created",
        "cursor",
        "fields",
        "view",
        "reference",
    ] {
        shop.api
            .get(&url_query(LEADS, [(parameter, "a\0bc")]))
            .await
            .not_our_fault();
    }
    shop.api
        .get(&url_query(LEADS, [("email", "%a\0bc%")]))
        .await
        .not_our_fault();
    let request = shop.api.request("POST", LEADS).key("a%00b").body("{}");
    request.send().await.refused(400, "idempotency_key_invalid");
}

async fn half_characters_do_no_harm(engine: Engine) {
    let shop = Shop::open(engine).await;
    for text in [r"\ud800", r"\udc00", r"\ud800\ud800", r"\ud83d x"] {
        assert_eq!(harmless(&shop, &format!(r#"{{"name":"{text}"}}"#)).await, 400);
        // The content of the detail is not inspected, but must be text.
        harmless(&shop, &format!(r#"{{"data":{{"message":"{text}"}}}}"#)).await;
        harmless(&shop, &format!(r#"{{"data":{{"{text}":1}}}}"#)).await;
    }
    let pair = shop
        .api
        .request("POST", LEADS)
        .body(r#"{"name":"\ud83d\ude97"}"#)
        .send()
        .await;
    assert_eq!(pair.created()["name"], "🚗");
    for path in [
        "/2.0/leads?name=%ff",
        "/2.0/leads?%ff=1",
        "/2.0/leads?name=%",
        "/2.0/leads?name=%zz",
        "/2.0/leads/%ff",
    ] {
        shop.api.get(path).await.not_our_fault();
    }
}

async fn deep_nesting_does_no_harm(engine: Engine) {
    let shop = Shop::open(engine).await;
    for depth in [100, 1_000, 100_000] {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        for member in ["data", "name", "tag", "unknown"] {
            harmless(&shop, &format!(r#"{{"{member}":{open}{close}}}"#)).await;
        }
        let objects = r#"{"a":"#.repeat(depth.min(50_000));
        harmless(
            &shop,
            &format!(r#"{{"data":{objects}1{}}}"#, "}".repeat(depth.min(50_000))),
        )
        .await;
        harmless(&shop, &open).await;
    }
}

async fn huge_numbers_do_no_harm(engine: Engine) {
    let shop = Shop::open(engine).await;
    for number in [
        "1e308",
        "1e400",
        "-1e400",
        "1e-400",
        "123456789012345678901234567890",
        "-0",
        "0.1",
        &"9".repeat(10_000),
    ] {
        harmless(&shop, &format!(r#"{{"data":{{"number":{number}}}}}"#)).await;
        for member in ["site", "contact", "status", "vehicle", "unknown"] {
            harmless(&shop, &format!(r#"{{"{member}":{number}}}"#)).await;
        }
        for parameter in [
            "site",
            "reference",
            "contact",
            "vehicle",
            "rating_min",
            "created",
            "page",
            "per_page",
        ] {
            shop.api
                .get(&format!("{LEADS}?{parameter}={number}"))
                .await
                .not_our_fault();
        }
    }
}

async fn repeated_members_do_no_harm(engine: Engine) {
    let shop = Shop::open(engine).await;
    harmless(&shop, r#"{"name":"Ann","name":"Bea"}"#).await;
    harmless(&shop, r#"{"data":{"a":1,"a":2},"data":{"a":3}}"#).await;
    for query in [
        "page=1&page=2",
        "per_page=1&per_page=2",
        "name=a&name=b",
        "created=1&created=2",
        "fields=id&fields=name",
    ] {
        shop.api.get(&format!("{LEADS}?{query}")).await.not_our_fault();
    }
}

/// Returns text that cannot be compressed, so that it does not fit into an index by chance.
fn noise(length: usize) -> String {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut letter = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(b'a' + u8::try_from(state % 26).unwrap())
    };
    (0..length).map(|_| letter()).collect()
}

async fn long_texts_do_no_harm(engine: Engine) {
    let shop = Shop::open(engine).await;
    for length in [300, 3_000, 10_000, 200_000] {
        let text = noise(length);
        for body in [
            json!({"name": text}),
            json!({"email": format!("{}@example.com", &text[..200])}),
            json!({"email": format!("{text}@example.com")}),
            json!({"phone": "7".repeat(length)}),
            json!({"channel_id": text}),
            json!({"vehicle_tag": text}),
            json!({"type": text}),
            json!({"tag": [text]}),
        ] {
            harmless(&shop, &body.to_string()).await;
        }
    }
}

async fn markup_and_statements_are_just_text(engine: Engine) {
    let shop = Shop::open(engine).await;
    for text in [
        "'; DROP TABLE leads; --",
        "\" OR 1=1 --",
        "$1",
        "?1",
        ":name",
        "{{7*7}}",
        "<script>alert(1)</script>",
        "$(id)",
        "%s%n",
    ] {
        let lead = shop.lead(&json!({"name": text, "data": {text: text}})).await;
        assert_eq!((&lead["name"], &lead["data"][text]), (&json!(text), &json!(text)));
        // A text with a wildcard is a different filter.
        if !text.contains('%') {
            let found = shop.api.list(&url_query(LEADS, [("name", text)])).await;
            assert_eq!(found.column("name"), [text]);
        }
    }
}

async fn odd_queries_do_no_harm(engine: Engine) {
    let shop = Shop::open(engine).await;
    let queries = [
        "?",
        "&",
        "&&&",
        "=",
        "=x",
        "name",
        "name&",
        "[]",
        "[]=1",
        "created[",
        "created]=1",
        "created[[]]=1",
        "created[a]=1",
        "created[-1]=1",
        "created[99999999999999999999]=1",
        "created[1]=1",
        "created[0][0]=1",
        "created[a][b][c]=1",
        "name[]=x",
        "name[0]=x",
        "page[]=1",
        "view[]=full",
        "fields[]=id",
        "cursor[]=x",
        "name=%00",
        "fields=.",
        "fields=..",
        "fields=,",
        "fields=a..b",
        "fields=data.",
        "+=+",
        "created[]=1&created=2",
    ];
    for query in queries {
        let answer = shop.api.get(&format!("{LEADS}?{query}")).await;
        answer.not_our_fault();
        let _: Value = answer.json();
    }
}

async fn long_queries_do_no_harm(engine: Engine) {
    let shop = Shop::open(engine).await;
    for query in [
        format!("name={}", "x".repeat(10_000)),
        format!("email={}", "%25".repeat(5_000)),
        format!("email=%25{}%25", "a%25".repeat(2_000)),
        format!("fields={}", "a.".repeat(5_000)),
        format!("fields={}", "id,".repeat(5_000)),
        format!("cursor={}", "x".repeat(10_000)),
        "created[]=1&".repeat(1_000),
        "a=b&".repeat(5_000),
    ] {
        shop.api.get(&format!("{LEADS}?{query}")).await.not_our_fault();
    }
    // A head longer than the limit is refused, or the connection is closed.
    let endless = shop
        .api
        .request("GET", &format!("{LEADS}?name={}", "x".repeat(1_000_000)));
    if let Ok(answer) = endless.attempt().await {
        assert!((400..500).contains(&answer.status), "{}", answer.status);
    }
    shop.api.get(LEADS).await.ok();
}
