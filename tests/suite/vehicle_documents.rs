//! The documents of a vehicle: upload, reading, change and deletion, and the files that are accepted.

use std::path::Path;
use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use harness::{Answer, Client, Engine, Shop, both_engines, now, wait_for};
use serde_json::{Value, json};

use crate::vehicle_media::{EXE, GIF, HTML, LARGEST, PDF, SVG, base64, data_url, jpeg, mp4, png, webp};
use crate::vehicles_record::path;

both_engines! {
    a_document_is_uploaded_in_base64
    a_document_is_uploaded_as_a_data_url
    a_document_reads_in_full
    a_document_of_nothing_but_a_file_has_defaults
    a_download_has_what_was_uploaded
    pdf_jpg_and_png_are_documents
    a_file_is_known_by_its_bytes
    other_files_are_refused_whatever_their_name
    a_document_has_at_most_25_megabytes
    the_largest_document_takes_little_memory
    a_body_beyond_every_limit_is_refused
    what_is_no_base64_is_refused
    a_file_is_needed
    a_public_document_needs_a_description
    a_description_is_changed
    a_document_is_made_public
    a_public_document_keeps_a_description
    null_resets_a_field
    a_change_says_nothing_of_the_file
    a_change_of_nothing_leaves_the_version
    the_file_of_a_deleted_document_is_gone
    no_filename_leads_out_of_the_files
    a_filename_is_one_line
    documents_are_no_events
    the_documents_of_a_deleted_vehicle_are_gone
    a_document_survives_a_restart
}

/// The maximum time for due background work.
const TIMEOUT: Duration = Duration::from_secs(90);
/// The maximum growth of the process by one request.
const GROWTH: u64 = 100_000_000;
/// The contract's members, and the version of each record that can change.
const MEMBERS: [&str; 11] = [
    "description",
    "extension",
    "icon",
    "id",
    "mime",
    "name",
    "public",
    "size",
    "size_label",
    "uploaded",
    "version",
];

/// Creates a draft without data; returns the path of its documents.
async fn documents(shop: &Shop) -> String {
    format!("{}/documents", path(shop, &json!({})).await)
}

/// Returns the body that uploads a small document.
fn a_document() -> Value {
    json!({"file": base64(PDF), "filename": "V5C.pdf", "description": "Log book"})
}

async fn upload(shop: &Shop, documents: &str, body: &Value) -> Answer {
    shop.api.post(documents, body).await
}

/// Uploads this; returns the document and its path.
async fn uploaded(shop: &Shop, documents: &str, body: &Value) -> (Value, String) {
    let document = upload(shop, documents, body).await.created();
    let path = format!("{documents}/{}", id(&document));
    (document, path)
}

/// Uploads a small document; returns its path.
async fn small(shop: &Shop, documents: &str) -> String {
    uploaded(shop, documents, &a_document()).await.1
}

#[track_caller]
fn id(document: &Value) -> &str {
    document["id"].as_str().unwrap_or_else(|| panic!("no id: {document}"))
}

async fn download(client: &Client, document: &str) -> Answer {
    client.get(&format!("{document}/download")).await
}

/// Returns the bytes of a document.
async fn content(shop: &Shop, document: &str) -> Vec<u8> {
    let answer = download(&shop.api, document).await.ok();
    BASE64_STANDARD.decode(answer["content"].as_str().unwrap()).unwrap()
}

/// Returns the document as the list shows it, if it does.
async fn listed(shop: &Shop, documents: &str, document: &str) -> Option<Value> {
    let items = shop.api.list(documents).await.items;
    items
        .into_iter()
        .find(|item| document == format!("{documents}/{}", id(item)))
}

/// Returns the names of an object's members, in alphabetical order.
fn members(value: &Value) -> Vec<&str> {
    let members = value.as_object().expect("an object");
    let mut names: Vec<&str> = members.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

/// Returns a PDF of exactly this length.
fn long_pdf(length: usize) -> Vec<u8> {
    let (head, tail) = PDF.split_at(9);
    let padding = length - PDF.len() - 2;
    let file = [head, b"%", &vec![b'x'; padding], b"\n", tail].concat();
    assert_eq!(file.len(), length);
    file
}

/// Returns true if a file in this folder, at any depth, contains these bytes.
pub(crate) fn holds(folder: &Path, bytes: &[u8]) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            return holds(&path, bytes);
        }
        // A file that is deleted meanwhile is empty here.
        let content = std::fs::read(&path).unwrap_or_default();
        content.windows(bytes.len()).any(|window| window == bytes)
    })
}

