//! Values of a body: null, integers, and the message on a value of the wrong type.

use harness::{Engine, Shop, acme, both_engines, url_query};
use serde_json::{Value, json};

use crate::contacts_record::CONTACTS;
use crate::vehicles_record::{VEHICLES, path_of, vehicle};

both_engines! {
    null_resets_a_field_of_a_lead
    null_resets_a_field_of_a_contact
    null_resets_a_field_of_a_vehicle
    null_resets_the_status_of_a_webhook
    null_is_refused_where_there_is_no_default
    null_on_creation_is_the_default
    a_zero_fraction_is_no_fraction
    messages_speak_of_json
    a_filter_takes_the_names_that_a_body_takes
    addresses_compare_by_the_ascii_form_of_their_domain
}

/// Opens a shop in which new leads and contacts get a tag by default.
async fn shop(engine: Engine) -> Shop {
    let shop = Shop::open(engine).await;
    let mut file = acme();
    let tags = file["tags"].as_array_mut().unwrap();
    for resource in ["lead", "contact"] {
        tags.push(json!({"resource": resource, "name": "Fresh", "colour": "#3d3", "type": "", "defaulted": true}));
    }
    shop.business.change(json!({"tags": tags})).await;
    let fresh = async || {
        let tags = shop.api.get("/2.0/reference/tags?resource=contact").await.ok();
        tags["tags"].as_array().unwrap().len() == 2
    };
    harness::wait_for("the tags are known", std::time::Duration::from_secs(5), fresh).await;
    shop
}

/// Changes each member of `body` to null, one by one, and compares it with that of a record without values.
async fn null_resets_each(shop: &Shop, path: &str, body: &Value, shown: impl Fn(&Value, &str) -> Value, blank: &Value) {
    for name in body.as_object().unwrap().keys() {
        let before = shop.api.patch(path, body).await.ok();
        assert_ne!(
            shown(&before, name),
            shown(blank, name),
            "{name} is distinguished from its default"
        );
        let after = shop.api.patch(path, &json!({name: null})).await.ok();
        assert_eq!(shown(&after, name), shown(blank, name), "{name}");
        assert_eq!(shop.api.get(path).await.ok(), after, "{name}");
    }
}

async fn null_resets_a_field_of_a_lead(engine: Engine) {
    let shop = shop(engine).await;
    let blank = shop.lead(&json!({})).await;
    assert_eq!(blank["tag"][0]["name"], "Fresh");
    let contact = shop.api.post(CONTACTS, &json!({"name": "Ann"})).await.created();
    let path = shop.lead_path("Ann").await;
    let body = json!({
        "site": 2, "channel": "website", "name": "Ann Lee", "email": "ann@example.com", "phone": "01632 960123",
        "mobile": "07700 900123", "contact": contact["id"], "type": ["finance", "service"], "data": {"message": "Hello"},
        "status": 2, "tag": ["Hot"],
    });
    null_resets_each(&shop, &path, &body, |lead, name| lead[name].clone(), &blank).await;

    shop.api
        .patch(&path, &json!({"channel_id": "t-1", "data": {"a": 1}}))
        .await
        .ok();
    let changed = shop
        .api
        .patch(&path, &json!({"data": null, "channel_id": "t-2"}))
        .await
        .ok();
    assert_eq!(
        changed["data"],
        json!({"channel_id": "t-2", "vehicle": null, "junk": null})
    );
    let changed = shop.api.patch(&path, &json!({"channel_id": null})).await.ok();
    assert_eq!(changed["data"], json!({"vehicle": null, "junk": null}));

    let status = format!("{path}/status");
    let reset = async |body: Value| shop.api.patch(&status, &body).await.ok();
    let replied = reset(json!({"status": "replied", "stat": false})).await;
    assert_eq!((&replied["status"]["id"], &replied["stat"]), (&json!(3), &json!(false)));
    let lead = reset(json!({"status": null, "stat": null})).await;
    assert_eq!((&lead["status"]["id"], &lead["stat"]), (&json!(0), &json!(true)));
    let lead = reset(json!({"status": null, "junk": null, "closed": true, "reopen": "2099-01-01"})).await;
    assert_eq!(
        (&lead["status"]["name"], &lead["reopen"]),
        (&json!("closed"), &json!("2099-01-01"))
    );
}

