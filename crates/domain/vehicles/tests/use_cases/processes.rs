//! Every operation of the processes, in every state of every stock type.

use forecourt_invoices::InvoiceStore;
use forecourt_kernel::{ContactId, Line, LongText, Money, Person, PersonKeys, StaffId, VehicleId, VersionMismatch};
use forecourt_reference::StockType;
use forecourt_vehicles::testing::MemoryStore;
use forecourt_vehicles::{
    MakeOffer, Reservation, ReservationMethod, ReserveVehicle, Sale, SellVehicle, TransitionError, Vehicle,
    VehicleDraft, VehicleError, VehicleProcessStore, VehicleStatus, VehicleStore, cancel_reservation,
    forget_person_in_vehicle, read_reservation, sell_vehicle,
};
use serde_json::json;

use crate::support::{Yard, at, complete};

pub(crate) const ANN: ContactId = ContactId::new(501);
pub(crate) const BOB: ContactId = ContactId::new(502);

/// A command that reserves a vehicle for Ann without a payment.
pub(crate) fn for_ann() -> ReserveVehicle {
    ReserveVehicle {
        customer: ANN,
        method: ReservationMethod::NoPayment,
        deposit: None,
        date: None,
        transaction: Line::default(),
        create_invoice: true,
        made_by: None,
    }
}

/// An offer of 4,500 by Sam.
pub(crate) fn an_offer() -> MakeOffer {
    MakeOffer {
        offer: Money::from_minor(450_000),
        max_offer: Some(Money::from_minor(475_000)),
        expiry: at(86_400).date(),
        appraised_by: StaffId::new(1),
        comments: LongText::new("Ask Ann Lee for the second key").unwrap(),
    }
}

