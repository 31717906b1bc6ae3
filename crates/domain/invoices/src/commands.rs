//! The commands of callers.

use forecourt_kernel::{ContactId, Date, Line, Money, SiteId, VehicleId};

use crate::PaymentMethod;

/// A deposit to be invoiced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RaiseDeposit {
    /// The site of the vehicle; 0 is the main one.
    pub site: SiteId,
    /// The contact who reserves.
    pub customer: ContactId,
    /// The reserved vehicle.
    pub vehicle: VehicleId,
    /// A description of the vehicle, such as `2019 Ford Focus AB19 CDE`. It names no person, and is cut to the length of a line.
    pub vehicle_description: String,
    /// The amount of the deposit: above 0, with any tax included.
    pub gross: Money,
    /// `true` if the amount includes tax at the standard rate of the business's country, `false` if it includes no tax.
    pub vat_included: bool,
    /// The method by which the whole amount is paid; `None` leaves it due.
    pub method: Option<PaymentMethod>,
    /// The payer's or the terminal's reference of the payment; may be empty.
    pub reference: Line,
    /// The day of the invoice and of the payment.
    pub date: Date,
}
