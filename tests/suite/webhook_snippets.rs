//! The receivers of docs/webhooks.md, taken from that page unchanged, and tested with a real delivery and with forgeries.

#[expect(
    clippy::disallowed_methods,
    reason = "it stands outside of the program, and its Clock port in it"
)]
mod receiver;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use harness::{Engine, Job, Port, Receiver, Shop, eventually, now, verify};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::json;
use sha2::Sha256;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

const PAGE: &str = include_str!("../../docs/webhooks.md");
const TIMEOUT: Duration = Duration::from_secs(60);

/// Returns the code block of the page in this language that mentions `name` at its beginning.
fn block(language: &str, name: &str) -> &'static str {
    let fence = format!("\n```{language}\n");
    let blocks = PAGE.split(&fence).skip(1);
    let mut blocks = blocks.filter_map(|rest| rest.split("\n```\n").next());
    let begins_so = |block: &&str| block.lines().take(2).any(|line| line.contains(name));
    blocks
        .find(begins_so)
        .unwrap_or_else(|| panic!("docs/webhooks.md has no {name}"))
}

/// A delivery, real or forged.
struct Post {
    what: &'static str,
    header: String,
    body: Vec<u8>,
    genuine: bool,
}

/// Returns the secret of a real delivery, with that delivery, accepted variations, and forgeries that every receiver must
/// refuse.
async fn posts() -> (String, Vec<Post>) {
    let endpoint = Receiver::start();
    let shop = Shop::open_with(Engine::Sqlite, |serve| {
        serve.env("FORECOURT_WEBHOOK_ALLOW_INSECURE_TARGETS", true)
    })
    .await;
    let webhook = json!({"url": endpoint.url("/hook"), "events": "*"});
    let webhook = shop.api.post("/2.0/webhooks", &webhook).await.created();
    let secret = webhook["secret"].as_str().unwrap().to_owned();
    let message = "Is \"Saturday\" all right?\n\\ 100 % – Zoë 🚗\t";
    shop.lead(&json!({"name": "Zoë Müller", "data": {"message": message}}))
        .await;
    let real = endpoint.wait_for(1, TIMEOUT).remove(0);
    let header = real.header("X-Service-Signature").unwrap().to_owned();
    let posts = variations(&secret, &header, &real.body);
    (secret, posts)
}

fn variations(secret: &str, header: &str, body: &[u8]) -> Vec<Post> {
    let post = |what, genuine, header: String, body: Vec<u8>| Post {
        what,
        header,
        body,
        genuine,
    };
    let same = |what, genuine, header: String| post(what, genuine, header, body.to_vec());
    let signed = |at: i64, secret: &str| format!("t={at},v1={}", signature(secret, at, body));
    let (t, v1) = header.strip_prefix("t=").unwrap().split_once(",v1=").unwrap();
    let at: i64 = t.parse().unwrap();
    let other_end = if v1.ends_with('0') { '1' } else { '0' };
    let altered = {
        let mut altered = body.to_vec();
        let name = body
            .windows(3)
            .position(|bytes| bytes == "Zo\u{eb}".as_bytes().get(..3).unwrap());
        altered[name.unwrap()] = b'z';
        altered
    };
    vec![
        same("the delivery itself", true, header.into()),
        same(
            "in another order, with a part of the future",
            true,
            format!("v9=x,v1={v1},t={t}"),
        ),
        same("three minutes old", true, signed(now() - 180, secret)),
        same("three minutes ahead", true, signed(now() + 180, secret)),
        same("ten minutes old", false, signed(now() - 600, secret)),
        same("ten minutes ahead", false, signed(now() + 600, secret)),
        same("signed with another secret", false, signed(at, "whsec_other")),
        same("signed with no secret", false, signed(at, "")),
        same("another time", false, format!("t={},v1={v1}", at + 1)),
        same("no time", false, format!("v1={v1}")),
        same("a time that is none", false, format!("t=now,v1={v1}")),
        same("a digit changed", false, format!("t={t},v1={}{other_end}", &v1[..63])),
        same("a digit short", false, format!("t={t},v1={}", &v1[..63])),
        same("digits too many", false, format!("t={t},v1={v1}00")),
        same("no digits behind the digits", false, format!("t={t},v1={v1}zz")),
        same("capitals", false, format!("t={t},v1={}", v1.to_uppercase())),
        same("an empty signature", false, format!("t={t},v1=")),
        same("no signature", false, format!("t={t}")),
        same("no header", false, String::new()),
        same("nonsense", false, "=,;é=v1".into()),
        post("a letter changed", false, header.into(), altered),
        post("a space added", false, header.into(), [body, b" "].concat()),
        post("a byte short", false, header.into(), body[..body.len() - 1].to_vec()),
        post("no body", false, header.into(), Vec::new()),
    ]
}

