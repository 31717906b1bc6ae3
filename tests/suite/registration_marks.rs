//! Registration marks of vehicles: their display and their comparison.

use harness::{Engine, Shop, both_engines};
use serde_json::{Value, json};

use crate::vehicles_record::{VEHICLES, path_of, vehicle};

both_engines! {
    foreign_marks_keep_their_spaces_and_hyphens
    marks_compare_without_spaces_and_hyphens
    the_spelling_of_a_mark_can_be_put_right
}

async fn foreign_marks_keep_their_spaces_and_hyphens(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (sent, shown) in [
        ("W-AB 123", "W-AB 123"),
        ("b ab 123", "B AB 123"),
        ("aa-123-bb", "AA-123-BB"),
        (" 12  D 34567 ", "12 D 34567"),
        ("ab19cde", "AB19 CDE"),
        ("ab 19 cde", "AB19 CDE"),
    ] {
        let made = vehicle(&shop, &json!({"registration": sent})).await;
        assert_eq!(made["registration"], shown);
        assert_eq!(shop.api.get(&path_of(&made)).await.ok()["registration"], shown);
    }
    let nothing = shop.api.post(VEHICLES, &json!({"registration": "- -"})).await;
    nothing.invalid(&["registration"]);
}

async fn marks_compare_without_spaces_and_hyphens(engine: Engine) {
    let shop = Shop::open(engine).await;
    let made = vehicle(&shop, &json!({"registration": "W-AB 123"})).await;
    vehicle(&shop, &json!({"registration": "W-AB 1234"})).await;
    for spelling in ["W-AB%20123", "wab123", "WAB%20123", "w-a-b-1-2-3"] {
        let found = shop.api.list(&format!("{VEHICLES}?registration={spelling}")).await;
        assert_eq!(found.column("id"), [made["id"].clone()], "{spelling}");
    }
}

async fn the_spelling_of_a_mark_can_be_put_right(engine: Engine) {
    let shop = Shop::open(engine).await;
    let made = vehicle(&shop, &json!({"registration": "AA123BB"})).await;
    let path = path_of(&made);
    let changed = shop.api.patch(&path, &json!({"registration": "AA-123-BB"})).await.ok();
    assert_eq!(changed["registration"], "AA-123-BB");
    let listed: Vec<Value> = shop.api.list(VEHICLES).await.column("registration");
    assert_eq!(listed, ["AA-123-BB"]);
}
