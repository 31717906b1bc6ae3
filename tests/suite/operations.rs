//! The promises of `docs/operations.md` and the files beside it to the operator of a server.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use harness::{Engine, Shop, both_engines, eventually};
use serde_json::{Value, json};

both_engines! {
    every_metric_is_in_the_table_and_every_one_of_the_table_is_measured
}

/// The description of a metric.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Described {
    kind: String,
    meaning: String,
    labels: BTreeSet<String>,
}

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name)
}

fn text(name: &str) -> String {
    fs::read_to_string(docs(name)).unwrap()
}

/// Returns the table of metrics.
fn table() -> BTreeMap<String, Described> {
    let page = text("operations.md");
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let rows = page.lines().filter(|line| {
        ["| `forecourt_", "| `process_"]
            .iter()
            .any(|start| line.starts_with(start))
    });
    rows.map(|line| match &*cells(line) {
        [_, name, kind, labels, meaning, _] => {
            let labels = labels.split(',').map(|label| label.trim().trim_matches('`'));
            let described = Described {
                kind: kind.clone(),
                meaning: meaning.clone(),
                labels: labels.filter(|label| !label.is_empty()).map(str::to_owned).collect(),
            };
            (name.trim_matches('`').to_owned(), described)
        }
        other => panic!("no row of four cells: {other:?}"),
    })
    .collect()
}

/// Returns the metrics of `GET /metrics`, by name.
fn measured(answer: &str) -> BTreeMap<String, Described> {
    let described = |start: &str| -> BTreeMap<String, String> {
        let lines = answer.lines().filter_map(|line| line.strip_prefix(start));
        lines
            .map(|line| line.split_once(' ').unwrap())
            .map(|(name, text)| (name.to_owned(), text.to_owned()))
            .collect()
    };
    let meanings = described("# HELP ");
    let kinds = described("# TYPE ");
    kinds
        .into_iter()
        .map(|(name, kind)| {
            let meaning = meanings.get(&name).cloned().unwrap_or_default();
            let labels = labels(answer, &name, &kind);
            (name, Described { kind, meaning, labels })
        })
        .collect()
}

/// Returns the labels of a metric's samples.
fn labels(answer: &str, metric: &str, kind: &str) -> BTreeSet<String> {
    let samples = answer.lines().filter(|line| !line.starts_with('#'));
    let mut labels = BTreeSet::new();
    for sample in samples {
        let (name, rest) = sample.split_once('{').unwrap_or((sample, ""));
        let name = name.split(' ').next().unwrap_or_default();
        if name != metric && (kind != "histogram" || base(name) != metric) {
            continue;
        }
        // Values may have any character but a quote here.
        let names = rest.split('"').step_by(2).filter_map(|part| part.strip_suffix('='));
        labels.extend(names.map(|name| name.trim_start_matches(',').to_owned()));
    }
    labels.remove("le");
    labels
}

/// Returns the histogram that a series belongs to.
fn base(series: &str) -> &str {
    let suffixes = ["_bucket", "_sum", "_count"];
    suffixes
        .iter()
        .find_map(|suffix| series.strip_suffix(suffix))
        .unwrap_or(series)
}

async fn every_metric_is_in_the_table_and_every_one_of_the_table_is_measured(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.lead(&json!({"name": "Ann"})).await;
    let expected = table();
    assert!(expected.len() > 20, "{expected:?}");
    // Some are there once a background task has done its first round.
    eventually(
        "the metrics are those of the table",
        Duration::from_secs(60),
        async || {
            let answer = shop.server.admin().get("/metrics").await;
            let found = measured(answer.text());
            let names: BTreeSet<&String> = found.keys().chain(expected.keys()).collect();
            let differences: Vec<_> = names
                .into_iter()
                .map(|name| (name, expected.get(name), found.get(name)))
                .filter(|(_, expected, found)| expected != found)
                .map(|(name, expected, found)| format!("{name}: in the table {expected:?}, measured {found:?}"))
                .collect();
            if differences.is_empty() {
                Ok(())
            } else {
                Err(differences)
            }
        },
    )
    .await;
}

/// Returns the queries of the alert rules: the text after `expr:`, to the end of the line or of the block.
fn alert_queries() -> Vec<String> {
    let rules = text("operations/alerts.yml");
    let mut queries = Vec::new();
    let mut lines = rules.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(query) = line.trim_start().strip_prefix("expr:") else {
            continue;
        };
        let depth = |line: &str| line.len() - line.trim_start().len();
        if query.trim() != "|" {
            queries.push(query.trim().to_owned());
            continue;
        }
        let mut block = String::new();
        while let Some(next) = lines.next_if(|next| depth(next) > depth(line)) {
            block += next.trim();
            block.push(' ');
        }
        queries.push(block);
    }
    assert_eq!(
        queries.len(),
        rules.matches("- alert:").count(),
        "each alert has its query"
    );
    queries
}

