//! The feeds, checked against their public specifications.

#![recursion_limit = "256"]
#![expect(clippy::unwrap_used, reason = "what goes wrong in a test fails it")]

use std::collections::BTreeMap;

use forecourt_kernel::Currency;
use forecourt_listings::{Dealer, Feed, Missing, ReadyFor};
use serde_json::{Value, json};

const DEALER: Dealer<'_> = Dealer {
    tag: "acme",
    name: "Acme Cars",
    website: "https://acme.example",
    currency: Currency::GBP,
    country: "GB",
};

/// A listing that is ready for every feed.
fn full() -> Value {
    json!({
        "id": 901, "tag": "B4K7", "country": "GB", "registration": "AB19 CDE",
        "url_full": "https://acme.example/vehicles/ford-focus-901",
        "status": {"id": 2, "name": "for-sale", "label": "For Sale"},
        "data": {
            "vehicle": {
                "type": "Car", "make": "Ford", "model": "Focus", "generation": "Mk4", "derivative": "1.0T EcoBoost ST-Line",
                "trim": "ST-Line", "body": "Hatchback", "fuel": "Petrol", "transmission": "Manual",
                "drivetrain": "Front Wheel Drive", "colour": "Blue", "colour_name": "Performance Blue", "engine_size": "1.0",
                "registered": "2019-05-21", "driver_position": "Right", "interior_upholstery": "Cloth",
                "interior_colour": "Black", "exterior_finish": "Metallic", "bedroom_layout": null, "end_layout": null,
                "wheelchair": null, "doors": 5, "seats": 5, "mileage": 41000, "bedroom": null, "berth": null,
                "seat_belt": null,
            },
            "history": {"year": 2019, "condition": "Good", "keys": 2, "service_history": "Full service history"},
            "stock": {"price_website": "9995.00", "price_rrp": "21000.00", "vin": "WF05XXGCC5KA12345"},
            "finance": {"example_monthly": null, "example": null},
            "option": {
                "option_custom": ["Tow bar"], "attention": "One owner", "description": "A tidy car.\nNew MOT, \"as new\".",
                "website": "<p>HTML ADVERT</p>",
                "feature": {"comfort": ["Heated seats"], "other": ["Spare wheel, full size"]},
            },
            "spec": {
                "performance": {}, "engine": {"capacity": 999, "bhp": "125", "nm": 170.5}, "battery": {},
                "fuel": {"emission_co2": 108}, "size": {}, "insurance": {}, "other": {},
            },
        },
        "media": [
            {"url": "https://img.example/2.jpg", "type": "photo", "position": 2},
            {"url": "https://www.youtube.com/watch?v=abc", "type": "youtube", "position": 3},
            {"url": "https://img.example/1.jpg", "type": "photo", "position": 1},
        ],
        "updated": 1_790_000_000, "hash": "0123456789abcdef",
    })
}

/// A listing with only the members that every listing has.
fn minimal() -> Value {
    json!({
        "id": 7, "tag": "A1", "country": null, "registration": null, "url_full": null,
        "status": {"id": 2, "name": "for-sale", "label": "For Sale"},
        "data": {"vehicle": {}, "history": {}, "stock": {}, "option": {}, "spec": {}},
        "media": [], "updated": 1, "hash": "",
    })
}

/// Returns the full listing with the value at `path` replaced.
fn with(path: &str, value: Value) -> Value {
    set(full(), path, value)
}

fn set(mut listing: Value, path: &str, value: Value) -> Value {
    let place = path.split('.').fold(&mut listing, |place, name| &mut place[name]);
    *place = value;
    listing
}

fn new_car() -> Value {
    set(
        with("data.history.condition", json!("New")),
        "data.vehicle.mileage",
        json!(null),
    )
}

/// Texts that break careless writers of feeds.
const HOSTILE: [&str; 14] = [
    "=HYPERLINK(\"http://evil.example\",\"x\")",
    "+44 1234",
    "-2+3+cmd|' /C calc'!A0",
    "@SUM(1;2)",
    "\t=1+1",
    "\r\n=1+1",
    "＝1+1",
    "say \"hi\", twice",
    "tab\there\r\nand there",
    "</script><script>alert(1)</script> & <!--",
    "nul\0 notifier\u{7} del\u{7f} \u{85} \u{2028} \u{2029}",
    "čeština 汽车 🚗 \u{202e}rtl",
    "a|b,c;d:e",
    "\"",
];

