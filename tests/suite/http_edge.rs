//! The edge of HTTP: heads beyond the bounds, blocked addresses, the headers of answers, and clients that do not read.

use std::time::Duration;

use harness::{Answer, Engine, Raw, Serve, Server, Shop, both_engines};
use serde_json::json;

both_engines! {
    an_unconfigured_proxy_is_never_blocked
    a_network_is_blocked_where_proxies_are_trusted
    answers_to_credentials_are_kept_apart
}

const KIB: usize = 1024;

/// Asserts the properties of every answer, and a refusal with this status and code.
#[track_caller]
fn refused(answer: &Answer, status: u16, code: &str) {
    answer.refused(status, code);
    assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"), "{code}");
    assert_eq!(answer.header("Cache-Control"), Some("private, no-store"), "{code}");
}

/// Returns the answer to a GET of this target with these further header lines.
async fn get(server: &Server, target: &str, headers: &str) -> Answer {
    let request = format!("GET {target} HTTP/1.1\r\nHost: any\r\nConnection: close\r\n{headers}\r\n");
    Raw::exchange(server, request.as_bytes()).await
}

#[tokio::test]
async fn a_long_target_is_refused_on_every_path() {
    let shop = Shop::open(Engine::Sqlite).await;
    for path in ["/2.0/leads", "/2.0/nothing", "/healthz", "/docs", "/"] {
        let of_length = |length: usize| format!("{path}?{}", "x".repeat(length - path.len() - 1));
        let fits = get(&shop.server, &of_length(16 * KIB), "").await;
        assert_ne!(fits.status, 414, "{path}");
        for length in [16 * KIB + 1, 17 * KIB, 60 * KIB, 120 * KIB, 1024 * KIB] {
            let answer = get(&shop.server, &of_length(length), "").await;
            refused(&answer, 414, "uri_too_long");
        }
    }
    let target = format!("/2.0/{}", "x".repeat(20 * KIB));
    let answer = shop
        .api
        .request("GET", &target)
        .header("X-Request-Id", "mine")
        .send()
        .await;
    refused(&answer, 414, "uri_too_long");
    assert_eq!(answer.header("X-Request-Id"), Some("mine"));
    let head = shop.api.request("HEAD", &target).send().await;
    assert_eq!((head.status, head.text()), (414, ""));
    // Fragments, other forms and other methods do not circumvent it.
    for line in [
        format!("GET /healthz#{} HTTP/1.1", "x".repeat(20 * KIB)),
        format!("GET http://any/{} HTTP/1.1", "x".repeat(16 * KIB)),
        format!("PUT /{} HTTP/1.1", "%41".repeat(10 * KIB)),
        format!("NONSENSE /{} HTTP/1.0", "é".repeat(40 * KIB)),
    ] {
        let request = format!("{line}\r\nHost: any\r\n\r\n");
        refused(
            &Raw::exchange(&shop.server, request.as_bytes()).await,
            414,
            "uri_too_long",
        );
    }
}

#[tokio::test]
async fn headers_that_an_operation_reads_are_bounded() {
    let shop = Shop::open(Engine::Sqlite).await;
    let lead = shop.lead_path("Ann").await;
    let document = shop.api.get("/2.0/openapi.json").await.json();
    for (method, name) in [("GET", "If-None-Match"), ("PATCH", "If-Match"), ("PATCH", "Prefer")] {
        let parameters = &document["paths"]["/2.0/leads/{id}"][method.to_lowercase()]["parameters"];
        let mut parameters = parameters.as_array().unwrap().iter();
        let declared = parameters.find(|parameter| parameter["name"] == name).unwrap();
        let most = usize::try_from(declared["schema"]["maxLength"].as_u64().unwrap()).unwrap();
        let filled = |length: usize| match name {
            "Prefer" => format!("a={}", "b".repeat(length - 2)),
            _ => format!("\"1\",\"{}\"", "b".repeat(length - 6)),
        };
        let sent = async |length: usize| {
            let request = shop.api.request(method, &lead).header(name, &filled(length));
            request.json(&json!({})).send().await
        };
        assert!([200, 304].contains(&sent(most).await.status), "{name}");
        sent(most + 1).await.invalid(&[name]);
    }
}