fn signature(secret: &str, at: i64, body: &[u8]) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{at}.").as_bytes());
    mac.update(body);
    let bytes = mac.finalize().into_bytes();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns true if a program is on this machine. A missing one is reported.
#[expect(clippy::print_stderr, reason = "who runs the tests should know what was not tried")]
async fn has(program: &str, asked: &str) -> bool {
    let mut command = Command::new(program);
    let command = command
        .arg(asked)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let there = command.status().await.is_ok_and(|status| status.success());
    if !there {
        eprintln!("{program} is not on this machine: its snippet of docs/webhooks.md was not run");
    }
    there
}

/// Runs a receiver, which listens on PORT, and checks its answers.
async fn validate_receiver(folder: &Path, mut command: Command, port: &Port) {
    let (secret, posts) = posts().await;
    command
        .current_dir(folder)
        .env("PORT", port.number().to_string())
        .env("WEBHOOK_SECRET", &secret);
    let job = Job::start(command, &folder.join("receiver"));
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let url = format!("http://127.0.0.1:{}/", port.number());
    for Post {
        what,
        header,
        body,
        genuine,
    } in posts
    {
        let send = async || {
            let mut request = http
                .post(&url)
                .header("Content-Type", "application/json")
                .body(body.clone());
            if !header.is_empty() {
                request = request.header("X-Service-Signature", header.as_bytes());
            }
            request.send().await.map_err(|error| (error.to_string(), job.stderr()))
        };
        // The first one waits for the receiver's start.
        let answer = eventually("the receiver answers", TIMEOUT, send).await;
        let expected = if genuine { 204 } else { 400 };
        assert_eq!(answer.status(), expected, "{what}: {header}\n{}", job.stderr());
    }
}

#[tokio::test]
async fn python_distinguishes_genuine_deliveries_from_others() {
    if !has("python3", "--version").await {
        return;
    }
    let (folder, port) = (TempDir::new().unwrap(), Port::reserve());
    std::fs::write(folder.path().join("receiver.py"), block("python", "receiver.py")).unwrap();
    let mut command = Command::new("python3");
    command.arg("receiver.py");
    validate_receiver(folder.path(), command, &port).await;
}

#[tokio::test]
async fn typescript_distinguishes_genuine_deliveries_from_others() {
    if !has("node", "--version").await {
        return;
    }
    let (folder, port) = (TempDir::new().unwrap(), Port::reserve());
    // Some versions of Node.js do not strip the types by themselves. The snippet has no others than these.
    let mut script = block("ts", "receiver.ts").to_owned();
    for types in [
        " as [string, string]",
        ": Buffer[]",
        ": Buffer",
        ": string",
        ": boolean",
    ] {
        script = script.replace(types, "");
    }
    script = script.replace("secret!", "secret");
    std::fs::write(folder.path().join("receiver.mjs"), script).unwrap();
    let mut command = Command::new("node");
    command.arg("receiver.mjs");
    validate_receiver(folder.path(), command, &port).await;
}

#[tokio::test]
async fn php_distinguishes_genuine_deliveries_from_others() {
    if !has("php", "--version").await {
        return;
    }
    let (folder, port) = (TempDir::new().unwrap(), Port::reserve());
    std::fs::write(folder.path().join("receiver.php"), block("php", "receiver.php")).unwrap();
    let mut command = Command::new("php");
    command.args(["-S", &format!("127.0.0.1:{}", port.number()), "receiver.php"]);
    validate_receiver(folder.path(), command, &port).await;
}