/// Many listings, some of them ready for each feed.
fn varied() -> Vec<Value> {
    let mut listings = vec![
        full(),
        minimal(),
        new_car(),
        json!(null),
        json!([]),
        json!({"data": 1, "media": {"a": 1}}),
    ];
    let texts = [
        "tag",
        "registration",
        "data.vehicle.make",
        "data.vehicle.model",
        "data.vehicle.derivative",
        "data.vehicle.trim",
        "data.vehicle.colour",
        "data.vehicle.body",
        "data.vehicle.fuel",
        "data.vehicle.transmission",
        "data.vehicle.drivetrain",
        "data.vehicle.engine_size",
        "data.option.description",
        "data.option.attention",
        "data.history.condition",
        "data.history.service_history",
        "data.stock.vin",
        "data.vehicle.registered",
    ];
    for text in HOSTILE {
        listings.push(
            texts
                .iter()
                .fold(full(), |listing, path| set(listing, path, json!(text))),
        );
        for path in texts {
            listings.push(with(path, json!(text)));
        }
        let options = json!([text, text, "x"]);
        listings.push(set(
            with("data.option.option_custom", options.clone()),
            "data.option.feature",
            json!({"g": options}),
        ));
        let address = format!("https://img.example/{text}?q={text}#{text}");
        listings.push(with("media", json!([{"url": address, "type": "photo", "position": 1}])));
        listings.push(with("url_full", json!(address)));
    }
    for path in texts {
        listings.push(with(path, json!("long ".repeat(2_000))));
        listings.push(with(path, json!("-".repeat(2_000))));
        listings.push(with(path, json!(null)));
        listings.push(with(path, json!(5)));
    }
    for class in [
        "Car",
        "Van",
        "Bike",
        "Truck",
        "Crossover",
        "Motorhome",
        "Caravan",
        "Farm",
        "Plant",
        "Boat",
    ] {
        for body in [
            "Hatchback",
            "SUV",
            "Pickup",
            "Minibus",
            "Panel Van",
            "Tipper",
            "Naked",
            "Coach Built",
        ] {
            listings.push(set(
                with("data.vehicle.type", json!(class)),
                "data.vehicle.body",
                json!(body),
            ));
        }
    }
    for word in [
        "Diesel",
        "Electric",
        "Petrol Plug-in Hybrid",
        "Bi Fuel",
        "CNG",
        "Hydrogen",
        "Unlisted",
        "Wood",
    ] {
        listings.push(with("data.vehicle.fuel", json!(word)));
    }
    for status in ["for-sale", "reserved", "sold", "complete", "draft", ""] {
        listings.push(with("status.name", json!(status)));
    }
    for price in [
        json!(null),
        json!("0.00"),
        json!("-5.00"),
        json!("99999999.99"),
        json!(5),
        json!("POA"),
    ] {
        listings.push(with("data.stock.price_website", price.clone()));
        listings.push(with("data.stock.price_rrp", price));
    }
    for number in [
        json!(0),
        json!(-1),
        json!(1.5),
        json!(99_999),
        json!(u64::MAX),
        json!("12"),
    ] {
        for path in [
            "data.vehicle.mileage",
            "data.history.year",
            "data.vehicle.doors",
            "data.spec.engine.nm",
        ] {
            listings.push(with(path, number.clone()));
        }
    }
    for address in [
        "",
        "/relative.jpg",
        "javascript:alert(1)",
        "https://user:pw@img.example/1.jpg",
        "https://ünï.example/ä|b",
    ] {
        listings.push(with("url_full", json!(address)));
        listings.push(with("media", json!([{"url": address, "type": "photo", "position": 1}])));
    }
    let many: Vec<Value> = (1..60)
        .map(|at| json!({"url": format!("https://img.example/w_3,h_4/{at}.jpg"), "type": "photo", "position": at}))
        .collect();
    listings.push(with("media", json!(many)));
    listings
}

fn output(feed: Feed, dealer: &Dealer<'_>, listings: &[Value]) -> String {
    let mut out = Vec::new();
    feed.start(&mut out);
    for (at, listing) in listings.iter().enumerate() {
        feed.append(dealer, listing, at == 0, &mut out);
    }
    feed.end(&mut out);
    String::from_utf8(out).unwrap()
}

