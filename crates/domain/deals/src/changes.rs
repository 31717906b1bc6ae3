//! The bodies of callers, and what they change (areas §10.12).

use std::collections::{BTreeMap, BTreeSet};

use forecourt_accounts::Business;
use forecourt_billing::{
    Amount, BilledContact, BilledVehicle, ExchangeFacts, LineChanges, LineFacts, LineSide, MAX_LINES,
    MAX_PART_EXCHANGES, PartExchangeChanges, Percent, VatRate, merge, products, read_lines, read_part_exchanges,
};
use forecourt_kernel::{
    BoundedList, ContactId, Date, Field, FromJson, InvalidValue, LeadId, Line, LongText, Money, SiteId, StaffId,
    StoreResult, Timestamp, ValidationErrors, VehicleId, from_object,
};
use forecourt_reference::LeadChannel;
use serde::Deserialize;
use serde_json::Value;

use crate::stage::FirstStage;
use crate::{
    DealContent, DealFinance, DealReader, DealReason, DealStage, Delivery, DeliveryMethod, FinanceStatus, FinanceType,
    ReasonCode,
};

/// The number of months of finance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Term(pub u32);

/// The largest number of months.
const MAX_TERM: i64 = 600;

impl FromJson for Term {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        let months = i64::from_json(value)?;
        let within = (1..=MAX_TERM).contains(&months).then(|| u32::try_from(months).ok());
        let message = InvalidValue::here(format!("must be from 1 to {MAX_TERM}"));
        within.flatten().map(Self).ok_or(message)
    }
}

/// The finance of a deal, as callers send it. Its members are merged.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = DealFinanceBody))]
pub struct DealFinanceChanges {
    /// Its kind; none by default.
    #[serde(rename = "type", default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<FinanceType>))]
    pub kind: Field<FinanceType>,
    /// Contact id of the provider.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub provider: Field<i64>,
    /// The amount lent; at least 0, as all amounts of finance.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>, minimum = 0, maximum = 99_999_999.99))]
    pub amount: Field<Amount>,
    /// The amount paid at once.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>, minimum = 0, maximum = 99_999_999.99))]
    pub deposit: Field<Amount>,
    /// The number of months.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, minimum = 1, maximum = 600))]
    pub term: Field<Term>,
    /// The APR in percent.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Percent>))]
    pub apr: Field<Percent>,
    /// Each monthly payment. Of hire purchase and personal contract purchase it is computed if it is absent.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>, minimum = 0, maximum = 99_999_999.99))]
    pub monthly: Field<Amount>,
    /// The payment at the end.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>, minimum = 0, maximum = 99_999_999.99))]
    pub final_payment: Field<Amount>,
    /// A fee paid with the first instalment.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>, minimum = 0, maximum = 99_999_999.99))]
    pub admin_fee: Field<Amount>,
    /// A fee paid with the last instalment.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>, minimum = 0, maximum = 99_999_999.99))]
    pub option_purchase_fee: Field<Amount>,
    /// Everything that the customer pays. Of hire purchase and personal contract purchase it is computed if it is absent.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>, minimum = 0, maximum = 99_999_999.99))]
    pub total_payable: Field<Amount>,
    /// Its state; none by default.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<FinanceStatus>))]
    pub status: Field<FinanceStatus>,
    /// The provider's reference.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Line>))]
    pub reference: Field<Line>,
    /// True if the customer was told that the dealership gets a commission.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<bool>))]
    pub commission_disclosed: Field<bool>,
}

impl FromJson for DealFinanceChanges {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        from_object(value)
    }
}

/// The hand-over of the car, as callers send it. Its members are merged.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = DealDeliveryBody))]
pub struct DeliveryChanges {
    /// The way in which the car changes hands; collection by default.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<DeliveryMethod>))]
    pub method: Field<DeliveryMethod>,
    /// The day on which it does.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
    pub date: Field<Date>,
    /// The address to which it is delivered.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<LongText>))]
    pub address: Field<LongText>,
    /// Notes.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<LongText>))]
    pub notes: Field<LongText>,
}

