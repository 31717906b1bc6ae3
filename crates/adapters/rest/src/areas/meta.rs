//! The version of the API and its endpoints (contract, "Meta").

use serde::Serialize;
use utoipa::ToSchema;

use crate::{
    areas::Area,
    call::Call,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::FieldsParameter,
    reply::{Envelope, Reply},
};

pub(super) const AREA: Area = Area {
    tag: "meta",
    about: "What the API is and what a key may use",
    operations,
    codes: &[],
    records: &[],
};

fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![self::<__path_read_meta> read_meta])
}

/// The version, and the endpoints that a key can use.
#[derive(Serialize, ToSchema)]
struct Meta<'a> {
    /// The version of the API.
    #[schema(value_type = String, example = "2.0")]
    version: &'static str,
    /// The endpoints that the key can use.
    endpoints: Vec<Endpoint<'a>>,
}

/// An endpoint.
#[derive(Serialize, ToSchema)]
struct Endpoint<'a> {
    /// GET, POST, PUT, PATCH or DELETE.
    method: &'a str,
    /// The path, with parameters in braces.
    path: &'a str,
    /// The scopes that the key needs for it.
    #[schema(value_type = Vec<String>)]
    scopes: Vec<&'static str>,
}

/// Read what the key can use
#[utoipa::path(get, path = "/2.0/meta", tag = "meta", security(("bearer" = ["meta:read"])),
    params(FieldsParameter),
    responses((status = 200, description = "The version and the endpoints", body = Envelope<Meta<'static>>)))]
async fn read_meta(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let operations = call.worker.shared.operations.iter();
    let usable = operations.filter(|operation| call.caller.may(operation.scope));
    let mut endpoints: Vec<_> = usable
        .map(|operation| Endpoint {
            method: &operation.method,
            path: &operation.path,
            scopes: vec![operation.scope.as_str()],
        })
        .collect();
    endpoints.push(Endpoint {
        method: "GET",
        path: "/2.0/openapi.json",
        scopes: Vec::new(),
    });
    endpoints.sort_by_key(|endpoint| (endpoint.path, endpoint.method));
    Reply::projected(
        &Meta {
            version: "2.0",
            endpoints,
        },
        fields.as_ref(),
    )
}