/// Returns all events so far.
async fn events(shop: &Shop) -> Vec<Value> {
    shop.api.walk("/2.0/events?per_page=500").await
}

// --- Uploading and reading ---

async fn a_document_is_uploaded_in_base64(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let (_, document) = uploaded(&shop, &documents, &a_document()).await;
    assert_eq!(content(&shop, &document).await, PDF);
}

async fn a_document_is_uploaded_as_a_data_url(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let body = json!({"file": data_url("application/pdf", PDF), "filename": "V5C.pdf"});
    let (document, path) = uploaded(&shop, &documents, &body).await;
    assert_eq!(document["mime"], "application/pdf");
    assert_eq!(content(&shop, &path).await, PDF);
}

async fn a_document_reads_in_full(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let start = now();
    let mut body = a_document();
    body["public"] = true.into();
    let (document, path) = uploaded(&shop, &documents, &body).await;
    assert_eq!(members(&document), MEMBERS);
    for member in ["id", "name", "size_label", "icon"] {
        let text = document[member].as_str().unwrap_or_default();
        assert!(!text.is_empty(), "{member}: {document}");
    }
    let name = document["name"].as_str().unwrap();
    assert!(name.starts_with("V5C"), "{name}");
    assert_eq!(document["description"], "Log book");
    assert_eq!(document["public"], true);
    assert_eq!(document["extension"], "pdf");
    assert_eq!(document["mime"], "application/pdf");
    assert_eq!(document["size"], PDF.len());
    assert_eq!(document["version"], 1);
    let uploaded = document["uploaded"].as_i64().unwrap();
    assert!((start..=now()).contains(&uploaded), "{uploaded}");
    let listed = listed(&shop, &documents, &path).await.unwrap();
    for (member, value) in document.as_object().unwrap() {
        if member != "version" {
            assert_eq!(&listed[member], value, "{member}");
        }
    }
}

async fn a_document_of_nothing_but_a_file_has_defaults(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let (document, _) = uploaded(&shop, &documents, &json!({"file": base64(PDF)})).await;
    assert_eq!(members(&document), MEMBERS);
    assert_eq!(document["public"], false);
    assert_eq!(document["description"], "");
    assert_eq!(document["extension"], "pdf");
    assert!(document["name"].is_string(), "{document}");
    // An extension without a name is sufficient.
    let body = json!({"file": base64(PDF), "extension": "pdf"});
    let (document, _) = uploaded(&shop, &documents, &body).await;
    assert_eq!(document["extension"], "pdf");
}

async fn a_download_has_what_was_uploaded(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    // Bytes of every value, none of which is text.
    let bytes: Vec<u8> = (0..=255).cycle().take(10_000).collect();
    let file = [PDF, &bytes].concat();
    let body = json!({"file": base64(&file), "filename": "V5C.pdf"});
    let (document, path) = uploaded(&shop, &documents, &body).await;
    let answer = download(&shop.api, &path).await;
    let expected = json!({
        "id": document["id"], "name": document["name"], "extension": "pdf", "mime": "application/pdf",
        "size": file.len(), "encoding": "base64", "content": base64(&file),
    });
    assert_eq!(answer.ok(), expected);
    let cached = answer.header("Cache-Control").unwrap_or_default();
    assert!(cached.starts_with("private"), "{cached}");
}

// --- Files ---

