//! Enquiries in the Auto-lead Data Format.

use harness::{Answer, Client, Engine, Shop, both_engines};
use serde_json::{Value, json};

use crate::lead_create::shown_detail;

both_engines! {
    a_prospect_becomes_a_lead
    the_vehicle_that_it_is_about_is_associated
    what_is_no_prospect_makes_no_lead
    a_retry_makes_no_second_lead
    what_a_parser_takes_long_for_is_refused
}

const ADF: &str = "/2.0/leads/adf";

fn document(vehicle: &str) -> String {
    format!(
        r#"<?xml version="1.0"?><?adf version="1.0"?>
        <adf><prospect><id>AM-7</id>{vehicle}
        <customer><contact><name part="first">Ann</name><name part="last">Lee</name>
        <email>ann@example.com</email><phone type="cellphone">07700 900123</phone></contact>
        <comments>Is it there?</comments></customer>
        <provider><name part="full">AutoMart</name></provider></prospect></adf>"#
    )
}

async fn send(api: &Client, document: &str) -> Answer {
    let request = api.request("POST", ADF).header("Content-Type", "application/xml");
    request.body(document.to_owned()).send().await
}

async fn a_prospect_becomes_a_lead(engine: Engine) {
    let shop = Shop::open(engine).await;
    let answer = send(&shop.api, &document("")).await;
    let lead = answer.created();
    let path = format!("/2.0/leads/{}", lead["id"]);
    assert_eq!(answer.header("Location"), Some(path.as_str()));
    assert_eq!(shop.api.get(&path).await.ok(), lead);
    let members = ["channel", "name", "email", "phone", "mobile", "contact"];
    assert_eq!(
        members.map(|member| lead[member].clone()),
        [
            json!("marketplace"),
            json!("Ann Lee"),
            json!("ann@example.com"),
            json!(""),
            json!("+447700900123"),
            Value::Null
        ]
    );
    let data = json!({"message": "Is it there?", "source": "AutoMart", "channel_id": "AM-7"});
    assert_eq!(lead["data"], shown_detail(data));
    let events = shop.api.list("/2.0/events?event=lead.created").await.items;
    assert_eq!(events[0]["data"], lead);
    // Other names of the same type are accepted too.
    for kind in ["text/xml; charset=utf-8", "application/xml;charset=UTF-8"] {
        let request = shop.api.request("POST", ADF).header("Content-Type", kind);
        request.body(document("")).send().await.created();
    }
}

async fn the_vehicle_that_it_is_about_is_associated(engine: Engine) {
    let shop = Shop::open(engine).await;
    let car = json!({"registration": "AB12CDE", "data": {"stock": {"number": "A-17", "vin": "WVWZZZ1KZ6W000001"}}});
    let car = shop.api.post("/2.0/vehicles", &car).await.created()["id"].clone();
    for (vehicle, fits) in [
        ("<vehicle><stock>a-17</stock></vehicle>", true),
        (
            "<vehicle><stock>other</stock><vin>wvwzzz1kz6w000001</vin></vehicle>",
            true,
        ),
        ("<vehicle><id>ab12 cde</id></vehicle>", true),
        (
            "<vehicle><vin>X</vin></vehicle><vehicle><plate>AB12CDE</plate></vehicle>",
            true,
        ),
        ("<vehicle><stock>A-18</stock></vehicle>", false),
        ("<vehicle interest=\"trade-in\"><stock>A-17</stock></vehicle>", false),
    ] {
        let lead = send(&shop.api, &document(vehicle)).await.created();
        let vehicles = shop.api.list(&format!("/2.0/leads/{}/vehicles", lead["id"])).await;
        let expected = if fits { vec![car.clone()] } else { vec![] };
        assert_eq!(vehicles.column("vehicle"), expected, "{vehicle}");
    }
}

async fn what_is_no_prospect_makes_no_lead(engine: Engine) {
    let shop = Shop::open(engine).await;
    for document in [
        String::new(),
        "{}".to_owned(),
        "<adf/>".to_owned(),
        "<adf><prospect></adf>".to_owned(),
        format!(
            "<!DOCTYPE adf [<!ENTITY x SYSTEM \"file:///etc/passwd\">]>{}",
            "<adf><prospect><id>&x;</id></prospect></adf>"
        ),
        document(&"<vehicle/>".repeat(30_000)),
        document(&" ".repeat(2_000_000)),
    ] {
        send(&shop.api, &document).await.invalid(&["body"]);
    }
    let json = shop.api.request("POST", ADF).header("Content-Type", "application/json");
    json.body("{}").send().await.refused(400, "json_invalid");
    let xml = shop
        .api
        .request("POST", "/2.0/leads")
        .header("Content-Type", "application/xml");
    xml.body(document("")).send().await.refused(400, "json_invalid");
    assert!(shop.api.list("/2.0/leads").await.items.is_empty());
}

async fn a_retry_makes_no_second_lead(engine: Engine) {
    let shop = Shop::open(engine).await;
    let request = || {
        let request = shop.api.request("POST", ADF).header("Content-Type", "application/xml");
        request.key("once").body(document("")).send()
    };
    let first = request().await;
    let second = request().await;
    assert_eq!(first.created(), second.created());
    assert_eq!(shop.api.list("/2.0/leads").await.items.len(), 1);
}

async fn what_a_parser_takes_long_for_is_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let nested = |open: &dyn Fn(usize) -> String, levels: usize| {
        let open: String = (0..levels).map(open).collect();
        document(&format!("{open}{}", "</x>".repeat(levels)))
    };
    let attributes: String = (0..65).map(|at| format!(" a{at}='{at}'")).collect();
    for document in [
        nested(&|at| format!("<x xmlns:n{at}='urn:{at}'>"), 4_000),
        nested(&|at| format!("<x xmlns='urn:{at}' >"), 17),
        nested(&|_| "<x>".to_owned(), 40_000),
        document(&"<x/>".repeat(5_000)),
        document(&format!("<vehicle{attributes}/>")),
        format!("\u{feff}{}", nested(&|_| "<x a='>'>".to_owned(), 31)),
        document(&"<x>".repeat(60_000)),
    ] {
        send(&shop.api, &document).await.invalid(&["body"]);
    }
    // Text that looks like elements is not parsed as such.
    let hidden = "<x xmlns:a='b'>".repeat(1_000);
    for quoted in [
        format!("<!-- {hidden} -->"),
        format!("<x><![CDATA[{hidden}]]></x>"),
        format!("<?x {hidden}?>"),
    ] {
        send(&shop.api, &document(&quoted)).await.created();
    }
}
