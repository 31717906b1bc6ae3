//! The reference endpoints: the contract's thirteen, the two for the fields of vehicles, and those for products and calendars.

use std::time::Duration;

use harness::{Engine, Installation, Shop, both_engines, wait_for};
use serde_json::{Value, json};

both_engines! {
    tags
    vehicle_statuses
    vehicle_types
    vehicle_options
    vehicle_taxonomy
    staff_users
    sites
    booking_types
    deal_stages
    lead_channels
    lead_types
    media_backgrounds
    invoice_statuses
    job_boards
    products
    calendars
    webhook_events
    a_bare_business_has_empty_lists
}

async fn read(shop: &Shop, path: &str) -> Value {
    shop.api.get(&format!("/2.0/reference/{path}")).await.ok()
}

async fn refused(shop: &Shop, path: &str, field: &str) {
    shop.api.get(&format!("/2.0/reference/{path}")).await.invalid(&[field]);
}

fn column(list: &Value, member: &str) -> Vec<Value> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|item| item[member].clone())
        .collect()
}

/// Asserts that each object of a list has exactly these members.
#[track_caller]
fn shaped(list: &Value, members: &[&str]) {
    let list = list.as_array().unwrap();
    assert!(!list.is_empty());
    for item in list {
        let mut seen: Vec<&str> = item.as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected = members.to_vec();
        seen.sort_unstable();
        expected.sort_unstable();
        assert_eq!(seen, expected);
    }
}

async fn tags(engine: Engine) {
    let shop = Shop::open(engine).await;
    for resource in ["leads", "lead"] {
        let answer = read(&shop, &format!("tags?resource={resource}")).await;
        assert_eq!(answer["type"], false);
        let expected = json!([
            {"name": "Hot", "colour": "#d33", "type": "", "defaulted": false},
            {"name": "Cold", "colour": "#33d", "type": "", "defaulted": false},
        ]);
        assert_eq!(answer["tags"], expected);
        assert_eq!(answer["resource"], "lead", "it is normalised");
        // A stock type has no effect here, but one that does not exist is refused.
        let typed = read(&shop, &format!("tags?resource={resource}&type=s")).await;
        assert_eq!(typed, answer);
        refused(&shop, &format!("tags?resource={resource}&type=x"), "type").await;
        refused(&shop, &format!("tags?resource={resource}&type="), "type").await;
    }
    for resource in ["contacts", "contact"] {
        let answer = read(&shop, &format!("tags?resource={resource}")).await;
        assert_eq!(
            (column(&answer["tags"], "name"), &answer["type"]),
            (vec![json!("Trade")], &json!(false))
        );
    }
    for resource in ["vehicles", "vehicle"] {
        for (key, names) in [
            ("s", vec!["Ready"]),
            ("u", vec!["Service"]),
            ("t", vec![]),
            ("r", vec![]),
        ] {
            let answer = read(&shop, &format!("tags?resource={resource}&type={key}")).await;
            assert_eq!(
                (column(&answer["tags"], "name"), &answer["type"]),
                (names.into_iter().map(Value::from).collect(), &json!(key))
            );
        }
        refused(&shop, &format!("tags?resource={resource}"), "type").await;
        for bad in ["a", "x", "", "in-stock"] {
            refused(&shop, &format!("tags?resource={resource}&type={bad}"), "type").await;
        }
    }
    for bad in ["tags", "tags?resource=", "tags?resource=nonsense", "tags?resource=Lead"] {
        refused(&shop, bad, "resource").await;
    }
}

