//! The bodies of callers.

use forecourt_billing::{
    Amount, Credit, CreditLine, CreditLineChanges, LineChanges, MAX_LINES, NewPayment, PaymentChanges, Percent,
    VatRate, VatScheme, day, nested_payment, take,
};
use forecourt_kernel::{
    BoundedList, ContactId, Date, Field, InvalidValue, Line, LongText, Money, Timestamp, ValidationErrors,
};
use serde::Deserialize;

/// The purposes of lines in bodies of purchases.
#[cfg(feature = "openapi")]
#[derive(utoipa::ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "it declares a schema")]
enum PurchaseLineType {
    /// A product or service.
    Product,
    /// A correction, which may be below 0.
    Adjustment,
    /// A cost of the dealership.
    Cost,
}

/// A line of a purchase, as callers send it. Of `gross`, `net`, `unit_gross` and `unit_net` exactly one is given, unless the product
/// has a price.
#[cfg(feature = "openapi")]
#[derive(utoipa::ToSchema)]
#[schema(as = PurchaseLineBody)]
#[expect(dead_code, reason = "it declares a schema")]
struct PurchaseLine {
    /// The purpose of the line: product, adjustment or cost.
    #[schema(rename = "type", required)]
    kind: PurchaseLineType,
    /// Category of a cost, such as Valet or MOT; required of a cost.
    category: Option<Line>,
    /// Id of a product of the business's catalogue, which fills in whatever is left out.
    product: Option<Line>,
    /// Vehicle that the line is for. A cost is shown in it.
    vehicle: Option<i64>,
    /// Description of the item; required unless the product or the vehicle gives it.
    description: Option<Line>,
    /// Number of items, 1 by default.
    #[schema(minimum = 1, maximum = 9_999)]
    quantity: Option<i64>,
    /// Amount of the whole line with tax.
    gross: Option<Amount>,
    /// Amount of the whole line without tax.
    net: Option<Amount>,
    /// Amount of one item with tax.
    unit_gross: Option<Amount>,
    /// Amount of one item without tax.
    unit_net: Option<Amount>,
    /// VAT scheme.
    vat_scheme: Option<VatScheme>,
    /// VAT rate in percent, with the scheme standard alone; by default the country's standard rate.
    vat_rate: Option<Percent>,
    /// Nominal code.
    #[schema(max_length = 32)]
    nominal: Option<String>,
}

