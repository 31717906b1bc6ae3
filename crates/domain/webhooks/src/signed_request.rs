//! Requests to endpoints: the body, and the headers that authenticate it (contract, "Delivery request" and "Signature").

use std::{borrow::Cow, fmt::Write as _};

use forecourt_kernel::{EventName, ScopeSet, Timestamp, WebhookId};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use sha2::Sha256;

use crate::{DueDelivery, Endpoint, Secret, SignedRequest, Topic};

/// The API version in envelopes (contract, "Versioning").
pub const API_VERSION: &str = "2.0";

/// A function that removes from the record of an event what the event does not show to a reader with these scopes. The record may
/// be from a later event of the same record: an update that settled shows the latest state.
pub type Projection = fn(&mut Value, EventName, ScopeSet);

/// The projections of records in events, by resource. Records of other resources are shown whole.
#[derive(Clone, Debug, Default)]
pub struct Projections(Vec<(&'static str, Projection)>);

impl Projections {
    /// The projections of these resources.
    pub const fn new(of_resources: Vec<(&'static str, Projection)>) -> Self {
        Self(of_resources)
    }

    /// Returns an event's `data` as a reader with `scopes` may see it.
    pub fn apply<'a>(&self, event: EventName, data: &'a str, scopes: ScopeSet) -> Cow<'a, str> {
        let projection = self.0.iter().find(|(resource, _)| *resource == event.resource());
        let Some((_, projection)) = projection else {
            return Cow::Borrowed(data);
        };
        // Data that cannot be parsed cannot be shown in part.
        let mut value = serde_json::from_str(data).unwrap_or(Value::Null);
        projection(&mut value, event, scopes);
        Cow::Owned(value.to_string())
    }
}

/// The body of a delivery, and an event in the event log.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Event))]
pub struct Envelope<'a> {
    /// The event's id: `evt_` and hexadecimal text.
    pub id: &'a str,
    /// The event's name.
    pub event: &'a str,
    /// The version of the API, 2.0.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub api_version: &'static str,
    /// Time of the event, epoch seconds.
    #[cfg_attr(feature = "openapi", schema(value_type = i64))]
    pub created: Timestamp,
    /// The business that owns the record.
    pub business: EnvelopeBusiness<'a>,
    /// The record at the time of the event, projected to the receiver's scopes. Only the id if the record was deleted.
    #[cfg_attr(feature = "openapi", schema(value_type = Object))]
    pub data: &'a RawValue,
}

/// The business of an envelope, so that one endpoint can serve several.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = EventBusiness))]
pub struct EnvelopeBusiness<'a> {
    /// Business id.
    pub id: i64,
    /// Business tag.
    pub tag: &'a str,
}

/// Makes the signed request of a delivery that is sent at `now`. `None` if its event is no longer kept.
pub fn wrap(
    due: &DueDelivery,
    endpoint: &Endpoint,
    projections: &Projections,
    now: Timestamp,
) -> Option<SignedRequest> {
    let data = match due.topic {
        Topic::Ping => Cow::Owned(ping_data(endpoint.key.webhook)),
        Topic::Event(event) => projections.apply(event, due.data.as_deref()?, endpoint.scopes),
    };
    let body = serde_json::to_vec(&Envelope {
        id: &due.event_id,
        event: due.topic.as_str(),
        api_version: API_VERSION,
        created: due.happened,
        business: EnvelopeBusiness {
            id: endpoint.key.business.get(),
            tag: &endpoint.business_tag,
        },
        data: serde_json::from_str(&data).ok()?,
    })
    .ok()?;
    let headers = vec![
        ("Content-Type", "application/json".to_owned()),
        ("X-Service-Signature", sign(&endpoint.secret, now, &body)),
        ("X-Service-Event", due.topic.as_str().to_owned()),
        ("X-Service-Event-Id", due.event_id.clone()),
        ("X-Service-Delivery", due.id.to_string()),
    ];
    Some(SignedRequest {
        business: endpoint.key.business,
        url: endpoint.url.as_str().to_owned(),
        headers,
        body,
    })
}

/// Returns the value of `X-Service-Signature`: `t=<epoch seconds>,v1=<hexadecimal HMAC-SHA256 of "<t>.<body>">`.
pub fn sign(secret: &Secret, at: Timestamp, body: &[u8]) -> String {
    let seconds = at.epoch_seconds();
    #[expect(clippy::expect_used, reason = "an HMAC takes keys of any length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.reveal().as_bytes()).expect("a key of any length");
    mac.update(format!("{seconds}.").as_bytes());
    mac.update(body);
    let mut header = format!("t={seconds},v1=");
    for byte in mac.finalize().into_bytes() {
        // Writing to a `String` does not fail.
        let _ = write!(header, "{byte:02x}");
    }
    header
}

