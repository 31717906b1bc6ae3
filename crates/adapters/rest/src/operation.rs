//! Operations, each declared once, and the table that finds them.
//!
//! `#[utoipa::path(…)]` on a handler says method, path, scope, parameters, bodies and answers. [`operations!`] turns such
//! handlers into [`Operation`]s, and [`Router::new`] refuses to start with one that does not say what it needs.

use std::{sync::OnceLock, time::Duration};

use actix_web::http::{Method, StatusCode};
use forecourt_kernel::Scope;
use futures_util::future::LocalBoxFuture;
use utoipa::openapi::{
    RefOr,
    path::{HttpMethod, Operation as Declaration},
    schema::Schema,
};

use crate::{call::Call, error::ApiError, metrics::Meter, reply::Answer, strict::KnownNames, upload::Upload};

/// The name under which declarations speak of the bearer token.
pub(crate) const SECURITY_SCHEME: &str = "bearer";

/// A handler's future lives on the worker that made it.
pub(crate) type Handler = fn(Call) -> LocalBoxFuture<'static, Result<Answer, ApiError>>;

/// A handler with what its declaration says.
pub(crate) struct Operation {
    pub(crate) method: Method,
    /// With parameters in braces: `/2.0/leads/{id}`.
    pub(crate) path: String,
    pub(crate) scope: Scope,
    pub(crate) handler: Handler,
    /// Whether its answer carries an `ETag`, which `If-None-Match` is compared with: what reads a record does.
    pub(crate) is_conditional: bool,
    /// Whether its answers may be kept for other callers: see [`Call::kept`](crate::call::Call::kept).
    pub(crate) keeps_answers: bool,
    /// How long the handler may hold its answer back, beside the time that its work takes.
    pub(crate) holds: Duration,
    /// The last part of the path of what it makes, if that is not the id of it.
    pub(crate) makes: Option<&'static str>,
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

/// Makes a `Vec<Operation>` of handlers that carry `#[utoipa::path]`.
macro_rules! operations {
    ($($($module:ident)::+ :: <$declaration:ident> $handler:ident),+ $(,)?) => {
        vec![$(
            $crate::operation::Operation::declared::<$($module)::+::$declaration>(
                |call| Box::pin(async { Ok($($module)::+::$handler(call).await?.into()) }),
            )?,
        )+]
    };
}
pub(crate) use operations;

/// A declaration that does not say all that it must.
#[derive(Debug, thiserror::Error)]
#[error("the operation {0} {1}")]
pub(crate) struct InvalidDeclaration(String, &'static str);

/// The operations whose declarations fail are a mistake of ours that a start must not hide.
pub(crate) type Declared<T> = Result<T, InvalidDeclaration>;

impl Operation {
    /// Whether it writes the record that its path names, or something of it. It honours `If-Match`.
    pub(crate) fn writes_record(&self) -> bool {
        self.method != Method::GET && self.path.contains('{')
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
            keeps_answers: false,
            method,
            path,
            scope,
            handler,
            holds: Duration::ZERO,
            makes: None,
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

/// An operation in service.
pub(crate) struct Route {
    pub(crate) operation: Operation,
    /// How many segments of the path name what can be read with GET, the list of what the operation creates first of all.
    collection_depth: usize,
    pub(crate) meter: Meter,
    known: OnceLock<KnownNames>,
}

impl Route {
    /// The names that the operation knows, gathered when strict handling is first requested.
    pub(crate) fn known(&self) -> &KnownNames {
        self.known.get_or_init(|| KnownNames::of((self.operation.describe)()))
    }
}

impl Route {
    /// Where a record is that this operation has created: under the longest beginning of the request's path that can be read.
    pub(crate) fn location(&self, request_path: &str, id: &str) -> String {
        let mut segments: Vec<_> = request_path.split('/').skip(1).take(self.collection_depth).collect();
        segments.push(id);
        segments
            .iter()
            .fold(String::new(), |path, segment| path + "/" + segment)
    }
}

/// Finds operations by method and path.
pub(crate) struct Router {
    /// Each path's routes, found by the number that `paths` gives.
    routes: Vec<Vec<Route>>,
    paths: matchit::Router<usize>,
}

/// What a request is for.
pub(crate) enum Found<'a> {
    /// An operation, with the values of the path's parameters in order.
    Route(&'a Route, Vec<String>),
    /// The path exists, for these methods.
    OtherMethods(String),
    /// There is no such path.
    Nothing,
}

impl Router {
    /// Puts operations into service.
    pub(crate) fn new(operations: Vec<Operation>) -> Result<Self, InvalidDeclaration> {
        let readable: Vec<_> = operations
            .iter()
            .filter(|operation| operation.method == Method::GET)
            .map(|operation| operation.path.clone())
            .collect();
        let mut by_path: Vec<(String, Vec<Route>)> = Vec::new();
        for operation in operations {
            let route = Route {
                meter: Meter::new(operation.method.as_str(), &operation.path),
                collection_depth: depth_of_longest(&readable, &operation.path),
                operation,
                known: OnceLock::new(),
            };
            let path = &route.operation.path;
            match by_path.iter_mut().find(|(known, _)| known == path) {
                Some((_, routes))
                    if routes
                        .iter()
                        .any(|known| known.operation.method == route.operation.method) =>
                {
                    return Err(InvalidDeclaration(path.clone(), "is declared twice"));
                }
                Some((_, routes)) => routes.push(route),
                None => by_path.push((path.clone(), vec![route])),
            }
        }
        let mut paths = matchit::Router::new();
        let mut all = Vec::with_capacity(by_path.len());
        for (path, routes) in by_path {
            paths
                .insert(&path, all.len())
                .map_err(|_| InvalidDeclaration(path, "clashes with another path"))?;
            all.push(routes);
        }
        Ok(Self { routes: all, paths })
    }

    /// Every operation in service.
    pub(crate) fn operations(&self) -> impl Iterator<Item = &Operation> {
        self.routes.iter().flatten().map(|route| &route.operation)
    }

    /// What a request with this method and path is for. HEAD is served by GET.
    pub(crate) fn find(&self, method: &Method, path: &str) -> Found<'_> {
        let Ok(matched) = self.paths.at(path) else {
            return Found::Nothing;
        };
        let Some(routes) = self.routes.get(*matched.value) else {
            return Found::Nothing;
        };
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        match routes.iter().find(|route| route.operation.method == *wanted) {
            Some(route) => Found::Route(
                route,
                matched.params.iter().map(|(_, value)| value.to_owned()).collect(),
            ),
            None => Found::OtherMethods(allow(routes.iter().map(|route| &route.operation.method))),
        }
    }
}

/// How many segments the longest of `paths` has that `path` begins with.
fn depth_of_longest(paths: &[String], path: &str) -> usize {
    let segments: Vec<_> = path.split('/').collect();
    let depths = paths.iter().filter_map(|known| {
        let known: Vec<_> = known.split('/').collect();
        segments.starts_with(&known).then(|| known.len() - 1)
    });
    depths.max().unwrap_or_default()
}

/// The value of the header `Allow`.
fn allow<'a>(methods: impl Iterator<Item = &'a Method>) -> String {
    let mut names: Vec<_> = methods.map(Method::as_str).collect();
    if names.contains(&"GET") {
        names.push("HEAD");
    }
    names.sort_unstable();
    names.join(", ")
}

/// Whether a status is one that may be stored for a replay.
pub(crate) fn is_final(status: StatusCode) -> bool {
    // Whether a key may do something depends on the key, and another one may retry.
    !status.is_server_error() && status != StatusCode::FORBIDDEN
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(method: Method, path: &str) -> Operation {
        Operation {
            method,
            path: path.into(),
            scope: Scope::LeadsRead,
            is_conditional: false,
            keeps_answers: false,
            handler: |_| Box::pin(async { unreachable!("routing calls no handler") }),
            holds: Duration::ZERO,
            makes: None,
            upload: None,
            takes_xml: false,
            describe: Description::default,
        }
    }

    #[test]
    fn head_is_served_by_get_and_other_methods_are_listed() {
        let router = Router::new(vec![operation(Method::POST, "/a"), operation(Method::GET, "/a")]).unwrap();
        assert!(
            matches!(router.find(&Method::HEAD, "/a"), Found::Route(route, _) if route.operation.method == Method::GET)
        );
        assert!(matches!(router.find(&Method::PUT, "/a"), Found::OtherMethods(allow) if allow == "GET, HEAD, POST"));
        assert!(matches!(router.find(&Method::GET, "/a/"), Found::Nothing));
    }

    #[test]
    fn a_parameter_is_one_segment_with_something_in_it() {
        let router = Router::new(vec![operation(Method::GET, "/a/{id}"), operation(Method::GET, "/a/b")]).unwrap();
        assert!(matches!(router.find(&Method::GET, "/a/7"), Found::Route(_, values) if values == ["7"]));
        assert!(matches!(router.find(&Method::GET, "/a/b"), Found::Route(_, values) if values.is_empty()));
        assert!(matches!(router.find(&Method::GET, "/a/"), Found::Nothing));
        assert!(matches!(router.find(&Method::GET, "/a/7/8"), Found::Nothing));
    }

    #[test]
    fn the_location_is_under_a_path_that_can_be_read() {
        let router = Router::new(vec![
            operation(Method::GET, "/a"),
            operation(Method::POST, "/a"),
            operation(Method::POST, "/a/import"),
            operation(Method::GET, "/a/{id}/b"),
            operation(Method::POST, "/a/{id}/b"),
            operation(Method::POST, "/a/{id}/b/{b_id}/again"),
        ])
        .unwrap();
        for (path, location) in [
            ("/a", "/a/9"),
            ("/a/import", "/a/9"),
            ("/a/3/b", "/a/3/b/9"),
            ("/a/3/b/4/again", "/a/3/b/9"),
        ] {
            let Found::Route(route, _) = router.find(&Method::POST, path) else {
                panic!("{path} is an operation");
            };
            assert_eq!(route.location(path, "9"), location);
        }
    }

    #[test]
    fn an_operation_is_declared_once() {
        assert!(Router::new(vec![operation(Method::GET, "/a"), operation(Method::GET, "/a")]).is_err());
    }
}