/// Parses a delimited output into rows, by column.
fn rows(feed: Feed, dealer: &Dealer<'_>, listings: &[Value]) -> Vec<BTreeMap<String, String>> {
    let delimiter = if feed == Feed::Google { b'\t' } else { b',' };
    let out = output(feed, dealer, listings);
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .from_reader(out.as_bytes());
    let header = reader.headers().unwrap().clone();
    let names: Vec<String> = header.iter().map(str::to_owned).collect();
    reader
        .records()
        .map(|record| {
            let record = record.unwrap();
            assert_eq!(record.len(), names.len());
            names.iter().cloned().zip(record.iter().map(str::to_owned)).collect()
        })
        .collect()
}

/// Returns the cells that have a value.
fn filled(row: &BTreeMap<String, String>) -> BTreeMap<&str, &str> {
    let cells = row.iter().map(|(name, cell)| (name.as_str(), cell.as_str()));
    cells.filter(|(_, cell)| !cell.is_empty()).collect()
}

fn fields(missing: &[Missing]) -> Vec<&str> {
    missing.iter().map(|missing| missing.field.as_str()).collect()
}

fn assert_not_formula(row: &BTreeMap<String, String>) {
    for (name, cell) in row {
        let is_number = cell.parse::<f64>().is_ok();
        assert!(
            is_number || !cell.starts_with(['=', '+', '-', '@', '\t', '\r', '＝']),
            "{name}: {cell:?}"
        );
    }
}

fn assert_digits(text: &str) {
    assert!(
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()),
        "{text:?}"
    );
}

/// Asserts a price such as `9995.00 GBP`, above 0.
fn assert_price(text: &str, currency: &str) {
    let (amount, unit) = text.split_once(' ').unwrap();
    let (whole, part) = amount.split_once('.').unwrap();
    assert_digits(whole);
    assert_digits(part);
    assert_eq!((part.len(), unit), (2, currency));
    assert!(amount.parse::<f64>().unwrap() > 0.0, "{text}");
}

/// Asserts an address on the web in the characters of RFC 3986.
fn assert_address(text: &str) {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    assert!(text.starts_with("https://") || text.starts_with("http://"), "{text:?}");
    assert!(text.bytes().all(allowed) && text.len() <= 2_000, "{text:?}");
}

fn assert_length(text: &str, most: usize) {
    assert!(!text.is_empty() && text.chars().count() <= most, "{text:?}");
}

fn assert_word(text: &str, words: &[&str]) {
    assert!(words.contains(&text), "{text:?} is none of {words:?}");
}

/// Asserts the rules of the Merchant Center help for the attributes of vehicle ads.
fn assert_google(row: &BTreeMap<String, String>, dealer: &Dealer<'_>) {
    let cell = |name: &str| row[name].as_str();
    let optional = |name: &str, words: &[&str]| {
        if !cell(name).is_empty() {
            assert_word(cell(name), words);
        }
    };
    assert_digits(cell("id"));
    assert_length(cell("title"), 150);
    assert_length(cell("description"), 5_000);
    assert_length(cell("brand"), 70);
    assert_length(cell("model"), 150);
    assert_length(cell("color"), 40);
    assert_length(cell("store_code"), 64);
    assert_address(cell("link"));
    assert_address(cell("image_link"));
    assert!(cell("link_template").contains("store={store_code}") && cell("link_template").len() <= 2_000);
    assert_address(&cell("link_template").replace("{store_code}", "x"));
    let more: Vec<_> = cell("additional_image_link")
        .split(',')
        .filter(|link| !link.is_empty())
        .collect();
    assert!(more.len() <= 10);
    more.into_iter().for_each(assert_address);
    assert_price(cell("price"), dealer.currency.code());
    assert_word(cell("condition"), &["new", "used"]);
    assert_eq!(cell("google_product_category"), "916");
    assert_eq!(
        cell("vehicle_fulfillment(option:store_code)"),
        format!("in_store:{}", cell("store_code"))
    );
    assert_digits(cell("mileage").strip_suffix(" miles").unwrap());
    if cell("year").is_empty() {
        assert_word(dealer.country, &["FR", "IT", "ES", "NL", "DE"]);
    } else {
        assert_digits(cell("year"));
        assert_eq!(cell("year").len(), 4);
    }
    if cell("VIN").is_empty() {
        assert_word(dealer.country, &["FR", "DE", "IT", "ES", "NL", "GB", "JP"]);
    } else {
        assert_eq!(cell("VIN").len(), 17);
        assert!(
            cell("VIN")
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
        );
    }
    if cell("condition") == "new" || !cell("vehicle_msrp").is_empty() {
        assert_price(cell("vehicle_msrp"), dealer.currency.code());
    }
    let is_used = cell("condition") == "used";
    if !cell("date_first_registered").is_empty()
        || (is_used && ["FR", "IT", "ES", "NL", "DE"].contains(&dealer.country))
    {
        let (year, month) = cell("date_first_registered").split_once('-').unwrap();
        assert_eq!((year.len(), month.len()), (4, 2));
    }
    optional(
        "body_style",
        &[
            "convertible",
            "coupe",
            "crossover",
            "full size van",
            "hatchback",
            "minivan",
            "sedan",
            "station wagon",
            "suv",
            "truck",
        ],
    );
    optional(
        "engine",
        &[
            "gasoline",
            "diesel",
            "electric",
            "hybrid",
            "lpg",
            "methane",
            "natural_gas",
            "plug-in_hybrid",
            "other",
        ],
    );
    assert_not_formula(row);
    assert!(row.values().all(|cell| !cell.contains(char::is_control)));
}