#[tokio::test]
async fn large_headers_are_refused_on_every_path() {
    let shop = Shop::open(Engine::Sqlite).await;
    for path in ["/2.0/leads", "/2.0/nothing", "/healthz"] {
        let fits = get(&shop.server, path, &format!("X-Long: {}\r\n", "x".repeat(31 * KIB))).await;
        assert_ne!(fits.status, 431, "{path}");
        for length in [33 * KIB, 64 * KIB, 100 * KIB, 1024 * KIB] {
            let one = format!("X-Long: {}\r\n", "x".repeat(length));
            refused(&get(&shop.server, path, &one).await, 431, "headers_too_large");
            let lines: String = (0..length / KIB)
                .map(|line| format!("X-{line}: {}\r\n", "x".repeat(KIB)))
                .collect();
            refused(&get(&shop.server, path, &lines).await, 431, "headers_too_large");
        }
        let many: String = (0..200).map(|line| format!("X-{line}: x\r\n")).collect();
        refused(&get(&shop.server, path, &many).await, 431, "headers_too_large");
    }
}

#[tokio::test]
async fn what_is_no_http_gets_the_envelope_too() {
    let shop = Shop::open(Engine::Sqlite).await;
    for request in [
        "NONSENSE\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: any\r\nContent-Length: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: any\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
    ] {
        let answer = Raw::exchange(&shop.server, request.as_bytes()).await;
        refused(&answer, 400, "request_invalid");
    }
}

#[tokio::test]
async fn a_connection_serves_on_until_a_head_is_refused() {
    let shop = Shop::open(Engine::Sqlite).await;
    let mut connection = Raw::connect(&shop.server).await;
    let get = |target: &str| format!("GET {target} HTTP/1.1\r\nHost: any\r\n\r\n");
    for _ in 0..3 {
        connection.send(get("/healthz").as_bytes()).await.unwrap();
        assert_eq!(connection.answer().await.status, 200);
        connection
            .send(get(&format!("/{}", "x".repeat(20 * KIB))).as_bytes())
            .await
            .unwrap();
        refused(&connection.answer().await, 414, "uri_too_long");
    }
    connection
        .send(get(&format!("/{}", "x".repeat(200 * KIB))).as_bytes())
        .await
        .unwrap();
    refused(&connection.answer().await, 414, "uri_too_long");
    assert!(connection.ends_within(Duration::from_secs(60)).await);
}

