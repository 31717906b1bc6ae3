//! The command line itself: the streams of its output, and the reports of failures.

use harness::{Engine, Installation, both_engines};
use serde_json::json;

both_engines! {
    migrate_alone_makes_a_database
    commands_work_on_an_empty_database
    json_is_one_document_on_standard_output
    a_failure_is_one_line_on_standard_error
    a_database_that_cannot_be_reached_is_reported
}

async fn migrate_alone_makes_a_database(engine: Engine) {
    let installation = Installation::new(engine).await;
    for _ in 0..2 {
        installation.run(["migrate"]).await.succeeded();
    }
    let business = installation.business(&json!({"tag": "acme", "name": "Acme"})).await;
    let key = business.key("all").await;
    let server = installation.serve().start().await;
    server.client(&key.token).get("/2.0/leads").await.ok();
}

async fn commands_work_on_an_empty_database(engine: Engine) {
    let installation = Installation::new(engine).await;
    let business = installation.business(&json!({"tag": "acme", "name": "Acme"})).await;
    business.key("all").await;
    installation.run(["business", "list", "--json"]).await.json();
}

async fn json_is_one_document_on_standard_output(engine: Engine) {
    let installation = Installation::new(engine).await;
    installation.run(["migrate"]).await.succeeded();
    let file = installation.write("json", r#"{"tag": "acme", "name": "Acme"}"#);
    installation.run(["business", "apply", &file, "--json"]).await.json();
    let list = installation.run(["business", "list", "--json"]).await.json();
    assert!(list.to_string().contains("\"acme\""), "{list}");
    let create = [
        "key",
        "create",
        "--business",
        "acme",
        "--scopes",
        "leads:read",
        "--json",
    ];
    let key = installation.run(create).await.json();
    let list = installation.run(["key", "list", "--json"]).await.json();
    assert!(list.to_string().contains(key["key_id"].as_str().unwrap()), "{list}");
    installation.run(["openapi"]).await.json();
}

async fn a_failure_is_one_line_on_standard_error(engine: Engine) {
    let installation = Installation::new(engine).await;
    installation.run(["migrate"]).await.succeeded();
    let table: [(&[&str], &str); 9] = [
        (&["business", "apply", "missing.json"], "missing.json"),
        (&["business", "apply", "missing.json", "--json"], "missing.json"),
        (&["business", "delete", "nobody"], "nobody"),
        (&["key", "create", "--business", "nobody", "--scopes", "all"], "nobody"),
        (
            &["key", "create", "--no-business", "--scopes", "leads:fly"],
            "leads:fly",
        ),
        (
            &[
                "key",
                "create",
                "--no-business",
                "--scopes",
                "all",
                "--expires",
                "someday",
            ],
            "someday",
        ),
        (&["key", "revoke", "fck_0123456789abcdef"], "fck_0123456789abcdef"),
        (&["key", "list", "--business", "nobody"], "nobody"),
        (&["sample", "--business", "nobody", "--leads", "1"], "nobody"),
    ];
    for (arguments, needle) in table {
        let outcome = installation.run(arguments.iter().copied()).await;
        outcome.failed_naming(needle);
    }
    for nonsense in [
        &["nonsense"][..],
        &["key", "nonsense"],
        &["serve", "--nonsense"],
        &["key", "create"],
    ] {
        let outcome = installation.run(nonsense.iter().copied()).await;
        assert!(
            !outcome.status.success() && outcome.stdout.is_empty() && !outcome.stderr.is_empty(),
            "{outcome:?}"
        );
    }
}

async fn a_database_that_cannot_be_reached_is_reported(engine: Engine) {
    let installation = Installation::new(engine).await;
    let file = installation.write("txt", "a file is no folder");
    let url = match engine {
        Engine::Sqlite => format!("sqlite://{file}/forecourt.db"),
        Engine::Postgres => "postgres://nobody@127.0.0.1:1/nothing".to_owned(),
    };
    let outcome = installation.serve().env("DATABASE_URL", url).refused().await;
    assert!(!outcome.status.success() && !outcome.stderr.is_empty(), "{outcome:?}");
}

#[tokio::test]
async fn a_business_is_deleted_only_with_consent() {
    let installation = Installation::new(Engine::Sqlite).await;
    installation.business(&json!({"tag": "acme", "name": "Acme"})).await;
    let refused = installation.run(["business", "delete", "acme"]).await;
    refused.failed_naming("--yes");
    let list = installation.run(["business", "list", "--json"]).await.json();
    assert_eq!(list.as_array().unwrap().len(), 1);
    installation
        .run(["business", "delete", "acme", "--yes"])
        .await
        .succeeded();
    let list = installation.run(["business", "list", "--json"]).await.json();
    assert_eq!(list, json!([]));
}

#[tokio::test]
async fn every_scope_is_listed_with_its_operations() {
    let installation = Installation::new(Engine::Sqlite).await;
    let scopes = installation.run(["key", "scopes", "--json"]).await.json();
    let of = |name: &str| {
        let mut scopes = scopes.as_array().unwrap().iter();
        let scope = scopes.find(|scope| scope["scope"] == name);
        scope.unwrap_or_else(|| panic!("{name} is missing"))["operations"].clone()
    };
    let expected = json!({"method": "POST", "path": "/2.0/leads"});
    assert!(of("leads:write").as_array().unwrap().contains(&expected));
    assert_eq!(of("meta:read"), json!([{"method": "GET", "path": "/2.0/meta"}]));
    assert_eq!(of("search:wildcard"), json!([]));
    let text = installation.run(["key", "scopes"]).await.succeeded();
    assert!(
        text.contains("leads:write") && text.contains("POST /2.0/leads"),
        "{text}"
    );
    assert!(!installation.data_dir().exists(), "no database was needed");
}

#[tokio::test]
async fn a_failure_is_json_where_the_result_would_be() {
    let installation = Installation::new(Engine::Sqlite).await;
    for (arguments, needle) in [
        (&["business", "apply", "missing.json", "--json"][..], "missing.json"),
        (&["business", "delete", "nobody", "--yes", "--json"], "nobody"),
        (&["business", "delete", "nobody", "--json"], "--yes"),
        (&["key", "create", "--json"], "--scopes"),
    ] {
        let outcome = installation.run(arguments.iter().copied()).await;
        assert!(!outcome.status.success() && outcome.stdout.is_empty(), "{outcome:?}");
        let error: serde_json::Value = serde_json::from_str(outcome.stderr.trim()).unwrap();
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains(needle) && error["success"] == false, "{error}");
    }
}

