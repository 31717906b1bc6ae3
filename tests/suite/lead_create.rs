//! `POST /2.0/leads`: every field, its default and its rule.

use harness::{Engine, Installation, Shop, both_engines, now};
use serde_json::{Value, json};

both_engines! {
    a_lead_of_nothing_has_every_default
    a_lead_reads_as_it_was_written
    enquiry_types_are_written_in_three_ways
    no_enquiry_type_is_the_default_one
    unknown_enquiry_types_are_refused
    every_channel_is_known_and_no_other
    every_site_of_the_business_is_known_and_no_other
    telephone_numbers_are_stored_in_e164
    numbers_without_a_country_are_of_the_business_s
    an_email_has_to_look_like_one
    tags_are_those_of_the_taxonomy
    a_new_lead_starts_with_the_defaulted_tags
    detail_is_free_form
    detail_has_at_most_64_kibibytes
    the_channel_s_own_id_is_in_the_detail
    an_unknown_contact_or_vehicle_is_refused
    a_status_can_be_given
}

const LEADS: &str = "/2.0/leads";

/// Returns a lead's detail as it is shown for a lead that concerns no vehicle and is not junk.
pub(crate) fn shown_detail(mut own: Value) -> Value {
    let members = own.as_object_mut().expect("a detail is an object");
    for added in ["vehicle", "junk"] {
        members.entry(added).or_insert(Value::Null);
    }
    own
}

async fn a_lead_of_nothing_has_every_default(engine: Engine) {
    let shop = Shop::open(engine).await;
    let start = now();
    let mut lead = shop.lead(&json!({})).await;
    let (id, created) = (lead["id"].as_i64().unwrap(), lead["created"].as_i64().unwrap());
    assert!(id > 0 && (start..=now()).contains(&created));
    assert_eq!(lead["updated"], created);
    // The AI may or may not have read it by now.
    lead.as_object_mut()
        .unwrap()
        .retain(|member, _| !["id", "created", "updated"].contains(&member.as_str()));
    let expected = json!({
        "site": 0, "channel": "api", "reference": 1, "name": "", "email": "", "phone": "", "mobile": "",
        "contact": null, "type": ["email"], "status": {"id": 0, "name": "new"}, "rating": null, "summary": null,
        "version": 1, "session": "", "avatar": "", "assign": [], "tag": [], "stat": true, "reopen": null, "vehicles": [],
        "data": {"vehicle": null, "junk": null}, "ai": null,
    });
    assert_eq!(lead, expected);
}

async fn a_lead_reads_as_it_was_written(engine: Engine) {
    let shop = Shop::open(engine).await;
    let body = json!({
        "site": 2, "channel": "website", "channel_id": "thread-9", "name": "Ann Lee", "email": "Ann.Lee@example.com",
        "phone": "+44 20 7946 0000", "mobile": "+44 7700 900123", "type": "test_drive,finance", "status": 2,
        "data": {"source": "form", "message": "Is it still there?", "subject": "Focus", "url": "https://acme.example/focus"},
        "tag": ["Hot"],
    });
    let made = shop.lead(&body).await;
    let expected = json!({
        "site": 2, "channel": "website", "name": "Ann Lee", "email": "Ann.Lee@example.com", "phone": "+442079460000",
        "mobile": "+447700900123", "type": ["test_drive", "finance"], "status": {"id": 2, "name": "read"},
        "tag": [{"name": "Hot", "checked": true, "colour": "#d33", "type": ""}],
    });
    for (member, value) in expected.as_object().unwrap() {
        assert_eq!(&made[member], value, "{member}");
    }
    assert_eq!(made["data"]["message"], "Is it still there?");
    let path = format!("{LEADS}/{}", made["id"]);
    assert_eq!(shop.api.get(&path).await.ok(), made);
    assert_eq!(shop.api.list(&format!("{LEADS}?view=full")).await.items, [made]);
}

async fn types(shop: &Shop, written: Value) -> Value {
    shop.lead(&json!({"type": written})).await["type"].take()
}

async fn enquiry_types_are_written_in_three_ways(engine: Engine) {
    let shop = Shop::open(engine).await;
    assert_eq!(types(&shop, json!("finance")).await, json!(["finance"]));
    assert_eq!(
        types(&shop, json!("test_drive,finance")).await,
        json!(["test_drive", "finance"])
    );
    assert_eq!(
        types(&shop, json!(["part_exchange", "valuation"])).await,
        json!(["part_exchange", "valuation"])
    );
    let all = "email,phone,callback,test_drive,finance,part_exchange,valuation,reservation,availability,video,brochure,\
               service,warranty,parts,feedback,other";
    assert_eq!(
        types(&shop, json!(all)).await,
        json!(all.split(',').collect::<Vec<_>>())
    );
    assert_eq!(
        types(&shop, json!(all.split(',').collect::<Vec<_>>()))
            .await
            .as_array()
            .unwrap()
            .len(),
        16
    );
}

