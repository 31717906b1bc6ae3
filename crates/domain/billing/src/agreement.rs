//! What a dealership and its customer agree to: the part that invoices and orders have in common (areas §10.2, §10.3).

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use forecourt_accounts::{Business, Legal};
use forecourt_kernel::{
    BoundedList, BusinessId, ContactId, Currency, Date, Field, FromJson, InvalidValue, Line, LongText, Money, SiteId,
    StaffId, StoreResult, Timestamp, ValidationErrors, VehicleId, Version, from_object,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Amount, BankAccount, BillLine, BilledContact, BilledVehicle, BillingReader, DealId, ExchangeFacts, InvoiceId,
    LegalParty, LineChanges, LineFacts, LineSide, MAX_LINES, MAX_PART_EXCHANGES, PartExchange, PartExchangeChanges,
    Party, PartyAddress, Product, VatRate, part_exchange::taken, read_lines, read_part_exchanges, sum, sum_faults,
    with_settlements,
};

/// The finance of a sale, as callers send it. Its members are merged.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SaleFinanceBody))]
pub struct FinanceChanges {
    /// Contact id of the provider.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub provider: Field<i64>,
    /// The financed amount, at most the gross of the document.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Amount>))]
    pub amount: Field<Amount>,
}

impl FromJson for FinanceChanges {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        from_object(value)
    }
}

/// The finance of a sale.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = SaleFinance))]
#[serde(default)]
pub struct SaleFinance {
    /// Contact id of the provider.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    pub provider: Option<ContactId>,
    /// The financed amount.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, required, pattern = "^-?\\d+\\.\\d{2}$", example = "8000.00"))]
    pub amount: Option<Money>,
    /// The invoice to the provider, once there is one.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    pub invoice: Option<InvoiceId>,
}

