//! Tests of `forecourt serve --demo`: a server to try within a minute.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use harness::{Engine, Installation, Server, both_engines, eventually};
use serde_json::Value;
use tokio::process::Command;

both_engines! {
    the_demo_prints_what_to_try_and_it_works
    a_second_start_makes_nothing_again
    a_database_with_a_business_is_left_alone
}

async fn demo(engine: Engine) -> Server {
    Installation::new(engine).await.serve().args(["--demo"]).start().await
}

/// Returns the curl commands that it printed. One may span several lines that end in a backslash.
async fn commands(server: &Server) -> Vec<String> {
    eventually("the curl lines are printed", Duration::from_secs(30), async || {
        let text = server.stdout().replace("\\\n", " ");
        let lines = text.lines().map(str::trim).filter(|line| line.starts_with("curl "));
        let lines: Vec<String> = lines.map(str::to_owned).collect();
        if lines.len() == 3 { Ok(lines) } else { Err(text) }
    })
    .await
}

/// Returns the token in the output.
fn token(text: &str) -> String {
    let allowed = |character: char| character.is_ascii_alphanumeric() || "_.".contains(character);
    let mut words = text.split(|character| !allowed(character));
    let token = words.find(|word| word.starts_with("fck_") && word.contains('.'));
    token.unwrap_or_else(|| panic!("no token in: {text}")).to_owned()
}

async fn the_demo_prints_what_to_try_and_it_works(engine: Engine) {
    let server = demo(engine).await;
    for command in commands(&server).await {
        let mut shell = Command::new("sh");
        let output = shell
            .args(["-c", &command])
            .stdin(Stdio::null())
            .output()
            .await
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{command}: {output:?}");
        // It may be set to show the headers too.
        let body = text.find('{').map(|start| &text[start..]).unwrap_or_default();
        let body: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{command}: {error}: {text}"));
        assert_eq!(body["success"], true, "{command}: {text}");
    }
    let printed = server.stdout();
    assert!(printed.contains(&server.base_url()), "{printed}");
    let client = server.client(&token(&printed));
    assert!(!client.list("/2.0/leads").await.items.is_empty());
    let fords = client.list("/2.0/vehicles?status=for-sale&make=Ford").await.items;
    assert!(!fords.is_empty());
    let vehicles = client.walk("/2.0/vehicles?view=full").await;
    assert!((55..=65).contains(&vehicles.len()), "{}", vehicles.len());
    let classes: BTreeSet<_> = vehicles
        .iter()
        .filter_map(|vehicle| vehicle["data"]["vehicle"]["type"].as_str())
        .collect();
    assert_eq!(classes.len(), 9, "{classes:?}");
    let states: BTreeSet<_> = vehicles
        .iter()
        .map(|vehicle| (vehicle["type"].to_string(), vehicle["status"]["name"].to_string()))
        .collect();
    assert_eq!(
        states.len(),
        20,
        "every state of every stock type but deleted: {states:?}"
    );
    let endpoints = client.get("/2.0/meta").await.ok()["endpoints"].take();
    assert!(endpoints.as_array().unwrap().len() >= 21, "the key has every scope");
    assert!(
        !client
            .get("/2.0/reference/staff-users")
            .await
            .ok()
            .as_array()
            .unwrap()
            .is_empty()
    );
}

async fn a_second_start_makes_nothing_again(engine: Engine) {
    let mut server = demo(engine).await;
    commands(&server).await;
    let token = token(&server.stdout());
    let leads = server.client(&token).walk("/2.0/leads").await;
    let businesses = server.installation().run(["business", "list", "--json"]).await.json();
    server.restart().await;
    assert_eq!(server.client(&token).walk("/2.0/leads").await, leads);
    assert_eq!(
        server.installation().run(["business", "list", "--json"]).await.json(),
        businesses
    );
}

async fn a_database_with_a_business_is_left_alone(engine: Engine) {
    let installation = Installation::new(engine).await;
    let business = installation.business(&harness::acme()).await;
    let server = installation.serve().args(["--demo"]).start().await;
    let client = server.client(&business.key("all").await.token);
    assert!(client.list("/2.0/leads").await.items.is_empty());
    let list = installation.run(["business", "list", "--json"]).await.json();
    assert!(!list.to_string().to_lowercase().contains("demo"), "{list}");
}
