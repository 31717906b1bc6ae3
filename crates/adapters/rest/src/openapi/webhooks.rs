//! The OpenAPI document's section `webhooks`: the requests that endpoints receive (contract, "Delivery request").

use forecourt_calls::CallEventView;
use forecourt_kernel::{EventName, Scope};
use forecourt_webhooks::{API_VERSION, Envelope, Topic};
use serde_json::{Value, json};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        Content, PathItem, Paths, Ref, RefOr, Required, ResponseBuilder, Schema,
        path::{HttpMethod, Operation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn},
        request_body::RequestBodyBuilder,
        schema::{AllOfBuilder, KnownFormat, ObjectBuilder, SchemaFormat, Type},
    },
};

use crate::{areas::AREAS, schemas};

/// The headers of a delivery, beside `Content-Type`.
const HEADERS: [(&str, &str); 4] = [
    (
        "X-Service-Signature",
        "`t=<epoch seconds>,v1=<hexadecimal>`: the HMAC-SHA256 of `<t>.<raw body>`, keyed with the webhook's secret",
    ),
    ("X-Service-Event", "The event's name"),
    (
        "X-Service-Event-Id",
        "The event's id, as in the body: the same in every delivery of it",
    ),
    ("X-Service-Delivery", "The delivery's id"),
];

/// Returns the common schemas of the body, by its name and those of the schemas that it refers to.
pub(crate) fn schemas() -> Vec<(String, RefOr<Schema>)> {
    let mut schemas = vec![(Envelope::name().into_owned(), Envelope::schema())];
    Envelope::schemas(&mut schemas);
    // In events a call has a member more than in answers.
    schemas.push((CallEventView::name().into_owned(), CallEventView::schema()));
    CallEventView::schemas(&mut schemas);
    schemas
}

/// Returns one entry for each event, and one for the test.
pub(crate) fn webhooks() -> Paths {
    let mut webhooks = Paths::new();
    let topics = EventName::ALL.iter().copied().map(Topic::Event);
    for topic in topics.chain([Topic::Ping]) {
        let item = PathItem::new(HttpMethod::Post, delivery(topic));
        webhooks.paths.insert(topic.as_str().to_owned(), item);
    }
    webhooks
}

/// Returns the name of a topic's entry in the document, which is also the end of its address in the reference.
pub(crate) fn operation_id(topic: Topic) -> String {
    format!("on_{}", topic.as_str().replace('.', "_"))
}

fn delivery(topic: Topic) -> Operation {
    let Data { schema, example } = Data::of(topic);
    let about = match topic {
        Topic::Event(event) => event.description(),
        Topic::Ping => "A webhook is being tried out.",
    };
    let needs = match topic {
        Topic::Event(event) if event.resource() == "vehicle" && !shows_the_id_alone(event) => format!(
            "Sent to webhooks whose scopes hold `{}`; the costs and the funding to those that hold `{}` too.",
            event.scope(),
            Scope::VehiclePricingRead
        ),
        Topic::Event(event) => format!("Sent to webhooks whose scopes hold `{}`.", event.scope()),
        Topic::Ping => "Sent by `POST /2.0/webhooks/{id}/ping`, once.".to_owned(),
    };
    let named = ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some([topic.as_str()]));
    let body = AllOfBuilder::new()
        .item(Ref::from_schema_name(Envelope::name()))
        .item(ObjectBuilder::new().property("event", named).property("data", schema));
    let mut content = Content::new(Some(body));
    content.example = Some(json!({
        "id": "evt_5f0c9e2ab14d48a7936c1d20e8f7b365",
        "event": topic.as_str(),
        "api_version": API_VERSION,
        "created": 1_767_225_600,
        "business": {"id": 1, "tag": "acme"},
        "data": example,
    }));
    let request = RequestBodyBuilder::new()
        .content("application/json", content)
        .required(Some(Required::True));
    let response = |about: &str| ResponseBuilder::new().description(about).build();
    let mut operation = OperationBuilder::new()
        .tag("webhooks")
        .operation_id(Some(operation_id(topic)))
        .summary(Some(about))
        .description(Some(needs))
        .parameters(Some(HEADERS.map(header)))
        .request_body(Some(request.build()))
        .response("2XX", response("It is delivered."))
        .response("default", response("It is not, and tried again later."))
        .build();
    // A delivery needs no credential of the receiver's: it is signed.
    operation.security = Some(Vec::new());
    operation
}

