//! The printed forms of invoices, credit notes and orders, and the mails that carry them.

use std::time::Duration;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use harness::{Answer, Engine, PostOffice, Shop, both_engines, wait_for};
use serde_json::{Value, json};

use crate::outgoing::{switch, until_held};

both_engines! {
    an_invoice_is_printed_in_two_forms
    what_the_caller_has_is_not_sent_again
    a_credit_note_is_printed_in_place_of_its_invoice
    an_order_is_printed
    a_document_is_mailed_to_its_customer
    a_document_is_mailed_in_the_words_of_the_caller
    what_is_not_in_force_is_not_mailed
    a_mail_that_fails_is_an_answer_of_its_own
    a_mail_beyond_the_quota_fails
    a_mail_that_is_held_keeps_its_attachment
    a_mail_that_is_held_goes_with_its_contact
}

const TIMEOUT: Duration = Duration::from_secs(60);
const PDF: &str = "application/pdf";

/// Creates the contact of the documents; returns its id.
async fn customer(shop: &Shop) -> Value {
    let body = json!({"name": "Amelia Hart", "email": "amelia@hart.example"});
    shop.api.post("/2.0/contacts", &body).await.created()["id"].take()
}

/// Creates a draft of `/2.0/invoices` or `/2.0/orders`; returns its path.
async fn draft(shop: &Shop, list: &str, customer: &Value) -> String {
    let lines = json!([{"type": "product", "description": "Tow bar", "gross": 240}]);
    let body = json!({"customer": customer, "lines": lines, "reference": "PO 77"});
    let draft = shop.api.post(list, &body).await.created();
    format!("{list}/{}", draft["id"])
}

/// Creates an issued document; returns its path.
async fn issued(shop: &Shop, list: &str) -> String {
    let path = draft(shop, list, &customer(shop).await).await;
    shop.api.post(&format!("{path}/issue"), &json!({})).await.ok();
    path
}

async fn accepted(shop: &Shop, path: &str, accept: &str) -> Answer {
    shop.api.request("GET", path).header("Accept", accept).send().await
}

#[track_caller]
fn assert_pdf(answer: &Answer, name: &str) {
    assert_eq!(
        (answer.status, answer.header("Content-Type")),
        (200, Some(PDF)),
        "{answer:?}"
    );
    let disposition = format!("inline; filename=\"{name}\"");
    assert_eq!(answer.header("Content-Disposition"), Some(&*disposition));
    assert!(answer.body.starts_with(b"%PDF-1.") && answer.body.trim_ascii_end().ends_with(b"%%EOF"));
}

async fn an_invoice_is_printed_in_two_forms(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop, "/2.0/invoices", &customer(&shop).await).await;
    let id: i64 = path.rsplit('/').next().unwrap().parse().unwrap();
    let pdf = format!("{path}/pdf");
    assert_pdf(&accepted(&shop, &pdf, PDF).await, &format!("draft-{id}.pdf"));
    shop.api.post(&format!("{path}/issue"), &json!({})).await.ok();
    let file = accepted(&shop, &pdf, PDF).await;
    assert_pdf(&file, "INV-1.pdf");
    assert_eq!(
        accepted(&shop, &pdf, "application/pdf, */*").await.body,
        file.body,
        "it is printed alike"
    );
    assert_eq!(
        accepted(&shop, &pdf, "application/json;q=0.5, application/pdf")
            .await
            .body,
        file.body
    );

    let expected = json!({
        "id": id, "name": "INV-1.pdf", "extension": "pdf", "mime": PDF, "size": file.body.len(), "encoding": "base64",
        "content": BASE64_STANDARD.encode(&file.body),
    });
    for accept in [
        "*/*",
        "application/json",
        "application/pdf;q=0.5, application/json",
        "text/html",
    ] {
        assert_eq!(accepted(&shop, &pdf, accept).await.ok(), expected, "{accept}");
    }
    let some = shop.api.get(&format!("{pdf}?fields=name,size")).await.ok();
    assert_eq!(some, json!({"name": "INV-1.pdf", "size": file.body.len()}));

    let head = shop.api.request("HEAD", &pdf).header("Accept", PDF).send().await;
    assert_eq!((head.status, head.body.len()), (200, 0));
    for header in ["Content-Type", "Content-Disposition", "ETag", "Content-Length"] {
        assert_eq!(head.header(header), file.header(header), "{header}");
    }
    // It shows what the record shows.
    let change = json!({"reference": "PO 78"});
    shop.api.patch(&path, &change).await.ok();
    assert_ne!(accepted(&shop, &pdf, PDF).await.body, file.body);

    let reader = shop.client("orders:read").await;
    reader.get(&pdf).await.refused(403, "scope_denied");
    shop.rival().await.get(&pdf).await.refused(404, "invoice_not_found");
    shop.api
        .get("/2.0/invoices/x/pdf")
        .await
        .refused(404, "invoice_not_found");
}

