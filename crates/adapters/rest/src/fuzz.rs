//! Fuzz tests: any query or body is read or refused, and quickly.

use std::{io, path::Path, time::Duration};

use actix_web::http::header::HeaderValue;
use forecourt_kernel::{
    Cursor, JsonExtent, ListName, Projection, Scope, View,
    bounds::{MAX_BODY_BYTES, MAX_BODY_DEPTH, MAX_BODY_VALUES, MAX_TARGET_BYTES},
    stopwatch,
    testing::fuzz::{Fuzz, MAX_TIME},
};
use serde_json::Value;

use crate::{
    body,
    error::ApiError,
    extraction::{extract_form, extract_json},
    parsing::Abandoned,
    query::Query,
    testing::a_caller,
};

const LIST: ListName = ListName::new("leads");

/// Asserts that no input makes the server fail.
#[track_caller]
fn no_failure<T>(read: Result<T, ApiError>) -> Option<T> {
    match read {
        Ok(read) => Some(read),
        Err(ApiError::Refused(refusal)) => {
            assert!(refusal.code.status().is_client_error(), "{refusal:?}");
            None
        }
        Err(ApiError::Invalid(_)) => None,
        Err(failure) => panic!("{failure:?}"),
    }
}

fn fuzz_query(corpus: &[&[u8]], tokens: &[&[u8]], mut read: impl FnMut(&mut Query<'_>)) {
    let fuzz = Fuzz {
        corpus,
        tokens,
        max_bytes: MAX_TARGET_BYTES,
    };
    fuzz.run(&stopwatch!(), |text| {
        let text = String::from_utf8_lossy(text);
        let mut query = Query::new(&text);
        read(&mut query);
        no_failure(query.finish(()));
    });
}

#[test]
fn prove_fuzz_fields() {
    let record =
        serde_json::json!({"id": 1, "tag": {"name": [{"a": 1}, {"b": {"c": [1, 2]}}]}, "data": {"a": {"b": {"c": 1}}}});
    let tokens: &[&[u8]] = &[
        b"fields=",
        b"fields[]=",
        b"&",
        b".",
        b",",
        b"a",
        b"tag",
        b"name",
        b"data.a.b.c",
        b"id",
        b"%2C",
        b"%",
        b"+",
        b"a#.",
        b"a#,",
        b"\xff",
        b"[",
        b"]",
    ];
    fuzz_query(
        &[b"fields=id,tag.name,data.a.b", b"fields=tag.name.b.c"],
        tokens,
        |query| {
            let fields: Option<Projection> = query.fields();
            if let Some(fields) = fields {
                let shown = fields.apply(record.clone());
                assert!(shown.to_string().len() <= record.to_string().len());
            }
        },
    );
}

#[test]
fn prove_fuzz_patterns() {
    let tokens: &[&[u8]] = &[
        b"q=",
        b"q[]=",
        b"%25",
        b"%",
        b"_",
        b"a",
        b"ab",
        b"%c3%a9",
        b"\xc3\xa9",
        b"+",
        b"&",
        b"\\",
        b"%00",
        b"*",
        b"#",
    ];
    let caller = a_caller(Scope::SearchWildcard);
    fuzz_query(&[b"q=%25ab%25c%25", b"q=abc"], tokens, |query| {
        if let Some(filter) = query.filter("q", &caller) {
            // Its result does not matter, but it must be found quickly.
            let _: bool = filter.matches(&"ab".repeat(10_000));
        }
    });
}

#[test]
fn prove_fuzz_ranges() {
    let tokens: &[&[u8]] = &[
        b"created=",
        b"created[]=",
        b"created[#]=",
        b"created[",
        b"]",
        b"&",
        b"=",
        b"1",
        b"-1",
        b"9223372036854775808",
        b"#",
        b"%5B",
        b"%5D",
        b"+",
        b"[]",
        b"\xff",
    ];
    fuzz_query(
        &[b"created[]=1&created[]=2", b"created=1&created=2", b"created=1"],
        tokens,
        |query| {
            let _ = query.moments("created");
            let _ = query.texts("created");
        },
    );
}

#[test]
fn prove_fuzz_cursors() {
    let tokens: &[&[u8]] = &[
        b"cursor=",
        b"cursor[]=",
        b"page=",
        b"per_page=",
        b"&",
        b"A",
        b"AA",
        b"_",
        b"-",
        b"=",
        b"%3D",
        b"#",
        b"-1",
        b"18446744073709551616",
        b"%00",
        b"\xff",
    ];
    let cursor = Cursor::at(vec![7, 8]).encode(LIST);
    let known = format!("cursor={cursor}&per_page=5");
    fuzz_query(&[known.as_bytes(), b"page=2&per_page=500"], tokens, |query| {
        let _ = query.page(LIST, 2);
        let _ = query.rendering(View::Simple);
    });
}

const JSON_CORPUS: &[&[u8]] = &[
    br#"{"name": "Ann", "data": {"a": [1, {"b": null}, "\u00e9\n"], "c": -1.5e3}, "types": ["a", "b"], "none": true}"#,
    b"{}",
    b"[1, 2]",
    br#"{"file": "data:image/png;base64,aGVsbG8=", "filename": "a.png"}"#,
];

const JSON_TOKENS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"",
    b"\\",
    b"\\\"",
    b"\\u00e9",
    b"\\ud800",
    b"null",
    b"true",
    b"#",
    b"1,",
    b"-1e999,",
    b"0.5",
    b"\"a#\":",
    b"\"a#\":1,",
    b"{\"a\":",
    b"\"file\":\"aGVs\",",
    b"\"file\":",
    b"\"aGVsbG8",
    b" ",
    b"\n",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"[],",
    b"{},",
    b"\"\",",
];

