//! `forecourt business apply|list|delete`: the declarative file.

use std::time::Duration;

use harness::{Engine, Installation, Shop, acme, both_engines, wait_for};
use serde_json::{Value, json};

both_engines! {
    applying_twice_changes_nothing
    an_omitted_member_keeps_its_value
    a_change_takes_effect_within_five_seconds
    a_file_may_be_toml
    an_unknown_member_is_refused_by_name
    a_bad_value_is_refused_by_name
    a_refused_file_changes_nothing
    the_whole_example_is_accepted
}

async fn listed(installation: &Installation) -> String {
    installation
        .run(["business", "list", "--json"])
        .await
        .json()
        .to_string()
}

async fn applying_twice_changes_nothing(engine: Engine) {
    let shop = Shop::open(engine).await;
    let before = listed(shop.installation()).await;
    shop.installation().apply(&acme()).await.json();
    assert_eq!(listed(shop.installation()).await, before);
    shop.api.get("/2.0/leads").await.ok();
}

async fn an_omitted_member_keeps_its_value(engine: Engine) {
    let shop = Shop::open(engine).await;
    let paths = [
        "staff-users",
        "sites",
        "booking-types",
        "job-boards",
        "media-backgrounds",
        "tags?resource=leads",
    ];
    let read = async |path: &str| shop.api.get(&format!("/2.0/reference/{path}")).await.ok();
    let mut before = Vec::new();
    for path in paths {
        before.push(read(path).await);
    }
    shop.business.change(json!({"booking_types": []})).await;
    wait_for("the change takes effect", Duration::from_secs(5), async || {
        read("booking-types").await == json!([])
    })
    .await;
    for (path, before) in paths.into_iter().zip(before) {
        let expected = if path == "booking-types" { json!([]) } else { before };
        assert_eq!(read(path).await, expected, "{path}");
    }
}

async fn a_change_takes_effect_within_five_seconds(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop.lead_path("Ann").await;
    let assign = async || shop.api.patch(&format!("{lead}/assign"), &json!({"assign": [7]})).await;
    assign().await.refused(422, "validation_failed");
    let staff = json!([{"id": 7, "name": "New Hand", "role": ["sales"], "email": "new@acme.example"}]);
    shop.business.change(json!({"staff": staff})).await;
    wait_for("the change takes effect", Duration::from_secs(5), async || {
        assign().await.status == 200
    })
    .await;
}

async fn a_file_may_be_toml(engine: Engine) {
    let installation = Installation::new(engine).await;
    let server = installation.serve().start().await;
    let file = installation.write(
        "toml",
        r#"
            tag = "acme"
            name = "Acme Cars"
            email = "office@acme.example"
            plan = "scale"

            [settings]
            publish_limit = 10
            reserve_deposit = "99.00"

            [[staff]]
            id = 1
            name = "Sam Hill"
            role = ["sales"]
            email = "sam@acme.example"

            [[sites]]
            id = 0
            name = "Main"
            tag = "main"
            domain = "acme.example"
            type = "main"
            active = true

            [vehicle_options]
            colour = ["Nardo Grey"]
        "#,
    );
    installation.run(["business", "apply", &file]).await.succeeded();
    let key = installation
        .key(&["--business", "acme", "--scopes", "reference:read"])
        .await;
    let staff = server.client(&key.token).get("/2.0/reference/staff-users").await.ok();
    assert_eq!(staff, json!([{"id": 1, "name": "Sam Hill", "role": ["sales"]}]));
    let broken = installation.write("toml", "tag = acme");
    installation
        .run(["business", "apply", &broken])
        .await
        .failed_naming(&broken);
    let other = installation.write("yaml", "tag: acme");
    let outcome = installation.run(["business", "apply", &other]).await;
    assert!(!outcome.status.success(), "{outcome:?}");
}

/// Returns the smallest file, with one more member.
fn with(member: &str, value: impl Into<Value>) -> Value {
    let mut file = json!({"tag": "acme", "name": "Acme"});
    file[member] = value.into();
    file
}

async fn refused(installation: &Installation, file: &Value, needle: &str) {
    installation.apply(file).await.failed_naming(needle);
}

async fn an_unknown_member_is_refused_by_name(engine: Engine) {
    let installation = Installation::new(engine).await;
    installation.run(["migrate"]).await.succeeded();
    for file in [
        with("nonsense", json!(1)),
        with("settings", json!({"nonsense": 1})),
        with("settings", json!({"finance": {"apr": "9.9", "nonsense": 1}})),
        with("sites", json!([{"id": 0, "name": "Main", "nonsense": 1}])),
        with("staff", json!([{"id": 1, "name": "Sam", "nonsense": 1}])),
        with("tags", json!([{"resource": "lead", "name": "Hot", "nonsense": 1}])),
        with(
            "channels",
            json!([{"id": "website", "name": "Website", "category": "website", "nonsense": 1}]),
        ),
        with("locations", json!([{"id": "1", "name": "Front", "nonsense": 1}])),
    ] {
        refused(&installation, &file, "nonsense").await;
    }
}