/// Returns the contract's code of a refusal.
pub(crate) fn code(error: &VehicleError) -> &'static str {
    match error {
        VehicleError::NotFound(_) => "vehicle_not_found",
        VehicleError::Invalid(_) => "validation_failed",
        VehicleError::CostsFull => "vehicle_costs_full",
        VehicleError::Transition(TransitionError::ProcessRequired) => "vehicle_status_process_required",
        VehicleError::Transition(TransitionError::TransitionInvalid) => "vehicle_status_transition_invalid",
        VehicleError::PublishIncomplete(_) => "vehicle_publish_incomplete",
        VehicleError::PublishLimitReached(_) => "vehicle_publish_limit_reached",
        VehicleError::NotReserved => "vehicle_not_reserved",
        VehicleError::AlreadyReserved => "vehicle_already_reserved",
        VehicleError::ReserveInvalidStatus => "vehicle_reserve_invalid_status",
        VehicleError::NotSold => "vehicle_not_sold",
        VehicleError::SaleInvoiced(_) => "vehicle_sale_invoiced",
        VehicleError::AlreadyAcquired => "vehicle_already_acquired",
        VehicleError::NotAcquired => "vehicle_not_acquired",
        VehicleError::AcquisitionNotAllowed => "vehicle_acquisition_not_allowed",
        VehicleError::NotAppraisal => "vehicle_not_appraisal",
        VehicleError::AppraisalInvalidStatus => "vehicle_appraisal_invalid_status",
        VehicleError::AppraisalIncomplete(_) => "vehicle_appraisal_incomplete",
        VehicleError::DocumentNotFound(_) => "vehicle_document_not_found",
        VehicleError::MediumNotFound => "vehicle_media_not_found",
        VehicleError::DriveNotFound => "vehicle_drive_not_found",
        VehicleError::DriveSigned => "vehicle_drive_signed",
        VehicleError::DriveActive => "vehicle_drive_active",
        VehicleError::DriveNotActive => "vehicle_drive_not_active",
        VehicleError::VersionMismatch(_) => "precondition_failed",
        VehicleError::Store(_) => "internal",
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Step {
    Reserve,
    Cancel,
    Sell,
    HandOver,
    UndoSale,
    RequestOffer,
    Offer,
    Accept,
    Reject,
}

impl Step {
    const ALL: [Self; 9] = [
        Self::Reserve,
        Self::Cancel,
        Self::Sell,
        Self::HandOver,
        Self::UndoSale,
        Self::RequestOffer,
        Self::Offer,
        Self::Accept,
        Self::Reject,
    ];

    async fn take(self, yard: &mut Yard, id: VehicleId) -> Result<Vehicle, VehicleError> {
        match self {
            Self::Reserve => yard.reserve(id, for_ann()).await,
            Self::Cancel => yard.cancel(id).await,
            Self::Sell => yard.sell(id, SellVehicle::default()).await,
            Self::HandOver => yard.hand_over(id).await,
            Self::UndoSale => yard.undo_sale(id).await,
            Self::RequestOffer => yard.request_offer(id).await,
            Self::Offer => yard.make_offer(id, an_offer()).await,
            Self::Accept => yard.accept_offer(id).await.map(|(appraisal, _)| appraisal),
            Self::Reject => yard.reject_offer(id).await,
        }
    }
}

/// Returns the state after a step and the recorded events, or the code of its refusal; written by hand from the contract.
fn expected(
    kind: StockType,
    from: VehicleStatus,
    step: Step,
) -> Result<(VehicleStatus, Vec<&'static str>), &'static str> {
    use VehicleStatus as S;
    let updated = || vec!["vehicle.updated"];
    let appraisal = kind == StockType::Appraisal;
    if from == S::Deleted {
        return Err("vehicle_not_found");
    }
    match (step, from) {
        (Step::Reserve, S::ForSale) => Ok((S::Reserved, vec!["vehicle.reserved"])),
        (Step::Reserve, S::Reserved) => Err("vehicle_already_reserved"),
        (Step::Reserve, _) => Err("vehicle_reserve_invalid_status"),
        (Step::Cancel, S::Reserved) => Ok((S::ForSale, updated())),
        (Step::Cancel, _) => Err("vehicle_not_reserved"),
        (Step::Sell, S::ForSale | S::Reserved) => Ok((S::Sold, vec!["vehicle.sold"])),
        (Step::Sell, _) => Err("vehicle_status_transition_invalid"),
        (Step::HandOver, S::Sold) => Ok((S::Complete, updated())),
        (Step::UndoSale, S::Sold | S::Complete) => Ok((S::ForSale, updated())),
        (Step::HandOver | Step::UndoSale, _) => Err("vehicle_not_sold"),
        _ if !appraisal => Err("vehicle_not_appraisal"),
        (Step::RequestOffer, S::Added) => Ok((S::Added, updated())),
        (Step::Offer, S::Added) => Ok((S::Appraised, updated())),
        (Step::Accept, S::Appraised) => Ok((S::Accepted, vec!["vehicle.created", "vehicle.updated"])),
        (Step::Reject, S::Appraised) => Ok((S::Rejected, updated())),
        (Step::RequestOffer | Step::Offer | Step::Accept | Step::Reject, _) => Err("vehicle_appraisal_invalid_status"),
    }
}

/// Returns a vehicle in that state, with the traces of its process.
async fn in_state(kind: StockType, status: VehicleStatus) -> (Yard, Vehicle) {
    let (mut yard, vehicle) = Yard::with(kind, complete()).await;
    let mut content = vehicle.content;
    content.status = status;
    content.reservation.current = (status == VehicleStatus::Reserved).then(|| Reservation {
        customer: Some(BOB),
        method: ReservationMethod::Cash,
        deposit: Money::from_minor(9_900),
        transaction: Line::default(),
        date: at(0),
        reserved_at: at(0),
        vat: false,
        invoice: None,
        made_by: None,
    });
    let sold = matches!(status, VehicleStatus::Sold | VehicleStatus::Complete);
    content.sale = sold.then(|| Sale {
        customer: Some(BOB),
        price: None,
        date: at(0).date(),
        at: at(0),
        handed_over: None,
        invoice: None,
    });
    let vehicle = yard.put(vehicle.id, content).await;
    yard.store.followed.clear();
    (yard, vehicle)
}

#[tokio::test]
async fn every_step_leads_where_the_contract_says_or_is_refused() {
    let mut led = 0;
    for kind in StockType::ALL {
        for &from in VehicleStatus::of(kind) {
            for step in Step::ALL {
                let what = format!("{kind:?} {from:?} {step:?}");
                let (mut yard, before) = in_state(kind, from).await;
                let outcome = step.take(&mut yard, before.id).await;
                match expected(kind, from, step) {
                    Ok((to, events)) => {
                        let after = outcome.unwrap();
                        assert_eq!(after.content.status, to, "{what}");
                        assert_eq!(
                            (after.version, after.updated),
                            (before.version.next(), at(60)),
                            "{what}"
                        );
                        assert_eq!(yard.stored(after.id), after, "{what}");
                        assert_eq!(yard.store.followed.last(), Some(&(after.id, to)), "{what}");
                        assert_eq!(yard.recorded(), events, "{what}");
                        led += 1;
                    }
                    Err(refusal) => {
                        assert_eq!(code(&outcome.unwrap_err()), refusal, "{what}");
                        yard.assert_untouched(&before);
                        assert_eq!(yard.store.vehicles.all().count(), 1, "{what}");
                    }
                }
            }
        }
    }
    assert_eq!(led, 18, "seven steps of two stock types, four of appraisals");
}

#[tokio::test]
async fn a_version_that_has_passed_is_refused_before_the_state() {
    for kind in StockType::ALL {
        let (mut yard, vehicle) = Yard::with(kind, complete()).await;
        let changed = yard.update(vehicle.id, json!({"stock": {"notes": "x"}})).await.unwrap();
        yard.forget_outcomes();
        let target = || forecourt_kernel::Target {
            id: vehicle.id,
            precondition: forecourt_kernel::Precondition::one_of(vec![1]),
        };
        let sold = sell_vehicle(
            &mut yard.store,
            &yard.clock,
            &yard.caller,
            target(),
            SellVehicle::default(),
        )
        .await;
        assert!(
            matches!(sold, Err(VehicleError::VersionMismatch(VersionMismatch { .. }))),
            "{sold:?}"
        );
        let cancelled = cancel_reservation(&mut yard.store, &yard.clock, &yard.caller, target()).await;
        assert_eq!(code(&cancelled.unwrap_err()), "precondition_failed");
        yard.assert_untouched(&changed);
    }
}

#[tokio::test]
async fn another_business_has_no_such_vehicle() {
    for step in Step::ALL {
        let (mut yard, vehicle) = in_state(StockType::InStock, VehicleStatus::ForSale).await;
        let home = yard.caller.clone();
        yard.change_business();
        // The staff and contacts of a command belong to the caller.
        let outcome = match step {
            Step::Reserve => continue,
            step => step.take(&mut yard, vehicle.id).await,
        };
        assert_eq!(code(&outcome.unwrap_err()), "vehicle_not_found", "{step:?}");
        yard.caller = home;
        yard.assert_untouched(&vehicle);
    }
}

#[test]
fn a_session_over_both_ports_is_a_store_of_the_processes() {
    trait Session: VehicleStore + InvoiceStore + VehicleProcessStore {}
    impl Session for MemoryStore {}
    let mut memory = MemoryStore::default();
    let session: &mut dyn Session = &mut memory;
    let _: &mut dyn VehicleProcessStore = session;
}

#[tokio::test]
async fn what_the_processes_keep_is_part_of_the_document_only_where_there_is_some() {
    let (mut yard, vehicle) = Yard::selling(complete()).await;
    let document = serde_json::to_value(&vehicle.content).unwrap();
    for member in ["reservation", "sale", "offer"] {
        assert_eq!(document.get(member), None);
    }
    yard.reserve(vehicle.id, for_ann()).await.unwrap();
    yard.cancel(vehicle.id).await.unwrap();
    yard.reserve(vehicle.id, for_ann()).await.unwrap();
    let sold = yard.sell(vehicle.id, SellVehicle::default()).await.unwrap();
    let document = serde_json::to_value(&sold.content).unwrap();
    let today = at(0).date().midnight();
    let reservation = |end: &str| {
        json!({
            "customer": 501, "method": "No Payment", "deposit": "0.00", "transaction": "", "date": today,
            "reserved_at": at(60), "vat": false, "end": end, "ended_at": at(60),
        })
    };
    assert_eq!(
        document["reservation"],
        json!({"former": [reservation("cancelled"), reservation("sold")]})
    );
    assert_eq!(
        document["sale"],
        json!({"customer": null, "price": null, "date": "2026-03-01", "at": at(60)})
    );
    assert_eq!(serde_json::from_value::<VehicleDraft>(document).unwrap(), sold.content);
}

fn ann() -> Person {
    let mut keys = PersonKeys::new(ANN);
    keys.add_name("Ann Lee");
    Person::new(&keys).unwrap()
}

/// Erases Ann from a vehicle.
async fn forget(yard: &mut Yard, id: VehicleId) -> Vehicle {
    let stored = yard.stored(id);
    let business = yard.caller.business.clone();
    forget_person_in_vehicle(&mut yard.store, at(90), &business, stored, &ann())
        .await
        .unwrap();
    yard.stored(id)
}

#[tokio::test]
async fn an_erased_contact_is_gone_from_reservations_and_sales() {
    let (mut yard, vehicle) = Yard::selling(complete()).await;
    let id = vehicle.id;
    let by_card = |customer, transaction: &str| ReserveVehicle {
        customer,
        method: ReservationMethod::Card,
        deposit: Some(Money::from_minor(9_900)),
        transaction: Line::new(transaction).unwrap(),
        ..for_ann()
    };
    for (customer, transaction) in [(ANN, "A-1"), (BOB, "B-1"), (ANN, "A-2")] {
        yard.reserve(id, by_card(customer, transaction)).await.unwrap();
        if transaction != "A-2" {
            yard.cancel(id).await.unwrap();
        }
    }
    assert_eq!(yard.stored(id).buyers().collect::<Vec<_>>(), [ANN, ANN, BOB]);
    yard.store.events.clear();
    let forgotten = forget(&mut yard, id).await;
    assert_eq!(yard.recorded(), ["vehicle.updated"]);
    let kept = &forgotten.content.reservation;
    let all = kept
        .former
        .iter()
        .map(|former| &former.reservation)
        .chain(&kept.current);
    let all: Vec<_> = all.map(|one| (one.customer, one.transaction.as_str())).collect();
    assert_eq!(all, [(None, ""), (Some(BOB), "B-1"), (None, "")]);
    let shown = serde_json::to_value(read_reservation(&forgotten)).unwrap();
    assert_eq!(
        (&shown["reservation"]["customer"], &shown["reservation"]["invoice"]),
        (&json!(null), &json!("INV-3")),
        "the financial record stays"
    );

    let buys = SellVehicle {
        customer: Some(ANN),
        ..SellVehicle::default()
    };
    yard.sell(id, buys).await.unwrap();
    yard.delete(id).await.unwrap();
    assert_eq!(yard.stored(id).buyers().collect::<Vec<_>>(), [BOB, ANN]);
    yard.store.events.clear();
    let forgotten = forget(&mut yard, id).await;
    assert_eq!(forgotten.content.sale.as_ref().map(|sale| sale.customer), Some(None));
    assert_eq!(yard.recorded(), [""; 0], "a deleted vehicle records nothing");
}

#[tokio::test]
async fn an_erased_contact_is_gone_from_the_comments_on_an_offer() {
    let (mut yard, vehicle) = Yard::with(StockType::Appraisal, complete()).await;
    yard.make_offer(vehicle.id, an_offer()).await.unwrap();
    let forgotten = forget(&mut yard, vehicle.id).await;
    assert_eq!(forgotten.content.offer.comments.as_str(), "Ask … for the second key");
}
