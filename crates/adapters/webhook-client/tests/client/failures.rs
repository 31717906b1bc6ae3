//! Attempts without an answer, and the reports on them.

use forecourt_webhooks::{DeliveryError, SignedRequest, WebhookClient};
use tokio::net::TcpListener;

use crate::{
    AMPLE, BUSINESS, client,
    peer::{Peer, reply},
    post, signed_request, url,
};

#[tokio::test]
async fn a_port_without_a_listener_refuses() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let outcome = post(&client(AMPLE), url(address)).await;
    assert_eq!(outcome, Err(DeliveryError::Connection("connection refused".into())));
}

#[tokio::test]
async fn what_is_not_http_is_no_answer() {
    let many_headers = "HTTP/1.1 200 OK\r\n".to_owned() + &"X: y\r\n".repeat(10_000) + "\r\n";
    let texts: [&[u8]; 15] = [
        b"",
        b"\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.9\r\n",
        b"220 mail.example ESMTP\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 99 OK\r\n\r\n",
        b"HTTP/9.9 200 OK\r\n\r\n",
        b"HTTP/0.9 200 OK\r\n\r\n",
        b"HTTP/2 200 OK\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"<html>secret</html>",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: secret\r\n\r\n",
        many_headers.as_bytes(),
    ];
    let client = client(AMPLE);
    for text in texts {
        let owned = text.to_vec();
        let peer = Peer::start(move |_, _| reply(owned.clone()).and_hangs_up()).await;
        let outcome = post(&client, url(peer.address)).await;
        let start = String::from_utf8_lossy(&text[..text.len().min(60)]);
        assert!(
            matches!(outcome, Err(DeliveryError::Exchange(_))),
            "{start:?}: {outcome:?}"
        );
        assert_is_fit_for_integrators(&outcome.unwrap_err());
    }
}

#[tokio::test]
async fn a_head_without_end_is_no_answer() {
    for beginning in ["", "HTTP/1.1 200 ", "HTTP/1.1 200 OK\r\nX: "] {
        let peer = Peer::start(move |_, _| reply(beginning).and_floods()).await;
        let outcome = post(&client(AMPLE), url(peer.address)).await;
        assert!(matches!(outcome, Err(DeliveryError::Exchange(_))), "{outcome:?}");
        peer.closed(1).await;
    }
}

#[tokio::test]
async fn a_header_that_would_become_two_is_not_sent() {
    let peer = Peer::content().await;
    for (name, value) in [
        ("X-Service-Event", "lead.created\r\nX-More: yes"),
        ("X-Service-Event", "lead\0created"),
        ("X Service", "lead.created"),
    ] {
        let signed_request = SignedRequest {
            business: BUSINESS,
            headers: vec![(name, value.into())],
            ..signed_request(url(peer.address))
        };
        let outcome = client(AMPLE).post(signed_request).await.outcome;
        assert_eq!(outcome, Err(DeliveryError::Exchange("a header cannot be sent".into())));
    }
    assert_eq!(peer.opened(), 0);
}

/// Asserts that the text is short, and quotes neither the peer nor addresses.
#[track_caller]
pub(crate) fn assert_is_fit_for_integrators(problem: &DeliveryError) {
    let text = problem.to_string();
    assert!(text.len() <= 200 && text.is_ascii(), "{text}");
    assert!(!text.contains(char::is_control), "{text:?}");
    for part in ["secret", "127.0.0.1", "::1", "hooks.", "/etc"] {
        assert!(!text.contains(part), "{text}");
    }
}
