//! What callers do with a document: issue, pay, reverse, refund and credit it (areas §10.2). The bodies, and the commands that they
//! become.

use crate::{
    Amount, CreditLine, CreditLineChanges, MAX_LINES, MAX_PAYMENTS, Payment, PaymentKind, PaymentMethod, check_day,
    next_payment_id,
};
use forecourt_kernel::{
    BoundedList, Date, Field, FromJson, InvalidValue, Line, Money, Timestamp, ValidationErrors, from_object,
};
use serde::Deserialize;
use serde_json::Value;

/// A payment, as callers send it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PaymentBody, example = json!({"method": "Card", "amount": 250, "reference": "ch_3P8"})))]
pub struct PaymentChanges {
    /// The method: Bank Transfer, Cash, Card, Cheque or Finance.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = String, max_length = 255, pattern = "^(Bank Transfer|Cash|Card|Cheque|Finance)$"))]
    pub method: Field<PaymentMethod>,
    /// The amount, above 0; by default everything that is then due.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Amount>))]
    pub amount: Field<Amount>,
    /// Day of the payment; today by default.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
    pub date: Field<Date>,
    /// The payer's or the terminal's reference.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Line>))]
    pub reference: Field<Line>,
}

impl FromJson for PaymentChanges {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        from_object(value)
    }
}

/// A payment to be recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewPayment {
    /// The method.
    pub method: PaymentMethod,
    /// The amount; `None` for everything that is due.
    pub amount: Option<Money>,
    /// The day; `None` for today.
    pub date: Option<Date>,
    /// The reference.
    pub reference: Line,
}

impl PaymentChanges {
    /// Reads the payment.
    ///
    /// # Errors
    /// Its faults.
    pub fn read(self, now: Timestamp) -> Result<NewPayment, InvalidValue> {
        let Self {
            method,
            amount,
            date,
            reference,
        } = self;
        let mut faults = InvalidValue::default();
        if matches!(method, Field::Absent | Field::Null) {
            faults.add_within("method", InvalidValue::here("is required"));
        }
        let method = take("method", method, &mut faults);
        let amount = take("amount", amount, &mut faults).map(|amount| amount.0);
        let date = day("date", date, now, &mut faults);
        let reference = take("reference", reference, &mut faults).unwrap_or_default();
        match method {
            Some(method) if faults.is_empty() => Ok(NewPayment {
                method,
                amount,
                date,
                reference,
            }),
            _ => Err(faults),
        }
    }
}

/// The issue of a draft, as callers send it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = IssueBody, example = json!({"payment": {"method": "Card"}})))]
pub struct IssueChanges {
    /// Day of the invoice; by default the draft's.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
    pub date: Field<Date>,
    /// Last day to pay; by default the draft's.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
    pub due_date: Field<Date>,
    /// A payment at the issue.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PaymentChanges>))]
    pub payment: Field<PaymentChanges>,
}

/// The issue of a draft.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Issue {
    /// The day of the invoice, if it changes.
    pub date: Option<Date>,
    /// The last day to pay, if it changes.
    pub due_date: Option<Date>,
    /// The payment at the issue.
    pub payment: Option<NewPayment>,
}

impl IssueChanges {
    /// Reads the issue.
    ///
    /// # Errors
    /// Its faults.
    pub fn read(self, now: Timestamp) -> Result<Issue, ValidationErrors> {
        let Self {
            date,
            due_date,
            payment,
        } = self;
        let mut faults = InvalidValue::default();
        let date = day("date", date, now, &mut faults);
        let due_date = day("due_date", due_date, now, &mut faults);
        let payment = nested_payment(payment, now, &mut faults);
        ValidationErrors::from(faults).into_result(Issue {
            date,
            due_date,
            payment,
        })
    }
}

/// Reads a payment within another body, or notes its faults.
pub fn nested_payment(payment: Field<PaymentChanges>, now: Timestamp, faults: &mut InvalidValue) -> Option<NewPayment> {
    let payment = take("payment", payment, faults)?.read(now);
    payment.map_err(|wrong| faults.add_within("payment", wrong)).ok()
}

/// A reversal, as callers send it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ReversalBody, example = json!({"reference": "Cheque bounced"})))]
pub struct ReversalChanges {
    /// Day of the reversal; today by default.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
    pub date: Field<Date>,
    /// A reference.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Line>))]
    pub reference: Field<Line>,
}