#[tokio::test]
async fn rust_distinguishes_genuine_deliveries_from_others() {
    let compiled = include_str!("webhook_snippets/receiver.rs");
    assert_eq!(
        block("rust", "SystemTime"),
        compiled.trim_end(),
        "docs/webhooks.md and tests/suite/webhook_snippets/receiver.rs are to say the same"
    );
    let (secret, posts) = posts().await;
    for post in posts {
        let accepted = receiver::verify(&secret, &post.header, &post.body);
        assert_eq!(accepted, post.genuine, "{}: {}", post.what, post.header);
    }
}

#[tokio::test]
async fn openssl_distinguishes_genuine_deliveries_from_others() {
    if !has("openssl", "version").await {
        return;
    }
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("verify.sh"), block("sh", "verify.sh")).unwrap();
    let (secret, posts) = posts().await;
    for post in posts {
        let mut child = Command::new("sh")
            .args(["verify.sh", &post.header])
            .current_dir(folder.path())
            .env("WEBHOOK_SECRET", &secret)
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        // It may have decided before it has read everything.
        let _ = stdin.write_all(&post.body).await;
        drop(stdin);
        let status = child.wait().await.unwrap();
        assert_eq!(status.success(), post.genuine, "{}: {}", post.what, post.header);
    }
}

#[tokio::test]
async fn curl_posts_what_a_receiver_accepts() {
    if !has("openssl", "version").await || !has("curl", "--version").await {
        return;
    }
    let (folder, endpoint) = (TempDir::new().unwrap(), Receiver::start());
    std::fs::write(folder.path().join("post.sh"), block("sh", "post.sh")).unwrap();
    let body = "{\"a\": \"é\n\"}\n\n";
    std::fs::write(folder.path().join("body.json"), body).unwrap();
    let output = Command::new("sh")
        .args(["post.sh", &endpoint.url("/hook"), "body.json"])
        .current_dir(folder.path())
        .env("WEBHOOK_SECRET", "whsec_test")
        .output()
        .await
        .unwrap();
    assert_eq!(output.stdout, b"200\n", "{output:?}");
    let received = endpoint.wait_for(1, TIMEOUT).remove(0);
    assert_eq!(received.body, body.as_bytes());
    let header = received.header("X-Service-Signature").unwrap();
    assert!(verify("whsec_test", header, &received.body), "{header}");
}

#[tokio::test]
async fn the_log_is_followed_across_restarts_of_both_sides() {
    if !has("python3", "--version").await {
        return;
    }
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("follow.py"), block("python", "follow.py")).unwrap();
    let mut shop = Shop::open(Engine::Sqlite).await;
    let token = shop.business.key("webhooks:read,leads:read").await.token;
    let follow = |name: &str, url: String| {
        let mut command = Command::new("python3");
        command
            .arg("follow.py")
            .current_dir(folder.path())
            .env("FORECOURT_URL", url)
            .env("FORECOURT_TOKEN", &token);
        Job::start(command, &folder.path().join(name))
    };
    let created = |sequence: usize, lead: &serde_json::Value| format!("{sequence} lead.created {}", lead["id"]);

    let first = shop.lead(&json!({})).await;
    let job = follow("first", shop.server.base_url());
    assert_eq!(job.lines(1).await, [created(1, &first)]);
    let second = shop.lead(&json!({})).await;
    assert_eq!(job.lines(2).await[1], created(2, &second));
    let place = folder.path().join("position");
    eventually("the place is kept", TIMEOUT, async || {
        let kept = std::fs::read_to_string(&place).unwrap_or_default();
        if kept == "2" { Ok(()) } else { Err(kept) }
    })
    .await;
    drop(job);

    let third = shop.lead(&json!({})).await;
    let job = follow("second", shop.server.base_url());
    assert_eq!(job.lines(1).await, [created(3, &third)]);
    shop.server.restart().await;
    let fourth = shop.lead(&json!({})).await;
    let expected = created(4, &fourth);
    eventually("it goes on", TIMEOUT, async || {
        let text = job.stdout();
        if text.lines().last() == Some(expected.as_str()) {
            Ok(())
        } else {
            Err(text)
        }
    })
    .await;
    let events = |text: String| text.lines().filter(|line| line.contains("lead.")).count();
    assert_eq!(events(job.stdout()), 2, "{}", job.stdout());
}