impl FromJson for DeliveryChanges {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        from_object(value)
    }
}

/// A new deal, or changes to one. Only the supplied members change.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = DealBody, example = json!({"source": "website", "lines": [{"type": "product", "description": "Tow bar, fitted", "gross": 480}], "finance": {"type": "hp", "amount": 6000, "term": 48, "apr": 9.9}, "delivery": {"method": "collection"}, "notes": "Comes back on Saturday."})))]
pub struct DealChanges {
    /// Site of the business; 0 is the main one.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub site: Field<i64>,
    /// begin (the default) or pending. On creation only; after that `POST /2.0/deals/{id}/stage` moves the deal.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, max_length = 255, pattern = "^(begin|pending)$"))]
    pub stage: Field<FirstStage>,
    /// Id of the contact who is the customer.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub contact: Field<i64>,
    /// Id of the lead that it came of.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub lead: Field<i64>,
    /// Id of the car.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub vehicle: Field<i64>,
    /// Id of the staff user who leads it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    pub staff: Field<i64>,
    /// The channel by which it came; api by default.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<LeadChannel>))]
    pub source: Field<LeadChannel>,
    /// Another system that knows the deal.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Line>))]
    pub provider: Field<Line>,
    /// That system's own id of the deal.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Line>))]
    pub external_id: Field<Line>,
    /// The full list of lines beside the car's: products and adjustments, at most 200.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<LineChanges>>, max_items = 200))]
    pub lines: Field<BoundedList<LineChanges, MAX_LINES>>,
    /// The price of the car with tax, at least 0; by default the car's own.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<f64>, minimum = 0, maximum = 99_999_999.99))]
    pub price: Field<Amount>,
    /// The full list of cars given in part exchange, at most 5.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<PartExchangeChanges>>, max_items = 5))]
    pub part_exchanges: Field<BoundedList<PartExchangeChanges, MAX_PART_EXCHANGES>>,
    /// The finance. Its members are merged; null clears it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<DealFinanceChanges>))]
    pub finance: Field<DealFinanceChanges>,
    /// The hand-over. Its members are merged; null clears it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<DeliveryChanges>))]
    pub delivery: Field<DeliveryChanges>,
    /// True if it is agreed to at a distance, so that the customer can cancel.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<bool>))]
    pub distance: Field<bool>,
    /// Notes of the staff.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<LongText>))]
    pub notes: Field<LongText>,
}

impl DealChanges {
    /// Returns the name under which another system knows the deal, if the body has both parts of it.
    pub fn reported_as(&self) -> Option<(&str, &str)> {
        let text = |field: &'_ Field<Line>| field.value().filter(|text| !text.is_empty()).is_some();
        if !text(&self.provider) || !text(&self.external_id) {
            return None;
        }
        Some((self.provider.value()?.as_str(), self.external_id.value()?.as_str()))
    }

    /// Returns `true` if the deal may get another contact or vehicle.
    pub const fn changes_parties(&self) -> bool {
        !matches!((&self.contact, &self.vehicle), (Field::Absent, Field::Absent))
    }
}

/// A move of a deal, as callers send it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = DealStageBody, example = json!({"stage": "declined", "reason": "unaffordable", "note": "Asks again in spring."})))]
pub struct StageChanges {
    /// The stage.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = DealStage, required))]
    pub stage: Field<DealStage>,
    /// The reason; required of declined and fatal.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<ReasonCode>))]
    pub reason: Field<ReasonCode>,
    /// A note on it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<LongText>))]
    pub note: Field<LongText>,
}

/// A move of a deal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StageMove {
    /// The stage.
    pub stage: DealStage,
    /// The reason, if one was given.
    pub reason: Option<DealReason>,
}