/// Asserts the rules of the documentation of Meta's automotive catalogues for its columns.
fn assert_meta(row: &BTreeMap<String, String>, dealer: &Dealer<'_>) {
    let cell = |name: &str| row[name].as_str();
    let optional = |name: &str, words: &[&str]| {
        if !cell(name).is_empty() {
            assert_word(cell(name), words);
        }
    };
    assert_digits(cell("vehicle_id"));
    assert_length(cell("title"), 500);
    assert_length(cell("description"), 5_000);
    for name in [
        "make",
        "model",
        "exterior_color",
        "dealer_id",
        "dealer_name",
        "image[0].tag[0]",
    ] {
        assert!(!cell(name).is_empty(), "{name}");
    }
    assert_digits(cell("year"));
    assert_eq!(cell("year").len(), 4);
    assert_digits(cell("mileage.value"));
    assert_eq!(cell("mileage.unit"), "MI");
    assert_eq!(cell("vin").len(), 17);
    assert_price(cell("price"), dealer.currency.code());
    assert_address(cell("url"));
    assert_address(cell("image[0].url"));
    for at in 1..20 {
        let image = cell(&format!("image[{at}].url")).to_owned();
        if !image.is_empty() {
            assert_address(&image);
        }
    }
    assert_word(
        cell("body_style"),
        &[
            "CONVERTIBLE",
            "COUPE",
            "HATCHBACK",
            "MINIVAN",
            "TRUCK",
            "SUV",
            "SEDAN",
            "VAN",
            "WAGON",
            "CROSSOVER",
            "OTHER",
        ],
    );
    assert_word(cell("availability"), &["AVAILABLE", "NOT_AVAILABLE"]);
    assert_word(cell("state_of_vehicle"), &["NEW", "USED", "CPO"]);
    optional("transmission", &["AUTOMATIC", "MANUAL", "OTHER"]);
    optional(
        "fuel_type",
        &["DIESEL", "ELECTRIC", "GASOLINE", "FLEX", "HYBRID", "OTHER"],
    );
    optional("drivetrain", &["4X2", "4X4", "AWD", "FWD", "RWD", "OTHER"]);
    optional("condition", &["EXCELLENT", "GOOD", "FAIR", "POOR", "OTHER"]);
    optional(
        "vehicle_type",
        &["CAR_TRUCK", "MOTORCYCLE", "COMMERCIAL", "RV_CAMPER", "OTHER"],
    );
    assert_eq!(cell("address.country"), dealer.country);
    assert_not_formula(row);
}