async fn null_resets_a_field_of_a_contact(engine: Engine) {
    let shop = shop(engine).await;
    let blank = shop.api.post(CONTACTS, &json!({"name": "Ann"})).await.created();
    assert_eq!(blank["data"]["tag"][0]["name"], "Fresh");
    let contact = shop.api.post(CONTACTS, &json!({"name": "Ann"})).await.created();
    let path = format!("{CONTACTS}/{}", contact["id"]);
    let body = json!({
        "email": "ann@example.com", "site": 2, "type": ["Trade"], "company": "Lee", "vat": "GB 1",
        "address": {"line1": "1 High Street", "country": "GB"}, "telephone": "01632 960123", "mobile": "07700 900123",
        "dob": "1980-02-29", "license": {"number": "LEE99", "checked": "2026-02-28", "checked_by": 1}, "ni": "QQ 12",
        "marketing": "Yes", "nominal": {"invoice": "4000"}, "tag": [], "document": [{"id": 9}],
    });
    let shown = |contact: &Value, name: &str| match name {
        "site" | "email" => contact[name].clone(),
        name => contact["data"][name].clone(),
    };
    null_resets_each(&shop, &path, &body, shown, &blank).await;
    // A contact that may log in keeps the email.
    let login = json!({"login": true, "email": "ann@example.com"});
    shop.api.patch(&path, &login).await.ok();
    shop.api.patch(&path, &json!({"email": null})).await.invalid(&["email"]);
    let closed = shop.api.patch(&path, &json!({"login": null})).await.ok();
    assert_eq!(closed["data"]["login"], false);
}

async fn null_resets_a_field_of_a_vehicle(engine: Engine) {
    let shop = shop(engine).await;
    let blank = vehicle(&shop, &json!({"data": {"vehicle": {"type": "Car"}}})).await;
    let made = vehicle(&shop, &json!({"data": {"vehicle": {"type": "Car"}}})).await;
    let path = path_of(&made);
    for (section, fields) in [
        (
            "vehicle",
            json!({"make": "Ford", "body": "Saloon", "colour": "Red", "seats": 5, "registered": "2020-01-01",
                "wheelchair": "Yes", "mileage": 9}),
        ),
        (
            "option",
            json!({"option_custom": ["Rug"], "attention": "Look", "description": "A car", "website": "<p>A</p>"}),
        ),
        (
            "history",
            json!({"previous_owner": 1, "year": 2020, "v5": "Yes", "mot_expiry": "2027-01-01", "condition": "Good"}),
        ),
        (
            "stock",
            json!({"location": "1", "vin": "WF0", "price_website": 9, "funding_provider": "Bank", "stock_quantity": 2,
                "stock_variation": {"a": 1}, "purchase_cost_data": [{"type": "MOT", "cost": 50}]}),
        ),
        ("spec", json!({"engine": {"bhp": 99}, "fuel": {"mpg_combined": 50}})),
    ] {
        for (name, value) in fields.as_object().unwrap() {
            let written = shop
                .api
                .patch(&path, &json!({"data": {section: {name: value}}}))
                .await
                .ok();
            assert_ne!(
                written["data"][section][name], blank["data"][section][name],
                "{section}.{name}"
            );
            let cleared = shop
                .api
                .patch(&path, &json!({"data": {section: {name: null}}}))
                .await
                .ok();
            assert_eq!(cleared["data"], blank["data"], "{section}.{name}");
        }
    }
    let poa = shop
        .api
        .patch(
            &path,
            &json!({"data": {"setting": {"poa": "Yes"}, "option": {"option": ["DAB"]}}}),
        )
        .await
        .ok();
    assert_eq!(poa["data"]["stock"]["price_poa"], true);
    let cleared = json!({"data": {"setting": {"poa": null}, "option": {"option": null}}});
    assert_eq!(shop.api.patch(&path, &cleared).await.ok()["data"], blank["data"]);

    let channels = format!("{path}/channels");
    let options = json!({"platform_a": {"poa": true, "advert": true}, "platform_b": {"location": "x"}});
    let before = shop.api.get(&channels).await.ok();
    for (cleared, poa) in [
        (json!({"platform_a": {"poa": null}}), false),
        (json!({"platform_a": null}), false),
        (json!(null), false),
        (json!({"platform_b": null}), true),
    ] {
        let set = shop
            .api
            .put(&channels, &json!({"channels": [], "options": options}))
            .await
            .ok();
        assert_eq!(set["options"]["platform_a"]["poa"], true);
        let shown = shop
            .api
            .put(&channels, &json!({"channels": [], "options": cleared}))
            .await
            .ok();
        assert_eq!(shown["options"]["platform_a"]["poa"], poa, "{cleared}");
        if cleared.is_null() {
            assert_eq!(shown["options"], before["options"]);
        }
    }
}

