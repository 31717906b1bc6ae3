//! Deletions that are longer than one transaction: of a contact with many records, and of a business.

use std::time::{Duration, Instant};

use harness::{Client, Engine, Shop, both_engines, eventually, wait_for};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

both_engines! {
    a_long_erasure_delays_no_other_request
    an_erasure_continues_after_a_crash
    a_stored_answer_forgets_a_contact_that_was_linked_later
    a_large_business_is_gone_at_once_and_delays_no_other
}

/// The maximum time for background work on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);
const CONTACTS: &str = "/2.0/contacts";
const LEADS: &str = "/2.0/leads";

/// A client that writes until it is stopped.
struct Writer(JoinHandle<usize>, tokio::sync::oneshot::Sender<()>);

impl Writer {
    fn start(client: Client) -> Self {
        let (stop, mut stopped) = tokio::sync::oneshot::channel();
        let work = tokio::spawn(async move {
            let mut written = 0;
            while stopped.try_recv().is_err() {
                client.post(LEADS, &json!({"name": "Bea"})).await.created();
                written += 1;
            }
            written
        });
        Self(work, stop)
    }

    /// Stops it; returns how often it has written.
    async fn written(self) -> usize {
        self.1.send(()).unwrap();
        self.0.await.unwrap()
    }
}

/// Creates a contact that had `names` names, and is linked to `leads` leads of 60 KB; returns it with the paths of these.
async fn well_known(shop: &Shop, names: usize, leads: usize) -> (String, Vec<String>) {
    let body = json!({"name": "Ann Quillfeather", "email": "ann@quillfeather.example", "mobile": "07700 900123"});
    let contact = shop.api.post(CONTACTS, &body).await.created();
    let path = format!("{CONTACTS}/{}", contact["id"]);
    for number in 0..names {
        let former =
            json!({"name": format!("Ann Quillfeather {number}"), "email": format!("ann{number}@quillfeather.example")});
        shop.api.patch(&path, &former).await.ok();
    }
    let text = "Ann Quillfeather, ann7@quillfeather.example, +44 7700 900123 or Ann Quillfeather 3. ".repeat(720);
    let mut paths = Vec::new();
    for _ in 0..leads {
        let lead = json!({"name": "Ann Quillfeather", "contact": contact["id"], "data": {"message": text}});
        let lead = shop.lead(&lead).await;
        paths.push(format!("{LEADS}/{}", lead["id"]));
    }
    (path, paths)
}

/// Waits until the events of the lead that is erased last are erased.
async fn erased(shop: &Shop, leads: &[String]) {
    let last = leads.last().unwrap().rsplit('/').next().unwrap();
    let events = format!("/2.0/events?resource=lead&record={last}");
    wait_for("all is erased", TIMEOUT, async || {
        let events = shop.api.get(&events).await.list().items;
        let text = json!(events).to_string().to_lowercase();
        events.len() > 1 && !text.contains("quillfeather")
    })
    .await;
}

fn assert_forgotten(what: &str, text: &str) {
    let text = text.to_lowercase();
    for trace in ["quillfeather", "7700900123", "7700 900123"] {
        assert!(!text.contains(trace), "{what} has {trace}");
    }
}

async fn a_long_erasure_delays_no_other_request(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let (contact, leads) = well_known(&shop, 100, 100).await;
    let writer = Writer::start(shop.rival().await);
    shop.api.delete(&contact).await.ok();
    shop.api.get(&contact).await.refused(404, "contact_not_found");
    assert_eq!(shop.api.list(CONTACTS).await.pagination["total"], 0);
    let id = contact.rsplit('/').next().unwrap();
    assert_eq!(
        shop.api.list(&format!("{LEADS}?contact={id}")).await.pagination["total"],
        0
    );
    for lead in [leads.first(), leads.last()] {
        assert_eq!(shop.api.get(lead.unwrap()).await.ok()["contact"], Value::Null);
    }
    erased(&shop, &leads).await;
    // A writer that waited for all of it would have written once.
    let written = writer.written().await;
    assert!(written > 3, "another business has written {written} times meanwhile");
    for lead in [leads.first(), leads.last()] {
        let lead = shop.api.get(lead.unwrap()).await.ok();
        assert_eq!((&lead["name"], &lead["contact"]), (&json!(""), &Value::Null));
        assert_forgotten("the lead", &lead.to_string());
    }
    let updates = shop.api.walk("/2.0/events?event=lead.updated").await;
    assert_eq!(updates.len(), leads.len(), "each lead's change is delivered once");
    shop.server.terminate().await;
    let held = shop.installation().database_bytes().await;
    assert_forgotten("the database", &String::from_utf8_lossy(&held));
}

async fn an_erasure_continues_after_a_crash(engine: Engine) {
    let mut shop = Shop::open(engine).await;
    let (contact, leads) = well_known(&shop, 8, 90).await;
    shop.api.delete(&contact).await.ok();
    shop.server.kill9().await;
    shop.server.restart().await;
    shop.api.get(&contact).await.refused(404, "contact_not_found");
    erased(&shop, &leads).await;
    // The steps after the leads continue at each start.
    let mut held = String::new();
    let deadline = Instant::now() + TIMEOUT;
    while Instant::now() < deadline {
        shop.server.terminate().await;
        let bytes = shop.installation().database_bytes().await;
        held = String::from_utf8_lossy(&bytes).to_lowercase();
        if !held.contains("quillfeather") {
            break;
        }
        shop.server.restart().await;
    }
    assert_forgotten("the database", &held);
}

async fn a_stored_answer_forgets_a_contact_that_was_linked_later(engine: Engine) {
    let shop = Shop::open(engine).await;
    let body = json!({"name": "Ann Quillfeather", "email": "ann@quillfeather.example", "mobile": "07700 900123"});
    let create = || shop.api.request("POST", LEADS).key("create").json(&body);
    let lead = create().send().await.created();
    let path = format!("{LEADS}/{}", lead["id"]);
    let read = || {
        shop.api
            .request("PATCH", &format!("{path}/status"))
            .key("read")
            .json(&json!({"status": "read"}))
    };
    read().send().await.ok();
    let contact = shop.api.post(CONTACTS, &body).await.created();
    shop.api.patch(&path, &json!({"contact": contact["id"]})).await.ok();
    shop.api.delete(&format!("{CONTACTS}/{}", contact["id"])).await.ok();
    eventually("the first answer is emptied", TIMEOUT, async || {
        let again = create().send().await.created();
        if again == json!({"id": lead["id"]}) {
            Ok(())
        } else {
            Err(again)
        }
    })
    .await;
    assert_eq!(read().send().await.ok(), json!({"id": lead["id"]}));
}

async fn a_large_business_is_gone_at_once_and_delays_no_other(engine: Engine) {
    let shop = Shop::open(engine).await;
    let sample = [
        "sample",
        "--business",
        "acme",
        "--vehicles",
        "200",
        "--leads",
        "5000",
        "--contacts",
        "500",
    ];
    shop.installation().run(sample).await.succeeded();
    let writer = Writer::start(shop.rival().await);
    shop.business.delete().await;
    // A writer that waited for all of it would have written once.
    let written = writer.written().await;
    assert!(written > 3, "another business has written {written} times meanwhile");
    eventually("its keys know no business", TIMEOUT, async || {
        let answer = shop.api.get(LEADS).await;
        if answer.status == 403 {
            Ok(answer)
        } else {
            Err(answer.status)
        }
    })
    .await
    .refused(403, "business_not_found");
    let anew = Shop::on(shop.server).await;
    assert_eq!(anew.api.list(LEADS).await.pagination["total"], 0);
}