async fn no_enquiry_type_is_the_default_one(engine: Engine) {
    let shop = Shop::open(engine).await;
    for none in [json!(""), json!([]), json!(null)] {
        assert_eq!(types(&shop, none).await, json!(["email"]));
    }
}

async fn unknown_enquiry_types_are_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    for written in [
        json!("nonsense"),
        json!("Finance"),
        json!("test drive"),
        json!("finance,nonsense"),
        json!("finance;other"),
    ] {
        shop.api.post(LEADS, &json!({"type": written})).await.invalid(&["type"]);
    }
    let answer = shop.api.post(LEADS, &json!({"type": ["finance", "nonsense"]})).await;
    let error = answer.refused(422, "validation_failed");
    assert!(error["details"]["field"].as_str().unwrap().starts_with("type"));
}

async fn every_channel_is_known_and_no_other(engine: Engine) {
    let shop = Shop::open(engine).await;
    for channel in [
        "api",
        "website",
        "email",
        "sms",
        "whatsapp",
        "phone",
        "showroom",
        "marketplace",
        "social",
    ] {
        assert_eq!(shop.lead(&json!({"channel": channel})).await["channel"], channel);
    }
    for channel in ["fax", "", "API", "Website"] {
        shop.api
            .post(LEADS, &json!({"channel": channel}))
            .await
            .invalid(&["channel"]);
    }
}

async fn every_site_of_the_business_is_known_and_no_other(engine: Engine) {
    let shop = Shop::open(engine).await;
    for site in [0, 2] {
        assert_eq!(shop.lead(&json!({"site": site})).await["site"], site);
    }
    // A closed one is not among the reference sites.
    for site in [3, 1, 99, -1] {
        shop.api.post(LEADS, &json!({"site": site})).await.invalid(&["site"]);
    }
}

async fn telephone_numbers_are_stored_in_e164(engine: Engine) {
    let shop = Shop::open(engine).await;
    let table = [
        ("+447700900123", "+447700900123"),
        ("+44 (0)7700 900-123", "+447700900123"),
        ("0044 7700 900123", "+447700900123"),
        ("+1 415 555 2671", "+14155552671"),
        ("+49 30 123456", "+4930123456"),
        ("+353 1 679 6000", "+35316796000"),
    ];
    for member in ["phone", "mobile"] {
        for (written, read) in table {
            assert_eq!(shop.lead(&json!({member: written})).await[member], read, "{written}");
        }
        for written in [
            "nonsense",
            "12",
            "+44",
            "+",
            "+999 123 456 789",
            "+44 7700 900123 900123 900123",
        ] {
            shop.api.post(LEADS, &json!({member: written})).await.invalid(&[member]);
        }
    }
}

async fn numbers_without_a_country_are_of_the_business_s(engine: Engine) {
    let installation = Installation::new(engine).await;
    let server = installation.serve().start().await;
    for (country, written, read) in [
        ("GB", "07700 900123", "+447700900123"),
        ("IE", "(01) 679 6000", "+35316796000"),
        ("US", "(415) 555-2671", "+14155552671"),
    ] {
        let file = json!({"tag": country.to_lowercase(), "name": country, "country": country});
        let business = installation.business(&file).await;
        let client = server.client(&business.key("leads:write").await.token);
        let lead = client.post(LEADS, &json!({"phone": written})).await.created();
        assert_eq!(lead["phone"], read);
    }
}

async fn an_email_has_to_look_like_one(engine: Engine) {
    let shop = Shop::open(engine).await;
    for email in [
        "ann@example.com",
        "Ann.Lee+cars@mail.example.co.uk",
        "o'neil@example.com",
    ] {
        assert_eq!(shop.lead(&json!({"email": email})).await["email"], email);
    }
    for email in [
        "ann",
        "ann@",
        "@example.com",
        "ann@@example.com",
        "ann lee@example.com",
        "ann@exa mple.com",
        "ann@example..com",
    ] {
        shop.api.post(LEADS, &json!({"email": email})).await.invalid(&["email"]);
    }
}