async fn null_resets_the_status_of_a_webhook(engine: Engine) {
    let shop = Shop::open(engine).await;
    let hook = json!({"url": "https://example.com", "events": "*", "description": "Mine"});
    let hook = shop.api.post("/2.0/webhooks", &hook).await.created();
    let path = format!("/2.0/webhooks/{}", hook["id"]);
    shop.api.patch(&path, &json!({"status": "disabled"})).await.ok();
    let changed = shop
        .api
        .patch(&path, &json!({"status": null, "description": null}))
        .await
        .ok();
    assert_eq!(
        (&changed["status"], &changed["description"]),
        (&json!("active"), &json!(""))
    );
    shop.api.patch(&path, &json!({"url": null})).await.invalid(&["url"]);
    shop.api
        .patch(&path, &json!({"events": null}))
        .await
        .invalid(&["events"]);
}

async fn null_is_refused_where_there_is_no_default(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = json!({"name": "Ann", "email": "ann@example.com"});
    let contact = shop.api.post(CONTACTS, &contact).await.created();
    let path = format!("{CONTACTS}/{}", contact["id"]);
    shop.api.patch(&path, &json!({"name": null})).await.invalid(&["name"]);
    let blocks = json!({"email": null, "sms": null});
    let answer = shop.api.put(&format!("{path}/follow-blocks"), &blocks).await;
    answer.invalid(&["email", "sms"]);
    let lead = shop.lead_path("Ann").await;
    let answer = shop
        .api
        .patch(&format!("{lead}/assign"), &json!({"assign": null}))
        .await;
    answer.invalid(&["assign"]);
    let path = path_of(&vehicle(&shop, &json!({})).await);
    shop.api.patch(&path, &json!({"data": null})).await.invalid(&["data"]);
    for (part, field) in [("tags", "tags"), ("channels", "channels")] {
        let answer = shop.api.put(&format!("{path}/{part}"), &json!({field: null})).await;
        answer.invalid(&[field]);
    }
}

async fn null_on_creation_is_the_default(engine: Engine) {
    let shop = shop(engine).await;
    let nulls = |names: &[&str]| {
        names
            .iter()
            .map(|&name| (name.to_owned(), Value::Null))
            .collect::<Value>()
    };
    let mut blank = shop.lead(&json!({})).await;
    let mut lead = shop
        .lead(&nulls(&[
            "site",
            "channel",
            "channel_id",
            "name",
            "email",
            "phone",
            "mobile",
            "contact",
            "type",
            "data",
            "status",
            "tag",
            "notify",
            "vehicle",
            "vehicle_tag",
        ]))
        .await;
    for lead in [&mut blank, &mut lead] {
        lead.as_object_mut()
            .unwrap()
            .retain(|name, _| !["id", "reference", "created", "updated"].contains(&name.as_str()));
    }
    assert_eq!(lead, blank);
    let blank = shop.api.post(CONTACTS, &json!({"name": "Ann"})).await.created();
    let mut contact = nulls(&[
        "email",
        "site",
        "type",
        "company",
        "vat",
        "address",
        "telephone",
        "mobile",
        "dob",
        "license",
        "ni",
        "marketing",
        "nominal",
        "tag",
        "document",
        "login",
    ]);
    contact["name"] = json!("Ann");
    let contact = shop.api.post(CONTACTS, &contact).await.created();
    assert_eq!((&contact["site"], &contact["data"]), (&blank["site"], &blank["data"]));
}

