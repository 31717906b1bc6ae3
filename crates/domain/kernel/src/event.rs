//! Events, for webhooks and readers of the event log (contract, "Events"; architecture: the event log).

use std::{fmt, str::FromStr};

use async_trait::async_trait;
use serde_json::Value;

use crate::{BusinessId, Scope, ScopeSet, StoreResult, Timestamp, add_changed};

macro_rules! events {
    ($($variant:ident = $name:literal, $scope:ident, $description:literal;)+) => {
        /// The name of an event, `resource.action`.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[expect(missing_docs, reason = "each variant's meaning is the name beside it")]
        pub enum EventName {
            $($variant,)+
        }

        impl EventName {
            /// Every event, in the order of the contract.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name in subscriptions and deliveries.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The read scope that a subscription needs to receive the event.
            pub const fn scope(self) -> Scope {
                match self {
                    $(Self::$variant => Scope::$scope,)+
                }
            }

            /// A sentence that says when the event occurs.
            pub const fn description(self) -> &'static str {
                match self {
                    $(Self::$variant => $description,)+
                }
            }
        }

        impl FromStr for EventName {
            type Err = UnknownEvent;

            fn from_str(text: &str) -> Result<Self, UnknownEvent> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(UnknownEvent(text.to_owned())),
                }
            }
        }
    };
}

events! {
    VehicleCreated = "vehicle.created", VehiclesRead, "A vehicle was created.";
    VehicleUpdated = "vehicle.updated", VehiclesRead, "A vehicle changed.";
    VehicleReserved = "vehicle.reserved", VehiclesRead, "A vehicle was reserved for a customer.";
    VehicleSold = "vehicle.sold", VehiclesRead, "A vehicle was sold.";
    VehicleDeleted = "vehicle.deleted", VehiclesRead, "A vehicle was deleted.";
    ContactCreated = "contact.created", ContactsRead, "A contact was created.";
    ContactUpdated = "contact.updated", ContactsRead, "A contact changed.";
    ContactDeleted = "contact.deleted", ContactsRead, "A contact was deleted.";
    LeadCreated = "lead.created", LeadsRead, "A lead was created.";
    LeadUpdated = "lead.updated", LeadsRead, "A lead changed: its data, status, staff, messages or AI read.";
    LeadDeleted = "lead.deleted", LeadsRead, "A lead was deleted.";
    AppointmentCreated = "appointment.created", AppointmentsRead, "An appointment was booked.";
    AppointmentUpdated = "appointment.updated", AppointmentsRead, "An appointment changed.";
    AppointmentCancelled = "appointment.cancelled", AppointmentsRead, "An appointment was cancelled.";
    InvoiceCreated = "invoice.created", InvoicesRead, "An invoice was created.";
    InvoiceUpdated = "invoice.updated", InvoicesRead, "An invoice changed.";
    InvoiceIssued = "invoice.issued", InvoicesRead, "An invoice was issued.";
    InvoicePaid = "invoice.paid", InvoicesRead, "An invoice was paid.";
    InvoiceCancelled = "invoice.cancelled", InvoicesRead, "An invoice was cancelled.";
    InvoiceCredited = "invoice.credited", InvoicesRead, "An invoice was credited.";
    OrderCreated = "order.created", OrdersRead, "An order was created.";
    OrderUpdated = "order.updated", OrdersRead, "An order changed.";
    OrderIssued = "order.issued", OrdersRead, "An order was issued.";
    OrderCancelled = "order.cancelled", OrdersRead, "An order was cancelled.";
    OrderConverted = "order.converted", OrdersRead, "An order was turned into an invoice.";
    PurchaseCreated = "purchase.created", PurchasesRead, "A purchase was created.";
    PurchaseUpdated = "purchase.updated", PurchasesRead, "A purchase changed.";
    PurchaseIssued = "purchase.issued", PurchasesRead, "A purchase was issued.";
    PurchasePaid = "purchase.paid", PurchasesRead, "A purchase was paid.";
    PurchaseCancelled = "purchase.cancelled", PurchasesRead, "A purchase was cancelled.";
    PurchaseCredited = "purchase.credited", PurchasesRead, "A purchase was credited.";
    DealCreated = "deal.created", DealsRead, "A deal was opened.";
    DealUpdated = "deal.updated", DealsRead, "A deal changed.";
    DealStageChanged = "deal.stage_changed", DealsRead, "A deal moved to another stage.";
    CallCreated = "call.created", CallsRead, "A call was logged.";
    CallUpdated = "call.updated", CallsRead, "A call changed.";
    VehicleJobCreated = "vehicle_job.created", VehicleJobsRead, "A job was opened on a vehicle.";
    VehicleJobUpdated = "vehicle_job.updated", VehicleJobsRead, "A job on a vehicle changed.";
    VehicleJobDeleted = "vehicle_job.deleted", VehicleJobsRead, "A job on a vehicle was deleted.";
    ReviewCreated = "review.created", ReviewsRead, "A review was created.";
    ReviewUpdated = "review.updated", ReviewsRead, "A review changed.";
    BlogPublished = "blog.published", BlogsRead, "A blog article became publicly visible.";
}

impl EventName {
    /// The resource of the event: the part of the name before the dot.
    pub fn resource(self) -> &'static str {
        self.as_str()
            .split_once('.')
            .map_or(self.as_str(), |(resource, _)| resource)
    }

    /// The scopes of `events` together.
    pub fn scopes(events: &[Self]) -> ScopeSet {
        events.iter().map(|event| event.scope()).collect()
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// There is no event with that name.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("unknown event {0:?}")]
pub struct UnknownEvent(pub String);

/// An event that is about to be recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewEvent {
    /// The event's name.
    pub name: EventName,
    /// The id of the record that changed.
    pub record: i64,
    /// The record's full public representation at that moment, as JSON.
    pub data: String,
    /// The time of the event.
    pub at: Timestamp,
}

impl NewEvent {
    /// Makes the event of a change of a record, which names in `changed` the members that differ from `before` ([`add_changed`]).
    pub fn of_change(name: EventName, record: i64, before: Option<&Value>, shown: Value, at: Timestamp) -> Self {
        let mut data = shown;
        add_changed(before, &mut data);
        Self {
            name,
            record,
            data: data.to_string(),
            at,
        }
    }
}

/// The number of an event within its business: 1, 2, 3 … without gaps.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct EventSequence(pub i64);

/// An event of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Its number within the business.
    pub sequence: EventSequence,
    /// `evt_` and hexadecimal text, unique across businesses.
    pub id: String,
    /// The event itself and the record that it concerns.
    pub what: NewEvent,
}

/// The log to which a use case writes events, in the transaction that causes them.
#[async_trait]
pub trait EventLog: Send {
    /// Appends `event` to the business's log under the next number.
    async fn record(&mut self, business: BusinessId, event: NewEvent) -> StoreResult<()>;
}

/// An event log that can record events later than they happen.
pub trait EventHold: EventLog {
    /// Holds the events that are recorded from now on, until [`EventHold::release_events`]. Events may be held within.
    fn hold_events(&mut self);

    /// Returns the events that were held since [`EventHold::hold_events`], oldest first.
    fn release_events(&mut self) -> Vec<(BusinessId, NewEvent)>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for &event in EventName::ALL {
            assert_eq!(event.as_str().parse(), Ok(event));
            assert!(event.as_str().starts_with(event.resource()) && event.as_str() != event.resource());
        }
        assert_eq!(EventName::ALL.len(), 42);
    }
}