async fn what_the_caller_has_is_not_sent_again(engine: Engine) {
    let shop = Shop::open(engine).await;
    let pdf = format!("{}/pdf", issued(&shop, "/2.0/invoices").await);
    let mut tags = Vec::new();
    for accept in [PDF, "application/json"] {
        let known = async |tag: &str| {
            let request = shop.api.request("GET", &pdf).header("Accept", accept);
            request.header("If-None-Match", tag).send().await
        };
        let first = accepted(&shop, &pdf, accept).await;
        let tag = first.header("ETag").expect("it has a tag").to_owned();
        assert!(tag.starts_with('"'), "{tag}");
        let varies = first.header("Vary").unwrap_or_default().to_owned();
        assert!(varies.split(", ").any(|name| name == "Accept"), "{varies}");
        let again = known(&tag).await;
        assert_eq!((again.status, again.body.len()), (304, 0));
        let varies = again.header("Vary").unwrap_or_default().to_owned();
        assert!(varies.split(", ").any(|name| name == "Accept"), "{varies}");
        assert_eq!(again.header("ETag"), Some(&*tag));
        assert_eq!(known("\"other\"").await.status, 200);
        tags.push(tag);
    }
    assert_ne!(tags[0], tags[1], "the forms differ");
}

async fn a_credit_note_is_printed_in_place_of_its_invoice(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = issued(&shop, "/2.0/invoices").await;
    let other = issued(&shop, "/2.0/invoices").await;
    let credit = json!({"reason": "A scratch", "lines": [{"line": 1, "gross": 40}]});
    shop.api.post(&format!("{path}/credit"), &credit).await.ok();
    let note = format!("{path}/pdf?credit_note=CN-1");
    assert_pdf(&accepted(&shop, &note, PDF).await, "CN-1.pdf");
    assert_eq!(shop.api.get(&note).await.ok()["name"], "CN-1.pdf");
    for (path, note) in [(&other, "CN-1"), (&path, "CN-2"), (&path, "INV-1"), (&path, "x")] {
        let answer = shop.api.get(&format!("{path}/pdf?credit_note={note}")).await;
        answer.refused(404, "invoice_not_found");
    }
    assert_eq!(
        shop.api.get(&format!("{path}/pdf?credit_note=")).await.ok()["name"],
        "INV-1.pdf"
    );
}

async fn an_order_is_printed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = draft(&shop, "/2.0/orders", &customer(&shop).await).await;
    let pdf = format!("{path}/pdf");
    let id = path.rsplit('/').next().unwrap();
    assert_pdf(&accepted(&shop, &pdf, PDF).await, &format!("draft-{id}.pdf"));
    shop.api.post(&format!("{path}/issue"), &json!({})).await.ok();
    let file = accepted(&shop, &pdf, PDF).await;
    assert_pdf(&file, "ORD-1.pdf");
    let shown = shop.api.get(&pdf).await.ok();
    assert_eq!(shown["content"], BASE64_STANDARD.encode(&file.body));
    shop.rival().await.get(&pdf).await.refused(404, "order_not_found");
}

/// Returns the file that a mail carries, with its name.
fn attachment(mail: &str) -> (String, Vec<u8>) {
    let (_, part) = mail
        .split_once("Content-Disposition: attachment; filename=\"")
        .expect("it has an attachment");
    let (name, rest) = part.split_once('"').unwrap();
    let (_, content) = rest.split_once("\r\n\r\n").unwrap();
    let content = content.split("\r\n--").next().unwrap().replace("\r\n", "");
    (name.to_owned(), BASE64_STANDARD.decode(content).unwrap())
}