impl StageChanges {
    /// Reads the move.
    ///
    /// # Errors
    /// Its faults.
    pub fn read(self) -> Result<StageMove, ValidationErrors> {
        let mut faults = InvalidValue::default();
        if matches!(self.stage, Field::Absent | Field::Null) {
            faults.add_within("stage", InvalidValue::here("is required"));
        }
        let stage = forecourt_billing::take("stage", self.stage, &mut faults);
        let was_given = !matches!(self.reason, Field::Absent | Field::Null);
        let reason = forecourt_billing::take("reason", self.reason, &mut faults);
        let note = forecourt_billing::take("note", self.note, &mut faults).unwrap_or_default();
        if matches!(stage, Some(DealStage::Declined | DealStage::Fatal)) && !was_given {
            faults.add_within("reason", InvalidValue::here("is required of declined and fatal"));
        }
        let reason = reason.map(|code| DealReason { code, note });
        let read = stage.map(|stage| StageMove { stage, reason });
        match read {
            Some(read) if faults.is_empty() => Ok(read),
            _ => Err(faults.into()),
        }
    }
}

/// The contacts and vehicles that a deal names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    contacts: Vec<BilledContact>,
    vehicles: BTreeMap<VehicleId, BilledVehicle>,
}

impl Facts {
    async fn read(
        store: &mut dyn DealReader,
        business: &Business,
        contacts: &BTreeSet<ContactId>,
        vehicles: &BTreeSet<VehicleId>,
    ) -> StoreResult<Self> {
        let contacts: Vec<_> = contacts.iter().copied().collect();
        let vehicles: Vec<_> = vehicles.iter().copied().collect();
        let mut facts = Self::default();
        if !contacts.is_empty() {
            facts.contacts = store.billed_contacts(business.id, &contacts).await?;
        }
        if !vehicles.is_empty() {
            let read = store.billed_vehicles(business.id, &vehicles).await?;
            facts.vehicles = read.into_iter().map(|vehicle| (vehicle.id, vehicle)).collect();
        }
        Ok(facts)
    }

    fn contact(&self, id: ContactId) -> Option<&BilledContact> {
        self.contacts.iter().find(|contact| contact.id == id)
    }
}

const NO_CONTACT: &str = "names no contact of this business";

/// Notes that a member does not fit its type.
fn note_wrong<T: Clone>(name: &str, field: &Field<T>, faults: &mut InvalidValue) {
    forecourt_billing::take(name, field.clone(), faults);
}

/// Notes an amount that does not fit its type, or is below 0.
fn note_amount(name: &str, field: &Field<Amount>, faults: &mut InvalidValue) {
    match field {
        Field::Value(Amount(amount)) if *amount < Money::ZERO => {
            faults.add_within(name, InvalidValue::here("must not be negative"));
        }
        field => note_wrong(name, field, faults),
    }
}

fn note_day(name: &str, field: &Field<Date>, now: Timestamp, faults: &mut InvalidValue) {
    forecourt_billing::day(name, field.clone(), now, faults);
}

impl DealChanges {
    /// Returns the faults of the changes, with those in the records that they name. `is_new` is `true` for a body that may make a
    /// deal.
    ///
    /// # Errors
    /// If the store fails.
    pub async fn all_faults(
        &self,
        store: &mut dyn DealReader,
        business: &Business,
        now: Timestamp,
        is_new: bool,
    ) -> StoreResult<ValidationErrors> {
        let facts = self.facts(store, business, None).await?;
        let mut faults = self.faults(business, now, is_new, &facts);
        if let Some(&lead) = self.lead.value()
            && !store.is_lead_known(business.id, LeadId::new(lead)).await?
        {
            faults.add_within("lead", InvalidValue::here("names no lead of this business"));
        }
        Ok(faults.into())
    }