async fn vehicle_statuses(engine: Engine) {
    let shop = Shop::open(engine).await;
    // The codes are the same for every stock type; the names depend on it.
    let table = [
        ("s", "in-stock", [None, Some(("for-sale", "For Sale")), None, None]),
        ("t", "to-order", [None, Some(("for-sale", "For Sale")), None, None]),
        ("u", "customer", [None, Some(("on-site", "On Site")), None, None]),
        ("r", "courtesy", [None, Some(("in use", "In Use")), None, None]),
        (
            "a",
            "appraisal",
            [
                ("added", "Added"),
                ("appraised", "Appraised"),
                ("accepted", "Accepted"),
                ("rejected", "Rejected"),
            ]
            .map(Some),
        ),
    ];
    for (key, slug, names) in table {
        let answer = read(&shop, &format!("vehicle-statuses?type={slug}")).await;
        assert_eq!(answer, read(&shop, &format!("vehicle-statuses?type={key}")).await);
        assert_eq!(answer["type"], slug);
        let statuses = &answer["statuses"];
        shaped(statuses, &["id", "name", "label"]);
        assert_eq!(column(statuses, "id"), [1, 2, 3, 4], "{slug}");
        for (status, expected) in statuses.as_array().unwrap().iter().zip(names) {
            if let Some((name, label)) = expected {
                assert_eq!(
                    (&status["name"], &status["label"]),
                    (&json!(name), &json!(label)),
                    "{slug}"
                );
            }
        }
    }
    assert_eq!(read(&shop, "vehicle-statuses").await["type"], "in-stock");
    for bad in ["x", "", "In-Stock", "vehicle"] {
        refused(&shop, &format!("vehicle-statuses?type={bad}"), "type").await;
    }
}

async fn vehicle_types(engine: Engine) {
    let shop = Shop::open(engine).await;
    let types = read(&shop, "vehicle-types").await;
    shaped(&types, &["id", "name", "label"]);
    assert_eq!(column(&types, "id"), ["s", "t", "u", "r", "a"]);
    assert_eq!(
        column(&types, "name"),
        ["in-stock", "to-order", "customer", "courtesy", "appraisal"]
    );
    assert_eq!(
        column(&types, "label"),
        ["In Stock", "To Order", "Customer", "Courtesy", "Appraisal"]
    );
}

async fn vehicle_options(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lists = read(&shop, "vehicle-options").await;
    shaped(&lists, &["name", "enforced", "values"]);
    let (enforced, suggested) = (
        [
            "body",
            "colour",
            "fuel",
            "transmission",
            "drivetrain",
            "bedroom_layout",
            "end_layout",
        ],
        [
            "wheelbase",
            "cab_type",
            "category",
            "driver_position",
            "interior_upholstery",
            "interior_colour",
            "exterior_finish",
            "condition",
            "service_history",
        ],
    );
    assert_eq!(column(&lists, "name"), [&enforced[..], &suggested].concat());
    for list in lists.as_array().unwrap() {
        let name = list["name"].as_str().unwrap();
        assert_eq!(list["enforced"], enforced.contains(&name), "{name}");
        assert!(
            list["values"].as_array().is_some_and(|values| !values.is_empty()),
            "{name}"
        );
    }

    let values = |lists: &Value, name: &str| {
        let list = lists.as_array().unwrap().iter().find(|list| list["name"] == name);
        list.unwrap()["values"].as_array().unwrap().clone()
    };
    assert_eq!(values(&lists, "transmission"), ["Automatic", "Manual"]);
    assert_eq!(
        values(&lists, "colour").last(),
        Some(&json!("Nardo Grey")),
        "the business's own are last"
    );
    for value in ["Saloon", "Panel Van", "Naked"] {
        assert!(values(&lists, "body").contains(&json!(value)), "{value}");
    }

    let vans = read(&shop, "vehicle-options?type=Van").await;
    assert_eq!(column(&vans, "name"), column(&lists, "name"), "no list is left out");
    let bodies = values(&vans, "body");
    assert!(bodies.contains(&json!("Panel Van")) && !bodies.contains(&json!("Saloon")));
    assert!(values(&vans, "end_layout").is_empty());
    assert_eq!(values(&vans, "colour"), values(&lists, "colour"));

    for bad in ["van", "Boat", ""] {
        refused(&shop, &format!("vehicle-options?type={bad}"), "type").await;
    }
}