async fn a_document_is_mailed_to_its_customer(engine: Engine) {
    let shop = Shop::open(engine).await;
    for (list, number) in [("/2.0/invoices", "INV-1"), ("/2.0/orders", "ORD-1")] {
        let path = issued(&shop, list).await;
        let before = shop.api.get(&path).await.ok();
        let events = shop.api.list("/2.0/events").await.items.len();
        let mails = shop.installation().mails().len();
        let send = || {
            shop.api
                .request("POST", &format!("{path}/send"))
                .key(number)
                .json(&json!({}))
                .send()
        };
        let sent = send().await.ok();
        let expected = json!({"id": before["id"], "number": number, "email": "amelia@hart.example", "sent": true});
        assert_eq!(sent, expected);
        let again = send().await;
        assert_eq!(
            (again.ok(), again.header("X-Idempotent-Replay")),
            (expected, Some("true"))
        );
        let all = shop.installation().mails();
        assert_eq!(all.len(), mails + 1, "a retry sends none");
        let mail = all.iter().find(|mail| mail.contains(&format!("{number}.pdf"))).unwrap();
        assert!(
            mail.contains("To: amelia@hart.example") && mail.contains("Reply-To: office@acme.example"),
            "{mail}"
        );
        assert!(mail.contains("Hello Amelia Hart"), "{mail}");
        let file = accepted(&shop, &format!("{path}/pdf"), PDF).await;
        assert!(attachment(mail) == (format!("{number}.pdf"), file.body));
        // Nothing changes.
        assert_eq!(shop.api.get(&path).await.ok(), before);
        assert_eq!(shop.api.list("/2.0/events").await.items.len(), events);
    }
}

async fn a_document_is_mailed_in_the_words_of_the_caller(engine: Engine) {
    let shop = Shop::open(engine).await;
    let texts = json!({"settings": {"language": "de", "mail_texts": {"de": {"document_sent": {"text": "Von uns: {{document}}\n{{message}}"}}}}});
    shop.business.change(texts).await;
    let send = format!("{}/send", issued(&shop, "/2.0/invoices").await);
    // Every server follows the change within seconds.
    wait_for("the texts are the business's own", TIMEOUT, async || {
        let body = json!({"email": "office@lender.example", "subject": "Two papers", "message": "Line one\nLine two"});
        assert_eq!(shop.api.post(&send, &body).await.ok()["email"], "office@lender.example");
        let mails = shop.installation().mails();
        let own = |mail: &&String| mail.contains("Von uns: Rechnung INV-1\r\nLine one\r\nLine two");
        mails
            .iter()
            .find(own)
            .is_some_and(|mail| mail.contains("Subject: Two papers\r\n"))
    })
    .await;
    for body in [json!({"email": "nobody"}), json!({"email": 1})] {
        shop.api.post(&send, &body).await.invalid(&["email"]);
    }
    let wrong = json!({"email": "x", "subject": 1, "message": []});
    shop.api
        .post(&send, &wrong)
        .await
        .invalid(&["email", "subject", "message"]);
}

async fn what_is_not_in_force_is_not_mailed(engine: Engine) {
    let shop = Shop::open(engine).await;
    let contact = customer(&shop).await;
    for (list, code) in [
        ("/2.0/invoices", "invoice_not_issued"),
        ("/2.0/orders", "order_invalid_status"),
    ] {
        let path = draft(&shop, list, &contact).await;
        let send = format!("{path}/send");
        shop.api.post(&send, &json!({})).await.refused(409, code);
        shop.api.post(&format!("{path}/cancel"), &json!({})).await.ok();
        shop.api.post(&send, &json!({})).await.refused(409, code);
        // A cancelled one can still be looked at.
        assert_eq!(accepted(&shop, &format!("{path}/pdf"), PDF).await.status, 200);
        let missing = shop.api.post(&format!("{list}/987654321/send"), &json!({})).await;
        missing.refused(
            404,
            if list == "/2.0/orders" {
                "order_not_found"
            } else {
                "invoice_not_found"
            },
        );
        let path = draft(&shop, list, &contact).await;
        shop.api.post(&format!("{path}/issue"), &json!({})).await.ok();
        let old = shop
            .api
            .request("POST", &format!("{path}/send"))
            .header("If-Match", "\"1\"");
        old.json(&json!({})).send().await.refused(412, "precondition_failed");
    }
    let nobody = json!({"email": ""});
    shop.api.patch(&format!("/2.0/contacts/{contact}"), &nobody).await.ok();
    for list in ["/2.0/invoices", "/2.0/orders"] {
        let path = draft(&shop, list, &contact).await;
        shop.api.post(&format!("{path}/issue"), &json!({})).await.ok();
        shop.api
            .post(&format!("{path}/send"), &json!({}))
            .await
            .invalid(&["email"]);
    }
    assert!(shop.installation().mails().is_empty());
}