    /// Reads what the changes, and the deal that they change, name.
    pub(crate) async fn facts(
        &self,
        store: &mut dyn DealReader,
        business: &Business,
        stored: Option<&DealContent>,
    ) -> StoreResult<Facts> {
        let mut contacts: BTreeSet<ContactId> = BTreeSet::new();
        let mut vehicles: BTreeSet<VehicleId> = BTreeSet::new();
        contacts.extend(self.contact.value().copied().map(ContactId::new));
        vehicles.extend(self.vehicle.value().copied().map(VehicleId::new));
        if let Some(finance) = self.finance.value() {
            contacts.extend(finance.provider.value().copied().map(ContactId::new));
        }
        for line in self.lines.value().into_iter().flat_map(|lines| lines.iter()) {
            vehicles.extend(line.vehicle.value().copied().map(VehicleId::new));
        }
        for exchange in self.part_exchanges.value().into_iter().flat_map(|list| list.iter()) {
            contacts.extend(exchange.lender.value().copied().map(ContactId::new));
            vehicles.extend(exchange.vehicle.value().copied().map(VehicleId::new));
        }
        if let Some(stored) = stored {
            if !matches!(self.lines, Field::Absent) {
                contacts.extend(stored.contact);
            }
            if matches!(self.price, Field::Null) {
                vehicles.extend(stored.vehicle);
            }
        }
        Facts::read(store, business, &contacts, &vehicles).await
    }

    fn faults(&self, business: &Business, now: Timestamp, is_new: bool, facts: &Facts) -> InvalidValue {
        let Self {
            site,
            stage,
            contact,
            lead,
            vehicle,
            staff,
            source,
            provider,
            external_id,
            lines,
            price,
            part_exchanges,
            finance,
            delivery,
            distance,
            notes,
        } = self;
        let mut faults = InvalidValue::default();
        match site {
            Field::Value(site) if !business.catalogue.has_site(SiteId::new(*site)) => {
                faults.add_within("site", InvalidValue::here("names no site of this business"));
            }
            site => note_wrong("site", site, &mut faults),
        }
        if is_new {
            note_wrong("stage", stage, &mut faults);
        }
        match contact {
            Field::Value(id) if facts.contact(ContactId::new(*id)).is_none() => {
                faults.add_within("contact", InvalidValue::here(NO_CONTACT));
            }
            contact => note_wrong("contact", contact, &mut faults),
        }
        note_wrong("lead", lead, &mut faults);
        match vehicle {
            Field::Value(id) if !facts.vehicles.contains_key(&VehicleId::new(*id)) => {
                faults.add_within("vehicle", InvalidValue::here("names no vehicle of this business"));
            }
            vehicle => note_wrong("vehicle", vehicle, &mut faults),
        }
        match staff {
            Field::Value(staff) if !business.catalogue.has_staff(StaffId::new(*staff)) => {
                faults.add_within("staff", InvalidValue::here("names no staff user of this business"));
            }
            staff => note_wrong("staff", staff, &mut faults),
        }
        note_wrong("source", source, &mut faults);
        note_wrong("provider", provider, &mut faults);
        note_wrong("external_id", external_id, &mut faults);
        note_wrong("lines", lines, &mut faults);
        if let Err(wrong) = self.read_lines(business, None, "", facts) {
            faults.add_within("lines", wrong);
        }
        note_amount("price", price, &mut faults);
        note_wrong("part_exchanges", part_exchanges, &mut faults);
        if let Err(wrong) = self.read_part_exchanges(facts) {
            faults.add_within("part_exchanges", wrong);
        }
        note_wrong("finance", finance, &mut faults);
        if let Some(finance) = finance.value() {
            faults.add_within("finance", finance_faults(finance, facts));
        }
        note_wrong("delivery", delivery, &mut faults);
        if let Some(DeliveryChanges {
            method,
            date,
            address,
            notes,
        }) = delivery.value()
        {
            let mut wrong = InvalidValue::default();
            note_wrong("method", method, &mut wrong);
            note_day("date", date, now, &mut wrong);
            note_wrong("address", address, &mut wrong);
            note_wrong("notes", notes, &mut wrong);
            faults.add_within("delivery", wrong);
        }
        note_wrong("distance", distance, &mut faults);
        note_wrong("notes", notes, &mut faults);
        faults
    }

