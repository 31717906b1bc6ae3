//! A server that systemd starts notifies it.

use std::time::Duration;

use harness::{Engine, Installation, Shop};
use tokio::net::{TcpStream, UnixDatagram};

const TIMEOUT: Duration = Duration::from_secs(60);

async fn message(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 1024];
    let received = tokio::time::timeout(TIMEOUT, socket.recv(&mut buffer)).await;
    let length = received.expect("the server notifies in time").unwrap();
    String::from_utf8(buffer[..length].to_vec()).unwrap()
}

#[tokio::test]
async fn the_service_manager_learns_of_start_and_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    let installation = Installation::new(Engine::Sqlite).await;
    let server = installation
        .serve()
        .env("NOTIFY_SOCKET", path.display())
        .env("WATCHDOG_USEC", 300_000)
        .launch();
    let ready = message(&socket).await;
    assert!(ready.starts_with("READY=1\n"), "{ready}");
    // It said so after it had opened its listener.
    TcpStream::connect(server.address()).await.unwrap();
    assert!(ready.contains(&server.address()), "{ready}");
    for _ in 0..3 {
        assert_eq!(message(&socket).await, "WATCHDOG=1");
    }
    let mut shop = Shop::on(server.ready().await).await;
    assert!(shop.server.terminate().await.success());
    let mut last = message(&socket).await;
    while last == "WATCHDOG=1" {
        last = message(&socket).await;
    }
    assert!(last.starts_with("STOPPING=1\n"), "{last}");
}

#[tokio::test]
async fn a_service_manager_that_is_gone_holds_nothing_up() {
    let shop = Shop::open_with(Engine::Sqlite, |serve| {
        serve
            .env("NOTIFY_SOCKET", "/no/such/socket")
            .env("WATCHDOG_USEC", 300_000)
    })
    .await;
    assert!(shop.server.log().contains("NOTIFY_SOCKET"), "{}", shop.server.log());
}
