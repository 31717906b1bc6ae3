//! Leads that `forecourt lead import` makes of mails.

use harness::{Engine, Shop, both_engines};
use serde_json::{Value, json};

use crate::lead_create::shown_detail;

both_engines! {
    a_mail_becomes_a_lead_once
    what_is_no_mail_holds_up_no_other
    what_takes_longer_than_its_length_is_no_lead
}

fn mail(id: &str) -> String {
    format!(
        "From: =?utf-8?q?Zo=C3=AB?= Lee <zoe@example.com>\r\nTo: office@acme.example\r\nSubject: Golf\r\n\
         Message-ID: <{id}@example.com>\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n\
         --b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nIs it there?\r\n\
         --b\r\nContent-Type: image/jpeg; name=\"car.jpg\"\r\nContent-Transfer-Encoding: base64\r\n\r\n/9g=\r\n--b--\r\n"
    )
}

async fn a_mail_becomes_a_lead_once(engine: Engine) {
    let shop = Shop::open(engine).await;
    let installation = shop.installation();
    let (one, two) = (
        installation.write("eml", mail("one")),
        installation.write("eml", mail("two")),
    );
    let import = async || {
        let arguments = ["lead", "import", &one, &two, "--business", "acme", "--json"];
        installation.run(arguments).await.json()
    };
    let first = import().await;
    let leads = shop.api.list("/2.0/leads").await.items;
    let outcomes = |report: &Value| -> Vec<Value> {
        let mails = report["mails"].as_array().unwrap();
        mails.iter().map(|mail| mail["outcome"].clone()).collect()
    };
    assert_eq!(outcomes(&first), ["created", "created"]);
    assert_eq!((leads.len(), &first["mails"][1]["lead"]), (2, &leads[0]["id"]));
    let lead = shop.api.get(&format!("/2.0/leads/{}", leads[1]["id"])).await.ok();
    let expected = shown_detail(json!({
        "subject": "Golf", "message": "Is it there?", "message_id": "one@example.com", "attachments": ["car.jpg"],
    }));
    assert_eq!(
        (&lead["channel"], &lead["name"], &lead["email"], &lead["data"]),
        (&json!("email"), &json!("Zoë Lee"), &json!("zoe@example.com"), &expected)
    );
    let events = shop.api.list("/2.0/events?event=lead.created").await.items;
    assert_eq!(events.len(), 2);
    // It is not made again, even once the lead is deleted.
    shop.api.delete(&format!("/2.0/leads/{}", leads[1]["id"])).await.ok();
    assert_eq!(outcomes(&import().await), ["known", "known"]);
    assert_eq!(shop.api.list("/2.0/leads").await.items.len(), 1);
}

async fn what_is_no_mail_holds_up_no_other(engine: Engine) {
    let shop = Shop::open(engine).await;
    let installation = shop.installation();
    let long = mail("long").replace("Is it there?", &"x".repeat(20_001));
    let files = ["hello".to_owned(), long, mail("one")].map(|content| installation.write("eml", content));
    let [no_mail, long, good] = &files;
    let files = [no_mail.as_str(), long, "/nowhere/x.eml", good].map(str::to_owned);
    let mut arguments = vec!["lead", "import", "--business", "acme"];
    arguments.extend(files.iter().map(String::as_str));
    let outcome = installation.run(arguments).await;
    assert!(!outcome.status.success(), "{outcome:#?}");
    assert!(outcome.stderr.contains("3 of 4 mails"), "{outcome:#?}");
    for file in &files {
        assert!(outcome.stdout.contains(file), "{outcome:#?}");
    }
    let leads = shop.api.list("/2.0/leads").await.items;
    assert_eq!(leads.len(), 1);
    installation
        .run(["lead", "import", good, "--business", "stranger"])
        .await
        .failed_naming("stranger");
}

async fn what_takes_longer_than_its_length_is_no_lead(engine: Engine) {
    let shop = Shop::open(engine).await;
    let installation = shop.installation();
    let words = "=?utf-8?q?a?=".repeat(1_000_000);
    let nested: String = (0..100_000)
        .map(|at| format!("Content-Type: multipart/mixed; boundary=b{at}\r\n\r\n--b{at}\r\n"))
        .collect();
    let files = [
        mail("words").replace("Golf", &words),
        mail("name").replace("=?utf-8?q?Zo=C3=AB?=", &words),
        mail("parts").replace("--b--", &"--b\r\n\r\nx\r\n".repeat(500)),
        format!("From: zoe@example.com\r\nMessage-ID: <nested@example.com>\r\n{nested}"),
        mail("size") + &"x".repeat(25 * 1024 * 1024),
    ];
    let files = files.map(|content| installation.write("eml", content));
    let mut arguments = vec!["lead", "import", "--business", "acme", "--json"];
    arguments.extend(files.iter().map(String::as_str));
    let outcome = installation.run(arguments).await;
    assert!(!outcome.status.success(), "{outcome:#?}");
    let report: Value = serde_json::from_str(&outcome.stdout).unwrap();
    for mail in report["mails"].as_array().unwrap() {
        assert_eq!(mail["outcome"], "failed", "{mail}");
    }
    assert_eq!(shop.api.list("/2.0/leads").await.items.len(), 0);
}