    fn read_lines(
        &self,
        business: &Business,
        vehicle: Option<VehicleId>,
        nominal: &str,
        facts: &Facts,
    ) -> Result<Option<Vec<forecourt_billing::BillLine>>, InvalidValue> {
        let Some(sent) = self.lines.value() else {
            return Ok(matches!(self.lines, Field::Null).then(Vec::new));
        };
        let facts = LineFacts {
            side: LineSide::Extras(vehicle),
            country: business.country,
            products: &products(business),
            vehicles: &facts.vehicles,
            nominal,
        };
        read_lines(sent.iter().cloned().collect(), facts).map(Some)
    }

    fn read_part_exchanges(&self, facts: &Facts) -> Result<Option<Vec<forecourt_billing::PartExchange>>, InvalidValue> {
        let Some(sent) = self.part_exchanges.value() else {
            return Ok(matches!(self.part_exchanges, Field::Null).then(Vec::new));
        };
        let contacts: Vec<ContactId> = facts.contacts.iter().map(|contact| contact.id).collect();
        let facts = ExchangeFacts {
            vehicles: &facts.vehicles,
            contacts: &contacts,
        };
        read_part_exchanges(sent.iter().cloned().collect(), facts).map(Some)
    }

    /// Returns `stored` with the changes, whose faults are known apart from those of the deal as a whole.
    ///
    /// # Errors
    /// The faults of the deal as a whole.
    pub(crate) fn apply(
        &self,
        stored: &DealContent,
        business: &Business,
        facts: &Facts,
    ) -> Result<DealContent, ValidationErrors> {
        let mut changed = stored.clone();
        merge(&self.site, &mut changed.site, SiteId::new(0), |&id| SiteId::new(id));
        merge(&self.contact, &mut changed.contact, None, |&id| {
            Some(ContactId::new(id))
        });
        merge(&self.lead, &mut changed.lead, None, |&id| Some(LeadId::new(id)));
        merge(&self.vehicle, &mut changed.vehicle, None, |&id| {
            Some(VehicleId::new(id))
        });
        merge(&self.staff, &mut changed.staff, None, |&id| Some(StaffId::new(id)));
        merge(&self.source, &mut changed.source, LeadChannel::Api, |&source| source);
        merge(&self.provider, &mut changed.provider, Line::default(), Clone::clone);
        merge(
            &self.external_id,
            &mut changed.external_id,
            Line::default(),
            Clone::clone,
        );
        merge(&self.distance, &mut changed.distance, false, |&distance| distance);
        merge(&self.notes, &mut changed.notes, LongText::default(), Clone::clone);
        match &self.finance {
            Field::Null => changed.finance = DealFinance::default(),
            Field::Value(finance) => merge_finance(finance, &mut changed.finance),
            Field::Absent | Field::Wrong(_) => {}
        }
        match &self.delivery {
            Field::Null => changed.delivery = Delivery::default(),
            Field::Value(DeliveryChanges {
                method,
                date,
                address,
                notes,
            }) => {
                let delivery = &mut changed.delivery;
                merge(method, &mut delivery.method, DeliveryMethod::Collection, |&method| {
                    method
                });
                merge(date, &mut delivery.date, None, |&date| Some(date));
                merge(address, &mut delivery.address, LongText::default(), Clone::clone);
                merge(notes, &mut delivery.notes, LongText::default(), Clone::clone);
            }
            Field::Absent | Field::Wrong(_) => {}
        }
        merge(&self.price, &mut changed.price, None, |price| Some(price.0));
        merge(&self.price, &mut changed.price_sent, false, |_| true);
        let is_other = changed.vehicle != stored.vehicle;
        if !changed.price_sent && (is_other || matches!(self.price, Field::Null)) {
            let vehicle = changed.vehicle.and_then(|id| facts.vehicles.get(&id));
            changed.price = vehicle.and_then(|vehicle| gross_price(vehicle, business));
        }
        let customer = changed.contact.and_then(|contact| facts.contact(contact));
        let nominal = customer.map_or("", |customer| &customer.nominal_sales);
        let within = |name: &str, wrong: InvalidValue| {
            let mut faults = ValidationErrors::new();
            wrong.report(name, &mut faults);
            faults
        };
        let lines = self.read_lines(business, changed.vehicle, nominal, facts);
        if let Some(lines) = lines.map_err(|wrong| within("lines", wrong))? {
            changed.lines = lines;
        }
        let exchanges = self.read_part_exchanges(facts);
        if let Some(exchanges) = exchanges.map_err(|wrong| within("part_exchanges", wrong))? {
            changed.part_exchanges = exchanges;
        }
        let is_judged = !matches!(
            (&self.lines, &self.price, &self.vehicle),
            (Field::Absent, Field::Absent, Field::Absent)
        );
        if is_judged && changed.vehicle.is_some() && changed.gross() < Money::ZERO {
            return Err(ValidationErrors::one("lines", "must not add up to less than 0"));
        }
        Ok(changed)
    }
}