async fn a_zero_fraction_is_no_fraction(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = shop
        .api
        .post(
            CONTACTS,
            &json!({"name": "Ann", "site": 2.0, "license": {"checked_by": 1.0}}),
        )
        .await;
    let contact = contact.created();
    assert_eq!(
        (&contact["site"], &contact["data"]["license"]["checked_by"]),
        (&json!(2), &json!(1))
    );
    let id = contact["id"].as_f64().unwrap();
    let note = json!({"note": "x", "user": 1.0});
    let note = shop
        .api
        .post(&format!("{CONTACTS}/{}/notes", contact["id"]), &note)
        .await
        .created();
    assert_eq!(note["user"], 1);
    let sent = json!({
        "owner": 1.0,
        "data": {
            "vehicle": {"type": "Car", "seats": 5.0, "doors": 3e0, "mileage": 12000.0},
            "history": {"year": 2019.0, "keys": 2.0},
            "stock": {"stock_quantity": 1.0, "funding_provider_id": id, "price_website": 100.0,
                "purchase_cost_data": [{"id": 7.0, "cost": 5.0}]},
        },
    });
    let made = vehicle(&shop, &sent).await;
    let data = &made["data"];
    assert_eq!(
        [
            &made["owner"],
            &data["vehicle"]["seats"],
            &data["vehicle"]["mileage"],
            &data["history"]["year"],
            &data["stock"]["funding_provider_id"],
            &data["stock"]["purchase_cost_data"][0]["id"],
            &data["stock"]["price_website"],
        ],
        [
            &json!("1"),
            &json!(5),
            &json!(12000),
            &json!(2019),
            &contact["id"],
            &json!(7),
            &json!("100.00"),
        ]
    );
    let vehicle_id = made["id"].as_f64().unwrap();
    let lead = json!({"site": 2.0, "status": 2.0, "contact": id, "vehicle": vehicle_id});
    let lead = shop.lead(&lead).await;
    assert_eq!(
        (&lead["site"], &lead["status"]["id"], &lead["contact"]),
        (&json!(2), &json!(2), &contact["id"])
    );
    let path = format!("/2.0/leads/{}", lead["id"]);
    let assigned = shop
        .api
        .patch(&format!("{path}/assign"), &json!({"assign": [1.0, 2e0]}))
        .await
        .ok();
    assert_eq!(assigned["assign"], json!([1, 2]));
    let courtesy = path_of(&vehicle(&shop, &json!({"type": "courtesy"})).await);
    let moved = shop
        .api
        .patch(&format!("{courtesy}/status"), &json!({"status": 2.0}))
        .await
        .ok();
    assert_eq!(moved["status"]["id"], 2);
    for bad in [json!({"site": 1.5}), json!({"status": 0.1}), json!({"contact": "1.0"})] {
        let field = bad.as_object().unwrap().keys().next().unwrap();
        shop.api.patch(&path, &bad).await.invalid(&[field]);
    }
}