/// Asserts the rules of schema.org for a vehicle and its offer.
fn assert_schema_org(vehicle: &Value, dealer: &Dealer<'_>) {
    assert_word(vehicle["@type"].as_str().unwrap(), &["Car", "Motorcycle", "Vehicle"]);
    assert!(!vehicle["name"].as_str().unwrap().is_empty());
    assert_eq!(vehicle["brand"]["@type"], "Brand");
    let quantities = [
        &vehicle["mileageFromOdometer"],
        &vehicle["vehicleEngine"]["engineDisplacement"],
        &vehicle["vehicleEngine"]["enginePower"],
        &vehicle["vehicleEngine"]["torque"],
    ];
    for quantity in quantities.into_iter().filter(|quantity| !quantity.is_null()) {
        assert_eq!(quantity["@type"], "QuantitativeValue");
        assert!(quantity["value"].is_number());
        assert_word(
            quantity["unitCode"].as_str().unwrap(),
            &["SMI", "CMQ", "LTR", "BHP", "NU"],
        );
    }
    for address in vehicle["image"]
        .as_array()
        .into_iter()
        .flatten()
        .chain(vehicle.get("url"))
    {
        assert_address(address.as_str().unwrap());
    }
    let offer = &vehicle["offers"];
    assert_eq!(offer["@type"], "Offer");
    assert_eq!(offer["price"].is_null(), offer["priceCurrency"].is_null());
    if let Some(price) = offer["price"].as_str() {
        assert_price(
            &format!("{price} {}", offer["priceCurrency"].as_str().unwrap()),
            dealer.currency.code(),
        );
    }
    let state = offer["availability"]
        .as_str()
        .unwrap()
        .strip_prefix("https://schema.org/")
        .unwrap();
    assert_word(state, &["InStock", "Reserved", "SoldOut"]);
    let condition = vehicle["itemCondition"].as_str().unwrap();
    assert_word(
        condition,
        &["https://schema.org/NewCondition", "https://schema.org/UsedCondition"],
    );
    assert_eq!(offer["seller"]["@type"], "AutoDealer");
}

fn assert_csv(row: &BTreeMap<String, String>) {
    let cell = |name: &str| row[name].as_str();
    assert_digits(cell("stock_id"));
    for name in ["type", "make", "model", "dealer", "currency"] {
        assert!(!cell(name).is_empty(), "{name}");
    }
    assert_word(cell("status"), &["for-sale", "reserved"]);
    assert_word(cell("new_or_used"), &["new", "used"]);
    assert_eq!(cell("price").is_empty(), cell("price_on_application") == "yes");
    for address in cell("image_urls")
        .split('|')
        .chain([cell("url")])
        .filter(|address| !address.is_empty())
    {
        assert_address(address);
    }
    assert_not_formula(row);
}

#[test]
fn what_is_ready_is_valid_and_every_gap_is_named() {
    let german = Dealer {
        currency: Currency::EUR,
        country: "DE",
        ..DEALER
    };
    let american = Dealer {
        currency: "USD".parse().unwrap(),
        country: "US",
        ..DEALER
    };
    for dealer in [DEALER, german, american] {
        for feed in Feed::ALL {
            let mut ready = Vec::new();
            for listing in varied() {
                let missing = feed.missing(&dealer, &listing);
                assert_eq!(ReadyFor::of(&dealer, &listing).contains(feed), missing.is_empty());
                for Missing { field, reason } in &missing {
                    assert!(!field.is_empty() && reason.ends_with('.'), "{field}: {reason}");
                }
                // A listing that is not ready must not panic either.
                feed.append(&dealer, &listing, false, &mut Vec::new());
                if missing.is_empty() {
                    ready.push(listing);
                }
            }
            assert!(ready.len() > 100, "{feed:?}: {}", ready.len());
            if feed == Feed::SchemaOrg {
                let text = output(feed, &dealer, &ready);
                assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
                let document: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(document["@context"], "https://schema.org");
                let graph = document["@graph"].as_array().unwrap();
                assert_eq!(graph.len(), ready.len());
                graph.iter().for_each(|vehicle| assert_schema_org(vehicle, &dealer));
                continue;
            }
            let rows = rows(feed, &dealer, &ready);
            assert_eq!(rows.len(), ready.len());
            for row in &rows {
                match feed {
                    Feed::Google => assert_google(row, &dealer),
                    Feed::Meta => assert_meta(row, &dealer),
                    _ => assert_csv(row),
                }
            }
        }
    }
}