async fn vehicle_taxonomy(engine: Engine) {
    let shop = Shop::open(engine).await;
    let types = read(&shop, "vehicle-taxonomy").await;
    let classes = json!([
        "Car",
        "Van",
        "Bike",
        "Truck",
        "Crossover",
        "Motorhome",
        "Caravan",
        "Farm",
        "Plant"
    ]);
    assert_eq!(
        types,
        json!({"type": null, "make": null, "model": null, "types": classes})
    );

    for class in classes.as_array().unwrap() {
        let class = class.as_str().unwrap();
        let makes = read(&shop, &format!("vehicle-taxonomy?type={class}")).await;
        assert_eq!((&makes["type"], &makes["types"]), (&json!(class), &Value::Null));
        let makes = makes["makes"].as_array().unwrap();
        assert!(makes.len() >= 10, "{class}");
    }

    let models = read(&shop, "vehicle-taxonomy?type=Car&make=FORD").await;
    assert_eq!(models["make"], "Ford", "a make is found in any case");
    let names = models["models"].as_array().unwrap();
    assert!(names.contains(&json!("Fiesta")) && !names.contains(&json!("Golf")));

    let fiesta = read(&shop, "vehicle-taxonomy?type=Car&make=ford&model=Fiesta").await;
    let mut members: Vec<&str> = fiesta.as_object().unwrap().keys().map(String::as_str).collect();
    members.sort_unstable();
    let expected = [
        "derivatives",
        "engine_sizes",
        "generations",
        "make",
        "model",
        "trims",
        "type",
    ];
    assert_eq!(members, expected);
    let generations = fiesta["generations"].as_array().unwrap();
    assert!(generations.contains(&json!({"name": "Mk7", "from": 2008, "to": 2017})));
    for (list, value) in [
        ("trims", "Zetec"),
        ("engine_sizes", "1.0"),
        ("derivatives", "1.25 Zetec"),
    ] {
        assert!(fiesta[list].as_array().unwrap().contains(&json!(value)), "{list}");
    }
    let loose = read(&shop, "vehicle-taxonomy?type=Car&make=MERCEDES%20BENZ&model=a-class").await;
    assert_eq!(
        (&loose["make"], &loose["model"]),
        (&json!("Mercedes-Benz"), &json!("A Class"))
    );
    let golf = read(&shop, "vehicle-taxonomy?type=Car&make=Volkswagen&model=Golf").await;
    assert_eq!(
        golf["generations"].as_array().unwrap().last().unwrap()["to"],
        Value::Null,
        "it is still sold"
    );

    // A value outside the taxonomy is not a fault: a vehicle may have it.
    let custom = read(&shop, "vehicle-taxonomy?type=Car&make=Homebuilt").await;
    assert_eq!((&custom["make"], &custom["models"]), (&json!("Homebuilt"), &json!([])));
    for query in ["make=Ford&model=Golf", "make=Homebuilt&model=One"] {
        let none = read(&shop, &format!("vehicle-taxonomy?type=Car&{query}")).await;
        for list in ["generations", "derivatives", "trims", "engine_sizes"] {
            assert_eq!(none[list], json!([]), "{query}: {list}");
        }
    }

    let some = read(&shop, "vehicle-taxonomy?type=Car&make=Ford&model=Fiesta&fields=trims").await;
    assert_eq!(some, json!({"trims": fiesta["trims"]}));

    for (query, field) in [
        ("type=car", "type"),
        ("make=Ford", "type"),
        ("type=Car&model=Fiesta", "make"),
    ] {
        refused(&shop, &format!("vehicle-taxonomy?{query}"), field).await;
    }
}

async fn staff_users(engine: Engine) {
    let shop = Shop::open(engine).await;
    let expected = json!([
        {"id": 1, "name": "Sam Hill", "role": ["sales"]},
        {"id": 2, "name": "Ada Byrne", "role": ["sales", "manager"]},
    ]);
    assert_eq!(read(&shop, "staff-users").await, expected);
}

async fn sites(engine: Engine) {
    let shop = Shop::open(engine).await;
    let expected = json!([
        {"id": 0, "name": "Main", "tag": "main", "domain": "acme.example", "type": "main", "active": true},
        {"id": 2, "name": "Vans", "tag": "vans", "domain": "vans.acme.example", "type": "branch", "active": true},
    ]);
    assert_eq!(read(&shop, "sites").await, expected);
}

async fn booking_types(engine: Engine) {
    let shop = Shop::open(engine).await;
    let viewing =
        json!({"id": "viewing", "name": "Viewing", "enabled": true, "calendar": "sales", "duration_minutes": 30});
    assert_eq!(read(&shop, "booking-types").await, json!([viewing]));
}

async fn deal_stages(engine: Engine) {
    let shop = Shop::open(engine).await;
    let stages = read(&shop, "deal-stages").await;
    shaped(&stages, &["name", "label"]);
    let expected = [
        "pending",
        "begin",
        "part_exchange",
        "product",
        "delivery_collection",
        "summary",
        "finance",
        "payment",
        "payment_partial",
        "confirm",
        "handover",
        "complete",
        "declined",
        "fatal",
    ];
    assert_eq!(column(&stages, "name"), expected);
}

