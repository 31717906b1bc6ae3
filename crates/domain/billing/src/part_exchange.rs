//! Vehicles that a customer gives in part exchange (areas §10.1, "Part exchanges").

use std::collections::BTreeMap;

use forecourt_kernel::{ContactId, Field, FromJson, InvalidValue, Line, Money, VehicleId, from_object};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Amount, BilledVehicle, PurchaseId, VatScheme, sum};

/// The maximum number of part exchanges of a document.
pub const MAX_PART_EXCHANGES: usize = 5;

/// A vehicle given in part exchange, as callers send it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PartExchangeBody))]
pub struct PartExchangeChanges {
    /// Registration; it or `vin` is required unless `vehicle` is given.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Line>))]
    #[serde(default)]
    pub registration: Field<Line>,
    /// VIN.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Line>))]
    #[serde(default)]
    pub vin: Field<Line>,
    /// Make.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Line>))]
    #[serde(default)]
    pub make: Field<Line>,
    /// Model.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Line>))]
    #[serde(default)]
    pub model: Field<Line>,
    /// Mileage.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, minimum = 0, maximum = 10_000_000))]
    #[serde(default)]
    pub mileage: Field<i64>,
    /// Id of an appraisal that has an offer, or of a customer's vehicle.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    #[serde(default)]
    pub vehicle: Field<i64>,
    /// The price that the dealership allows for it: above 0.
    #[cfg_attr(feature = "openapi", schema(value_type = Amount, required))]
    #[serde(default)]
    pub allowance: Field<Amount>,
    /// The finance that is owed on it; 0 by default. Above 0 it needs a lender.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Amount>))]
    #[serde(default)]
    pub settlement: Field<Amount>,
    /// Contact id of the lender.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
    #[serde(default)]
    pub lender: Field<i64>,
    /// `margin` (the default) or `standard`.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<ExchangeScheme>))]
    #[serde(default)]
    pub vat_scheme: Field<ExchangeScheme>,
}

impl FromJson for PartExchangeChanges {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        from_object(value)
    }
}

/// The VAT scheme under which a part exchange is bought.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ExchangeScheme {
    /// The margin scheme: the seller charges no tax.
    #[default]
    Margin,
    /// The seller charges tax.
    Standard,
}

impl From<ExchangeScheme> for VatScheme {
    fn from(scheme: ExchangeScheme) -> Self {
        match scheme {
            ExchangeScheme::Margin => Self::Margin,
            ExchangeScheme::Standard => Self::Standard,
        }
    }
}

impl FromJson for ExchangeScheme {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        match VatScheme::from_json(value) {
            Ok(VatScheme::Margin) => Ok(Self::Margin),
            Ok(VatScheme::Standard) => Ok(Self::Standard),
            Ok(_) | Err(_) => Err(InvalidValue::here("must be margin or standard")),
        }
    }
}

/// A vehicle given in part exchange.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PartExchange {
    /// Its number within the document, from 1.
    pub id: i64,
    /// Registration; may be empty.
    pub registration: Line,
    /// VIN; may be empty.
    pub vin: Line,
    /// Make; may be empty.
    pub make: Line,
    /// Model; may be empty.
    pub model: Line,
    /// Mileage, if it is known.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub mileage: Option<i64>,
    /// The appraisal or customer's vehicle that it is.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    pub vehicle: Option<VehicleId>,
    /// The price that the dealership allows for it.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "4000.00"))]
    pub allowance: Money,
    /// The finance that is owed on it.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "0.00"))]
    pub settlement: Money,
    /// Contact id of the lender.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    pub lender: Option<ContactId>,
    /// The scheme under which it is bought.
    pub vat_scheme: ExchangeScheme,
    /// The purchase by which it was acquired; null before the issue.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    pub purchase: Option<PurchaseId>,
    /// The purchase by which its finance is settled; null before the issue, and without finance.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    pub settlement_purchase: Option<PurchaseId>,
    /// The vehicle in stock that it became; null before the issue.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>, required))]
    pub stock_vehicle: Option<VehicleId>,
}

/// The facts that part exchanges are judged by.
#[derive(Clone, Copy, Debug)]
pub struct ExchangeFacts<'a> {
    /// The vehicles that are named.
    pub vehicles: &'a BTreeMap<VehicleId, BilledVehicle>,
    /// The contacts of the business among those that are named.
    pub contacts: &'a [ContactId],
}

/// The largest mileage that a caller can send.
const MAX_MILEAGE: i64 = 10_000_000;