#[test]
fn prove_fuzz_json_extent() {
    let fuzz = Fuzz {
        corpus: JSON_CORPUS,
        tokens: JSON_TOKENS,
        max_bytes: MAX_BODY_BYTES,
    };
    fuzz.run(&stopwatch!(), |text| {
        let extent = JsonExtent::of(text);
        if let Some(object) = no_failure(body::object(text)) {
            assert!(extent.depth <= MAX_BODY_DEPTH && extent.values <= MAX_BODY_VALUES);
            let (depth, values) = measured(&Value::Object(object));
            assert!(depth <= MAX_BODY_DEPTH && values <= MAX_BODY_VALUES);
        }
    });
}

/// Returns the depth of a value and the number of values in it.
fn measured(value: &Value) -> (usize, usize) {
    let within: Vec<_> = match value {
        Value::Array(items) => items.iter().map(measured).collect(),
        Value::Object(members) => members.values().map(measured).collect(),
        _ => return (0, 1),
    };
    let deepest = within.iter().map(|(depth, _)| *depth).max().unwrap_or_default();
    (1 + deepest, 1 + within.iter().map(|(_, values)| values).sum::<usize>())
}

#[test]
fn prove_fuzz_upload_json() {
    let folder = tempfile::tempdir().expect("there is a disk");
    let fuzz = Fuzz {
        corpus: JSON_CORPUS,
        tokens: JSON_TOKENS,
        max_bytes: MAX_BODY_BYTES,
    };
    fuzz.run(&stopwatch!(), |text| {
        no_failure(extract_json(text, folder.path(), &Abandoned::default()));
    });
}

const FORM: &str = "multipart/form-data; boundary=b";
const FORM_CORPUS: &[&[u8]] = &[
    b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n\xff\xd8\xff\r\n\
      --b\r\nContent-Disposition: form-data; name=\"type\"\r\n\r\nphoto\r\n--b--\r\n",
    b"preamble\r\n--b\r\ncontent-disposition: form-data; name=type\r\n\r\n\r\n--b--",
];
const FORM_TOKENS: &[&[u8]] = &[
    b"\r\n",
    b"\r",
    b"\n",
    b"--",
    b"--b\r\n",
    b"--b--",
    b"\r\n--b",
    b"\r--",
    b"Content-Disposition: form-data; name=\"a#\"",
    b"; name=a#",
    b"; filename=\"a#\"",
    b"; filename*=utf-8''a%20",
    b"\"",
    b"\\\"",
    b";",
    b"=",
    b"Content-Length: #\r\n",
    b"Content-Type: multipart/mixed; boundary=c\r\n",
    b"X-A#: b\r\n",
    b"\r\n\r\n",
    b"a",
    b"\xff",
    b"\0",
    b"--b\r\nContent-Disposition: form-data; name=\"a#\"\r\n\r\n\r\n",
    b"--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nx\r\n",
];

fn read_form(text: &[u8], folder: &Path) {
    let content_type = HeaderValue::from_static(FORM);
    no_failure(extract_form(
        io::Cursor::new(text.to_vec()),
        content_type,
        folder,
        &Abandoned::default(),
    ));
}

#[test]
fn prove_fuzz_multipart() {
    let folder = tempfile::tempdir().expect("there is a disk");
    let fuzz = Fuzz {
        corpus: FORM_CORPUS,
        tokens: FORM_TOKENS,
        max_bytes: MAX_BODY_BYTES,
    };
    fuzz.run(&stopwatch!(), |text| read_form(text, folder.path()));
    // The cost of each part does not depend on their number, so only a few are read.
    let empty = "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\n\r\n".repeat(300_000);
    stopwatch!().within(MAX_TIME, empty.as_bytes(), &mut |text| read_form(text, folder.path()));
}

/// Proves that the test can fail: a reader that looks at all parts, each on the disk.
#[test]
#[should_panic(expected = "took")]
fn prove_fuzz_multipart_finds_what_costs_by_the_part() {
    let parts = "--b\r\n".repeat(5_000);
    stopwatch!().within(Duration::from_millis(50), parts.as_bytes(), &mut |text| {
        let parts = text.windows(5).filter(|line| line == b"--b\r\n");
        for part in parts {
            let mut file = tempfile::tempfile().expect("there is a disk");
            std::io::Write::write_all(&mut file, part).expect("there is a disk");
        }
    });
}