async fn lead_channels(engine: Engine) {
    let shop = Shop::open(engine).await;
    let channels = read(&shop, "lead-channels").await;
    shaped(&channels, &["id", "name"]);
    let expected = [
        "api",
        "website",
        "email",
        "sms",
        "whatsapp",
        "phone",
        "showroom",
        "marketplace",
        "social",
    ];
    assert_eq!(column(&channels, "id"), expected);
}

async fn lead_types(engine: Engine) {
    let shop = Shop::open(engine).await;
    let types = read(&shop, "lead-types").await;
    shaped(&types, &["id", "name"]);
    let expected = [
        "email",
        "phone",
        "callback",
        "test_drive",
        "finance",
        "part_exchange",
        "valuation",
        "reservation",
        "availability",
        "video",
        "brochure",
        "service",
        "warranty",
        "parts",
        "feedback",
        "other",
    ];
    assert_eq!(column(&types, "id"), expected);
}

async fn media_backgrounds(engine: Engine) {
    let shop = Shop::open(engine).await;
    let backgrounds = read(&shop, "media-backgrounds").await;
    shaped(&backgrounds, &["id", "name", "key"]);
    let backgrounds = backgrounds.as_array().unwrap();
    assert!(backgrounds.len() > 1, "there is a default set");
    assert!(backgrounds.contains(&json!({"id": "own", "name": "Our hall", "key": "hall"})));
}

async fn invoice_statuses(engine: Engine) {
    let shop = Shop::open(engine).await;
    let table: [(&str, &[&str]); 3] = [
        ("invoice", &["draft", "issued", "paid", "cancelled", "credited"]),
        ("order", &["draft", "issued", "converted", "cancelled"]),
        ("purchase", &["draft", "issued", "paid", "cancelled", "credited"]),
    ];
    for (kind, names) in table {
        let answer = read(&shop, &format!("invoice-statuses?type={kind}")).await;
        assert_eq!(answer["type"], kind);
        shaped(&answer["statuses"], &["id", "name", "label"]);
        assert_eq!(column(&answer["statuses"], "name"), names);
        let ids: Vec<Value> = (0..names.len()).map(Value::from).collect();
        assert_eq!(column(&answer["statuses"], "id"), ids);
    }
    assert_eq!(read(&shop, "invoice-statuses").await["type"], "invoice");
    for bad in ["x", "", "Invoice", "invoices"] {
        refused(&shop, &format!("invoice-statuses?type={bad}"), "type").await;
    }
}

async fn job_boards(engine: Engine) {
    let shop = Shop::open(engine).await;
    let board = json!({
        "id": 1, "tag": "prep", "name": "Preparation", "description": "Before sale", "apply": [],
        "stages": [{"name": "Mechanics", "tasks": ["MOT", "Service"]}],
    });
    let bare = json!({"id": 2, "tag": "extra", "name": "Extra work", "description": "", "apply": [], "stages": []});
    assert_eq!(read(&shop, "job-boards").await, json!([board, bare]));
}

async fn products(engine: Engine) {
    let shop = Shop::open(engine).await;
    assert_eq!(read(&shop, "products").await, json!([]));
    let products = json!([
        {"id": "warranty-12", "name": "12 months' warranty", "gross": "399", "vat_scheme": "exempt", "nominal": "4010"},
        {"id": "delivery", "name": "Delivery", "gross": "149.50", "vat_scheme": "standard", "vat_rate": "20"},
        {"id": "mats", "name": "Mats", "gross": "0.00"},
    ]);
    shop.business.change(json!({"products": products})).await;
    let expected = json!([
        {"id": "warranty-12", "name": "12 months' warranty", "gross": "399.00", "vat_scheme": "exempt", "vat_rate": null,
         "nominal": "4010"},
        {"id": "delivery", "name": "Delivery", "gross": "149.50", "vat_scheme": "standard", "vat_rate": "20.00",
         "nominal": ""},
        {"id": "mats", "name": "Mats", "gross": "0.00", "vat_scheme": "standard", "vat_rate": null, "nominal": ""},
    ]);
    wait_for("the change takes effect", Duration::from_secs(5), async || {
        read(&shop, "products").await == expected
    })
    .await;
    let names = read(&shop, "products?fields=id,gross").await;
    assert_eq!(names[1], json!({"id": "delivery", "gross": "149.50"}));
}