fn ping_data(webhook: WebhookId) -> String {
    format!(r#"{{"webhook":{webhook}}}"#)
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::{BusinessId, DeliveryId, Moment, Scope};

    use super::*;
    use crate::{EndpointKey, TargetUrl};

    fn endpoint(scopes: ScopeSet) -> Endpoint {
        Endpoint {
            key: EndpointKey {
                business: BusinessId::new(3),
                webhook: WebhookId::new(7),
            },
            business_tag: "acme".into(),
            url: TargetUrl::from_stored("https://example.com/hook".into()),
            secret: Secret::from_stored("whsec_test".into()),
            scopes,
            active: true,
        }
    }

    fn due(topic: Topic, data: Option<&str>) -> DueDelivery {
        DueDelivery {
            id: DeliveryId::new(42),
            topic,
            event_id: "evt_00ff".into(),
            record: Some(5),
            data: data.map(Into::into),
            happened: Timestamp::from_epoch_seconds(1_700_000_000),
            attempts: 0,
            first_attempt: None,
            lease: Moment::from_epoch_millis(0),
        }
    }

    const NOW: Timestamp = Timestamp::from_epoch_seconds(1_700_000_005);

    #[test]
    fn a_signed_request_shows_what_happened_and_proves_it() {
        let due = due(Topic::Event(EventName::LeadCreated), Some(r#"{"id":5,"name":"Ann"}"#));
        let signed_request = wrap(&due, &endpoint(ScopeSet::NONE), &Projections::default(), NOW).unwrap();
        let body = r#"{"id":"evt_00ff","event":"lead.created","api_version":"2.0","created":1700000000,"business":{"id":3,"tag":"acme"},"data":{"id":5,"name":"Ann"}}"#;
        assert_eq!(str::from_utf8(&signed_request.body), Ok(body));
        let header = |name| {
            signed_request
                .headers
                .iter()
                .find(|(header, _)| *header == name)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!(header("X-Service-Event"), Some("lead.created"));
        assert_eq!(header("X-Service-Event-Id"), Some("evt_00ff"));
        assert_eq!(header("X-Service-Delivery"), Some("42"));
        assert_eq!(header("Content-Type"), Some("application/json"));
        assert!(header("X-Service-Signature").unwrap().starts_with("t=1700000005,v1="));
    }

    #[test]
    fn a_signature_is_the_one_that_others_compute() {
        // printf '1700000005.{"a":1}' | openssl dgst -sha256 -hmac whsec_test
        let signature = sign(&Secret::from_stored("whsec_test".into()), NOW, br#"{"a":1}"#);
        assert_eq!(
            signature,
            "t=1700000005,v1=37df3224c8e9b5099779f5c49c737837b89c541c0c85682419087fee6e8e6f95"
        );
    }

    #[test]
    fn a_ping_names_its_subscription() {
        let signed_request = wrap(
            &due(Topic::Ping, None),
            &endpoint(ScopeSet::NONE),
            &Projections::default(),
            NOW,
        )
        .unwrap();
        assert!(
            String::from_utf8(signed_request.body)
                .unwrap()
                .ends_with(r#""data":{"webhook":7}}"#)
        );
    }

    #[test]
    fn what_the_scopes_withhold_is_not_sent() {
        fn hide_price(record: &mut Value, _event: EventName, scopes: ScopeSet) {
            if !scopes.contains(Scope::VehiclePricingRead) {
                record.as_object_mut().map(|record| record.remove("price"));
            }
        }
        let projections = Projections::new(vec![("vehicle", hide_price)]);
        let data = r#"{"id":1,"price":2}"#;
        let shown = |event, scopes| projections.apply(event, data, scopes).into_owned();
        assert_eq!(shown(EventName::VehicleSold, ScopeSet::NONE), r#"{"id":1}"#);
        assert_eq!(shown(EventName::VehicleSold, Scope::VehiclePricingRead.into()), data);
        assert_eq!(shown(EventName::LeadCreated, ScopeSet::NONE), data);
    }

    #[test]
    fn an_event_that_is_gone_is_not_sent() {
        let due = due(Topic::Event(EventName::LeadCreated), None);
        assert_eq!(
            wrap(&due, &endpoint(ScopeSet::NONE), &Projections::default(), NOW),
            None
        );
    }
}
