use std::sync::Mutex;

use async_trait::async_trait;
use forecourt_kernel::{BusinessId, Mail, MailError, Mailer, ScopeSet, Timestamp, WebhookId};
use forecourt_webhooks::{Answer, Parcel, Secret, TargetUrl, Watcher as _};
use tokio::task::LocalSet;

use super::*;
use crate::{
    memory::{FixedClock, Memory},
    shutdown::{Trigger, shutdown},
    system::SystemRandom,
};

const KEY: EndpointKey = EndpointKey {
    business: BusinessId::new(1),
    webhook: WebhookId::new(1),
};

/// Delivers everything, and remembers where to. The first delivery asks for the end.
struct Postman {
    urls: Mutex<Vec<String>>,
    end: Arc<Trigger>,
}

#[async_trait]
impl Courier for Postman {
    async fn post(&self, parcel: Parcel) -> Attempt {
        self.urls.lock().unwrap().push(parcel.url);
        self.end.pull();
        let answer = Answer {
            status: 200,
            body: String::new(),
        };
        Attempt {
            took_ms: 1,
            outcome: Ok(answer),
        }
    }
}

struct NoMail;

#[async_trait]
impl Mailer for NoMail {
    async fn send(&self, _: &Mail) -> Result<(), MailError> {
        Ok(())
    }
}

fn endpoint(url: &str) -> Endpoint {
    Endpoint {
        key: KEY,
        business_tag: "acme".into(),
        url: TargetUrl::from_stored(url.into()),
        secret: Secret::from_stored("whsec_x".into()),
        scopes: ScopeSet::all(),
        active: true,
    }
}

fn ping(lease: i64) -> DueDelivery {
    DueDelivery {
        id: DeliveryId::new(1),
        topic: Topic::Ping,
        event_id: "1".into(),
        data: None,
        happened: Timestamp::from_epoch_seconds(0),
        attempts: 0,
        first_attempt: None,
        lease: Moment::from_epoch_millis(lease),
    }
}

/// Hands over a ping that is leased until `lease` while the database is away for the first two looks into it, and says which
/// endpoints were `changed`; then sends until the end is asked for. Answers where to something was delivered.
async fn sent_in_an_absence(
    database: &Memory,
    lease: i64,
    changed: Vec<EndpointKey>,
    ends: impl AsyncFn(&Trigger),
) -> Vec<String> {
    let (end, shutdown) = shutdown();
    let end = Arc::new(end);
    let postman = Arc::new(Postman {
        urls: Mutex::default(),
        end: Arc::clone(&end),
    });
    database.arrange(|state| state.endpoints.push(endpoint("https://new.example/")));
    database.cut(true);
    let (desk, mut arriving) = Desk::new(|_| ());
    let desk = Arc::new(desk);
    let ports = Ports {
        database: Arc::new(database.clone()),
        clock: Arc::new(FixedClock::at(0)),
        mailer: Arc::new(NoMail),
    };
    let sending = Sending {
        desk: Arc::clone(&desk),
        courier: Arc::clone(&postman) as Arc<dyn Courier>,
        policy: Policy::default(),
        projections: Projections::default(),
        random: Arc::new(SystemRandom),
    };
    desk.committed(News {
        deliveries: vec![HandedOver {
            due: ping(lease),
            endpoint: Arc::new(endpoint("https://old.example/")),
        }],
        changed,
        ..News::default()
    });
    let mending = async {
        // The first look is taken before the sender has heard of anything.
        while database.refused() < 2 {
            time::sleep(Duration::from_millis(10)).await;
        }
        database.cut(false);
        ends(&end).await;
    };
    let sent = async { tokio::join!(send(ports, sending, &mut arriving, shutdown), mending) };
    let sent = time::timeout(LOOK, LocalSet::new().run_until(sent)).await;
    assert!(sent.is_ok(), "it does not end");
    postman.urls.lock().unwrap().clone()
}

/// Whoever changed the endpoint, and the database's absence, leave a delivery behind that only a look into the database can
/// set free.
#[tokio::test]
async fn a_delivery_whose_endpoint_could_not_be_read_goes_out_when_it_can_be() {
    let database = Memory::default();
    let delivered = sent_in_an_absence(&database, 3_600_000, vec![KEY], async |_: &Trigger| ()).await;
    assert_eq!(delivered, ["https://new.example/"]);
}

/// Somebody else may have it by then.
#[tokio::test]
async fn what_could_not_be_given_back_is_left_until_its_lease_is_over() {
    let database = Memory::default();
    let looked = async |end: &Trigger| {
        while database.sessions() == 0 {
            time::sleep(Duration::from_millis(10)).await;
        }
        end.pull();
    };
    let delivered = sent_in_an_absence(&database, 0, Vec::new(), looked).await;
    assert_eq!(delivered, [""; 0]);
    assert_eq!(database.state().given_back, []);
}