async fn calendars(engine: Engine) {
    let shop = Shop::open(engine).await;
    assert_eq!(read(&shop, "calendars").await, json!([]));
    let calendars = json!([
        {"id": "sales", "name": "Sales", "capacity": 3, "staff": [1, 2], "step_minutes": 30},
        {"id": "workshop", "name": "Workshop", "opening_hours": {"mon": [["08:00", "12:00"], ["12:30", "24:00"]], "sun": []}},
    ]);
    shop.business.change(json!({"calendars": calendars})).await;
    let week = |monday: Value| json!({"mon": monday, "tue": [], "wed": [], "thu": [], "fri": [], "sat": [], "sun": []});
    let workshop = json!({
        "id": "workshop", "name": "Workshop", "capacity": null, "staff": [], "timezone": "Europe/London",
        "opening_hours": week(json!([["08:00", "12:00"], ["12:30", "24:00"]])),
    });
    let sales = |timezone: &str, hours: Value| json!({"id": "sales", "name": "Sales", "capacity": 3, "staff": [1, 2], "timezone": timezone, "opening_hours": hours});
    let always = json!([sales("Europe/London", Value::Null), workshop]);
    wait_for("the change takes effect", Duration::from_secs(5), async || {
        read(&shop, "calendars").await == always
    })
    .await;
    // A calendar without hours of its own has those of the business.
    let settings = json!({"timezone": "Europe/Berlin", "opening_hours": {"mon": [["09:00", "18:00"]]}});
    shop.business.change(json!({"settings": settings})).await;
    let expected = sales("Europe/Berlin", week(json!([["09:00", "18:00"]])));
    wait_for("the change takes effect", Duration::from_secs(5), async || {
        read(&shop, "calendars").await[0] == expected
    })
    .await;
}

async fn webhook_events(engine: Engine) {
    let shop = Shop::open(engine).await;
    let events = read(&shop, "webhook-events").await;
    shaped(&events, &["event", "resource", "description", "scope"]);
    let expected = [
        ("vehicle", "created updated reserved sold deleted", "vehicles:read"),
        ("contact", "created updated deleted", "contacts:read"),
        ("lead", "created updated deleted", "leads:read"),
        ("appointment", "created updated cancelled", "appointments:read"),
        (
            "invoice",
            "created updated issued paid cancelled credited",
            "invoices:read",
        ),
        ("order", "created updated issued cancelled converted", "orders:read"),
        (
            "purchase",
            "created updated issued paid cancelled credited",
            "purchases:read",
        ),
        ("deal", "created updated stage_changed", "deals:read"),
        ("call", "created updated", "calls:read"),
        ("vehicle_job", "created updated deleted", "vehicle-jobs:read"),
        ("review", "created updated", "reviews:read"),
        ("blog", "published", "blogs:read"),
    ];
    let mut names = Vec::new();
    for (resource, actions, scope) in expected {
        for action in actions.split(' ') {
            let name = format!("{resource}.{action}");
            let event = events.as_array().unwrap().iter().find(|event| event["event"] == name);
            let event = event.unwrap_or_else(|| panic!("{name} is missing"));
            assert_eq!(
                (&event["resource"], &event["scope"]),
                (&json!(resource), &json!(scope)),
                "{name}"
            );
            names.push(name);
        }
    }
    assert_eq!(events.as_array().unwrap().len(), names.len(), "there are no others");
}

async fn a_bare_business_has_empty_lists(engine: Engine) {
    let installation = Installation::new(engine).await;
    let server = installation.serve().start().await;
    let business = installation
        .business(&json!({"tag": "bare", "name": "Bare Cars"}))
        .await;
    let client = server.client(&business.key("reference:read").await.token);
    let read = async |path: &str| client.get(&format!("/2.0/reference/{path}")).await.ok();
    for path in ["staff-users", "booking-types", "job-boards", "products", "calendars"] {
        assert_eq!(read(path).await, json!([]), "{path}");
    }
    assert_eq!(read("tags?resource=leads").await["tags"], json!([]));
    let sites = read("sites").await;
    assert_eq!(
        (column(&sites, "id"), column(&sites, "active")),
        (vec![json!(0)], vec![json!(true)])
    );
    assert!(
        read("media-backgrounds")
            .await
            .as_array()
            .is_some_and(|list| !list.is_empty())
    );
}
