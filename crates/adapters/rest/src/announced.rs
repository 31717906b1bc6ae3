//! The OpenAPI document's section `webhooks`: the requests that endpoints receive (contract, "Delivery request").

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

/// What the body has in common, by its name and those of what it refers to.
pub(crate) fn schemas() -> Vec<(String, RefOr<Schema>)> {
    let mut schemas = vec![(Envelope::name().into_owned(), Envelope::schema())];
    Envelope::schemas(&mut schemas);
    schemas
}

/// One entry for each event, and one for the test.
pub(crate) fn webhooks() -> Paths {
    let mut webhooks = Paths::new();
    let topics = EventName::ALL.iter().copied().map(Topic::Event);
    for topic in topics.chain([Topic::Ping]) {
        let item = PathItem::new(HttpMethod::Post, delivery(topic));
        webhooks.paths.insert(topic.as_str().to_owned(), item);
    }
    webhooks
}

fn delivery(topic: Topic) -> Operation {
    let Data { schema, example } = Data::of(topic);
    let about = match topic {
        Topic::Event(event) => event.description(),
        Topic::Ping => "A webhook is being tried out.",
    };
    let needs = match topic {
        Topic::Event(event) if event.resource() == "vehicle" && !tells_the_id_alone(event) => format!(
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
    OperationBuilder::new()
        .tag("webhooks")
        .operation_id(Some(format!("on_{}", topic.as_str().replace('.', "_"))))
        .summary(Some(about))
        .description(Some(needs))
        .parameters(Some(HEADERS.map(header)))
        .request_body(Some(request.build()))
        .response("2XX", response("It is delivered."))
        .response("default", response("It is not, and tried again later."))
        .build()
}

fn header((name, about): (&str, &str)) -> Parameter {
    ParameterBuilder::new()
        .name(name)
        .parameter_in(ParameterIn::Header)
        .required(Required::True)
        .description(Some(about))
        .schema(Some(ObjectBuilder::new().schema_type(Type::String)))
        .build()
}

/// What an event tells of its record.
struct Data {
    schema: RefOr<Schema>,
    example: Value,
}

impl Data {
    fn of(topic: Topic) -> Self {
        let Topic::Event(event) = topic else {
            return Self::number("webhook");
        };
        match event.resource() {
            _ if tells_the_id_alone(event) => Self::number("id"),
            "lead" => Self {
                schema: Ref::from_schema_name("Lead").into(),
                example: a_lead(),
            },
            "contact" => Self {
                schema: Ref::from_schema_name("Contact").into(),
                example: a_contact(),
            },
            "vehicle" => Self {
                schema: Ref::from_schema_name("Vehicle").into(),
                example: forecourt_vehicles::example_vehicle(),
            },
            _ => Self {
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

/// Of what is gone there is nothing else to tell (contract, "Delivery request").
fn tells_the_id_alone(event: EventName) -> bool {
    event == EventName::AppointmentCancelled || event.as_str().ends_with(".deleted")
}

fn a_lead() -> Value {
    json!({
        "id": 1042,
        "site": 0,
        "channel": "website",
        "reference": 17,
        "name": "Ann Smith",
        "email": "ann@example.com",
        "phone": "",
        "mobile": "+447700900123",
        "contact": null,
        "type": ["test_drive"],
        "status": {"id": 0, "name": "new"},
        "rating": null,
        "summary": null,
        "created": 1_767_225_600,
        "updated": 1_767_225_600,
        "version": 1,
        "session": "",
        "avatar": "",
        "assign": [],
        "tag": [],
        "stat": true,
        "reopen": null,
        "data": {"message": "Is it still there? I would like to drive it on Saturday."},
        "ai": null
    })
}

fn a_contact() -> Value {
    json!({
        "id": 1042,
        "site": 0,
        "email": "ann@example.com",
        "created": 1_767_225_600,
        "updated": 1_767_225_600,
        "version": 1,
        "data": {
            "type": ["Customer"],
            "name": "Ann Smith",
            "company": "",
            "vat": "",
            "address": {
                "line1": "2 High Street",
                "line2": "",
                "line3": "",
                "city": "Leeds",
                "state": "",
                "country": "GB",
                "zip": "LS1 4AB"
            },
            "telephone": "",
            "mobile": "+447700900123",
            "dob": null,
            "license": {"number": "", "code": "", "checked": null, "checked_by": null},
            "ni": "",
            "marketing": "No",
            "notes": [],
            "accounting": {},
            "nominal": {"invoice": "", "purchase": ""},
            "tag": [],
            "document": [],
            "login": false
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{areas, openapi::document};

    /// The members that a schema of the document names, those of its parts included.
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
        let document = document(&areas::operations().unwrap(), "http://example.com");
        let document = serde_json::to_value(document).unwrap();
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
    fn what_is_gone_is_told_by_its_id_alone() {
        for name in ["lead.deleted", "appointment.cancelled"] {
            let Data { example, .. } = Data::of(Topic::Event(name.parse().unwrap()));
            assert_eq!(example, json!({"id": 1042}));
        }
        assert_eq!(Data::of(Topic::Ping).example, json!({"webhook": 1042}));
    }
}