async fn a_bad_value_is_refused_by_name(engine: Engine) {
    let installation = Installation::new(engine).await;
    installation.run(["migrate"]).await.succeeded();
    for (file, needle) in [
        (json!({"name": "Acme"}), "tag"),
        (json!({"tag": "acme"}), "name"),
        (with("state", json!("asleep")), "asleep"),
        (with("plan", json!("free")), "free"),
        (with("verified", json!("yes")), "verified"),
        (with("email", json!("nonsense")), "email"),
        (with("country", json!("XX")), "country"),
        (
            with("settings", json!({"sold_retention_days": -1})),
            "sold_retention_days",
        ),
        (with("settings", json!({"reserve_deposit": "much"})), "reserve_deposit"),
        (with("tags", json!([{"resource": "boat", "name": "Hot"}])), "boat"),
        (with("staff", json!([{"id": "one", "name": "Sam"}])), "staff"),
        (with("legal", json!({"bank": {"iban": "GB00"}})), "legal.bank.iban"),
        (
            with("legal", json!({"address": {"country": "XX"}})),
            "legal.address.country",
        ),
        (
            with("settings", json!({"retention_years": 0})),
            "settings.retention_years",
        ),
        (
            with("settings", json!({"opening_hours": {"mon": [["9:00", "18:00"]]}})),
            "settings.opening_hours.mon[0][0]",
        ),
        (
            with(
                "settings",
                json!({"opening_hours": {"mon": [["09:00", "12:00"], ["11:00", "18:00"]]}}),
            ),
            "settings.opening_hours.mon.1",
        ),
        (
            with("settings", json!({"closed_dates": ["25 December"]})),
            "settings.closed_dates[0]",
        ),
        (
            with("products", json!([{"id": "a", "name": "A", "gross": "1.001"}])),
            "products[0].gross",
        ),
        (
            with(
                "products",
                json!([{"id": "a", "name": "A", "gross": "1", "vat_scheme": "zero", "vat_rate": "0"}]),
            ),
            "products.0.vat_rate",
        ),
        (
            with("calendars", json!([{"id": "sales", "name": "Sales", "staff": [9]}])),
            "calendars.0.staff.0",
        ),
        (
            with(
                "calendars",
                json!([{"id": "sales", "name": "Sales", "buffer_minutes": -1}]),
            ),
            "calendars[0].buffer_minutes",
        ),
    ] {
        refused(&installation, &file, needle).await;
    }
    let file = installation.write("json", "{");
    installation
        .run(["business", "apply", &file])
        .await
        .failed_naming(&file);
}

async fn a_refused_file_changes_nothing(engine: Engine) {
    let shop = Shop::open(engine).await;
    let before = listed(shop.installation()).await;
    let mut file = acme();
    file["name"] = json!("Other");
    file["state"] = json!("asleep");
    refused(shop.installation(), &file, "asleep").await;
    assert_eq!(listed(shop.installation()).await, before);
}

async fn the_whole_example_is_accepted(engine: Engine) {
    let installation = Installation::new(engine).await;
    let server = installation.serve().start().await;
    let file = json!({
        "tag": "acme", "name": "Acme Cars", "email": "office@acme.example", "country": "GB", "website": "https://acme.example",
        "verified": true, "state": "active", "plan": "growth", "api_access": true,
        "settings": {
            "publish_limit": 1000, "reserve_deposit": "99.00", "sold_retention_days": 14, "test_drive_terms": "…",
            "finance": {
                "apr": "9.9", "term": 48, "deposit_percent": "10", "admin_fee": "0.00", "option_purchase_fee": "10.00",
                "final_payment_percent": "0",
            },
            "timezone": "Europe/London", "invoice_due_days": 0, "invoice_terms": "", "order_terms": "",
            "order_title": "Order", "retention_years": 6, "opening_hours": {"mon": [["09:00", "18:00"]], "sun": []},
            "closed_dates": ["2026-12-25"], "appointment_reminder_minutes": 1440, "call_retention_days": null,
        },
        "legal": {
            "name": "Harbour Lane Cars Ltd",
            "address": {"line1": "", "line2": "", "line3": "", "city": "", "state": "", "zip": "", "country": "GB"},
            "phone": "+442079460000", "company_number": "", "vat_number": "GB 123 456 789", "fca_number": "",
            "bank": {"account_name": "", "sort_code": "", "account_number": "", "iban": "", "bic": ""},
        },
        "products": [
            {"id": "warranty-12", "name": "12 months' warranty", "gross": "399.00", "vat_scheme": "exempt", "vat_rate": null,
             "nominal": "4010"},
        ],
        "calendars": [
            {"id": "sales", "name": "Sales", "capacity": 3, "staff": [1], "opening_hours": null, "step_minutes": 15,
             "buffer_minutes": 0, "notice_minutes": 0},
        ],
        "sites": [{"id": 0, "name": "Main", "tag": "main", "domain": "acme.example", "type": "main", "active": true}],
        "locations": [{"id": "1", "name": "Front"}],
        "staff": [{"id": 1, "name": "Sam Hill", "role": ["sales"], "email": "sam@acme.example"}],
        "tags": [
            {"resource": "lead", "name": "Hot", "colour": "#d33", "type": "", "defaulted": false},
            {"resource": "vehicle", "type": "s", "name": "Ready", "colour": "#3a3", "defaulted": true},
        ],
        "channels": [
            {"id": "website", "name": "Website", "category": "website"},
            {"id": "platform_a", "name": "Platform A", "category": "marketplace"},
            {"id": "platform_b", "name": "Platform B", "category": "marketplace"},
        ],
        "booking_types": [], "media_backgrounds": [], "job_boards": [],
        "vehicle_options": {"colour": ["Nardo Grey"]},
    });
    let business = installation.business(&file).await;
    server
        .client(&business.key("all").await.token)
        .get("/2.0/leads")
        .await
        .ok();
    let listed = installation.run(["business", "list", "--json"]).await.json();
    assert_eq!(listed[0]["legal"]["vat_number"], "GB123456789");
    assert_eq!(listed[0]["calendars"], file["calendars"]);
}
