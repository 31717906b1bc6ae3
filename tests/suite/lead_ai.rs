//! The analyst's work on leads: rating, summary and the read status, in the background.

use std::time::Duration;

use harness::{Engine, Shop, both_engines, eventually};
use serde_json::{Value, json};
use tokio::task::JoinSet;

both_engines! {
    a_lead_is_rated_and_rated_again_with_each_message
    high_confidence_junk_leaves_the_inbox_unless_it_was_answered
    each_lead_is_read_once_by_two_servers_of_which_one_is_killed
}

const LEADS: &str = "/2.0/leads";
/// The maximum time until a conversation is read that a killed server had leased.
const TIMEOUT: Duration = Duration::from_secs(60);
const SPAM: &str = "Dear website owner, we are an SEO agency and guarantee first page rankings on Google. Buy cheap backlinks now: \
                    https://seo-rankings.example/buy https://backlinks.example/cheap. Reply for a free audit of your website!";

async fn shop_with_rules(engine: Engine) -> Shop {
    Shop::open_with(engine, |serve| serve.env("FORECOURT_LEAD_AI", "rules")).await
}

/// Creates a lead with this message; returns its path.
async fn enquiry(shop: &Shop, message: &str) -> String {
    let lead = json!({
        "name": "Ann Smith", "email": "ann@example.com", "type": "email", "channel": "website", "data": {"message": message},
    });
    format!("{LEADS}/{}", shop.lead(&lead).await["id"])
}

/// Returns the lead once it was read.
async fn read(shop: &Shop, path: &str) -> Value {
    eventually("the lead was read", TIMEOUT, async || {
        let lead = shop.api.get(path).await.ok();
        if lead["ai"].is_null() { Err(lead) } else { Ok(lead) }
    })
    .await
}

async fn a_lead_is_rated_and_rated_again_with_each_message(engine: Engine) {
    let shop = shop_with_rules(engine).await;
    let path = enquiry(
        &shop,
        "Hi, I want to buy the Golf and can pay the deposit today. When can I collect it?",
    )
    .await;
    let lead = read(&shop, &path).await;
    assert!(lead["rating"].as_i64().unwrap() >= 4, "{lead}");
    let summary = lead["summary"].as_str().unwrap();
    assert!((1..=12).contains(&summary.split_whitespace().count()), "{summary}");
    assert_eq!(lead["ai"]["junk"], false, "{lead}");
    assert_eq!(lead["version"], 2);
    let names = |events: &[Value]| -> Vec<String> {
        events
            .iter()
            .map(|event| event["event"].as_str().unwrap().to_owned())
            .collect()
    };
    let log = shop.api.walk("/2.0/events?per_page=500").await;
    assert_eq!(names(&log), ["lead.created", "lead.updated"]);
    assert_eq!(log[1]["data"], lead);

    let body = json!({"direction": "in", "channel": "website", "subject": "", "body": "Sorry, I bought one elsewhere. Please remove me."});
    shop.api.post(&format!("{path}/messages"), &body).await.created();
    let read_again = eventually("the message was read", TIMEOUT, async || {
        let read = shop.api.get(&path).await.ok();
        if read["rating"] == 1 { Ok(read) } else { Err(read) }
    })
    .await;
    assert_eq!(read_again["status"]["name"], "new_message", "{read_again}");
}

async fn high_confidence_junk_leaves_the_inbox_unless_it_was_answered(engine: Engine) {
    let shop = shop_with_rules(engine).await;
    let path = enquiry(&shop, SPAM).await;
    let lead = read(&shop, &path).await;
    assert_eq!(
        (&lead["ai"]["junk"], &lead["ai"]["junk_confidence"]),
        (&json!(true), &json!("high")),
        "{lead}"
    );
    assert_eq!(lead["status"]["name"], "junk");

    let answered = enquiry(&shop, "Is the Golf still there?").await;
    read(&shop, &answered).await;
    let reply = json!({"direction": "out", "channel": "website", "subject": "", "body": "It is."});
    shop.api.post(&format!("{answered}/messages"), &reply).await.created();
    let spam = json!({"direction": "in", "channel": "website", "subject": "", "body": SPAM});
    shop.api.post(&format!("{answered}/messages"), &spam).await.created();
    let lead = eventually("the message was read", TIMEOUT, async || {
        let lead = shop.api.get(&answered).await.ok();
        if lead["ai"]["junk"] == true {
            Ok(lead)
        } else {
            Err(lead)
        }
    })
    .await;
    assert_ne!(lead["status"]["name"], "junk", "{lead}");
}

async fn each_lead_is_read_once_by_two_servers_of_which_one_is_killed(engine: Engine) {
    let mut shop = shop_with_rules(engine).await;
    let other = match engine {
        // A file has only one server.
        Engine::Sqlite => None,
        Engine::Postgres => {
            let serve = shop.installation().serve().env("FORECOURT_LEAD_AI", "rules");
            Some(serve.start().await)
        }
    };
    let mut requests = JoinSet::new();
    for number in 0..60 {
        let client = shop.api.clone();
        let lead = json!({"name": format!("Ann {number}"), "email": "ann@example.com", "data": {"message": "Is the Golf still there?"}});
        requests.spawn(async move { client.post(LEADS, &lead).await.created() });
    }
    let leads = requests.join_all().await;
    shop.server.kill9().await;
    shop.server.restart().await;
    for lead in &leads {
        read(&shop, &format!("{LEADS}/{}", lead["id"])).await;
    }
    let log = shop.api.walk("/2.0/events?per_page=500").await;
    for lead in &leads {
        let of_lead = log.iter().filter(|event| event["data"]["id"] == lead["id"]);
        let names: Vec<&Value> = of_lead.map(|event| &event["event"]).collect();
        assert_eq!(names, ["lead.created", "lead.updated"]);
    }
    drop(other);
}