/// A reversal of a payment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reversal {
    /// The day; `None` for today.
    pub date: Option<Date>,
    /// The reference.
    pub reference: Line,
}

impl ReversalChanges {
    /// Reads the reversal.
    ///
    /// # Errors
    /// Its faults.
    pub fn read(self, now: Timestamp) -> Result<Reversal, ValidationErrors> {
        let mut faults = InvalidValue::default();
        let date = day("date", self.date, now, &mut faults);
        let reference = take("reference", self.reference, &mut faults).unwrap_or_default();
        ValidationErrors::from(faults).into_result(Reversal { date, reference })
    }
}

/// A credit, as callers send it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = CreditBody, example = json!({"reason": "Returned", "lines": [{"line": 1, "gross": 50}]})))]
pub struct CreditChanges {
    /// The reason.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Line>))]
    pub reason: Field<Line>,
    /// Day of the credit note; today by default.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
    pub date: Field<Date>,
    /// The lines to credit; without them everything that remains.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<CreditLineChanges>>, max_items = 205))]
    pub lines: Field<BoundedList<CreditLineChanges, { MAX_LINES + 5 }>>,
}

/// A credit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Credit {
    /// The reason.
    pub reason: Line,
    /// The day of the credit note; `None` for today.
    pub date: Option<Date>,
    /// The lines to credit; `None` for everything that remains.
    pub lines: Option<Vec<CreditLine>>,
}

impl CreditChanges {
    /// Reads the credit.
    ///
    /// # Errors
    /// Its faults.
    pub fn read(self, now: Timestamp) -> Result<Credit, ValidationErrors> {
        let mut faults = InvalidValue::default();
        let reason = take("reason", self.reason, &mut faults).unwrap_or_default();
        let date = day("date", self.date, now, &mut faults);
        let lines = take("lines", self.lines, &mut faults).map(|lines| CreditLine::read(lines.into_vec()));
        let lines = lines.transpose().unwrap_or_else(|wrong| {
            faults.add_within("lines", wrong);
            None
        });
        ValidationErrors::from(faults).into_result(Credit { reason, date, lines })
    }
}

/// Returns the value of a member, or notes its faults.
pub fn take<T>(name: &str, field: Field<T>, faults: &mut InvalidValue) -> Option<T> {
    match field {
        Field::Absent | Field::Null => None,
        Field::Value(value) => Some(value),
        Field::Wrong(wrong) => {
            faults.add_within(name, wrong);
            None
        }
    }
}

/// Returns a day within the bounds of documents' days, or notes its faults.
pub fn day(name: &str, field: Field<Date>, now: Timestamp, faults: &mut InvalidValue) -> Option<Date> {
    let date = take(name, field, faults)?;
    match check_day(date, now) {
        Ok(()) => Some(date),
        Err(message) => {
            faults.add_within(name, InvalidValue::here(message));
            None
        }
    }
}

/// Returns a payment of at most `most`, without its number.
///
/// # Errors
/// The fault of the amount; `None` if there is nothing to pay.
pub fn payment_of(payment: &NewPayment, most: Money, now: Timestamp) -> Result<Payment, Option<String>> {
    let NewPayment {
        method,
        amount,
        date,
        reference,
    } = payment;
    let amount = match amount {
        None if most <= Money::ZERO => return Err(None),
        None => most,
        Some(amount) if *amount <= Money::ZERO || *amount > most => {
            return Err(Some(format!("must be above 0 and at most {most}")));
        }
        Some(amount) => *amount,
    };
    Ok(Payment {
        id: 0,
        kind: PaymentKind::Payment,
        date: date.unwrap_or_else(|| now.date()),
        method: *method,
        amount,
        reference: reference.clone(),
        reverses: None,
    })
}

/// Adds a payment under the next number.
///
/// # Errors
/// If the document has as many payments as it can.
pub fn add_payment(payments: &mut Vec<Payment>, payment: Payment) -> Result<(), ValidationErrors> {
    if payments.len() >= MAX_PAYMENTS {
        return Err(ValidationErrors::one(
            "payments",
            format!("must be at most {MAX_PAYMENTS}"),
        ));
    }
    let id = next_payment_id(payments);
    payments.push(Payment { id, ..payment });
    Ok(())
}
