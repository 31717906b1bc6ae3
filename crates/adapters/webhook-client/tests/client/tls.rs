//! The client's checks of a server's identity.

use std::sync::Arc;

use forecourt_webhook_client::{CertificateDer, Config, HttpWebhookClient};
use forecourt_webhooks::{DeliveryError, SignedRequest, WebhookClient};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer, version::TLS12};
use tokio::{net::TcpListener, runtime::Handle};
use tokio_rustls::TlsAcceptor;

use crate::{
    AMPLE, BUSINESS, SHORT, assert_timed_out, client,
    failures::assert_is_fit_for_integrators,
    fake_network::{FakeNetwork, PUBLIC},
    peer::{Peer, answer, reply},
    post, signed_request, status,
};

const NAME: &str = "hooks.example.com";

/// Returns a self-signed certificate.
fn certificate(name: &str, expired: bool) -> (ServerConfig, CertificateDer<'static>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new([name.to_owned()]).unwrap();
    if expired {
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2001, 12, 31);
    }
    let certificate = params.self_signed(&key).unwrap().der().clone();
    let config = server(rustls::DEFAULT_VERSIONS, &certificate, &key);
    (config, certificate)
}

fn server(
    versions: &[&'static rustls::SupportedProtocolVersion],
    certificate: &CertificateDer<'static>,
    key: &KeyPair,
) -> ServerConfig {
    ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.clone()],
            PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap()
}

/// Returns a client that only connects to allowed addresses, with this peer behind all public ones.
fn careful(peer: &Peer, extra_roots: &[CertificateDer<'static>]) -> HttpWebhookClient {
    HttpWebhookClient::new(Config {
        timeout: AMPLE,
        extra_roots: extra_roots.to_vec(),
        network: FakeNetwork::cut(&[&[PUBLIC]]).to(peer.address).shared(),
        ..Config::default()
    })
    .unwrap()
}

/// Returns the report of a client that trusts `root` on this endpoint.
async fn tls_problem(peer: &Peer, extra_roots: &[CertificateDer<'static>]) -> String {
    let problem = post(&careful(peer, extra_roots), format!("https://{NAME}/"))
        .await
        .unwrap_err();
    assert_is_fit_for_integrators(&problem);
    assert!(peer.seen().is_empty(), "the endpoint got the signed_request");
    match problem {
        DeliveryError::Tls(text) => text,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_trusted_certificate_is_accepted_and_its_connection_kept() {
    let (config, root) = certificate(NAME, false);
    let peer = Peer::start_tls(config, |_, _| answer(200, "fine")).await;
    let client = careful(&peer, &[root]);
    for url in [
        "https://hooks.example.com/a",
        "https://HOOKS.example.com:443/b",
        "https://hooks.example.com/c",
    ] {
        assert_eq!(post(&client, url).await.unwrap().body, "fine");
    }
    assert_eq!((peer.opened(), peer.seen().len()), (1, 3));
    assert!(peer.seen()[1].head.contains("\r\nHost: hooks.example.com\r\n"));
    // The final dot of a complete name is not a part of it.
    assert_eq!(status(post(&client, "https://hooks.example.com./").await), 200);
}

#[tokio::test]
async fn tls_1_2_is_spoken() {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new([NAME.to_owned()]).unwrap();
    let root = params.self_signed(&key).unwrap().der().clone();
    let peer = Peer::start_tls(server(&[&TLS12], &root, &key), |_, _| answer(200, "")).await;
    let client = careful(&peer, &[root]);
    assert_eq!(status(post(&client, format!("https://{NAME}/")).await), 200);
}

#[tokio::test]
async fn a_certificate_can_be_for_an_address() {
    let (config, root) = certificate(PUBLIC, false);
    let peer = Peer::start_tls(config, |_, _| answer(200, "")).await;
    let client = careful(&peer, &[root]);
    assert_eq!(status(post(&client, format!("https://{PUBLIC}/")).await), 200);
}

#[tokio::test]
async fn an_untrusted_certificate_is_refused() {
    let (config, _) = certificate(NAME, false);
    let peer = Peer::start_tls(config, |_, _| answer(200, "")).await;
    assert!(
        tls_problem(&peer, &[])
            .await
            .contains("not signed by a known authority")
    );
}

#[tokio::test]
async fn a_certificate_for_another_name_is_refused() {
    let (config, root) = certificate("secret.example.net", false);
    let peer = Peer::start_tls(config, |_, _| answer(200, "")).await;
    assert_eq!(tls_problem(&peer, &[root]).await, "the certificate is for another name");
}

#[tokio::test]
async fn a_certificate_that_has_expired_is_refused() {
    let (config, root) = certificate(NAME, true);
    let peer = Peer::start_tls(config, |_, _| answer(200, "")).await;
    assert_eq!(tls_problem(&peer, &[root]).await, "the certificate has expired");
}

#[tokio::test]
async fn what_does_not_speak_tls_gets_nothing() {
    let peer = Peer::start_banner(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
    assert_eq!(tls_problem(&peer, &[]).await, "the endpoint does not speak TLS");
    let peer = Peer::start_banner(b"").await;
    assert!(!tls_problem(&peer, &[]).await.is_empty());
}

#[tokio::test]
async fn development_does_not_believe_just_anybody() {
    let (config, _) = certificate("127.0.0.1", false);
    let peer = Peer::start_tls(config, |_, _| answer(200, "")).await;
    let outcome = post(&client(AMPLE), format!("https://{}/", peer.address)).await;
    assert!(matches!(outcome, Err(DeliveryError::Tls(_))), "{outcome:?}");
    assert!(peer.seen().is_empty());
}

#[tokio::test]
async fn a_peer_that_hangs_up_on_an_idle_session_costs_no_parcel() {
    let (config, root) = certificate(NAME, false);
    let peer = Peer::start_tls(config, |_, request| match request {
        0 => answer(200, ""),
        _ => reply("").and_hangs_up(),
    })
    .await;
    let client = careful(&peer, &[root]);
    for _ in 0..20 {
        assert_eq!(status(post(&client, format!("https://{NAME}/")).await), 200);
    }
}

#[tokio::test]
async fn what_is_no_certificate_cannot_be_trusted() {
    let config = Config {
        extra_roots: vec![CertificateDer::from(b"nonsense".to_vec())],
        ..Config::default()
    };
    assert!(HttpWebhookClient::new(config).is_err());
}

#[tokio::test]
async fn nothing_is_left_of_an_attempt_whose_endpoint_does_not_read() {
    let (config, root) = certificate("127.0.0.1", false);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let session = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        TlsAcceptor::from(Arc::new(config)).accept(stream).await.unwrap()
    });
    let client = HttpWebhookClient::new(Config {
        timeout: SHORT,
        allow_insecure: true,
        extra_roots: vec![root],
        ..Config::default()
    })
    .unwrap();
    let signed_request = SignedRequest {
        business: BUSINESS,
        body: vec![0; 64 << 20],
        ..signed_request(url)
    };
    assert_timed_out(&client.post(signed_request).await);
    let _open = session.await.unwrap();
    let ended = async {
        while Handle::current().metrics().num_alive_tasks() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(AMPLE, ended).await.unwrap();
}