async fn tags_are_those_of_the_taxonomy(engine: Engine) {
    let shop = Shop::open(engine).await;
    let hot = |checked: bool| json!({"name": "Hot", "checked": checked, "colour": "#d33", "type": ""});
    let cold = json!({"name": "Cold", "checked": true, "colour": "#33d", "type": ""});
    let table = [
        (json!([]), json!([])),
        (json!(["Hot"]), json!([hot(true)])),
        (json!(["Hot", "Cold"]), json!([hot(true), cold])),
        (
            json!([{"name": "Hot", "checked": false}, "Cold"]),
            json!([hot(false), cold]),
        ),
        (json!([{"name": "Hot", "checked": true}]), json!([hot(true)])),
    ];
    for (written, read) in table {
        assert_eq!(shop.lead(&json!({"tag": written})).await["tag"], read, "{written}");
    }
    for unknown in [
        json!(["Nonsense"]),
        json!(["Hot", {"name": "Nonsense", "checked": true}]),
        json!(["Ready"]),
        json!(["Trade"]),
    ] {
        let answer = shop.api.post(LEADS, &json!({"tag": unknown})).await;
        let error = answer.refused(422, "validation_failed");
        assert!(
            error["details"]["field"].as_str().unwrap().starts_with("tag"),
            "{error}"
        );
    }
}

async fn a_new_lead_starts_with_the_defaulted_tags(engine: Engine) {
    let installation = Installation::new(engine).await;
    let server = installation.serve().start().await;
    let tags = json!([
        {"resource": "lead", "name": "Fresh", "colour": "#0f0", "defaulted": true},
        {"resource": "lead", "name": "Hot", "colour": "#d33", "defaulted": false},
    ]);
    let business = installation
        .business(&json!({"tag": "acme", "name": "Acme", "tags": tags}))
        .await;
    let client = server.client(&business.key("leads:write").await.token);
    let names = async |body: Value| {
        let lead = client.post(LEADS, &body).await.created();
        lead["tag"]
            .as_array()
            .unwrap()
            .iter()
            .map(|tag| tag["name"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(json!({})).await, ["Fresh"]);
    assert_eq!(
        names(json!({"tag": ["Hot"]})).await,
        ["Hot"],
        "a given set is the full set"
    );
}

async fn detail_is_free_form(engine: Engine) {
    let shop = Shop::open(engine).await;
    let details = [
        json!({}),
        json!({"message": "Hello", "vehicle": {"make": "Ford"}, "list": [1, 2.5, "x", null, true], "deep": {"a": {"b": {"c": []}}}}),
        json!({"": "", "with.dot": 1, "with space": 2, "ünicode": "🚗"}),
        json!({"number": -12345678901_i64, "fraction": 0.1, "big": 9007199254740993_i64}),
    ];
    for detail in details {
        let lead = shop.lead(&json!({"data": detail})).await;
        let detail = shown_detail(detail);
        assert_eq!(lead["data"], detail);
        assert_eq!(
            shop.api.get(&format!("{LEADS}/{}", lead["id"])).await.ok()["data"],
            detail
        );
    }
}

async fn detail_has_at_most_64_kibibytes(engine: Engine) {
    let shop = Shop::open(engine).await;
    let detail = |length: usize| json!({"data": {"message": "x".repeat(length - r#"{"message":""}"#.len())}});
    shop.lead(&detail(64 * 1024)).await;
    for length in [64 * 1024 + 1, 500_000] {
        shop.api.post(LEADS, &detail(length)).await.invalid(&["data"]);
    }
}

async fn the_channel_s_own_id_is_in_the_detail(engine: Engine) {
    let shop = Shop::open(engine).await;
    let lead = shop
        .lead(&json!({"channel_id": "thread-1", "data": {"message": "Hello"}}))
        .await;
    let expected = json!({"message": "Hello", "channel_id": "thread-1"});
    assert_eq!(lead["data"], shown_detail(expected));
    assert!(lead.get("channel_id").is_none());
}

async fn an_unknown_contact_or_vehicle_is_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    shop.api
        .post(LEADS, &json!({"contact": 77}))
        .await
        .invalid(&["contact"]);
    shop.api
        .post(LEADS, &json!({"vehicle": 77}))
        .await
        .invalid(&["vehicle"]);
    shop.api
        .post(LEADS, &json!({"vehicle_tag": "nonsense"}))
        .await
        .invalid(&["vehicle_tag"]);
    let both = shop
        .api
        .post(LEADS, &json!({"vehicle": 77, "vehicle_tag": "nonsense"}))
        .await;
    let error = both.refused(422, "validation_failed");
    assert!(error["details"]["field"].as_str().unwrap().starts_with("vehicle"));
    assert_eq!(shop.lead(&json!({"contact": null})).await["contact"], Value::Null);
}

async fn a_status_can_be_given(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (id, name) in ["new", "new_message", "read", "replied", "closed", "junk"]
        .into_iter()
        .enumerate()
    {
        let lead = shop.lead(&json!({"status": id})).await;
        assert_eq!(lead["status"], json!({"id": id, "name": name}));
    }
    for status in [json!(6), json!(-1), json!("new"), json!(1.5)] {
        shop.api
            .post(LEADS, &json!({"status": status}))
            .await
            .invalid(&["status"]);
    }
}
