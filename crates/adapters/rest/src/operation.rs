//! Operations, each declared once.
//!
//! `#[utoipa::path(…)]` on a handler says method, path, scope, parameters, bodies and answers. [`operations!`] turns such
//! handlers into [`Operation`]s; one that does not say what it needs stops the server at its start.

use std::time::Duration;

use actix_web::http::Method;
use forecourt_kernel::Scope;
use futures_util::future::LocalBoxFuture;
use utoipa::openapi::{
    RefOr,
    path::{HttpMethod, Operation as Declaration},
    schema::Schema,
};

use crate::{call::Call, error::ApiError, reply::Answer, summary::OperationSummary, upload::Upload};

/// The name under which declarations speak of the bearer token.
pub(crate) const SECURITY_SCHEME: &str = "bearer";

/// A handler's future lives on the worker that made it.
pub(crate) type Handler = fn(Call) -> LocalBoxFuture<'static, Result<Answer, ApiError>>;

/// The member of an answer to a creation that ends the path of what was made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Created {
    /// Its id.
    Id,
    /// Its code.
    Code,
    /// None: it cannot be read by itself.
    Unreadable,
}

/// A handler with what its declaration says.
pub(crate) struct Operation {
    pub(crate) method: Method,
    /// With parameters in braces: `/2.0/leads/{id}`.
    pub(crate) path: String,
    pub(crate) scope: Scope,
    pub(crate) handler: Handler,
    /// Whether its answer carries an `ETag`, which `If-None-Match` is compared with: what reads a record does.
    pub(crate) is_conditional: bool,
    /// Whether its answers may be cached for other callers: see [`Call::cached`](crate::call::Call::cached).
    pub(crate) caches_answers: bool,
    /// How long the handler may hold its answer back, beside the time that its work takes.
    pub(crate) max_wait: Duration,
    /// What ends the path of what it makes.
    pub(crate) created: Created,
    /// How its body carries a file, if it does.
    pub(crate) upload: Option<Upload>,
    /// Whether its body is XML, and not JSON.
    pub(crate) takes_xml: bool,
    /// Says it all, for the document: too much to be kept by a server that may never be asked.
    pub(crate) describe: fn() -> Description,
}

/// What the document says of an operation.
#[derive(Default)]
pub(crate) struct Description {
    pub(crate) declaration: Declaration,
    /// The schemas that the declaration refers to, by their names.
    pub(crate) schemas: Vec<(String, RefOr<Schema>)>,
}

/// Makes a `Vec<Operation>` of handlers that carry `#[utoipa::path]`. What their declarations have no words for is added in
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

/// A declaration that does not say all that it must.
#[derive(Debug, thiserror::Error)]
#[error("the operation {0} {1}")]
pub(crate) struct InvalidDeclaration(pub(crate) String, pub(crate) &'static str);

/// The operations whose declarations fail are a mistake of ours that a start must not hide.
pub(crate) type Declared<T> = Result<T, InvalidDeclaration>;

impl Operation {
    /// Whether it writes the record that its path names, or something of it. It honours `If-Match`.
    pub(crate) fn writes_record(&self) -> bool {
        self.method != Method::GET && self.path.contains('{')
    }

    pub(crate) fn summary(&self) -> OperationSummary {
        OperationSummary {
            scope: self.scope,
            method: self.method.to_string(),
            path: self.path.clone(),
        }
    }

    /// Reads what `D`, made by `#[utoipa::path]`, declares.
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
        let scope = scope_of(&D::operation()).ok_or_else(|| fault("must name the one scope that it needs"))?;
        Ok(Self {
            is_conditional: method == Method::GET && path.ends_with('}'),
            caches_answers: false,
            method,
            path,
            scope,
            handler,
            max_wait: Duration::ZERO,
            created: Created::Id,
            upload: None,
            takes_xml: false,
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

/// The scope that a declaration names: `security(("bearer" = ["leads:read"]))`.
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