#[test]
fn each_gap_is_named_by_its_path() {
    let gaps = [
        (
            "data.vehicle.make",
            json!(" \t"),
            &["google", "meta", "schema-org", "csv"][..],
        ),
        (
            "data.vehicle.model",
            json!(null),
            &["google", "meta", "schema-org", "csv"],
        ),
        ("data.vehicle.colour", json!("Not Stated"), &["google", "meta"]),
        ("data.vehicle.mileage", json!(null), &["google", "meta"]),
        ("data.vehicle.type", json!("Bike"), &["google"]),
        ("data.vehicle.type", json!(null), &["google", "csv"]),
        ("data.vehicle.body", json!(null), &["meta"]),
        ("data.history.year", json!(null), &["google", "meta"]),
        ("data.stock.price_website", json!(null), &["google", "meta"]),
        ("data.stock.price_website", json!("0.00"), &["google", "meta"]),
        ("data.stock.vin", json!("SHORT1"), &["meta"]),
        (
            "media",
            json!([{"url": "https://v.example/1", "type": "video", "position": 1}]),
            &["google", "meta"],
        ),
        ("url_full", json!(null), &["google", "meta"]),
        ("registration", json!(null), &[]),
    ];
    for (path, value, lacking) in gaps {
        for feed in Feed::ALL {
            let expected = if lacking.contains(&feed.name()) {
                vec![path]
            } else {
                vec![]
            };
            let missing = feed.missing(&DEALER, &with(path, value.clone()));
            assert_eq!(fields(&missing), expected, "{feed:?} {path} {value}");
        }
    }
    let nameless = set(with("registration", json!(null)), "data.stock.vin", json!(null));
    assert_eq!(fields(&Feed::Csv.missing(&DEALER, &nameless)), ["registration"]);
    let van = with("data.vehicle.type", json!("Van"));
    assert_eq!(fields(&Feed::Google.missing(&DEALER, &van)), ["data.vehicle.body"]);
    assert_eq!(
        Feed::Google.missing(&DEALER, &set(van, "data.vehicle.body", json!("Pickup"))),
        []
    );
}

#[test]
fn sold_and_reserved_vehicles_are_where_the_format_has_a_state_for_them() {
    let ready = |status: &str| {
        let bits = ReadyFor::of(&DEALER, &with("status.name", json!(status)));
        Feed::ALL
            .into_iter()
            .filter(|feed| bits.contains(*feed))
            .map(Feed::name)
            .collect::<Vec<_>>()
    };
    assert_eq!(ready("for-sale"), ["google", "meta", "schema-org", "csv"]);
    assert_eq!(ready("reserved"), ["meta", "schema-org", "csv"]);
    assert_eq!(ready("sold"), ["meta", "schema-org"]);
    assert_eq!(ready("complete"), ["meta", "schema-org"]);
    let sold = [with("status.name", json!("sold"))];
    assert_eq!(rows(Feed::Meta, &DEALER, &sold)[0]["availability"], "NOT_AVAILABLE");
    assert!(output(Feed::SchemaOrg, &DEALER, &sold).contains("https://schema.org/SoldOut"));
}

#[test]
fn google_s_rules_depend_on_the_country() {
    let missing = |country, listing: &Value| {
        let missing = Feed::Google.missing(&Dealer { country, ..DEALER }, listing);
        missing.into_iter().map(|missing| missing.field).collect::<Vec<_>>()
    };
    let unidentified = with("data.stock.vin", json!(null));
    assert_eq!(missing("GB", &unidentified), [""; 0]);
    assert_eq!(missing("US", &unidentified), ["data.stock.vin"]);
    assert_eq!(
        missing("DE", &with("data.vehicle.registered", json!(null))),
        ["data.vehicle.registered"]
    );
    assert_eq!(
        missing("DE", &with("data.vehicle.fuel", json!("Unlisted"))),
        ["data.vehicle.fuel"]
    );
    assert_eq!(missing("DE", &with("data.history.year", json!(null))), [""; 0]);
    assert_eq!(missing("AU", &full()), ["data.stock.price_website"]);
    assert_eq!(missing("CA", &new_car()), ["data.stock.price_website"]);
    assert_eq!(missing("GB", &new_car()), [""; 0]);
    let no_rrp = set(new_car(), "data.stock.price_rrp", json!(null));
    assert_eq!(missing("GB", &no_rrp), ["data.stock.price_rrp"]);
}

