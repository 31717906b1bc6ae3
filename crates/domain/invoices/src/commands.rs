//! What callers ask for.

use forecourt_kernel::{ContactId, Date, Line, Money, SiteId, VehicleId};

use crate::PaymentMethod;

/// A deposit to be invoiced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RaiseDeposit {
    /// The site that the vehicle is at; 0 is the main one.
    pub site: SiteId,
    /// Who reserves.
    pub customer: ContactId,
    /// What is reserved.
    pub vehicle: VehicleId,
    /// What is reserved in words, such as `2019 Ford Focus AB19 CDE`; names no person. What is too long for a line is cut.
    pub vehicle_description: String,
    /// The amount that is paid: above 0, with any tax inside it.
    pub gross: Money,
    /// Whether the standard rate of the business's country is inside the amount; if not, there is no tax in it.
    pub vat_included: bool,
    /// How the whole amount is paid; `None` leaves it due.
    pub method: Option<PaymentMethod>,
    /// What the payer or the terminal calls the payment; may be empty.
    pub reference: Line,
    /// The day of the invoice and of the payment.
    pub date: Date,
}