fn header((name, about): (&str, &str)) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::True)
        .description(Some(about))
        .schema(Some(schemas::line()))
        .build()
}

/// The data of an event: the members that it shows of its record.
struct Data {
    schema: RefOr<Schema>,
    example: Value,
}

impl Data {
    fn of(topic: Topic) -> Self {
        let Topic::Event(event) = topic else {
            return Self::number("webhook");
        };
        if shows_the_id_alone(event) {
            return Self::number("id");
        }
        let mut records = AREAS.iter().flat_map(|area| area.records);
        match records.find(|record| record.resource == event.resource()) {
            Some(record) => {
                let mut example = (record.example)();
                // Calls have a schema of their own for this.
                if matches!(
                    record.resource,
                    "invoice" | "order" | "purchase" | "appointment" | "deal"
                ) {
                    forecourt_kernel::add_changed(None, &mut example);
                }
                Self {
                    schema: schema_of(record.schema, &example),
                    example,
                }
            }
            None => Self {
                schema: ObjectBuilder::new().schema_type(Type::Object).into(),
                example: json!({"id": 1042}),
            },
        }
    }

    fn number(name: &str) -> Self {
        let number = ObjectBuilder::new()
            .schema_type(Type::Integer)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)));
        Self {
            schema: ObjectBuilder::new()
                .schema_type(Type::Object)
                .property(name, number)
                .required(name)
                .into(),
            example: json!({name: 1042}),
        }
    }
}

/// Returns the schema of an event's data: that of the record, and in events of documents the members that changed (areas §10.0).
fn schema_of(record: &str, example: &Value) -> RefOr<Schema> {
    let record = Ref::from_schema_name(record);
    if example.get("changed").is_none() || record.ref_location.ends_with("Event") {
        return record.into();
    }
    let names = schemas::array(schemas::line());
    let about = "The members that differ from the version before.";
    let changed = ObjectBuilder::new()
        .property("changed", names.description(Some(about)))
        .required("changed");
    Schema::AllOf(AllOfBuilder::new().item(record).item(changed).build()).into()
}

/// Returns true if the payload is only the id, since the record no longer exists (contract, "Delivery request").
fn shows_the_id_alone(event: EventName) -> bool {
    event == EventName::AppointmentCancelled || event.as_str().ends_with(".deleted")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::openapi::document;

    /// Returns the members that a schema of the document names, including those of its parts.
    fn members(document: &Value, schema: &Value) -> BTreeSet<String> {
        let mut names: BTreeSet<String> = schema["properties"]
            .as_object()
            .into_iter()
            .flat_map(|properties| properties.keys().cloned())
            .collect();
        if let Some(reference) = schema["$ref"].as_str() {
            let pointer = reference.trim_start_matches('#');
            names.extend(members(
                document,
                document.pointer(pointer).expect("the reference leads somewhere"),
            ));
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            names.extend(members(document, part));
        }
        names
    }

    #[test]
    fn every_event_is_described_with_an_example_that_fits() {
        let document = document("http://example.com").unwrap();
        let webhooks = document["webhooks"].as_object().unwrap();
        let names: BTreeSet<&str> = webhooks.keys().map(String::as_str).collect();
        let events = EventName::ALL.iter().map(|event| event.as_str());
        let expected: BTreeSet<&str> = events.chain(["ping"]).collect();
        assert_eq!(names, expected);
        for (name, item) in webhooks {
            let content = &item["post"]["requestBody"]["content"]["application/json"];
            let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
            assert_eq!(
                keys(&content["example"]),
                members(&document, &content["schema"]),
                "{name}"
            );
            assert_eq!(content["example"]["event"], **name);
            let data = &content["schema"]["allOf"][1]["properties"]["data"];
            let shown = members(&document, data);
            assert!(shown.is_empty() || shown == keys(&content["example"]["data"]), "{name}");
        }
    }

    #[test]
    fn what_is_gone_is_shown_by_its_id_alone() {
        for name in ["lead.deleted", "appointment.cancelled"] {
            let Data { example, .. } = Data::of(Topic::Event(name.parse().unwrap()));
            assert_eq!(example, json!({"id": 1042}));
        }
        assert_eq!(Data::of(Topic::Ping).example, json!({"webhook": 1042}));
    }
}