#[test]
fn a_full_listing_for_google() {
    let rows = rows(Feed::Google, &DEALER, &[full()]);
    let expected = BTreeMap::from([
        ("id", "901"),
        ("title", "2019 Ford Focus 1.0T EcoBoost ST-Line"),
        ("description", "A tidy car. New MOT, \"as new\"."),
        ("link", "https://acme.example/vehicles/ford-focus-901"),
        (
            "link_template",
            "https://acme.example/vehicles/ford-focus-901?store={store_code}",
        ),
        ("image_link", "https://img.example/1.jpg"),
        ("additional_image_link", "https://img.example/2.jpg"),
        ("price", "9995.00 GBP"),
        ("vehicle_msrp", "21000.00 GBP"),
        ("condition", "used"),
        ("google_product_category", "916"),
        ("brand", "Ford"),
        ("model", "Focus"),
        ("trim", "ST-Line"),
        ("year", "2019"),
        ("date_first_registered", "2019-05"),
        ("mileage", "41000 miles"),
        ("color", "Blue"),
        ("body_style", "hatchback"),
        ("engine", "gasoline"),
        ("VIN", "WF05XXGCC5KA12345"),
        ("vehicle_option", "Heated seats,Spare wheel; full size,Tow bar"),
        ("store_code", "acme"),
        ("vehicle_fulfillment(option:store_code)", "in_store:acme"),
    ]);
    assert_eq!(filled(&rows[0]), expected);
}

#[test]
fn a_full_listing_for_meta() {
    let rows = rows(Feed::Meta, &DEALER, &[full()]);
    let expected = BTreeMap::from([
        ("vehicle_id", "901"),
        ("title", "2019 Ford Focus 1.0T EcoBoost ST-Line"),
        ("description", "A tidy car.\nNew MOT, \"as new\"."),
        ("url", "https://acme.example/vehicles/ford-focus-901"),
        ("make", "Ford"),
        ("model", "Focus"),
        ("year", "2019"),
        ("trim", "ST-Line"),
        ("mileage.value", "41000"),
        ("mileage.unit", "MI"),
        ("transmission", "MANUAL"),
        ("fuel_type", "GASOLINE"),
        ("body_style", "HATCHBACK"),
        ("drivetrain", "FWD"),
        ("vin", "WF05XXGCC5KA12345"),
        ("condition", "GOOD"),
        ("price", "9995.00 GBP"),
        ("exterior_color", "Blue"),
        ("interior_color", "Black"),
        ("availability", "AVAILABLE"),
        ("state_of_vehicle", "USED"),
        ("vehicle_type", "CAR_TRUCK"),
        ("dealer_id", "acme"),
        ("dealer_name", "Acme Cars"),
        ("address.country", "GB"),
        ("image[0].tag[0]", "2019 Ford Focus 1.0T EcoBoost ST-Line"),
        ("image[0].url", "https://img.example/1.jpg"),
        ("image[1].url", "https://img.example/2.jpg"),
    ]);
    assert_eq!(filled(&rows[0]), expected);
}

#[test]
fn a_full_listing_for_schema_org() {
    let document: Value = serde_json::from_str(&output(Feed::SchemaOrg, &DEALER, &[full()])).unwrap();
    let expected = json!({
        "@context": "https://schema.org",
        "@graph": [{
            "@type": "Car",
            "name": "2019 Ford Focus 1.0T EcoBoost ST-Line",
            "sku": "B4K7",
            "url": "https://acme.example/vehicles/ford-focus-901",
            "description": "A tidy car.\nNew MOT, \"as new\".",
            "image": ["https://img.example/1.jpg", "https://img.example/2.jpg"],
            "brand": {"@type": "Brand", "name": "Ford"},
            "model": "Focus",
            "vehicleConfiguration": "1.0T EcoBoost ST-Line",
            "vehicleModelDate": "2019",
            "dateVehicleFirstRegistered": "2019-05-21",
            "vehicleIdentificationNumber": "WF05XXGCC5KA12345",
            "mileageFromOdometer": {"@type": "QuantitativeValue", "value": 41000, "unitCode": "SMI"},
            "bodyType": "Hatchback",
            "color": "Blue",
            "vehicleInteriorColor": "Black",
            "vehicleInteriorType": "Cloth",
            "fuelType": "Petrol",
            "vehicleTransmission": "Manual",
            "driveWheelConfiguration": "https://schema.org/FrontWheelDriveConfiguration",
            "steeringPosition": "https://schema.org/RightHandDriving",
            "numberOfDoors": 5,
            "vehicleSeatingCapacity": 5,
            "emissionsCO2": 108,
            "vehicleEngine": {
                "@type": "EngineSpecification",
                "engineDisplacement": {"@type": "QuantitativeValue", "value": 999, "unitCode": "CMQ"},
                "enginePower": {"@type": "QuantitativeValue", "value": 125, "unitCode": "BHP"},
                "torque": {"@type": "QuantitativeValue", "value": 170.5, "unitCode": "NU"},
            },
            "itemCondition": "https://schema.org/UsedCondition",
            "offers": {
                "@type": "Offer",
                "url": "https://acme.example/vehicles/ford-focus-901",
                "priceCurrency": "GBP",
                "price": "9995.00",
                "availability": "https://schema.org/InStock",
                "itemCondition": "https://schema.org/UsedCondition",
                "seller": {
                    "@type": "AutoDealer",
                    "name": "Acme Cars",
                    "url": "https://acme.example/",
                    "address": {"@type": "PostalAddress", "addressCountry": "GB"},
                },
            },
        }],
    });
    assert_eq!(document, expected);
    let none: Value = serde_json::from_str(&output(Feed::SchemaOrg, &DEALER, &[])).unwrap();
    assert_eq!(none["@graph"], json!([]));
}

