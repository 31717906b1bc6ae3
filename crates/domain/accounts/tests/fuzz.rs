//! Applying any file makes a business or names every fault, in bounded time.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "what a parser takes is measured by the clock, for as long as the environment says"
)]

use forecourt_accounts::BusinessFile;
use forecourt_kernel::{Timestamp, stopwatch, testing::fuzz::Fuzz};

const CORPUS: &[&[u8]] = &[
    br#"{"tag": "acme", "name": "Acme Cars", "email": "office@acme.example", "country": "GB", "website": "https://acme.example",
        "settings": {"language": "en", "mail_texts": {"en": {"lead_received": {"subject": "New {{name}}", "text": "{{#name}}{{number}}{{/name}}"}}}},
        "sites": [{"id": 1, "name": "North"}], "locations": [{"id": 1, "name": "Yard", "site": 1}],
        "staff": [{"id": 1, "name": "Sam", "email": "sam@acme.example"}], "tags": {"leads": [{"name": "hot"}]}, "channels": [],
        "vehicle_options": {"body": ["Estate"]}}"#,
    br#"{"tag": "a", "name": "b"}"#,
];

const TOKENS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\",
    b"\\u0000",
    b"null",
    b"true",
    b"#",
    b"-1e999",
    b"0.5",
    b"\"a#\":",
    b"\"a#\",",
    b"{\"id\": #, \"name\": \"n\"},",
    b"\"sites\": [",
    b"\"settings\": {",
    b"\"mail_texts\": {",
    b"{{#name}}",
    b"{{/name}}",
    b"{{^name}}",
    b"{{name}}",
    b"{{",
    b"}}",
    b"\n",
    b" ",
    b"\xff",
];

#[test]
fn prove_fuzz_business_file() {
    let fuzz = Fuzz {
        corpus: CORPUS,
        tokens: TOKENS,
        max_bytes: 256 * 1024,
    };
    let now = Timestamp::from_epoch_seconds(1_700_000_000);
    fuzz.run(&stopwatch!(), |text| {
        if let Ok(file) = serde_json::from_slice::<BusinessFile>(text)
            && let Ok(business) = file.clone().apply(None, &[], now)
        {
            assert_eq!(
                file.apply(Some(&business), &[], now).as_ref(),
                Ok(&business),
                "applied twice it changes nothing"
            );
        }
    });
}