async fn messages_speak_of_json(engine: Engine) {
    let shop = Shop::open(engine).await;
    let wrong = [
        json!(5),
        json!(1.5),
        json!("x"),
        json!(true),
        json!([]),
        json!({}),
        json!([[]]),
    ];
    let lead = shop.lead_path("Ann").await;
    let contact = shop.api.post(CONTACTS, &json!({"name": "Ann"})).await.created();
    let contact = format!("{CONTACTS}/{}", contact["id"]);
    let made = path_of(&vehicle(&shop, &json!({})).await);
    let mut messages = Vec::new();
    let mut keep = |answer: &harness::Answer| {
        if answer.status == 422 {
            let errors = answer.json()["error"]["details"]["errors"].clone();
            messages.extend(errors.as_array().unwrap().clone());
        }
    };
    for value in &wrong {
        let fields = |names: &[&str]| {
            names
                .iter()
                .map(|&name| (name.to_owned(), value.clone()))
                .collect::<Value>()
        };
        let all = [
            "site",
            "channel",
            "channel_id",
            "name",
            "email",
            "phone",
            "mobile",
            "contact",
            "type",
            "data",
            "status",
            "tag",
            "notify",
            "vehicle",
            "vehicle_tag",
        ];
        keep(&shop.api.post("/2.0/leads", &fields(&all)).await);
        keep(&shop.api.patch(&lead, &fields(&all)).await);
        let status = fields(&["status", "junk", "closed", "reopen", "stat"]);
        keep(&shop.api.patch(&format!("{lead}/status"), &status).await);
        keep(&shop.api.patch(&format!("{lead}/assign"), &fields(&["assign"])).await);
        let all = [
            "email",
            "site",
            "type",
            "name",
            "company",
            "vat",
            "address",
            "telephone",
            "mobile",
            "dob",
            "license",
            "ni",
            "marketing",
            "nominal",
            "tag",
            "document",
            "login",
        ];
        keep(&shop.api.patch(&contact, &fields(&all)).await);
        for group in ["address", "license", "nominal", "mobile"] {
            let members = fields(&["line1", "country", "number", "checked", "checked_by", "invoice"]);
            keep(&shop.api.patch(&contact, &json!({group: members})).await);
        }
        keep(
            &shop
                .api
                .put(&format!("{contact}/follow-blocks"), &fields(&["email", "sms"]))
                .await,
        );
        keep(
            &shop
                .api
                .post(&format!("{contact}/notes"), &fields(&["note", "user"]))
                .await,
        );
        keep(
            &shop
                .api
                .post(&format!("{CONTACTS}/duplicate-check"), &fields(&["type", "value"]))
                .await,
        );
        let all = ["type", "registration", "country", "owner", "parent", "data"];
        keep(&shop.api.post(VEHICLES, &fields(&all)).await);
        keep(&shop.api.patch(&made, &fields(&all)).await);
        for section in ["vehicle", "option", "history", "stock", "setting", "spec"] {
            let shown = shop.api.get(&made).await.ok();
            let mut names: Vec<_> = shown["data"][section]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| name.as_str())
                .collect();
            names.extend(["option", "poa", "featured"]);
            keep(&shop.api.patch(&made, &json!({"data": {section: fields(&names)}})).await);
            keep(&shop.api.patch(&made, &json!({"data": {section: value}})).await);
        }
        keep(&shop.api.patch(&format!("{made}/status"), &fields(&["status"])).await);
        keep(&shop.api.put(&format!("{made}/tags"), &fields(&["tags"])).await);
        keep(
            &shop
                .api
                .put(&format!("{made}/channels"), &fields(&["channels", "options"]))
                .await,
        );
        let all = ["url", "events", "scopes", "description", "status"];
        keep(&shop.api.post("/2.0/webhooks", &fields(&all)).await);
        keep(
            &shop
                .api
                .post(&format!("{lead}/vehicles"), &fields(&["vehicle", "vehicle_tag"]))
                .await,
        );
    }
    assert!(messages.len() > 300, "{}", messages.len());
    let words = [
        "i64",
        "u64",
        "i32",
        "u32",
        "u8",
        "f64",
        "usize",
        "struct",
        "enum",
        "variant",
        "invalid type",
        "expected",
        "Some(",
        "None",
        "serde",
        "Option",
        "String",
        "Vec",
        "bool",
        "sequence",
        "map",
        "literal",
        "::",
        "ParseIntError",
        "digit",
    ];
    for error in messages {
        let message = error["message"].as_str().unwrap();
        assert!(!message.is_empty(), "{error}");
        for word in words {
            assert!(!message.contains(word), "{error} says {word}");
        }
    }
}