#[tokio::test]
async fn bodies_are_no_heads() {
    let shop = Shop::open(Engine::Sqlite).await;
    let token = shop.business.key("all").await.token;
    let mut connection = Raw::connect(&shop.server).await;
    for length in [10, 60_000, 200_000, 900_000] {
        let body = json!({"name": "Ann", "padding": "x".repeat(length)}).to_string();
        let request = format!(
            "POST /2.0/leads HTTP/1.1\r\nHost: any\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        connection.send(request.as_bytes()).await.unwrap();
        connection.answer().await.created();
    }
    // An unread body ends the connection, after one answer.
    for framing in [
        "Content-Length: 300000\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n493e0\r\n",
    ] {
        let mut connection = Raw::connect(&shop.server).await;
        let head = format!("POST /2.0/leads HTTP/1.1\r\nHost: any\r\n{framing}");
        connection.send(head.as_bytes()).await.unwrap();
        drop(connection.send("x".repeat(300_000).as_bytes()).await);
        let answer = connection.answer().await;
        refused(&answer, 401, "authentication_required");
        assert_eq!(answer.header("Connection"), Some("close"));
        assert!(connection.ends_within(Duration::from_secs(60)).await);
    }
}

/// Fails three times in a way that counts; returns the code of one more try.
async fn fail(shop: &Shop, forwarded_for: &str) -> String {
    let ask = async || {
        let request = shop.server.client("nonsense").request("GET", "/2.0/leads");
        request.header("X-Forwarded-For", forwarded_for).send().await
    };
    // There are six, since a minute may end in between.
    for _ in 0..6 {
        ask().await;
    }
    let mut error = ask().await.json();
    error["error"]["code"].take().as_str().unwrap().to_owned()
}

fn limited(serve: Serve) -> Serve {
    serve.env("FORECOURT_AUTH_FAILURES_PER_MINUTE", 3)
}

async fn an_unconfigured_proxy_is_never_blocked(engine: Engine) {
    let shop = Shop::open_with(engine, limited).await;
    for _ in 0..3 {
        assert_eq!(fail(&shop, "203.0.113.9").await, "authentication_invalid");
    }
    shop.api.get("/2.0/leads").await.ok();
    let log = shop.server.log();
    assert_eq!(log.matches("FORECOURT_TRUSTED_PROXIES").count(), 1, "{log}");
    assert!(!log.contains("is blocked after"), "{log}");
}

async fn a_network_is_blocked_where_proxies_are_trusted(engine: Engine) {
    let trusting = |serve: Serve| limited(serve).env("FORECOURT_TRUSTED_PROXIES", "127.0.0.1/32");
    let shop = Shop::open_with(engine, trusting).await;
    let from = async |address: &str| {
        let request = shop.api.request("GET", "/2.0/leads");
        request.header("X-Forwarded-For", address).send().await
    };
    assert_eq!(fail(&shop, "203.0.113.9").await, "authentication_blocked");
    from("203.0.113.9").await.refused(401, "authentication_blocked");
    from("203.0.113.10").await.ok();

    assert_eq!(fail(&shop, "2001:db8:1:2::7").await, "authentication_blocked");
    from("2001:db8:1:2:ffff::").await.refused(401, "authentication_blocked");
    from("2001:db8:1:3::7").await.ok();

    for private in [
        "10.1.2.3",
        "192.168.1.1",
        "100.64.1.1",
        "fd00::1",
        "::ffff:127.0.0.1",
        "nonsense",
        "",
    ] {
        assert_eq!(fail(&shop, private).await, "authentication_invalid", "{private}");
        from(private).await.ok();
    }
    let log = shop.server.log();
    assert_eq!(log.matches("is blocked after").count(), 2, "{log}");
}

async fn answers_to_credentials_are_kept_apart(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let anonymous = shop.server.anonymous();
    for answer in [
        shop.api.get(&lead).await,
        shop.api.get("/2.0/leads").await,
        shop.api.request("HEAD", "/2.0/leads").send().await,
        shop.api.post("/2.0/leads", &json!({"name": "Bob"})).await,
        shop.api.post("/2.0/leads", &json!({"site": "x"})).await,
        shop.api.get("/2.0/leads/999999").await,
        shop.client("leads:write").await.get("/2.0/leads").await,
        shop.server.client("nonsense").get("/2.0/leads").await,
        anonymous.get("/2.0/leads").await,
        anonymous.get("/2.0/nothing").await,
    ] {
        // The caller may cache an answer with an ETag, and revalidates it each time.
        let caching = match answer.header("ETag") {
            Some(_) => "private, no-cache",
            None => "private, no-store",
        };
        assert_eq!(answer.header("Cache-Control"), Some(caching), "{answer:?}");
        assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"), "{answer:?}");
    }
    for (path, caching) in [
        ("/healthz", "no-store"),
        ("/readyz", "no-store"),
        ("/2.0/openapi.json", "no-cache"),
        ("/docs", "no-cache"),
        ("/docs/swagger-ui.css", "no-cache"),
    ] {
        let answer = anonymous.get(path).await;
        assert_eq!(answer.header("Cache-Control"), Some(caching), "{path}");
        assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"), "{path}");
    }
    for path in ["/2.0/openapi.json", "/docs", "/docs/swagger-ui-bundle.js"] {
        let answer = anonymous.get(path).await;
        let tag = answer.header("ETag").unwrap_or_else(|| panic!("{path} has no ETag"));
        let request = anonymous.request("GET", path).header("If-None-Match", tag);
        let known = request.send().await;
        assert_eq!((known.status, known.body.len()), (304, 0), "{path}");
    }
}

#[tokio::test]
async fn the_documentation_runs_nothing_but_its_own() {
    let shop = Shop::open(Engine::Sqlite).await;
    for path in ["/docs", "/docs/", "/docs/swagger-ui-bundle.js", "/docs/nothing"] {
        let answer = shop.server.anonymous().get(path).await;
        let policy = answer.header("Content-Security-Policy").unwrap_or_default();
        assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
        assert!(policy.contains("script-src 'self';"), "{path}: {policy}");
        assert!(policy.contains("frame-ancestors 'none'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe-eval"), "{path}: {policy}");
        assert_eq!(answer.header("X-Frame-Options"), Some("DENY"), "{path}");
        assert_eq!(answer.header("Referrer-Policy"), Some("no-referrer"), "{path}");
    }
    let page = shop.server.anonymous().get("/docs").await;
    for script in page.text().split("<script").skip(1) {
        assert!(script.trim_start().starts_with("src=\""), "an inline script: {script}");
    }
    assert!(!page.text().contains("style="), "an inline style");
}
