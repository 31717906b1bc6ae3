//! The sums of a document.

use forecourt_kernel::Money;
use serde::Serialize;

use crate::{BillLine, Payment, paid};

/// Adds amounts. A sum beyond 64 bits stays at the largest amount.
pub fn sum(amounts: impl IntoIterator<Item = Money>) -> Money {
    let minor = amounts.into_iter().map(Money::minor).fold(0, i64::saturating_add);
    Money::from_minor(minor)
}

/// Returns the amount with the other sign.
pub const fn negative(amount: Money) -> Money {
    Money::from_minor(amount.minor().saturating_neg())
}

/// The sums of an invoice or a purchase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = InvoiceTotals))]
pub struct Totals {
    /// The sum of the lines without tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "416.67"))]
    pub net: Money,
    /// The sum of their tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "83.33"))]
    pub vat: Money,
    /// The sum of the lines with tax.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    pub gross: Money,
    /// The sum of the payments.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "500.00"))]
    pub paid: Money,
    /// The amount that is credited.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "0.00"))]
    pub credited: Money,
    /// The amount still to be paid: gross less paid and credited, never below zero.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "0.00"))]
    pub due: Money,
    /// The amount to be given back: paid and credited less gross, never below zero.
    #[cfg_attr(feature = "openapi", schema(value_type = String, pattern = "^-?\\d+\\.\\d{2}$", example = "0.00"))]
    pub refund_due: Money,
}

impl Totals {
    /// Adds up lines and payments.
    pub fn of(lines: &[BillLine], payments: &[Payment]) -> Self {
        let gross = sum(lines.iter().map(|line| line.gross));
        let credited = sum(lines.iter().map(|line| line.credited));
        let paid = paid(payments);
        let open = sum([gross, negative(credited), negative(paid)]);
        Self {
            net: sum(lines.iter().map(|line| line.net)),
            vat: sum(lines.iter().map(|line| line.vat)),
            gross,
            paid,
            credited,
            due: open.max(Money::ZERO),
            refund_due: negative(open).max(Money::ZERO),
        }
    }
}