async fn a_mail_that_fails_is_an_answer_of_its_own(engine: Engine) {
    let office = PostOffice::open().await;
    let shop = Shop::open_with(engine, |serve| serve.env("FORECOURT_SMTP_URL", office.url())).await;
    let send = format!("{}/send", issued(&shop, "/2.0/invoices").await);
    office.refuse("amelia@hart.example");
    let try_once = || shop.api.request("POST", &send).key("once").json(&json!({})).send();
    for _ in 0..2 {
        try_once().await.refused(500, "document_send_failed");
    }
    assert!(office.letters().is_empty());
    let elsewhere = json!({"email": "office@lender.example"});
    shop.api.post(&send, &elsewhere).await.ok();
    let letters = office.letters();
    assert_eq!((letters.len(), letters[0].to.len()), (1, 1));
    let (name, file) = attachment(&letters[0].content.replace("\r\n", "\n").replace('\n', "\r\n"));
    assert!(name == "INV-1.pdf" && file.starts_with(b"%PDF"));
}

async fn a_mail_beyond_the_quota_fails(engine: Engine) {
    let quota = "FORECOURT_MAILS_PER_BUSINESS_PER_DAY";
    let shop = Shop::open_with(engine, |serve| serve.env(quota, 1)).await;
    let send = format!("{}/send", issued(&shop, "/2.0/orders").await);
    shop.api.post(&send, &json!({})).await.ok();
    shop.api
        .post(&send, &json!({}))
        .await
        .refused(500, "document_send_failed");
}

async fn a_mail_that_is_held_keeps_its_attachment(engine: Engine) {
    let shop = Shop::open(engine).await;
    let path = issued(&shop, "/2.0/invoices").await;
    switch(&shop, ["hold"]).await;
    until_held(&shop.server, true).await;
    shop.api.post(&format!("{path}/send"), &json!({})).await.ok();
    assert!(shop.installation().mails().is_empty());
    switch(&shop, ["release"]).await;
    wait_for("the mail is sent", TIMEOUT, async || {
        shop.installation().mails().len() == 1
    })
    .await;
    let file = accepted(&shop, &format!("{path}/pdf"), PDF).await;
    assert!(attachment(&shop.installation().mails()[0]) == ("INV-1.pdf".to_owned(), file.body));
}

async fn a_mail_that_is_held_goes_with_its_contact(engine: Engine) {
    let shop = Shop::open(engine).await;
    let texts =
        json!({"settings": {"mail_texts": {"en": {"document_sent": {"subject": "Hello", "text": "{{message}}"}}}}});
    shop.business.change(texts).await;
    let path = issued(&shop, "/2.0/invoices").await;
    let contact = shop.api.get(&path).await.ok()["customer"].clone();
    let to = |address: &str| json!({"email": address, "message": "The papers", "subject": "The papers"});
    // In the spool, and then waiting; neither names anybody.
    wait_for("the texts are the business's own", TIMEOUT, async || {
        shop.api
            .post(&format!("{path}/send"), &to("office@lender.example"))
            .await
            .ok();
        shop.installation().mails().iter().any(|mail| !mail.contains("Amelia"))
    })
    .await;
    switch(&shop, ["hold"]).await;
    until_held(&shop.server, true).await;
    shop.api
        .post(&format!("{path}/send"), &to("office@lender.example"))
        .await
        .ok();
    shop.api.delete(&format!("/2.0/contacts/{contact}")).await.ok();
    wait_for("the spool has none of them", TIMEOUT, async || {
        shop.installation().mails().is_empty()
    })
    .await;
    switch(&shop, ["release"]).await;
    until_held(&shop.server, false).await;
    let other = issued(&shop, "/2.0/orders").await;
    shop.api.post(&format!("{other}/send"), &json!({})).await.ok();
    wait_for("a later mail is sent", TIMEOUT, async || {
        !shop.installation().mails().is_empty()
    })
    .await;
    assert_eq!(shop.installation().mails().len(), 1, "what waited is gone");
}