/// Returns the queries of the dashboard's panels.
fn dashboard_queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&text("operations/dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut ids: Vec<i64> = panels.iter().map(|panel| panel["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), panels.len(), "each panel has an id of its own");
    let targets = panels
        .iter()
        .filter_map(|panel| panel["targets"].as_array())
        .flatten()
        .map(|target| target["expr"].as_str().unwrap().to_owned());
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let of_variables = variables
        .iter()
        .filter_map(|variable| variable["query"]["query"].as_str())
        .map(str::to_owned);
    targets.chain(of_variables).collect()
}

/// Returns the names in a query with the labels that it selects by; text between quotes is not a name.
fn selected(query: &str) -> Vec<(String, Vec<String>)> {
    let unquoted: String = query.split('"').step_by(2).collect::<Vec<_>>().join("\"\"");
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let mut found = Vec::new();
    let mut rest = unquoted.as_str();
    while let Some(start) = rest.find(|character: char| character.is_ascii_alphabetic()) {
        let from = &rest[start..];
        let end = from.find(|character: char| !is_name(character)).unwrap_or(from.len());
        let (name, behind) = from.split_at(end);
        let braces = behind.strip_prefix('{').and_then(|behind| behind.split_once('}'));
        rest = behind;
        let mut labels = Vec::new();
        if let Some((inside, behind)) = braces {
            let names = inside.split(',').filter_map(|matcher| matcher.split(['=', '!']).next());
            labels.extend(names.map(|name| name.trim().to_owned()));
            rest = behind;
        }
        let is_metric = braces.is_some() || name.starts_with("forecourt_") || name.starts_with("process_");
        if is_metric {
            found.push((name.to_owned(), labels));
        }
    }
    found
}

#[test]
fn alerts_and_dashboard_use_only_what_is_measured() {
    let metrics = table();
    let mut used = BTreeSet::new();
    for query in alert_queries().into_iter().chain(dashboard_queries()) {
        let selected = selected(&query);
        assert!(!selected.is_empty(), "{query}");
        for (series, labels) in selected {
            // Prometheus itself reports whether it reaches a server.
            if series == "up" {
                continue;
            }
            let name = if metrics.contains_key(&series) {
                &*series
            } else {
                base(&series)
            };
            let metric = metrics
                .get(name)
                .unwrap_or_else(|| panic!("{series} is not measured: {query}"));
            let is_whole = metric.kind == "histogram" && name == series;
            assert!(
                !is_whole,
                "of a histogram a query takes _bucket, _sum or _count: {query}"
            );
            for label in labels {
                let is_known = metric.labels.contains(&label) || ["job", "instance"].contains(&&*label);
                assert!(is_known, "{series} has no label {label}: {query}");
            }
            used.insert(name.to_owned());
        }
    }
    // Each metric of the server is used by an alert or by the dashboard.
    let mut unused: Vec<_> = metrics.keys().filter(|name| !used.contains(*name)).collect();
    unused.retain(|name| !name.starts_with("process_"));
    assert_eq!(unused, Vec::<&String>::new());
}

#[test]
fn names_in_queries_are_found() {
    let found = selected(
        r#"sum by (le) (rate(forecourt_a_bucket{route!~"x|up{y}", job="z"}[5m])) > on (job) up{a="b"} * process_b"#,
    );
    let labels = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    let expected = [
        ("forecourt_a_bucket".to_owned(), labels(&["route", "job"])),
        ("up".to_owned(), labels(&["a"])),
        ("process_b".to_owned(), labels(&[])),
    ];
    assert_eq!(found, expected);
}

/// Runs only if Prometheus' own tool is installed, which few build machines have.
#[test]
fn the_alerts_are_rules_of_prometheus() {
    let checked = Command::new("promtool")
        .args(["check", "rules"])
        .arg(docs("operations/alerts.yml"))
        .output();
    if let Ok(checked) = checked {
        let said = String::from_utf8_lossy(&checked.stdout).into_owned() + &String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{said}");
    }
}

#[tokio::test]
async fn a_copy_that_sqlite_makes_beside_a_running_server_is_a_backup() {
    let shop = Shop::open(Engine::Sqlite).await;
    let before = shop.lead_path("Before").await;
    let key = shop.business.key("leads:read").await;
    let api = shop.api.clone();
    let writing = tokio::spawn(async move {
        for number in 0..40 {
            let name = format!("Lead {number}");
            api.post("/2.0/leads", &json!({"name": name})).await.created();
        }
    });
    let copy = shop.installation().folder().join("copy.db");
    shop.installation().copy_database(&copy).await;
    writing.await.unwrap();
    let after = shop.lead_path("After").await;

    let url = format!("sqlite://{}", copy.display());
    let restored = shop.installation().serve().env("DATABASE_URL", url).start().await;
    let api = restored.client(&key.token);
    assert_eq!(api.get(&before).await.ok()["name"], "Before");
    api.get(&after).await.refused(404, "lead_not_found");
}
