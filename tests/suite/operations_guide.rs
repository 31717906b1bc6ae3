//! The recipes of docs/operations.md for PostgreSQL, taken from that page and run. Only the folders, the day and the moment differ.

use std::fs;
use std::time::Duration;

use harness::{Installation, Postgres, Shop, wait_for};
use serde_json::json;

const PAGE: &str = include_str!("../../docs/operations.md");

/// The folders that the page names.
const DATA: &str = "/var/lib/postgresql/17/main";
const BACKUPS: &str = "/backup";
/// The base backup, and the moment, that the page goes back to.
const DAY: &str = "2026-11-27";
const MOMENT: &str = "2026-11-27 13:59:00+00";

/// Returns the page's block of commands that begins with this line.
fn block(title: &str) -> &'static str {
    let mut blocks = PAGE
        .split("\n```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("\n```\n").next());
    let found = blocks.find(|block| block.lines().next() == Some(title));
    found.unwrap_or_else(|| panic!("docs/operations.md has no {title:?}"))
}

/// Pastes a block into a shell on the machine of the database.
async fn paste(postgres: &Postgres, title: &str, moment: &str) {
    let folder = postgres.folder();
    let day = fs::read_dir(folder.join("backup/base"))
        .into_iter()
        .flatten()
        .flatten()
        .next();
    let day = day.map_or_else(String::new, |day| day.file_name().into_string().unwrap());
    let script = block(title)
        .replace(DATA, &folder.join("data").display().to_string())
        .replace(BACKUPS, &folder.join("backup").display().to_string())
        // First the longer one, which begins with the day.
        .replace(MOMENT, moment)
        .replace(DAY, &day);
    postgres.paste(&script).await.succeeded();
}

#[tokio::test]
async fn a_postgresql_goes_back_to_a_moment() {
    let mut postgres = Postgres::start().await;
    fs::create_dir(postgres.folder().join("backup")).unwrap();
    postgres.paste("chmod 700 data").await.succeeded();
    let owner = fs::metadata(postgres.folder()).unwrap();
    {
        use std::os::unix::fs::{MetadataExt as _, chown};
        chown(postgres.folder().join("backup"), Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    paste(&postgres, "# once: archive the write-ahead log", "").await;
    postgres.stop_at_once().await;
    postgres.restart().await;

    let mut shop = Shop::on(Installation::at(&postgres.url()).serve().start().await).await;
    shop.lead(&json!({"name": "In the base backup"})).await;
    paste(&postgres, "# every night: a base backup, verified", "").await;
    shop.lead(&json!({"name": "Before the moment"})).await;
    let moment = postgres
        .paste("psql -XAtc 'SELECT clock_timestamp()' postgres")
        .await
        .succeeded();
    shop.lead(&json!({"name": "After the moment"})).await;
    assert!(shop.server.terminate().await.success());
    postgres.stop_at_once().await;

    paste(
        &postgres,
        "# go back to a moment: with the servers and PostgreSQL stopped",
        moment.trim(),
    )
    .await;
    postgres.restart().await;
    paste(&postgres, "# wait until it has gone back and takes writes", "").await;
    shop.server.restart().await;
    let leads = shop.api.walk("/2.0/leads?fields=name").await;
    let names: Vec<&str> = leads.iter().filter_map(|lead| lead["name"].as_str()).collect();
    for (name, is_there) in [
        ("In the base backup", true),
        ("Before the moment", true),
        ("After the moment", false),
    ] {
        assert_eq!(names.contains(&name), is_there, "{name}: {names:?}");
    }
    wait_for(
        "the server notices that the history is another one",
        Duration::from_secs(20),
        async || {
            let events = shop.api.get("/2.0/events?per_page=1").await.json();
            events["meta"]["epoch"].as_i64().unwrap() > 0
        },
    )
    .await;
    shop.lead(&json!({"name": "Afterwards"})).await;
}