async fn pdf_jpg_and_png_are_documents(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    for (file, name, extensions, mime) in [
        (PDF.to_vec(), "scan.pdf", &["pdf"][..], "application/pdf"),
        (jpeg(60, 40), "scan.jpg", &["jpg", "jpeg"], "image/jpeg"),
        (jpeg(60, 40), "scan.JPEG", &["jpg", "jpeg"], "image/jpeg"),
        (png(60, 40), "scan.png", &["png"], "image/png"),
    ] {
        let body = json!({"file": base64(&file), "filename": name});
        let (document, path) = uploaded(&shop, &documents, &body).await;
        let extension = document["extension"].as_str().unwrap();
        assert!(extensions.contains(&extension), "{name}: {extension}");
        assert_eq!(document["mime"], mime, "{name}");
        assert_eq!(document["size"], file.len(), "{name}");
        assert_eq!(content(&shop, &path).await, file, "{name}");
    }
}

async fn a_file_is_known_by_its_bytes(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    for (file, mime) in [
        (PDF.to_vec(), "application/pdf"),
        (jpeg(60, 40), "image/jpeg"),
        (png(60, 40), "image/png"),
    ] {
        for name in ["scan", "my.scan of 2024"] {
            let body = json!({"file": base64(&file), "filename": name});
            let (document, _) = uploaded(&shop, &documents, &body).await;
            assert_eq!(document["mime"], mime, "{name}");
        }
    }
}

async fn other_files_are_refused_whatever_their_name(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let (webp, mp4) = (webp(60, 40), mp4());
    let others: [(&str, &[u8]); 9] = [
        ("scan.pdf", GIF),
        ("scan.pdf", EXE),
        ("scan.pdf", HTML),
        ("scan.png", SVG),
        ("scan.jpg", &webp),
        ("scan.pdf", &mp4),
        ("scan.pdf", b"PK\x03\x04 an archive"),
        ("scan.pdf", b"plain text"),
        ("scan.pdf", &[0; 4_096]),
    ];
    for (name, file) in others {
        for kind in ["application/pdf", "application/octet-stream"] {
            let body = json!({"file": data_url(kind, file), "filename": name});
            upload(&shop, &documents, &body).await.invalid(&["file"]);
        }
    }
    assert!(shop.api.list(&documents).await.items.is_empty());
}

async fn a_document_has_at_most_25_megabytes(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let file = long_pdf(LARGEST);
    let body = json!({"file": base64(&file), "filename": "a.pdf"});
    let (document, path) = uploaded(&shop, &documents, &body).await;
    assert_eq!(document["size"], LARGEST);
    assert!(content(&shop, &path).await == file, "all of it comes back");
    let body = json!({"file": data_url("application/pdf", &long_pdf(LARGEST + 1)), "filename": "a.pdf"});
    upload(&shop, &documents, &body).await.invalid(&["file"]);
    assert_eq!(shop.api.list(&documents).await.items.len(), 1);
}

async fn the_largest_document_takes_little_memory(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let body = json!({"file": base64(&long_pdf(LARGEST)), "filename": "a.pdf"});
    let (growth, answer) = shop.server.growth(upload(&shop, &documents, &body)).await;
    let document = format!("{documents}/{}", id(&answer.created()));
    assert!(growth < GROWTH, "to upload it: {growth}");
    let (growth, answer) = shop.server.growth(download(&shop.api, &document)).await;
    answer.ok();
    assert!(growth < GROWTH, "to download it: {growth}");
}

async fn a_body_beyond_every_limit_is_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let body = json!({"file": base64(&long_pdf(2 * LARGEST)), "filename": "a.pdf"});
    // A server may close the connection before all of such a body was sent, and the client then sees no answer.
    if let Ok(answer) = shop.api.request("POST", &documents).json(&body).attempt().await {
        answer.invalid(&["file"]);
    }
    assert!(shop.api.list(&documents).await.items.is_empty());
}

async fn what_is_no_base64_is_refused(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    for file in [
        "%%% no base64 %%%",
        "data:application/pdf;base64,%%%",
        "data:application/pdf;base64",
        "data:",
        "data:,",
        "https://example.com/V5C.pdf",
        "file:///etc/passwd",
        "=",
        "JVBERi0xLjQK\u{e4}",
    ] {
        let body = json!({"file": file, "filename": "a.pdf"});
        upload(&shop, &documents, &body).await.invalid(&["file"]);
    }
}

// --- Bodies ---