async fn a_filter_takes_the_names_that_a_body_takes(engine: Engine) {
    let shop = Shop::open(engine).await;
    let mut made = Vec::new();
    for (field, sent) in [
        ("make", "Citroën"),
        ("make", "MERCEDES BENZ"),
        ("fuel", "ELECTRICITY"),
        ("fuel", "Mild hybrid petrol"),
        ("transmission", "semi-automatic"),
        ("body", "Cabriolet"),
        ("colour", "Burgundy"),
        ("colour", "nardo-grey"),
    ] {
        let body = json!({"data": {"vehicle": {"type": "Car", field: sent}}});
        made.push((field, sent, vehicle(&shop, &body).await));
    }
    for make in ["Mercedes-Benz", "MG"] {
        let model = if make == "MG" { "3" } else { "A-Class" };
        let body = json!({"data": {"vehicle": {"type": "Car", "make": make, "model": model}}});
        made.push(("model", model, vehicle(&shop, &body).await));
    }
    for (field, sent, vehicle) in &made {
        let kept = vehicle["data"]["vehicle"][*field].as_str().unwrap();
        for asked in [*sent, kept, &kept.to_uppercase()] {
            let path = url_query(VEHICLES, [(*field, asked)]);
            let found = shop.api.list(&path).await.ids();
            assert!(found.contains(&vehicle["id"].as_i64().unwrap()), "{path}: {found:?}");
        }
    }
    let path = url_query(VEHICLES, [("make", "MERCEDES BENZ"), ("model", "A-Class")]);
    assert_eq!(shop.api.list(&path).await.ids().len(), 1);
    let path = url_query(VEHICLES, [("make", "Ford"), ("model", "A-Class")]);
    assert!(shop.api.list(&path).await.items.is_empty());
    let path = url_query(VEHICLES, [("fuel", "ELECTRICITY")]);
    assert_eq!(shop.api.list(&path).await.ids().len(), 1, "it narrows");
    let path = url_query(VEHICLES, [("fuel", "Steam")]);
    assert!(shop.api.list(&path).await.items.is_empty());
}

async fn addresses_compare_by_the_ascii_form_of_their_domain(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (sent, ascii) = ("Ann@München.example", "ann@xn--mnchen-3ya.example");
    let contact = json!({"name": "Ann", "email": sent, "login": true});
    let contact = shop.api.post(CONTACTS, &contact).await.created();
    assert_eq!(contact["email"], sent);
    let lead = shop.lead(&json!({"email": sent})).await;
    for email in [sent, ascii, "ANN@MÜNCHEN.EXAMPLE"] {
        let found = shop.api.list(&url_query(CONTACTS, [("email", email)])).await.ids();
        assert_eq!(json!(found), json!([contact["id"]]), "{email}");
        let found = shop.api.list(&url_query("/2.0/leads", [("email", email)])).await.ids();
        assert_eq!(json!(found), json!([lead["id"]]), "{email}");
        let probe = json!({"type": "email", "value": email});
        let check = shop.api.post(&format!("{CONTACTS}/duplicate-check"), &probe).await.ok();
        assert_eq!(check["contact"], contact["id"], "{email}");
        let twin = json!({"name": "Bea", "email": email, "login": true});
        let twin = shop.api.post(CONTACTS, &twin).await;
        twin.refused(409, "contact_email_duplicate");
    }
    for bad in ["ann@localhost", "ann@example."] {
        shop.api
            .post("/2.0/leads", &json!({"email": bad}))
            .await
            .invalid(&["email"]);
    }
}
