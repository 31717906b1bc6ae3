//! Installations whose records have no id in common.

use harness::{Engine, Installation, Shop, acme, both_engines};
use serde_json::{Value, json};

use crate::vehicles_record::a_car;

both_engines! {
    ids_begin_in_the_cell
    a_cell_changes_only_while_no_id_was_given
}

const CELL: &str = "FORECOURT_CELL";
const SIZE: i64 = 1 << 44;

#[track_caller]
fn is_of_cell(record: &Value, cell: i64) {
    let id = record["id"].as_i64().unwrap();
    assert!(
        (cell * SIZE..(cell + 1) * SIZE).contains(&id),
        "{id} is not of cell {cell}"
    );
}

async fn ids_begin_in_the_cell(engine: Engine) {
    let installation = Installation::new(engine).await;
    installation.configure(CELL, Some("511"));
    let server = installation.serve().start().await;
    let business = installation.business(&acme()).await;
    let listed = installation.run(["business", "list", "--json"]).await.json();
    is_of_cell(&listed[0], 511);
    let api = server.client(&business.key("all").await.token);
    let bodies = [
        ("/2.0/leads", json!({"name": "Ann"})),
        ("/2.0/contacts", json!({"name": "Ann"})),
        ("/2.0/vehicles", a_car()),
        (
            "/2.0/webhooks",
            json!({"url": "https://crm.example/hook", "events": "*"}),
        ),
    ];
    for (path, body) in bodies {
        let one = api.post(path, &body).await.created();
        let two = api.post(path, &body).await.created();
        is_of_cell(&one, 511);
        assert_eq!(two["id"].as_i64().unwrap(), one["id"].as_i64().unwrap() + 1, "{path}");
        assert_eq!(api.get(&format!("{path}/{}", two["id"])).await.ok()["id"], two["id"]);
    }
    let lead = api.list("/2.0/leads").await.items.remove(0);
    let note = format!("/2.0/leads/{}/notes", lead["id"]);
    is_of_cell(&api.post(&note, &json!({"note": "x"})).await.created(), 511);
    assert_eq!(lead["reference"], 2, "numbers without gaps are those of any business");
}

async fn a_cell_changes_only_while_no_id_was_given(engine: Engine) {
    let installation = Installation::new(engine).await;
    for cell in ["512", "-1", "x"] {
        let refused = installation.run_with(["migrate"], &[(CELL, cell)]).await;
        refused.failed_naming(CELL);
    }
    for cell in ["3", "0", "7"] {
        installation.run_with(["migrate"], &[(CELL, cell)]).await.succeeded();
    }
    // Unset, it is that of the database.
    installation.business(&acme()).await;
    is_of_cell(&installation.run(["business", "list", "--json"]).await.json()[0], 7);
    for cell in ["0", "3"] {
        let refused = installation.serve().env(CELL, cell).refused().await;
        refused.failed_naming("of cell 7");
    }
    let shop = Shop::on(installation.serve().env(CELL, 7).start().await).await;
    is_of_cell(&shop.lead(&json!({"name": "Ann"})).await, 7);

    let other = Installation::new(engine).await;
    other.business(&acme()).await;
    let refused = other.serve().env(CELL, 1).refused().await;
    refused.failed_naming("of cell 0");
}
