//! The content of requests, and the part that is kept of answers.

use std::process::Command;

use forecourt_webhooks::{KEPT_OF_A_RESPONSE, SignedRequest, WebhookClient};
use tokio::net::TcpListener;

use crate::{
    AMPLE, BUSINESS, client,
    peer::{Peer, Reply, answer, reply},
    post, status, url,
};

/// Returns the body that is kept of a reply to a post.
async fn kept(reply: impl Fn() -> Reply + Send + Sync + 'static) -> String {
    let peer = Peer::start(move |_, _| reply()).await;
    post(&client(AMPLE), url(peer.address)).await.unwrap().body
}

#[tokio::test]
async fn a_parcel_arrives_as_it_was_packed() {
    let peer = Peer::content().await;
    let body: Vec<u8> = (0..=255).cycle().take(1 << 20).collect();
    let signed_request = SignedRequest {
        business: BUSINESS,
        url: format!("http://{}/a%20b/Ü|?q=1&r=%2F'#part", peer.address),
        headers: vec![
            ("Content-Type", "application/json".into()),
            ("X-Service-Signature", "t=1767270896,v1=00ff".into()),
            ("x-service-event-id", "evt_00ff".into()),
        ],
        body: body.clone(),
    };
    assert_eq!(status(client(AMPLE).post(signed_request).await.outcome), 200);
    let seen = peer.seen();
    let head = format!(
        "POST /a%20b/%C3%9C|?q=1&r=%2F%27 HTTP/1.1\r\n\
         Host: {}\r\n\
         User-Agent: Forecourt/{}\r\n\
         Content-Type: application/json\r\n\
         X-Service-Signature: t=1767270896,v1=00ff\r\n\
         X-Service-Event-Id: evt_00ff\r\n\
         Content-Length: 1048576\r\n\r\n",
        peer.address,
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(seen[0].head, head);
    assert_eq!(seen[0].body, body);
}

#[tokio::test]
async fn an_empty_parcel_says_that_it_is_empty() {
    let peer = Peer::content().await;
    let signed_request = SignedRequest {
        business: BUSINESS,
        url: format!("http://{}", peer.address),
        headers: Vec::new(),
        body: Vec::new(),
    };
    assert_eq!(status(client(AMPLE).post(signed_request).await.outcome), 200);
    let head = &peer.seen()[0].head;
    assert!(head.starts_with("POST / HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("\r\nContent-Length: 0\r\n"), "{head}");
}

#[tokio::test]
async fn every_status_is_an_answer() {
    let client = client(AMPLE);
    for code in [
        101, 200, 201, 202, 204, 206, 226, 299, 300, 304, 400, 401, 404, 410, 418, 429, 500, 502, 503, 599, 999,
    ] {
        let peer = Peer::start(move |_, _| reply(format!("HTTP/1.1 {code}\r\nContent-Length: 0\r\n\r\n"))).await;
        let answer = post(&client, url(peer.address)).await.unwrap();
        assert_eq!((answer.status, answer.accepts()), (code, (200..300).contains(&code)));
    }
}

#[tokio::test]
async fn preliminary_answers_are_none() {
    let peer = Peer::start(|_, _| {
        reply("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\n")
            .and_hangs_up()
    })
    .await;
    assert_eq!(status(post(&client(AMPLE), url(peer.address)).await), 202);
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let elsewhere = Peer::content().await;
    let client = client(AMPLE);
    for code in [301, 302, 303, 307, 308] {
        let location = url(elsewhere.address);
        let peer = Peer::start(move |_, _| {
            reply(format!(
                "HTTP/1.1 {code} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
            ))
        })
        .await;
        let answer = post(&client, url(peer.address)).await.unwrap();
        assert_eq!((answer.status, answer.accepts()), (code, false));
        assert_eq!(peer.seen().len(), 1);
    }
    assert_eq!(elsewhere.opened(), 0);
}

#[tokio::test]
async fn the_first_two_kibibytes_of_a_body_are_kept() {
    assert_eq!(kept(|| answer(200, "")).await, "");
    assert_eq!(kept(|| answer(500, "out of order")).await, "out of order");
    let exact = "x".repeat(KEPT_OF_A_RESPONSE);
    assert_eq!(kept(|| answer(200, &"x".repeat(KEPT_OF_A_RESPONSE))).await, exact);
    assert_eq!(kept(|| answer(200, &"x".repeat(KEPT_OF_A_RESPONSE + 1))).await, exact);
    assert_eq!(kept(|| answer(200, &"x".repeat(1 << 20))).await, exact);
}

#[tokio::test]
async fn a_kept_body_ends_with_a_whole_character() {
    for before in [KEPT_OF_A_RESPONSE - 3, KEPT_OF_A_RESPONSE - 2, KEPT_OF_A_RESPONSE - 1] {
        let body = kept(move || answer(200, &("x".repeat(before) + "🚗🚗"))).await;
        assert_eq!(body, "x".repeat(before));
    }
    let body = kept(|| answer(200, &("x".repeat(KEPT_OF_A_RESPONSE - 4) + "🚗🚗"))).await;
    assert!(body.ends_with("x🚗") && body.len() == KEPT_OF_A_RESPONSE);
}

#[tokio::test]
async fn what_is_no_text_is_replaced_within_the_bound() {
    let body = kept(|| reply(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\na\xFFb\xC3c")).await;
    assert_eq!(body, "a\u{FFFD}b\u{FFFD}c");
    let mut noise = b"HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n".to_vec();
    noise.resize(noise.len() + 4096, 0xFF);
    let body = kept(move || reply(noise.clone())).await;
    assert_eq!(body, "\u{FFFD}".repeat(KEPT_OF_A_RESPONSE / 3));
}

#[tokio::test]
async fn a_body_in_chunks_is_put_together() {
    let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n";
    assert_eq!(kept(move || reply(chunks)).await, "abcde");
}

#[tokio::test]
async fn a_compressed_body_is_kept_as_it_came() {
    let zipped = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nzip";
    assert_eq!(kept(move || reply(zipped)).await, "zip");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_kept_as_far_as_it_came() {
    let cut = [
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nsome\r\nnonsense\r\n",
        "HTTP/1.0 200 OK\r\n\r\nsome",
    ];
    for text in cut {
        assert_eq!(kept(move || reply(text).and_hangs_up()).await, "some");
    }
}

#[tokio::test]
async fn proxies_of_the_environment_are_not_asked() {
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy_url = format!("http://{}", proxy.local_addr().unwrap());
    let test = "answers::a_parcel_arrives_as_it_was_packed";
    let mut again = Command::new(std::env::current_exe().unwrap());
    again
        .args([test, "--exact"])
        .env_remove("NO_PROXY")
        .env_remove("no_proxy");
    for variable in [
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ] {
        again.env(variable, &proxy_url);
    }
    let output = again.output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
    // A connection would wait in the listener's queue.
    let nobody = tokio::time::timeout(std::time::Duration::ZERO, proxy.accept()).await;
    assert!(nobody.is_err());
}
