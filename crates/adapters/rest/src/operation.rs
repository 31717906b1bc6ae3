//! Operations, each declared once.
//!
//! `#[utoipa::path(…)]` on a handler declares method, path, scope, parameters, bodies and answers. [`operations!`] turns such
//! handlers into [`Operation`]s; one whose declaration is incomplete stops the server at its start.

use std::time::Duration;

use actix_web::http::Method;
use forecourt_kernel::Scope;
use futures_util::future::LocalBoxFuture;
use utoipa::openapi::{
    RefOr,
    path::{HttpMethod, Operation as Declaration},
    schema::Schema,
};

use crate::{
    call::Call,
    error::ApiError,
    reply::{Answer, Created},
    summary::OperationSummary,
    upload::Upload,
};

/// The name of the bearer token's security scheme in declarations.
pub(crate) const SECURITY_SCHEME: &str = "bearer";

/// A handler's function. Its future stays on the worker that made it.
pub(crate) type Handler = fn(Call) -> LocalBoxFuture<'static, Result<Answer, ApiError>>;

/// A handler with the facts from its declaration.
pub(crate) struct Operation {
    pub(crate) method: Method,
    /// With parameters in braces: `/2.0/leads/{id}`.
    pub(crate) path: String,
    pub(crate) scope: Scope,
    pub(crate) handler: Handler,
    /// True if its answer carries an `ETag`, with which `If-None-Match` is compared. Operations that read a record have one.
    pub(crate) is_conditional: bool,
    /// The media type that it offers beside JSON, to callers that prefer it.
    pub(crate) alternative: Option<&'static str>,
    /// True if its answers may be cached for other callers: see [`Call::cached`](crate::call::Call::cached).
    pub(crate) caches_answers: bool,
    /// The time for which the handler may hold its answer back, beside the time that its work takes.
    pub(crate) max_wait: Duration,
    /// The member that ends the path of the record that it creates.
    pub(crate) created: Created,
    /// True if it may change a record that exists already instead of creating one. Then it honours `If-Match`.
    pub(crate) may_change: bool,
    /// The kind of file that its body carries, if it does.
    pub(crate) upload: Option<Upload>,
    /// True if its body is XML, not JSON.
    pub(crate) takes_xml: bool,
    /// True if it takes a body. One that takes none ignores what is sent as its body (decisions §3).
    pub(crate) takes_body: bool,
    /// Returns the full declaration, for the document. It is too large to be kept by a server that may never need it.
    pub(crate) describe: fn() -> Description,
}

/// The part of an operation that the document describes.
#[derive(Default)]
pub(crate) struct Description {
    pub(crate) declaration: Declaration,
    /// The schemas that the declaration refers to, by their names.
    pub(crate) schemas: Vec<(String, RefOr<Schema>)>,
}

/// Makes a `Vec<Operation>` of handlers that carry `#[utoipa::path]`. Properties that declarations cannot express are added in
/// braces.
///
/// ```ignore
/// operations![
///     self::<__path_list_leads> list_leads,
///     self::<__path_list_events> list_events { max_wait: MAX_WAIT },
/// ]
/// ```
macro_rules! operations {
    ($($($module:ident)::+ :: <$declaration:ident> $handler:ident $({ $($property:ident: $value:expr),+ })?),+ $(,)?) => {
        vec![$(
            $crate::operation::Operation {
                $($($property: $value,)+)?
                ..$crate::operation::Operation::declared::<$($module)::+::$declaration>(
                    |call| Box::pin(async { Ok($($module)::+::$handler(call).await?.into()) }),
                )?
            },
        )+]
    };
}
pub(crate) use operations;

/// An incomplete declaration.
#[derive(Debug, thiserror::Error)]
#[error("the operation {0} {1}")]
pub(crate) struct InvalidDeclaration(pub(crate) String, pub(crate) &'static str);

/// A result for operations. An operation whose declaration fails is a mistake of ours that must stop the start.
pub(crate) type Declared<T> = Result<T, InvalidDeclaration>;

impl Operation {
    /// Returns true if it writes a record that exists: that which its path names, or a part of it. Such an operation honours
    /// `If-Match`.
    pub(crate) fn writes_record(&self) -> bool {
        self.may_change || (self.method != Method::GET && self.path.contains('{'))
    }

    pub(crate) fn summary(&self) -> OperationSummary {
        OperationSummary {
            scope: self.scope,
            method: self.method.to_string(),
            path: self.path.clone(),
        }
    }

    /// Reads the declaration `D`, made by `#[utoipa::path]`.
    pub(crate) fn declared<D>(handler: Handler) -> Result<Self, InvalidDeclaration>
    where
        D: utoipa::Path + utoipa::__dev::SchemaReferences + utoipa::__dev::Tags<'static>,
    {
        let path = D::path();
        let fault = |what| InvalidDeclaration(path.clone(), what);
        let method = match D::methods().as_slice() {
            [HttpMethod::Get] => Method::GET,
            [HttpMethod::Post] => Method::POST,
            [HttpMethod::Put] => Method::PUT,
            [HttpMethod::Patch] => Method::PATCH,
            [HttpMethod::Delete] => Method::DELETE,
            _ => return Err(fault("must have one method")),
        };
        let declaration = D::operation();
        let scope = scope_of(&declaration).ok_or_else(|| fault("must name the one scope that it needs"))?;
        Ok(Self {
            is_conditional: method == Method::GET && path.ends_with('}'),
            alternative: None,
            caches_answers: false,
            method,
            path,
            scope,
            handler,
            max_wait: Duration::ZERO,
            created: Created::Id,
            may_change: false,
            upload: None,
            takes_xml: false,
            takes_body: declaration.request_body.is_some(),
            describe: description::<D>,
        })
    }
}

fn description<D>() -> Description
where
    D: utoipa::Path + utoipa::__dev::SchemaReferences + utoipa::__dev::Tags<'static>,
{
    let mut schemas = Vec::new();
    D::schemas(&mut schemas);
    let mut declaration = D::operation();
    declaration.tags = Some(D::tags().into_iter().map(str::to_owned).collect());
    Description { declaration, schemas }
}

/// Returns the scope that a declaration names: `security(("bearer" = ["leads:read"]))`.
fn scope_of(declaration: &Declaration) -> Option<Scope> {
    let security = serde_json::to_value(declaration.security.as_ref()?).ok()?;
    match security.as_array()?.as_slice() {
        [requirement] => match requirement.get(SECURITY_SCHEME)?.as_array()?.as_slice() {
            [scope] => scope.as_str()?.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}