/// Returns the advertised price of a vehicle with tax, as of a vehicle's line.
fn gross_price(vehicle: &BilledVehicle, business: &Business) -> Option<Money> {
    let price = vehicle.price?;
    if !vehicle.is_price_net {
        return Some(price);
    }
    let rate = match vehicle.carries_vat {
        true => VatRate::standard(business.country),
        false => VatRate::ZERO,
    };
    Some(forecourt_billing::sum([price, rate.on_net(price)]))
}

fn finance_faults(finance: &DealFinanceChanges, facts: &Facts) -> InvalidValue {
    let DealFinanceChanges {
        kind,
        provider,
        amount,
        deposit,
        term,
        apr,
        monthly,
        final_payment,
        admin_fee,
        option_purchase_fee,
        total_payable,
        status,
        reference,
        commission_disclosed,
    } = finance;
    let mut faults = InvalidValue::default();
    note_wrong("type", kind, &mut faults);
    match provider {
        Field::Value(id) if facts.contact(ContactId::new(*id)).is_none() => {
            faults.add_within("provider", InvalidValue::here(NO_CONTACT));
        }
        provider => note_wrong("provider", provider, &mut faults),
    }
    note_amount("amount", amount, &mut faults);
    note_amount("deposit", deposit, &mut faults);
    note_wrong("term", term, &mut faults);
    note_wrong("apr", apr, &mut faults);
    note_amount("monthly", monthly, &mut faults);
    note_amount("final_payment", final_payment, &mut faults);
    note_amount("admin_fee", admin_fee, &mut faults);
    note_amount("option_purchase_fee", option_purchase_fee, &mut faults);
    note_amount("total_payable", total_payable, &mut faults);
    note_wrong("status", status, &mut faults);
    note_wrong("reference", reference, &mut faults);
    note_wrong("commission_disclosed", commission_disclosed, &mut faults);
    faults
}

fn merge_finance(changes: &DealFinanceChanges, stored: &mut DealFinance) {
    let amount = |field: &Field<Amount>, stored: &mut Option<Money>| {
        merge(field, stored, None, |amount| Some(amount.0));
    };
    merge(&changes.kind, &mut stored.kind, FinanceType::None, |&kind| kind);
    merge(&changes.provider, &mut stored.provider, None, |&id| {
        Some(ContactId::new(id))
    });
    amount(&changes.amount, &mut stored.amount);
    amount(&changes.deposit, &mut stored.deposit);
    merge(&changes.term, &mut stored.term, None, |term| Some(term.0));
    merge(&changes.apr, &mut stored.apr, None, |apr| Some(apr.0));
    amount(&changes.monthly, &mut stored.monthly);
    amount(&changes.final_payment, &mut stored.final_payment);
    amount(&changes.admin_fee, &mut stored.admin_fee);
    amount(&changes.option_purchase_fee, &mut stored.option_purchase_fee);
    amount(&changes.total_payable, &mut stored.total_payable);
    merge(&changes.status, &mut stored.status, FinanceStatus::None, |&status| {
        status
    });
    merge(&changes.reference, &mut stored.reference, Line::default(), Clone::clone);
    merge(
        &changes.commission_disclosed,
        &mut stored.commission_disclosed,
        false,
        |&disclosed| disclosed,
    );
}