/// Declares the body of a purchase: the members that a new one and a changed one have, and those of its own.
macro_rules! purchase_changes {
    ($(#[$meta:meta])* $name:ident; $($(#[$field_meta:meta])* $field:ident: $(#[$type_meta:meta])* $type:ty;)*) => {
        #[derive(Clone, PartialEq, Debug, Default, Deserialize)]
        #[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
        $(#[$meta])*
        pub struct $name {
            /// Contact id of the supplier; required of a new purchase.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = i64))]
            pub supplier: Field<i64>,
            /// Site of the business; 0 is the main one.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<i64>))]
            pub site: Field<i64>,
            /// The supplier's number of its invoice.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<Line>))]
            pub supplier_invoice: Field<Line>,
            /// Day of the purchase; today by default.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
            pub date: Field<Date>,
            /// Last day to pay; null moves it with the day of the purchase.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
            pub due_date: Field<Date>,
            /// The full list of lines, at most 200.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<PurchaseLine>>, max_items = 200))]
            pub lines: Field<BoundedList<LineChanges, MAX_LINES>>,
            /// Notes of the staff.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<LongText>))]
            pub notes: Field<LongText>,
            /// True to accept a number of the supplier's that another purchase has.
            #[serde(default)]
            #[cfg_attr(feature = "openapi", schema(value_type = Option<bool>))]
            pub force: Field<bool>,
            $(
                $(#[$field_meta])*
                #[serde(default)]
                $(#[$type_meta])*
                pub $field: Field<$type>,
            )*
        }
    };
}

purchase_changes! {
    /// A new purchase. `supplier` is required.
    #[cfg_attr(feature = "openapi", schema(as = NewPurchaseBody, example = json!({"supplier": 14, "supplier_invoice": "V-2217", "lines": [{"type": "cost", "category": "Valet", "description": "Full valet", "net": 60}]})))]
    NewPurchase;

    /// True to issue it at once.
    issue: #[cfg_attr(feature = "openapi", schema(value_type = Option<bool>))] bool;
    /// The payment at its issue; only with `issue`.
    payment: #[cfg_attr(feature = "openapi", schema(value_type = Option<PaymentChanges>))] PaymentChanges;
}

purchase_changes! {
    /// Changes to a purchase. No member is required; which can change depends on the status.
    #[cfg_attr(feature = "openapi", schema(as = PurchaseBody, example = json!({"supplier_invoice": "V-2217"})))]
    PurchaseChanges;
}

impl NewPurchase {
    /// Returns the members that a changed purchase has too, the wish to issue it, and the payment.
    pub fn split(self) -> (PurchaseChanges, Field<bool>, Field<PaymentChanges>) {
        let Self {
            supplier,
            site,
            supplier_invoice,
            date,
            due_date,
            lines,
            notes,
            force,
            issue,
            payment,
        } = self;
        let changes = PurchaseChanges {
            supplier,
            site,
            supplier_invoice,
            date,
            due_date,
            lines,
            notes,
            force,
        };
        (changes, issue, payment)
    }
}

/// The credit of a purchase, as callers send it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = PurchaseCreditBody, example = json!({"reason": "Returned", "supplier_reference": "CR-8"})))]
pub struct PurchaseCreditChanges {
    /// The supplier's reference.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Line>))]
    pub supplier_reference: Field<Line>,
    /// The reason.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Line>))]
    pub reason: Field<Line>,
    /// Day of the credit; today by default.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
    pub date: Field<Date>,
    /// The lines to credit; without them everything that remains.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<CreditLineChanges>>, max_items = 200))]
    pub lines: Field<BoundedList<CreditLineChanges, { MAX_LINES }>>,
}

/// The credit of a purchase.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NewPurchaseCredit {
    /// The credit.
    pub credit: Credit,
    /// The supplier's reference.
    pub supplier_reference: Line,
}

impl PurchaseCreditChanges {
    /// Reads the credit.
    ///
    /// # Errors
    /// Its faults.
    pub fn read(self, now: Timestamp) -> Result<NewPurchaseCredit, ValidationErrors> {
        let mut faults = InvalidValue::default();
        let supplier_reference = take("supplier_reference", self.supplier_reference, &mut faults).unwrap_or_default();
        let reason = take("reason", self.reason, &mut faults).unwrap_or_default();
        let date = day("date", self.date, now, &mut faults);
        let lines = take("lines", self.lines, &mut faults).map(|lines| CreditLine::read(lines.into_vec()));
        let lines = lines.transpose().unwrap_or_else(|wrong| {
            faults.add_within("lines", wrong);
            None
        });
        ValidationErrors::from(faults).into_result(NewPurchaseCredit {
            credit: Credit { reason, date, lines },
            supplier_reference,
        })
    }
}

/// The acquisition of a vehicle, as callers send it.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AcquisitionBody, example = json!({"supplier": 14, "price": 10000, "payment": {"method": "Bank Transfer"}})))]
pub struct AcquisitionChanges {
    /// Contact id of the supplier.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = i64, required))]
    pub supplier: Field<i64>,
    /// The price with tax.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Amount, required))]
    pub price: Field<Amount>,
    /// VAT scheme; margin by default.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<VatScheme>))]
    pub vat_scheme: Field<VatScheme>,
    /// VAT rate in percent, with the scheme standard alone; by default the country's standard rate.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Percent>))]
    pub vat_rate: Field<Percent>,
    /// Day of the purchase; today by default.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
    pub date: Field<Date>,
    /// The supplier's number of its invoice.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Line>))]
    pub supplier_invoice: Field<Line>,
    /// Last day to pay; by default the day of the purchase.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Date>))]
    pub due_date: Field<Date>,
    /// A payment.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<PaymentChanges>))]
    pub payment: Field<PaymentChanges>,
    /// Notes of the staff.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<LongText>))]
    pub notes: Field<LongText>,
}

/// The acquisition of a vehicle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewAcquisition {
    /// The supplier.
    pub supplier: ContactId,
    /// The price with tax.
    pub price: Money,
    /// The VAT scheme.
    pub vat_scheme: VatScheme,
    /// The VAT rate, with the scheme standard alone; `None` for the country's standard rate.
    pub vat_rate: Option<VatRate>,
    /// The day of the purchase.
    pub date: Date,
    /// The supplier's number of its invoice; may be empty.
    pub supplier_invoice: Line,
    /// The last day to pay; `None` for the day of the purchase.
    pub due_date: Option<Date>,
    /// A payment.
    pub payment: Option<NewPayment>,
    /// Notes of the staff.
    pub notes: LongText,
}

impl AcquisitionChanges {
    /// Reads the acquisition, and its faults. Where it has any, a part of it may be missing.
    pub fn read(self, now: Timestamp) -> (NewAcquisition, ValidationErrors) {
        let Self {
            supplier,
            price,
            vat_scheme,
            vat_rate,
            date,
            supplier_invoice,
            due_date,
            payment,
            notes,
        } = self;
        let mut faults = InvalidValue::default();
        for (name, is_missing) in [
            ("supplier", matches!(supplier, Field::Absent | Field::Null)),
            ("price", matches!(price, Field::Absent | Field::Null)),
        ] {
            if is_missing {
                faults.add_within(name, InvalidValue::here("is required"));
            }
        }
        let supplier = take("supplier", supplier, &mut faults).map(ContactId::new);
        let price = take("price", price, &mut faults).map(|price| price.0);
        if price.is_some_and(|price| price < Money::ZERO) {
            faults.add_within("price", InvalidValue::here("must not be below 0"));
        }
        let is_scheme_wrong = matches!(vat_scheme, Field::Wrong(_));
        let vat_scheme = take("vat_scheme", vat_scheme, &mut faults).unwrap_or(VatScheme::Margin);
        let vat_rate = take("vat_rate", vat_rate, &mut faults).map(|rate| rate.0);
        if vat_rate.is_some() && vat_scheme != VatScheme::Standard && !is_scheme_wrong {
            faults.add_within("vat_rate", InvalidValue::here("needs the scheme standard"));
        }
        let date = day("date", date, now, &mut faults).unwrap_or_else(|| now.date());
        let supplier_invoice = take("supplier_invoice", supplier_invoice, &mut faults).unwrap_or_default();
        let due_date = day("due_date", due_date, now, &mut faults);
        if due_date.is_some_and(|due_date| due_date < date) {
            let message = "must not be before the day of the purchase";
            faults.add_within("due_date", InvalidValue::here(message));
        }
        let payment = nested_payment(payment, now, &mut faults);
        let notes = take("notes", notes, &mut faults).unwrap_or_default();
        let acquisition = NewAcquisition {
            supplier: supplier.unwrap_or(ContactId::new(0)),
            price: price.unwrap_or(Money::ZERO),
            vat_scheme,
            vat_rate,
            date,
            supplier_invoice,
            due_date,
            payment,
            notes,
        };
        (acquisition, faults.into())
    }
}