async fn a_file_is_needed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    for body in [
        json!({}),
        json!({"filename": "V5C.pdf"}),
        json!({"file": null}),
        json!({"file": ""}),
        json!({"file": "data:application/pdf;base64,"}),
    ] {
        upload(&shop, &documents, &body).await.invalid(&["file"]);
    }
    let empty = shop.api.request("POST", &documents).send().await;
    empty.invalid(&["file"]);
}

// --- Public documents and changes ---

async fn a_public_document_needs_a_description(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    for body in [
        json!({"file": base64(PDF), "public": true}),
        json!({"file": base64(PDF), "public": true, "description": ""}),
        json!({"file": base64(PDF), "public": true, "description": null}),
    ] {
        upload(&shop, &documents, &body).await.invalid(&["description"]);
    }
    let body = json!({"file": base64(PDF), "public": true, "description": "Log book"});
    let (document, _) = uploaded(&shop, &documents, &body).await;
    assert_eq!(document["public"], true);
}

async fn a_description_is_changed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let (before, path) = uploaded(&shop, &documents, &a_document()).await;
    let changed = shop.api.patch(&path, &json!({"description": "Receipt"})).await.ok();
    let mut expected = before;
    expected["description"] = "Receipt".into();
    expected["version"] = 2.into();
    assert_eq!(changed, expected);
    let listed = listed(&shop, &documents, &path).await.unwrap();
    assert_eq!(listed["description"], "Receipt");
}

async fn a_document_is_made_public(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let (_, described) = uploaded(&shop, &documents, &a_document()).await;
    let public = json!({"public": true});
    assert_eq!(shop.api.patch(&described, &public).await.ok()["public"], true);
    let (_, nameless) = uploaded(&shop, &documents, &json!({"file": base64(PDF)})).await;
    shop.api.patch(&nameless, &public).await.invalid(&["description"]);
    assert_eq!(listed(&shop, &documents, &nameless).await.unwrap()["public"], false);
    let both = json!({"public": true, "description": "Receipt"});
    let changed = shop.api.patch(&nameless, &both).await.ok();
    assert_eq!(
        (&changed["public"], &changed["description"]),
        (&json!(true), &json!("Receipt"))
    );
}

async fn a_public_document_keeps_a_description(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let mut body = a_document();
    body["public"] = true.into();
    let (_, path) = uploaded(&shop, &documents, &body).await;
    for change in [
        json!({"description": ""}),
        json!({"description": null}),
        json!({"description": "", "public": true}),
    ] {
        shop.api.patch(&path, &change).await.invalid(&["description"]);
    }
    assert_eq!(
        listed(&shop, &documents, &path).await.unwrap()["description"],
        "Log book"
    );
    let private = json!({"description": "", "public": false});
    let changed = shop.api.patch(&path, &private).await.ok();
    assert_eq!(
        (&changed["public"], &changed["description"]),
        (&json!(false), &json!(""))
    );
}

async fn null_resets_a_field(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let mut body = a_document();
    body["public"] = true.into();
    let (_, path) = uploaded(&shop, &documents, &body).await;
    let changed = shop.api.patch(&path, &json!({"public": null})).await.ok();
    assert_eq!(changed["public"], false);
    let changed = shop.api.patch(&path, &json!({"description": null})).await.ok();
    assert_eq!(changed["description"], "");
}

async fn a_change_says_nothing_of_the_file(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let (before, path) = uploaded(&shop, &documents, &a_document()).await;
    let change = json!({"description": "Receipt", "file": base64(&png(60, 40)), "filename": "b.png", "size": 1,
                        "extension": "png", "mime": "image/png", "id": "x", "uploaded": 1});
    let changed = shop.api.patch(&path, &change).await.ok();
    for member in ["id", "name", "extension", "mime", "size", "uploaded"] {
        assert_eq!(changed[member], before[member], "{member}");
    }
    assert_eq!(content(&shop, &path).await, PDF);
}

async fn a_change_of_nothing_leaves_the_version(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let (before, path) = uploaded(&shop, &documents, &a_document()).await;
    let same = json!({"description": "Log book", "public": false});
    assert_eq!(shop.api.patch(&path, &same).await.ok(), before);
}

// --- Deletion, and what is not there ---

