//! The table that maps a request to its operation.

use std::sync::{Arc, OnceLock};

use actix_web::http::Method;

use crate::{
    metrics::Meter,
    operation::{Description, InvalidDeclaration, Operation},
    strict::KnownNames,
};

/// An operation in service.
pub(crate) struct Route {
    pub(crate) operation: Operation,
    /// The number of leading path segments that form a path readable with GET, first of all the list of the records that the
    /// operation creates.
    collection_depth: usize,
    pub(crate) meter: Meter,
    known: OnceLock<Arc<KnownNames>>,
}

impl Route {
    /// Returns the names that the operation knows, collected when strict handling is first requested.
    pub(crate) fn known(&self) -> &Arc<KnownNames> {
        self.known.get_or_init(|| {
            let Description { declaration, schemas } = (self.operation.describe)();
            Arc::new(KnownNames::of(&declaration, &schemas))
        })
    }

    /// Returns the path of a record that this operation has created: under the longest prefix of the request's path that can be
    /// read.
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
    /// Each path's routes, by the number that `paths` gives.
    routes: Vec<Vec<Route>>,
    paths: matchit::Router<usize>,
}

/// The target of a request.
pub(crate) enum Found<'a> {
    /// An operation, with the values of the path's parameters in order.
    Route(&'a Route, Vec<String>),
    /// The path exists, for these methods.
    OtherMethods(String),
    /// No such path exists.
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

    /// Finds the target of a request with this method and path. HEAD is served by GET.
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

/// Returns the number of segments of the longest of `paths` that is a prefix of `path`.
fn depth_of_longest(paths: &[String], path: &str) -> usize {
    let segments: Vec<_> = path.split('/').collect();
    let depths = paths.iter().filter_map(|known| {
        let known: Vec<_> = known.split('/').collect();
        segments.starts_with(&known).then(|| known.len() - 1)
    });
    depths.max().unwrap_or_default()
}

/// Returns the value of the header `Allow`.
fn allow<'a>(methods: impl Iterator<Item = &'a Method>) -> String {
    let mut names: Vec<_> = methods.map(Method::as_str).collect();
    if names.contains(&"GET") {
        names.push("HEAD");
    }
    names.sort_unstable();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use forecourt_kernel::Scope;

    use super::*;
    use crate::reply::Created;

    fn operation(method: Method, path: &str) -> Operation {
        Operation {
            method,
            path: path.into(),
            scope: Scope::LeadsRead,
            is_conditional: false,
            caches_answers: false,
            handler: |_| Box::pin(async { unreachable!("routing calls no handler") }),
            max_wait: Duration::ZERO,
            created: Created::Id,
            alternative: None,
            may_change: false,
            upload: None,
            takes_xml: false,
            takes_body: true,
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