/// Declares the body of a document: the members that all documents to customers have, and those of its own.
///
/// The macro also generates `split`, which returns the common members apart.
#[macro_export]
macro_rules! document_changes {
    (
        $(#[$meta:meta])* $name:ident and $own:ident;
        $($(#[$field_meta:meta])* $field:ident: $(#[$type_meta:meta])* $type:ty;)*
    ) => {
        #[derive(Clone, PartialEq, Debug, Default, ::serde::Deserialize)]
        #[cfg_attr(feature = "openapi", derive(::utoipa::ToSchema))]
        $(#[$meta])*
        pub struct $name {
            /// Contact id of the customer; required of a new document.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = i64))]
            pub customer: ::forecourt_kernel::Field<i64>,
            /// Site of the business; 0 is the main one.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
            pub site: ::forecourt_kernel::Field<i64>,
            /// Day of the document; today by default.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<::forecourt_kernel::Date>))]
            pub date: ::forecourt_kernel::Field<::forecourt_kernel::Date>,
            /// The full list of lines, at most 200.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<$crate::LineChanges>>, max_items = 200))]
            pub lines: ::forecourt_kernel::Field<::forecourt_kernel::BoundedList<$crate::LineChanges, { $crate::MAX_LINES }>>,
            /// The full list of vehicles given in part exchange, at most 5.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<$crate::PartExchangeChanges>>, max_items = 5))]
            pub part_exchanges:
                ::forecourt_kernel::Field<::forecourt_kernel::BoundedList<$crate::PartExchangeChanges, { $crate::MAX_PART_EXCHANGES }>>,
            /// Finance of the sale. Its members are merged; null clears it.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<$crate::FinanceChanges>))]
            pub finance: ::forecourt_kernel::Field<$crate::FinanceChanges>,
            /// The customer's reference.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<::forecourt_kernel::Line>))]
            pub reference: ::forecourt_kernel::Field<::forecourt_kernel::Line>,
            /// Staff user id of the salesperson.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
            pub salesperson: ::forecourt_kernel::Field<i64>,
            /// True if it is agreed to at a distance, so that the customer can cancel.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<bool>))]
            pub distance: ::forecourt_kernel::Field<bool>,
            /// Terms; the business's own by default.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<::forecourt_kernel::LongText>))]
            pub terms: ::forecourt_kernel::Field<::forecourt_kernel::LongText>,
            /// Notes of the staff.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<::forecourt_kernel::LongText>))]
            pub notes: ::forecourt_kernel::Field<::forecourt_kernel::LongText>,
            /// Deal that it belongs to.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
            pub deal: ::forecourt_kernel::Field<i64>,
            $(
                $(#[$field_meta])*
                #[serde(default)]
                $(#[$type_meta])*
                pub $field: ::forecourt_kernel::Field<$type>,
            )*
        }

        /// The members that only this kind of document has.
        #[derive(Clone, PartialEq, Debug, Default)]
        #[expect(missing_docs, reason = "they are those of the body")]
        pub struct $own {
            $(pub $field: ::forecourt_kernel::Field<$type>,)*
        }

        impl $name {
            /// Returns the members that all documents have, and those of its own.
            pub fn split(self) -> ($crate::AgreementChanges, $own) {
                let Self {
                    customer, site, date, lines, part_exchanges, finance, reference, salesperson, distance, terms, notes,
                    deal, $($field,)*
                } = self;
                let common = $crate::AgreementChanges {
                    customer, site, date, lines, part_exchanges, finance, reference, salesperson, distance, terms, notes,
                    deal,
                };
                (common, $own { $($field,)* })
            }
        }
    };
}

/// The members of a body that all documents to customers have.
#[derive(Clone, PartialEq, Debug, Default)]
#[expect(
    missing_docs,
    reason = "they are those of the body, which `document_changes!` describes"
)]
pub struct AgreementChanges {
    pub customer: Field<i64>,
    pub site: Field<i64>,
    pub date: Field<Date>,
    pub lines: Field<BoundedList<LineChanges, MAX_LINES>>,
    pub part_exchanges: Field<BoundedList<PartExchangeChanges, MAX_PART_EXCHANGES>>,
    pub finance: Field<FinanceChanges>,
    pub reference: Field<Line>,
    pub salesperson: Field<i64>,
    pub distance: Field<bool>,
    pub terms: Field<LongText>,
    pub notes: Field<LongText>,
    pub deal: Field<i64>,
}

/// What a dealership and its customer agree to. Its serialised form is part of a stored document: a new member needs
/// `#[serde(default)]`, and no member is ever renamed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Agreement {
    /// The site of the document; 0 is the main one.
    pub site: SiteId,
    /// The customer; `None` once the contact is deleted.
    pub customer: Option<ContactId>,
    /// The vehicle of the first vehicle line, or of the deposit.
    pub vehicle: Option<VehicleId>,
    /// The day of the document.
    pub date: Date,
    /// The currency of all its amounts.
    pub currency: Currency,
    /// The lines.
    pub lines: Vec<BillLine>,
    /// Notes of the staff.
    pub notes: LongText,
    /// The deal that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deal: Option<DealId>,
    /// The vehicles given in part exchange.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub part_exchanges: Vec<PartExchange>,
    /// The finance of the sale.
    #[serde(default)]
    pub finance: SaleFinance,
    /// The customer's reference; may be empty.
    #[serde(default)]
    pub reference: Line,
    /// The salesperson.
    #[serde(default)]
    pub salesperson: Option<StaffId>,
    /// `true` if it is agreed to at a distance.
    #[serde(default)]
    pub distance: bool,
    /// The last day on which a distance buyer can cancel, once the vehicle is handed over.
    #[serde(default)]
    pub cancel_until: Option<Date>,
    /// The terms; may be empty.
    #[serde(default)]
    pub terms: LongText,
    /// The customer as the document was issued to; `None` before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bill_to: Option<Party>,
    /// The business as it issued the document; `None` before that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bill_from: Option<LegalParty>,
}

/// The defaults of a document that a business's settings and the day give.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgreementDefaults {
    /// The day of the document.
    pub today: Date,
    /// The terms.
    pub terms: LongText,
}

impl Agreement {
    /// Makes a document without lines or customer.
    pub fn blank(business: &Business, defaults: &AgreementDefaults) -> Self {
        Self {
            site: SiteId::new(0),
            customer: None,
            vehicle: None,
            date: defaults.today,
            currency: business.country.currency(),
            lines: Vec::new(),
            notes: LongText::default(),
            deal: None,
            part_exchanges: Vec::new(),
            finance: SaleFinance::default(),
            reference: Line::default(),
            salesperson: None,
            distance: false,
            cancel_until: None,
            terms: defaults.terms.clone(),
            bill_to: None,
            bill_from: None,
        }
    }

    /// Returns the sum of the lines with tax.
    pub fn gross(&self) -> Money {
        sum(self.lines.iter().map(|line| line.gross))
    }

    /// Returns the vehicles of the vehicle lines, in their order.
    pub fn sold_vehicles(&self) -> impl Iterator<Item = VehicleId> {
        let sold = self.lines.iter().filter(|line| line.kind == crate::LineKind::Vehicle);
        sold.filter_map(|line| line.vehicle)
    }

    /// Returns the vehicles that an issue takes part with, each once: those of the vehicle lines, and those given in part exchange.
    pub fn moved_vehicles(&self) -> BTreeSet<VehicleId> {
        let given = self.part_exchanges.iter().filter_map(|exchange| exchange.vehicle);
        self.sold_vehicles().chain(given).collect()
    }

    /// Returns the vehicles that any line is for, each once.
    pub fn vehicles(&self) -> BTreeSet<VehicleId> {
        self.lines.iter().filter_map(|line| line.vehicle).collect()
    }
}

/// Changes to an agreement whose faults are known, with what other areas know of the records that it names.
#[derive(Clone, Debug)]
pub struct AgreementPatch {
    changes: AgreementChanges,
    facts: Facts,
}

/// The contacts and vehicles that a document names.
#[derive(Clone, Debug, Default)]
struct Facts {
    contacts: Vec<BilledContact>,
    vehicles: BTreeMap<VehicleId, BilledVehicle>,
    is_deal_known: bool,
}

impl AgreementChanges {
    /// Reads what the changes name, and returns them with all their faults. The faults of a document as a whole, such as finance
    /// above its gross, come with [`AgreementPatch::apply`].
    ///
    /// # Errors
    /// If the store fails.
    pub async fn look_up(
        self,
        store: &mut dyn BillingReader,
        business: &Business,
        now: Timestamp,
    ) -> StoreResult<(AgreementPatch, ValidationErrors)> {
        let patch = AgreementPatch {
            facts: self.facts(store, business.id).await?,
            changes: self,
        };
        let faults = patch.faults(business, now);
        Ok((patch, faults))
    }

    async fn facts(&self, store: &mut dyn BillingReader, business: BusinessId) -> StoreResult<Facts> {
        let mut contacts: BTreeSet<i64> = self.customer.value().copied().into_iter().collect();
        let mut vehicles = BTreeSet::new();
        if let Some(finance) = self.finance.value() {
            contacts.extend(finance.provider.value());
        }
        if let Some(lines) = self.lines.value() {
            vehicles.extend(lines.iter().filter_map(|line| line.vehicle.value().copied()));
        }
        if let Some(exchanges) = self.part_exchanges.value() {
            contacts.extend(exchanges.iter().filter_map(|exchange| exchange.lender.value().copied()));
            vehicles.extend(
                exchanges
                    .iter()
                    .filter_map(|exchange| exchange.vehicle.value().copied()),
            );
        }
        let contacts: Vec<_> = contacts.into_iter().map(ContactId::new).collect();
        let vehicles: Vec<_> = vehicles.into_iter().map(VehicleId::new).collect();
        Ok(Facts {
            contacts: match contacts.is_empty() {
                true => Vec::new(),
                false => store.billed_contacts(business, &contacts).await?,
            },
            vehicles: match vehicles.is_empty() {
                true => BTreeMap::new(),
                false => {
                    let read = store.billed_vehicles(business, &vehicles).await?;
                    read.into_iter().map(|vehicle| (vehicle.id, vehicle)).collect()
                }
            },
            is_deal_known: match self.deal.value() {
                Some(&deal) => store.deal_exists(business, DealId::new(deal)).await?,
                None => false,
            },
        })
    }
}

impl Facts {
    fn contact(&self, id: i64) -> Option<&BilledContact> {
        self.contacts.iter().find(|contact| contact.id.get() == id)
    }
}

const NO_CONTACT: &str = "names no contact of this business";

impl AgreementPatch {
    /// Returns `true` if the changes give lines or part exchanges, on which the amounts depend.
    pub const fn changes_lines(&self) -> bool {
        !matches!(self.changes.lines, Field::Absent)
    }

    /// Returns the deal that the changes name.
    pub fn deal(&self) -> Option<DealId> {
        self.changes.deal.value().copied().map(DealId::new)
    }

    /// Returns the vehicles that an issue of a draft with these changes takes part with: those of the vehicle lines, and those given
    /// in part exchange.
    pub fn moved_vehicles(&self) -> impl Iterator<Item = VehicleId> {
        let AgreementChanges {
            lines, part_exchanges, ..
        } = &self.changes;
        let lines = lines.value().into_iter().flat_map(|lines| lines.iter());
        let sold = lines.filter(|line| line.kind == Field::Value(crate::SentKind::Vehicle));
        let given = part_exchanges.value().into_iter().flat_map(|given| given.iter());
        let named = sold
            .map(|line| &line.vehicle)
            .chain(given.map(|exchange| &exchange.vehicle));
        named.filter_map(|vehicle| vehicle.value().copied().map(VehicleId::new))
    }

    fn faults(&self, business: &Business, now: Timestamp) -> ValidationErrors {
        let AgreementChanges {
            customer,
            site,
            date,
            lines,
            part_exchanges,
            finance,
            reference,
            salesperson,
            distance,
            terms,
            notes,
            deal,
        } = &self.changes;
        let facts = &self.facts;
        let mut faults = InvalidValue::default();
        match customer {
            Field::Value(id) if facts.contact(*id).is_none() => {
                faults.add_within("customer", InvalidValue::here(NO_CONTACT));
            }
            Field::Null => faults.add_within("customer", InvalidValue::here("must not be null")),
            customer => note_wrong("customer", customer, &mut faults),
        }
        match site {
            Field::Value(site) if !business.catalogue.has_site(SiteId::new(*site)) => {
                faults.add_within("site", InvalidValue::here("names no site of this business"));
            }
            site => note_wrong("site", site, &mut faults),
        }
        match date {
            Field::Value(date) => {
                if let Err(message) = check_day(*date, now) {
                    faults.add_within("date", InvalidValue::here(message));
                }
            }
            date => note_wrong("date", date, &mut faults),
        }
        note_wrong("lines", lines, &mut faults);
        if let Err(wrong) = self.lines(business, "").transpose() {
            faults.add_within("lines", wrong);
        }
        note_wrong("part_exchanges", part_exchanges, &mut faults);
        if let Err(wrong) = self.part_exchanges().transpose() {
            faults.add_within("part_exchanges", wrong);
        }
        note_wrong("finance", finance, &mut faults);
        if let Some(FinanceChanges { provider, amount }) = finance.value() {
            let mut wrong = InvalidValue::default();
            match provider {
                Field::Value(id) if facts.contact(*id).is_none() => {
                    wrong.add_within("provider", InvalidValue::here(NO_CONTACT));
                }
                provider => note_wrong("provider", provider, &mut wrong),
            }
            match amount {
                Field::Value(Amount(amount)) if *amount < Money::ZERO => {
                    wrong.add_within("amount", InvalidValue::here("must not be negative"));
                }
                amount => note_wrong("amount", amount, &mut wrong),
            }
            faults.add_within("finance", wrong);
        }
        note_wrong("reference", reference, &mut faults);
        match salesperson {
            Field::Value(staff) if !business.catalogue.has_staff(StaffId::new(*staff)) => {
                let message = "names no staff user of this business";
                faults.add_within("salesperson", InvalidValue::here(message));
            }
            salesperson => note_wrong("salesperson", salesperson, &mut faults),
        }
        note_wrong("distance", distance, &mut faults);
        note_wrong("terms", terms, &mut faults);
        note_wrong("notes", notes, &mut faults);
        match deal {
            Field::Value(_) if !facts.is_deal_known => {
                faults.add_within("deal", InvalidValue::here("names no deal of this business"));
            }
            deal => note_wrong("deal", deal, &mut faults),
        }
        faults.into()
    }

    fn lines(&self, business: &Business, nominal: &str) -> Option<Result<Vec<BillLine>, InvalidValue>> {
        let sent = self.changes.lines.value()?.iter().cloned().collect();
        let facts = LineFacts {
            side: LineSide::Sales,
            country: business.country,
            products: &products(business),
            vehicles: &self.facts.vehicles,
            nominal,
        };
        Some(read_lines(sent, facts))
    }

    fn part_exchanges(&self) -> Option<Result<Vec<PartExchange>, InvalidValue>> {
        let sent = self.changes.part_exchanges.value()?.iter().cloned().collect();
        let contacts: Vec<ContactId> = self.facts.contacts.iter().map(|contact| contact.id).collect();
        let facts = ExchangeFacts {
            vehicles: &self.facts.vehicles,
            contacts: &contacts,
        };
        Some(read_part_exchanges(sent, facts))
    }

    /// Returns `stored` with the changes. `nominal` is the code of the customer that `stored` has, for lines without one.
    ///
    /// # Errors
    /// The faults of the document as a whole.
    pub fn apply(
        &self,
        stored: &Agreement,
        business: &Business,
        defaults: &AgreementDefaults,
        nominal: &str,
    ) -> Result<Agreement, ValidationErrors> {
        let blank = Agreement::blank(business, defaults);
        let mut changed = stored.clone();
        let changes = &self.changes;
        merge(&changes.customer, &mut changed.customer, None, |&id| {
            Some(ContactId::new(id))
        });
        merge(&changes.site, &mut changed.site, blank.site, |&id| SiteId::new(id));
        merge(&changes.date, &mut changed.date, blank.date, |&date| date);
        merge(
            &changes.reference,
            &mut changed.reference,
            blank.reference,
            Clone::clone,
        );
        merge(&changes.salesperson, &mut changed.salesperson, None, |&id| {
            Some(StaffId::new(id))
        });
        merge(&changes.distance, &mut changed.distance, false, |&distance| distance);
        merge(&changes.terms, &mut changed.terms, blank.terms, Clone::clone);
        merge(&changes.notes, &mut changed.notes, blank.notes, Clone::clone);
        merge(&changes.deal, &mut changed.deal, None, |&id| Some(DealId::new(id)));
        match &changes.finance {
            Field::Null => {
                changed.finance.provider = None;
                changed.finance.amount = None;
            }
            Field::Value(FinanceChanges { provider, amount }) => {
                merge(provider, &mut changed.finance.provider, None, |&id| {
                    Some(ContactId::new(id))
                });
                merge(amount, &mut changed.finance.amount, None, |amount| Some(amount.0));
            }
            Field::Absent | Field::Wrong(_) => {}
        }
        let of_customer = changes.customer.value().and_then(|&id| self.facts.contact(id));
        let nominal = of_customer.map_or(nominal, |contact| &contact.nominal_sales);
        let lines = match &changes.lines {
            Field::Null => Some(Vec::new()),
            _ => self
                .lines(business, nominal)
                .transpose()
                .map_err(|wrong| within("lines", &wrong))?,
        };
        let exchanges = match &changes.part_exchanges {
            Field::Null => Some(Vec::new()),
            _ => self
                .part_exchanges()
                .transpose()
                .map_err(|wrong| within("part_exchanges", &wrong))?,
        };
        if lines.is_some() || exchanges.is_some() {
            changed.part_exchanges = exchanges.unwrap_or(changed.part_exchanges);
            let lines = lines.unwrap_or(changed.lines);
            changed.lines = with_settlements(lines, &changed.part_exchanges);
            let first = changed.sold_vehicles().next();
            changed.vehicle = first;
        }
        validate_whole(&changed).into_result(changed)
    }
}

/// Returns the faults of a document as a whole: the sums of its lines, and its finance.
pub fn validate_whole(agreement: &Agreement) -> ValidationErrors {
    let mut faults = ValidationErrors::new();
    sum_faults(&agreement.lines).report("lines", &mut faults);
    if agreement
        .finance
        .amount
        .is_some_and(|amount| amount > agreement.gross())
    {
        faults.add("finance.amount", "must not be above the gross of the document");
    }
    faults
}

fn within(name: &str, wrong: &InvalidValue) -> ValidationErrors {
    let mut faults = ValidationErrors::new();
    wrong.report(name, &mut faults);
    faults
}

fn note_wrong<T: Clone>(name: &str, field: &Field<T>, faults: &mut InvalidValue) {
    taken(name, field.clone(), faults);
}

/// Merges a field into `stored`; null brings `default` back.
pub fn merge<T, U>(field: &Field<T>, stored: &mut U, default: U, read: impl FnOnce(&T) -> U) {
    match field {
        Field::Absent | Field::Wrong(_) => {}
        Field::Null => *stored = default,
        Field::Value(value) => *stored = read(value),
    }
}

/// The first year and the number of years ahead of the days of documents, which are those of vehicles (decisions §7).
const FIRST_YEAR: i32 = 1885;
const MAX_YEARS_AHEAD: u32 = 10;

/// Checks that a day is within the bounds of documents' days.
///
/// # Errors
/// The fault of the day.
pub fn check_day(date: Date, now: Timestamp) -> Result<(), String> {
    let last = now.date().years_later(MAX_YEARS_AHEAD);
    if date.year() >= FIRST_YEAR && date <= last {
        Ok(())
    } else {
        Err(format!("must be a date from {FIRST_YEAR}-01-01 to {last}"))
    }
}

/// The products of a business's catalogue.
pub fn products(business: &Business) -> Vec<Product> {
    let listed = business.catalogue.products.iter().map(|product| Product {
        id: product.id.clone(),
        name: product.name.clone(),
        gross: Some(product.gross),
        vat_scheme: Some(product.vat_scheme.into()),
        vat_rate: product.vat_rate.map(|rate| VatRate::from_hundredths(rate.hundredths())),
        nominal: product.nominal.clone(),
    });
    listed.collect()
}

/// The business as its documents show it.
pub fn legal_party(business: &Business) -> LegalParty {
    let Legal {
        name,
        address,
        phone,
        company_number,
        vat_number,
        fca_number,
        bank,
    } = business.legal();
    LegalParty {
        name,
        address: PartyAddress {
            line1: address.line1,
            line2: address.line2,
            line3: address.line3,
            city: address.city,
            state: address.state,
            country: address.country,
            zip: address.zip,
        },
        vat: vat_number,
        phone,
        company_number,
        fca_number,
        bank: BankAccount {
            account_name: bank.account_name,
            sort_code: bank.sort_code,
            account_number: bank.account_number,
            iban: bank.iban,
            bic: bank.bic,
        },
    }
}

/// What drafts show of records that may change without them: the parties, and the numbers of vehicles in the stock book.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Live {
    contacts: Vec<BilledContact>,
    stock_numbers: BTreeMap<VehicleId, i64>,
    business: LegalParty,
}

impl Live {
    /// Reads what these agreements show, in at most two queries. Issued documents have it frozen, and read nothing.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn read(
        store: &mut dyn BillingReader,
        business: &Business,
        drafts: impl IntoIterator<Item = &Agreement>,
    ) -> StoreResult<Self> {
        let mut contacts = BTreeSet::new();
        let mut vehicles = BTreeSet::new();
        for draft in drafts.into_iter().filter(|draft| draft.bill_from.is_none()) {
            contacts.extend(draft.customer);
            vehicles.extend(draft.vehicles());
        }
        let contacts: Vec<_> = contacts.into_iter().collect();
        let vehicles: Vec<_> = vehicles.into_iter().collect();
        let mut live = Self {
            business: legal_party(business),
            ..Self::default()
        };
        if !contacts.is_empty() {
            live.contacts = store.billed_contacts(business.id, &contacts).await?;
        }
        if !vehicles.is_empty() {
            let read = store.billed_vehicles(business.id, &vehicles).await?;
            let numbers = read
                .into_iter()
                .filter_map(|vehicle| Some((vehicle.id, vehicle.stock_number?)));
            live.stock_numbers = numbers.collect();
        }
        Ok(live)
    }

    /// Returns the contact, if the business has it.
    pub fn contact(&self, id: ContactId) -> Option<&BilledContact> {
        self.contacts.iter().find(|contact| contact.id == id)
    }

    /// Returns `agreement` with everything filled in that it shows.
    #[must_use]
    pub fn fill(&self, agreement: &Agreement) -> Agreement {
        let mut filled = agreement.clone();
        if filled.bill_from.is_none() {
            let customer = filled.customer.and_then(|customer| self.contact(customer));
            filled.bill_to = customer.map(|customer| customer.party.clone());
            filled.bill_from = Some(self.business.clone());
            for line in &mut filled.lines {
                line.stock_number = line
                    .vehicle
                    .and_then(|vehicle| self.stock_numbers.get(&vehicle).copied());
            }
        }
        filled
    }

    /// Returns the version of a document that is shown with what is live of it.
    pub fn version_of(&self, version: Version, agreement: &Agreement) -> Version {
        if agreement.bill_from.is_some() {
            return version;
        }
        let filled = self.fill(agreement);
        let numbers: Vec<_> = filled.lines.iter().map(|line| line.stock_number).collect();
        let mut hasher = DefaultHasher::new();
        (filled.bill_to, filled.bill_from, numbers).hash(&mut hasher);
        version.shown_with(hasher.finish())
    }
}
