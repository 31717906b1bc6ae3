//! Reading an API.

use forecourt_webhook_client::{ApiAnswer, ApiClient, Config, UnusableApi};

use super::*;
use crate::peer::{Peer, answer, reply};

fn client(timeout: Duration, base: &str) -> ApiClient {
    let config = Config {
        timeout,
        allow_insecure: true,
        ..Config::default()
    };
    ApiClient::new(config, base, "fck_a.b").unwrap()
}

#[tokio::test]
async fn an_answer_is_read_whole_and_the_connection_kept() {
    let body = "x".repeat(300_000);
    let peer = {
        let body = body.clone();
        Peer::start(move |_, _| answer(200, &body)).await
    };
    let client = client(AMPLE, &format!("http://{}/base/", peer.address));
    for path in ["/2.0/events?cursor=latest", "/2.0/events?cursor=7"] {
        let expected = ApiAnswer {
            status: 200,
            retry_after: None,
            date: None,
            body: body.clone().into_bytes(),
        };
        assert_eq!(client.get(path).await, Ok(expected));
    }
    assert_eq!(peer.opened(), 1);
    let head = &peer.seen()[0].head;
    assert!(
        head.starts_with("GET /base/2.0/events?cursor=latest HTTP/1.1\r\n"),
        "{head}"
    );
    assert!(head.contains("\r\nAuthorization: Bearer fck_a.b\r\n"), "{head}");
}

#[tokio::test]
async fn a_refusal_is_an_answer_and_says_how_long_to_wait() {
    let text = "HTTP/1.1 429 Whatever\r\nRetry-After: 17\r\nContent-Length: 2\r\n\r\nno";
    let peer = Peer::start(move |_, _| reply(text)).await;
    let answer = client(AMPLE, &format!("http://{}", peer.address))
        .get("/x")
        .await
        .unwrap();
    assert_eq!(
        (answer.status, answer.retry_after),
        (429, Some(Duration::from_secs(17)))
    );
    assert_eq!(answer.body, b"no");
}

#[tokio::test]
async fn half_an_answer_is_none() {
    let half = "HTTP/1.1 200 Whatever\r\nContent-Length: 9\r\n\r\nno";
    let peer = Peer::start(move |_, _| reply(half).and_hangs_up()).await;
    let outcome = client(AMPLE, &format!("http://{}", peer.address)).get("/x").await;
    assert!(matches!(outcome, Err(DeliveryError::Exchange(_))), "{outcome:?}");
    let peer = Peer::start(move |_, _| reply(half).and_stalls()).await;
    let outcome = client(SHORT, &format!("http://{}", peer.address)).get("/x").await;
    assert_eq!(outcome, Err(DeliveryError::TimedOut));
}

#[test]
fn the_token_is_not_shown() {
    let client = client(AMPLE, "http://127.0.0.1:1");
    assert!(!format!("{client:?}").contains("fck_a"), "{client:?}");
    let unsendable = ApiClient::new(Config::default(), "http://127.0.0.1:1", "a\nb");
    assert_eq!(unsendable.map(drop), Err(UnusableApi::Token));
}
