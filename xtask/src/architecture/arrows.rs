//! Dependencies between the workspace's crates point inwards: app → adapters → domain → kernel. Beside the domain are small
//! libraries that adapters share.

use std::path::Path;

/// The layer of a crate, from the inside out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer<'a> {
    /// The domain crate with this folder name, which the architecture uses.
    Domain(&'a str),
    Adapter,
    /// A library without knowledge of the domain, for adapters and the app.
    Shared,
    App,
    /// Crates outside the product: the end-to-end tests and the tasks.
    Outside,
}

impl<'a> Layer<'a> {
    /// Returns the layer of the crate in a folder, which is relative to the workspace's root.
    pub(super) fn of(folder: &'a Path) -> Option<Self> {
        match folder.iter().map(|part| part.to_str()).collect::<Option<Vec<_>>>()?[..] {
            ["crates", "domain", name] => Some(Self::Domain(name)),
            ["crates", "adapters", _] => Some(Self::Adapter),
            ["crates", "shared", _] => Some(Self::Shared),
            ["crates", "app"] => Some(Self::App),
            ["tests" | "xtask"] | ["xtask", _] => Some(Self::Outside),
            _ => None,
        }
    }
}

/// Returns the advice if a crate may not depend on another. Dependencies of a crate's tests are free, except in the domain,
/// whose tests must also run without input and output.
pub(super) fn remedy(from: Layer<'_>, to: Layer<'_>, for_tests: bool) -> Option<&'static str> {
    use Layer::{Adapter, App, Domain, Outside, Shared};
    match (from, to) {
        (Domain(from), Domain(to)) => {
            (!for_tests && !domain_may_depend(from, to)).then_some("ask for what it needs through a port of its own")
        }
        (Domain(_), Adapter | App | Shared) => Some("declare a port in the domain and implement it there"),
        (Domain(_), Outside) => Some("nothing of the product needs its tests or tasks"),
        _ if for_tests => None,
        (Adapter, Adapter) => Some("let the app wire the two, by a port of the domain"),
        (Shared, _) => Some("keep it free of the rest of the product"),
        (Adapter, App) => Some("turn the dependency round"),
        (Adapter | App, Outside) => Some("nothing of the product needs its tests or tasks"),
        (Adapter | App | Outside, _) => None,
    }
}

fn domain_may_depend(from: &str, to: &str) -> bool {
    match (from, to) {
        ("kernel", _) => false,
        ("files" | "html" | "print" | "reference", to) => to == "kernel",
        ("accounts", to) => matches!(to, "kernel" | "reference"),
        // This crate names all stores together.
        ("dealership", _) => true,
        ("listings", "vehicles") | ("jobs", "files") | ("vehicles", "files" | "invoices") => true,
        ("contacts" | "vehicles" | "invoices" | "orders" | "purchases" | "deals" | "sales", "billing") => true,
        // A call makes leads and moves them, as a listing follows its vehicle.
        ("calls", "leads") => true,
        // The use cases that span these areas.
        (
            "sales",
            "vehicles" | "files" | "invoices" | "orders" | "purchases" | "jobs" | "deals" | "leads" | "stock-book",
        ) => true,
        // An entry of the book is computed from the documents that a vehicle was bought and sold by.
        ("stock-book", "vehicles" | "invoices" | "purchases" | "billing") => true,
        (_, to) => matches!(to, "kernel" | "html" | "accounts" | "print" | "reference"),
    }
}