/// Reads the part exchanges of a document.
///
/// # Errors
/// Their faults, each with the path from the list.
pub fn read_part_exchanges(
    sent: Vec<PartExchangeChanges>,
    facts: ExchangeFacts<'_>,
) -> Result<Vec<PartExchange>, InvalidValue> {
    let mut read = Vec::with_capacity(sent.len());
    let mut faults = InvalidValue::default();
    for (at, sent) in sent.into_iter().enumerate() {
        match read_one(sent, at, facts) {
            Ok(exchange) => read.push(exchange),
            Err(wrong) => faults.add_within(&at.to_string(), wrong),
        }
    }
    if faults.is_empty() { Ok(read) } else { Err(faults) }
}

fn read_one(sent: PartExchangeChanges, at: usize, facts: ExchangeFacts<'_>) -> Result<PartExchange, InvalidValue> {
    let PartExchangeChanges {
        registration,
        vin,
        make,
        model,
        mileage,
        vehicle,
        allowance,
        settlement,
        lender,
        vat_scheme,
    } = sent;
    let mut faults = InvalidValue::default();
    let vehicle = taken("vehicle", vehicle, &mut faults).map(VehicleId::new);
    let known = vehicle.and_then(|vehicle| facts.vehicles.get(&vehicle));
    if vehicle.is_some() && !known.is_some_and(|known| known.is_exchangeable) {
        let message = "must be an appraisal with an offer, or a customer's vehicle";
        faults.add_within("vehicle", InvalidValue::here(message));
    }
    let mut text = |name, sent, known: Option<&String>| {
        let sent = taken(name, sent, &mut faults);
        let known = || known.and_then(|known| Line::new(known.clone()).ok());
        sent.or_else(known).unwrap_or_default()
    };
    let registration = text("registration", registration, known.map(|known| &known.registration));
    let vin = text("vin", vin, known.map(|known| &known.vin));
    let make = text("make", make, known.map(|known| &known.make));
    let model = text("model", model, known.map(|known| &known.model));
    if vehicle.is_none() && faults.is_empty() && registration.trim().is_empty() && vin.trim().is_empty() {
        let message = "is required, or a VIN or a vehicle";
        faults.add_within("registration", InvalidValue::here(message));
    }
    let mileage = taken("mileage", mileage, &mut faults);
    if mileage.is_some_and(|mileage| !(0..=MAX_MILEAGE).contains(&mileage)) {
        let message = format!("must be from 0 to {MAX_MILEAGE}");
        faults.add_within("mileage", InvalidValue::here(message));
    }
    let mileage = mileage.or_else(|| known.and_then(|known| known.mileage));
    let was_sent = !matches!(allowance, Field::Absent | Field::Null);
    let allowance = taken("allowance", allowance, &mut faults).map(|amount| amount.0);
    match allowance {
        None if was_sent => {}
        None => faults.add_within("allowance", InvalidValue::here("is required")),
        Some(allowance) if allowance <= Money::ZERO => {
            faults.add_within("allowance", InvalidValue::here("must be above 0"));
        }
        Some(_) => {}
    }
    let settlement = taken("settlement", settlement, &mut faults).map_or(Money::ZERO, |amount| amount.0);
    if settlement < Money::ZERO {
        faults.add_within("settlement", InvalidValue::here("must not be negative"));
    }
    let lender = taken("lender", lender, &mut faults).map(ContactId::new);
    match lender {
        Some(lender) if !facts.contacts.contains(&lender) => {
            faults.add_within("lender", InvalidValue::here("names no contact of this business"));
        }
        None if settlement > Money::ZERO => {
            faults.add_within("lender", InvalidValue::here("is required with a settlement"));
        }
        _ => {}
    }
    let vat_scheme = taken("vat_scheme", vat_scheme, &mut faults).unwrap_or_default();
    if !faults.is_empty() {
        return Err(faults);
    }
    Ok(PartExchange {
        id: i64::try_from(at).unwrap_or_default() + 1,
        registration,
        vin,
        make,
        model,
        mileage,
        vehicle,
        allowance: allowance.unwrap_or(Money::ZERO),
        settlement,
        lender,
        vat_scheme,
        purchase: None,
        settlement_purchase: None,
        stock_vehicle: None,
    })
}

/// Returns the value of a member, or notes its faults.
pub(crate) fn taken<T>(name: &str, field: Field<T>, faults: &mut InvalidValue) -> Option<T> {
    match field {
        Field::Absent | Field::Null => None,
        Field::Value(value) => Some(value),
        Field::Wrong(wrong) => {
            faults.add_within(name, wrong);
            None
        }
    }
}

/// Returns the sum of the allowances.
pub fn allowances(exchanges: &[PartExchange]) -> Money {
    sum(exchanges.iter().map(|exchange| exchange.allowance))
}
