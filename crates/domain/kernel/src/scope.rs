//! Permissions of keys.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

macro_rules! scopes {
    ($($variant:ident = $name:literal,)+) => {
        /// A permission, named `area:action` (contract, "Authentication" rule 3; decisions §4 for the rest).
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[expect(missing_docs, reason = "each variant's meaning is the name beside it")]
        pub enum Scope {
            $($variant,)+
        }

        impl Scope {
            /// Every scope, in the order of the catalogue.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name in keys and in the API.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }

        impl FromStr for Scope {
            type Err = UnknownScope;

            fn from_str(text: &str) -> Result<Self, UnknownScope> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(UnknownScope(text.to_owned())),
                }
            }
        }
    };
}

scopes! {
    LeadsRead = "leads:read",
    LeadsWrite = "leads:write",
    LeadsDelete = "leads:delete",
    LeadMessagesRead = "lead-messages:read",
    LeadMessagesWrite = "lead-messages:write",
    LeadNotesRead = "lead-notes:read",
    LeadNotesWrite = "lead-notes:write",
    LeadNotesDelete = "lead-notes:delete",
    ContactsRead = "contacts:read",
    ContactsWrite = "contacts:write",
    ContactsDelete = "contacts:delete",
    ContactNotesRead = "contact-notes:read",
    ContactNotesWrite = "contact-notes:write",
    ContactNotesDelete = "contact-notes:delete",
    ContactLoginWrite = "contact-login:write",
    VehiclesRead = "vehicles:read",
    VehiclesWrite = "vehicles:write",
    VehiclesDelete = "vehicles:delete",
    VehiclePricingRead = "vehicle-pricing:read",
    VehicleMediaWrite = "vehicle-media:write",
    VehicleMediaDelete = "vehicle-media:delete",
    VehicleDrivesRead = "vehicle-drives:read",
    VehicleDrivesWrite = "vehicle-drives:write",
    VehicleDocumentsRead = "vehicle-documents:read",
    VehicleDocumentsWrite = "vehicle-documents:write",
    VehicleDocumentsDelete = "vehicle-documents:delete",
    VehicleReserveRead = "vehicle-reserve:read",
    VehicleReserveWrite = "vehicle-reserve:write",
    VehicleSalesRead = "vehicle-sales:read",
    VehicleSalesWrite = "vehicle-sales:write",
    VehicleAppraisalsWrite = "vehicle-appraisals:write",
    ListingsRead = "listings:read",
    BlogsRead = "blogs:read",
    BlogsWrite = "blogs:write",
    BlogsDelete = "blogs:delete",
    ReviewsRead = "reviews:read",
    ReviewsWrite = "reviews:write",
    ReviewsDelete = "reviews:delete",
    ReferenceRead = "reference:read",
    WebhooksRead = "webhooks:read",
    WebhooksWrite = "webhooks:write",
    MetaRead = "meta:read",
    SearchWildcard = "search:wildcard",
    InvoicesRead = "invoices:read",
    OrdersRead = "orders:read",
    PurchasesRead = "purchases:read",
    DealsRead = "deals:read",
    AppointmentsRead = "appointments:read",
    CallsRead = "calls:read",
    InvoicesWrite = "invoices:write",
    OrdersWrite = "orders:write",
    PurchasesWrite = "purchases:write",
    StockBookRead = "stock-book:read",
    AppointmentsWrite = "appointments:write",
    CallsWrite = "calls:write",
    CallsDelete = "calls:delete",
    DealsWrite = "deals:write",
    VehicleJobsRead = "vehicle-jobs:read",
    VehicleJobsWrite = "vehicle-jobs:write",
    VehicleJobsDelete = "vehicle-jobs:delete",
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// There is no scope with that name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown scope {0:?}")]
pub struct UnknownScope(pub String);

/// A set of scopes, iterated in the order of the catalogue; in JSON an array of names.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(into = "Vec<String>", try_from = "Vec<String>")]
pub struct ScopeSet(u128);

impl ScopeSet {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// Every scope of the catalogue.
    pub fn all() -> Self {
        Scope::ALL.iter().copied().collect()
    }

    /// Returns `true` if `scope` is in the set.
    pub const fn contains(self, scope: Scope) -> bool {
        self.0 & Self::bit(scope) != 0
    }

    /// Returns `true` if every scope of `other` is in the set.
    pub const fn contains_all(self, other: Self) -> bool {
        other.0 & !self.0 == 0
    }

    /// Returns the scopes that are in both sets.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Returns the set without `scope`.
    #[must_use]
    pub const fn without(self, scope: Scope) -> Self {
        Self(self.0 & !Self::bit(scope))
    }

    /// Returns `true` if the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The scopes, in the order of the catalogue.
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.iter().copied().filter(move |&scope| self.contains(scope))
    }

    const fn bit(scope: Scope) -> u128 {
        1 << scope as u32
    }
}

const _: () = assert!(Scope::ALL.len() <= u128::BITS as usize, "the set needs a wider integer");

impl FromIterator<Scope> for ScopeSet {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | Self::bit(scope)))
    }
}

impl From<Scope> for ScopeSet {
    fn from(scope: Scope) -> Self {
        Self(Self::bit(scope))
    }
}

impl From<ScopeSet> for Vec<String> {
    fn from(scopes: ScopeSet) -> Self {
        scopes.iter().map(|scope| scope.to_string()).collect()
    }
}

impl TryFrom<Vec<String>> for ScopeSet {
    type Error = UnknownScope;

    fn try_from(names: Vec<String>) -> Result<Self, UnknownScope> {
        names.iter().map(|name| name.parse::<Scope>()).collect()
    }
}

impl fmt::Debug for ScopeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Scope::as_str)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for &scope in Scope::ALL {
            assert_eq!(scope.as_str().parse(), Ok(scope));
        }
        assert!("leads".parse::<Scope>().is_err());
    }

    #[test]
    fn a_set_holds_what_was_put_in() {
        let set: ScopeSet = [Scope::MetaRead, Scope::LeadsRead].into_iter().collect();
        assert!(set.contains(Scope::LeadsRead) && !set.contains(Scope::LeadsWrite));
        assert_eq!(Vec::<String>::from(set), ["leads:read", "meta:read"]);
        assert!(ScopeSet::all().contains_all(set) && !set.contains_all(ScopeSet::all()));
    }

    #[test]
    fn every_scope_has_a_place_of_its_own() {
        for &scope in Scope::ALL {
            assert_eq!(ScopeSet::from(scope).iter().collect::<Vec<_>>(), [scope]);
            assert!(!ScopeSet::all().without(scope).contains(scope));
        }
        assert_eq!(ScopeSet::all().iter().count(), Scope::ALL.len());
    }
}
