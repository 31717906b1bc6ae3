//! The servers that use a database.

use forecourt_kernel::Clock as _;
use forecourt_storage::ServerReport;

use crate::installation::{Installation, both_engines};

both_engines!(a_server_counts_as_running_for_thirty_seconds);

fn server(installation: &Installation, id: i64, host: &str) -> ServerReport {
    ServerReport {
        id,
        host: host.to_owned(),
        pid: 4711,
        version: "1.2.3".to_owned(),
        started: installation.clock.now(),
        report: "{}".to_owned(),
    }
}

async fn hosts(installation: &Installation) -> Vec<String> {
    let running = installation
        .storage
        .running_servers(&*installation.clock)
        .await
        .unwrap();
    running.into_iter().map(|running| running.server.host).collect()
}

async fn a_server_counts_as_running_for_thirty_seconds(installation: Installation) {
    let storage = &installation.storage;
    let renew = async |server: &ServerReport| storage.renew_server(server, &*installation.clock).await.unwrap();
    let (one, two) = (server(&installation, 1, "one"), server(&installation, -2, "two"));
    assert!(hosts(&installation).await.is_empty());
    for server in [&one, &one, &two] {
        renew(server).await;
    }
    let running = storage.running_servers(&*installation.clock).await.unwrap();
    assert_eq!(running.len(), 2);
    assert!(running.iter().any(|running| running.server == one), "{running:?}");

    // The stamps are those of the database's clock, where it has one.
    installation
        .execute("UPDATE servers SET seen = seen - 30 WHERE id = 1")
        .await;
    assert_eq!(hosts(&installation).await, ["two"]);
    renew(&one).await;
    assert_eq!(hosts(&installation).await, ["two", "one"]);
    storage.remove_server(two.id).await.unwrap();
    assert_eq!(hosts(&installation).await, ["one"]);

    installation.execute("UPDATE servers SET seen = seen - 3601").await;
    renew(&two).await;
    assert_eq!(
        installation.number("SELECT count(*) FROM servers").await,
        1,
        "old rows are removed"
    );
}