#[test]
fn a_full_listing_for_aggregators() {
    let text = output(Feed::Csv, &DEALER, &[full()]);
    let expected = [
        "stock_id,reference,registration,vin,status,type,new_or_used,make,model,generation,derivative,trim,year,",
        "first_registered,price,currency,price_on_application,mileage,fuel,transmission,drivetrain,body,doors,seats,",
        "engine_size,colour,colour_name,interior_colour,condition,service_history,keys,title,attention,description,options,",
        "image_urls,video_urls,url,dealer\r\n",
        "901,B4K7,AB19 CDE,WF05XXGCC5KA12345,for-sale,Car,used,Ford,Focus,Mk4,1.0T EcoBoost ST-Line,ST-Line,2019,",
        "2019-05-21,9995.00,GBP,no,41000,Petrol,Manual,Front Wheel Drive,Hatchback,5,5,",
        "1.0,Blue,Performance Blue,Black,Good,Full service history,2,2019 Ford Focus 1.0T EcoBoost ST-Line,One owner,",
        "\"A tidy car.\nNew MOT, \"\"as new\"\".\",\"Heated seats|Spare wheel, full size|Tow bar\",",
        "https://img.example/1.jpg|https://img.example/2.jpg,https://www.youtube.com/watch?v=abc,",
        "https://acme.example/vehicles/ford-focus-901,Acme Cars\r\n",
    ];
    assert_eq!(text, expected.concat());
}

#[test]
fn formulas_are_defused_and_numbers_are_not() {
    let cell = |text: &str| {
        rows(Feed::Csv, &DEALER, &[with("data.option.description", json!(text))])[0]["description"].clone()
    };
    assert_eq!(cell("=1+1"), "'=1+1");
    assert_eq!(cell("- One owner"), "'- One owner");
    assert_eq!(cell(" \t@x"), "'@x");
    assert_eq!(cell("-5"), "-5");
    assert_eq!(cell("+12.50"), "+12.50");
    assert_eq!(cell("a=b"), "a=b");
}

#[test]
fn nothing_but_public_fields_and_the_plain_text_is_in_a_feed() {
    let mut listing = full();
    listing["SECRET"] = json!("SECRET");
    listing["data"]["stock"]["notes"] = json!("SECRET");
    for feed in Feed::ALL {
        let text = output(feed, &DEALER, std::slice::from_ref(&listing));
        assert!(!text.contains("SECRET") && !text.contains("HTML ADVERT"), "{feed:?}");
    }
}

#[test]
fn feeds_have_names_and_bits() {
    for feed in Feed::ALL {
        assert_eq!(Feed::from_name(feed.name()), Some(feed));
    }
    assert_eq!(Feed::from_name("Google"), None);
    let all = ReadyFor::of(&DEALER, &full());
    assert_eq!(all.bits(), 0b1111);
    assert_eq!(ReadyFor::from_bits(0xFF), all);
    assert_eq!(ReadyFor::of(&DEALER, &minimal()).bits(), 0);
    let some = ReadyFor::from_bits(0b0101);
    assert!(some.contains(Feed::Google) && some.contains(Feed::SchemaOrg) && !some.contains(Feed::Csv));
}