async fn the_file_of_a_deleted_document_is_gone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let marker = b"% Quillfeather signed this with her own hand\n";
    let body = json!({"file": base64(&[PDF, marker].concat()), "filename": "V5C.pdf"});
    let (_, path) = uploaded(&shop, &documents, &body).await;
    let files = shop.installation().data_dir().join("files");
    assert!(holds(&files, marker), "documents live below {}", files.display());
    shop.api.delete(&path).await.ok();
    wait_for("the file is gone", TIMEOUT, async || {
        !holds(&shop.installation().data_dir(), marker)
    })
    .await;
}

// --- Names ---

async fn no_filename_leads_out_of_the_files(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    for name in [
        "../escaped.pdf",
        "../../../../escaped.pdf",
        "..\\..\\escaped.pdf",
        "/tmp/../escaped.pdf",
        "a/../../escaped.pdf",
        "..",
        "%2e%2e%2fescaped.pdf",
    ] {
        let body = json!({"file": base64(PDF), "filename": name});
        let answer = upload(&shop, &documents, &body).await;
        if answer.status == 422 {
            answer.invalid(&["filename"]);
            continue;
        }
        let document = answer.created();
        let kept = document["name"].as_str().unwrap();
        assert!(!kept.contains(['/', '\\']) && kept != "..", "{name}: {kept}");
        let path = format!("{documents}/{}", id(&document));
        assert_eq!(content(&shop, &path).await, PDF, "{name}");
    }
    let folder = shop.installation().folder();
    for place in [folder, &folder.join("data"), &folder.join("data/files")] {
        assert!(!place.join("escaped.pdf").exists(), "{}", place.display());
    }
}

async fn a_filename_is_one_line(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    for name in ["a\nb.pdf", "a\r\nX-Header: b.pdf", "a\0b.pdf", "\u{202e}fdp.exe"] {
        let body = json!({"file": base64(PDF), "filename": name});
        let answer = upload(&shop, &documents, &body).await;
        answer.not_our_fault();
        if answer.status == 201 {
            let document = answer.created();
            let kept = document["name"].as_str().unwrap();
            assert!(!kept.contains(['\n', '\r', '\0']), "{name:?}: {kept:?}");
        } else {
            answer.invalid(&["filename"]);
        }
    }
    let body = json!({"file": base64(PDF), "filename": "Fahrzeugschein für Zoë 日本.pdf"});
    let (document, _) = uploaded(&shop, &documents, &body).await;
    let name = document["name"].as_str().unwrap();
    assert!(name.starts_with("Fahrzeugschein für Zoë 日本"), "{name}");
}

// --- Retries, events, and the vehicle ---

async fn documents_are_no_events(engine: Engine) {
    let shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let seen = events(&shop).await.len();
    let path = small(&shop, &documents).await;
    let change = json!({"description": "Receipt", "public": true});
    shop.api.patch(&path, &change).await.ok();
    shop.api.delete(&path).await.ok();
    assert_eq!(events(&shop).await.len(), seen);
}

async fn the_documents_of_a_deleted_vehicle_are_gone(engine: Engine) {
    let shop = Shop::open(engine).await;
    let (documents, others) = (documents(&shop).await, documents(&shop).await);
    let (path, kept) = (small(&shop, &documents).await, small(&shop, &others).await);
    shop.api
        .delete(documents.strip_suffix("/documents").unwrap())
        .await
        .ok();
    let code = "vehicle_not_found";
    shop.api.get(&documents).await.refused(404, code);
    upload(&shop, &documents, &a_document()).await.refused(404, code);
    download(&shop.api, &path).await.refused(404, code);
    let change = json!({"description": "Receipt"});
    shop.api.patch(&path, &change).await.refused(404, code);
    shop.api.delete(&path).await.refused(404, code);
    assert_eq!(content(&shop, &kept).await, PDF);
}

async fn a_document_survives_a_restart(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let documents = documents(&shop).await;
    let path = small(&shop, &documents).await;
    let before = listed(&shop, &documents, &path).await;
    shop.server.restart().await;
    assert_eq!(listed(&shop, &documents, &path).await, before);
    assert_eq!(content(&shop, &path).await, PDF);
}