#[tokio::test]
async fn a_reader_that_leaves_is_no_failure() {
    let installation = Installation::new(Engine::Sqlite).await;
    let outcome = installation.piped_into(["openapi"], "head -c 1").await;
    assert!(outcome.status.success(), "{outcome:?}");
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("{", ""));
}

#[tokio::test]
async fn shells_get_completions_without_settings() {
    let installation = Installation::new(Engine::Sqlite).await;
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = installation.run(["completions", shell]).await.succeeded();
        for word in ["business", "rebuild", "completions", "no-business"] {
            assert!(script.contains(word), "{word} is missing for {shell}");
        }
    }
    let job = installation.start(["completions", "bash"], &[("FORECOURT_NONSENSE", "1")]);
    job.lines(100).await;
    assert_eq!(job.stderr(), "");
    installation.run(["completions", "cmd"]).await.failed_naming("cmd");
    let outcome = installation.piped_into(["completions", "bash"], "head -c 1").await;
    assert!(outcome.status.success() && outcome.stderr.is_empty(), "{outcome:?}");
    assert!(!installation.data_dir().exists(), "no database was needed");
}

#[tokio::test]
async fn bash_completes_commands() {
    let installation = Installation::new(Engine::Sqlite).await;
    let script = installation.run(["completions", "bash"]).await.succeeded();
    let script = installation.write("bash", script);
    let complete = format!(
        "source {script}; COMP_WORDS=(forecourt key r); COMP_CWORD=2; _forecourt forecourt r key; echo \"${{COMPREPLY[*]}}\""
    );
    let completed = tokio::process::Command::new("bash")
        .args(["-c", &complete])
        .output()
        .await;
    let completed = completed.unwrap();
    assert_eq!(
        String::from_utf8_lossy(&completed.stdout),
        "rotate revoke\n",
        "{completed:?}"
    );
}

#[tokio::test]
async fn progress_is_a_bar_on_a_terminal_alone() {
    let installation = Installation::new(Engine::Sqlite).await;
    installation.business(&json!({"tag": "acme", "name": "Acme"})).await;
    let sample = ["sample", "--business", "acme", "--leads", "2000"];
    let shown = installation.run_on_terminal(sample).await.succeeded();
    assert!(
        shown.contains(" of 2000 leads, ") && shown.contains("2000 leads for Acme"),
        "{shown}"
    );
    let shown = installation.run_on_terminal(["listings", "rebuild"]).await.succeeded();
    assert!(shown.contains("acme: 0 vehicles looked at"), "{shown}");
    let outcome = installation.run(sample).await;
    assert!(
        !outcome.stderr.contains('\u{1b}') && !outcome.stdout.contains('\u{1b}'),
        "{outcome:?}"
    );
    outcome.succeeded();
}

#[tokio::test]
async fn the_start_names_the_database_file() {
    let installation = Installation::new(Engine::Sqlite).await;
    let mut server = installation.serve().start().await;
    server.terminate().await;
    let file = installation
        .database_url()
        .strip_prefix("sqlite://")
        .unwrap()
        .to_owned();
    assert!(server.log().contains(&file), "{}", server.log());
}

#[tokio::test]
async fn every_command_has_a_help() {
    let installation = Installation::new(Engine::Sqlite).await;
    let commands: [&[&str]; 11] = [
        &[],
        &["serve"],
        &["migrate"],
        &["business"],
        &["business", "apply"],
        &["key", "create"],
        &["sample"],
        &["listen"],
        &["completions"],
        &["man"],
        &["openapi"],
    ];
    for command in commands {
        let help = installation
            .run(command.iter().copied().chain(["--help"]))
            .await
            .succeeded();
        assert!(help.contains("Usage:"), "{command:?}: {help}");
    }
}
