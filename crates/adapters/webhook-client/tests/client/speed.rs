//! How fast it is: `cargo test --release -p forecourt-webhook-client -- --ignored --nocapture`.

use std::{sync::mpsc, thread, time::Instant};

use forecourt_webhooks::{SignedRequest, WebhookClient};
use futures_util::future::join_all;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    runtime::Builder,
};

use crate::{AMPLE, BUSINESS, client};

const IN_FLIGHT: usize = 32;
const EACH: usize = 4_000;

/// The time that this thread has worked, in nanoseconds.
fn worked() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}

/// Answers everything that comes, without looking: each signed_request fits one read.
async fn receive(listener: TcpListener) {
    while let Ok((mut stream, _)) = listener.accept().await {
        stream.set_nodelay(true).unwrap();
        tokio::spawn(async move {
            let mut buffer = vec![0; 16 * 1024];
            while stream.read(&mut buffer).await.is_ok_and(|length| length > 0) {
                let answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";
                stream.write_all(answer).await.unwrap();
            }
        });
    }
}

#[test]
#[ignore = "a measurement, of use in a release build alone"]
fn posts_per_second_on_one_thread() {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                tell.send(listener.local_addr().unwrap()).unwrap();
                receive(listener).await;
            });
    });
    let address = told.recv().unwrap();
    let signed_request = SignedRequest {
        business: BUSINESS,
        url: format!("http://{address}/hooks/forecourt"),
        headers: vec![
            ("Content-Type", "application/json".into()),
            ("X-Service-Signature", format!("t=1767270896,v1={:064x}", 1)),
            ("X-Service-Event", "lead.created".into()),
            ("X-Service-Event-Id", format!("evt_{:032x}", 1)),
            ("X-Service-Delivery", "123456".into()),
        ],
        body: vec![b'x'; 1500],
    };
    let client = client(AMPLE);
    Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(async {
            let (begun, worked_before) = (Instant::now(), worked());
            join_all((0..IN_FLIGHT).map(|_| async {
                for _ in 0..EACH {
                    let answer = client.post(signed_request.clone()).await.outcome.unwrap();
                    assert_eq!((answer.status, answer.body.as_str()), (200, "ok"));
                }
            }))
            .await;
            let posts = (IN_FLIGHT * EACH) as f64;
            println!(
                "{:.0} posts per second, {:.1} µs of CPU each",
                posts / begun.elapsed().as_secs_f64(),
                (worked() - worked_before) as f64 / 1000.0 / posts
            );
        });
}
