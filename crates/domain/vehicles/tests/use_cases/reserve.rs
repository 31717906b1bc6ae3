//! Reservations, their deposits and their invoices.

use forecourt_invoices::{InvoiceStatus, PaymentMethod, credit_in_full};
use forecourt_kernel::{ContactId, EventName, Line, Money, VehicleId};
use forecourt_vehicles::{
    ReservationDate, ReservationMethod, Reservations, ReserveVehicle, SellVehicle, Vehicle, VehicleError,
    VehicleStatus, carries_vat, read_reservation,
};
use serde_json::{Value, json};

use crate::processes::{BOB, for_ann};
use crate::support::{Yard, at, complete, faults};

fn shown(vehicle: &Vehicle) -> Value {
    serde_json::to_value(read_reservation(vehicle)).unwrap()
}

fn by(method: ReservationMethod, deposit: Option<i64>) -> ReserveVehicle {
    ReserveVehicle {
        method,
        deposit: deposit.map(Money::from_minor),
        ..for_ann()
    }
}

fn none() -> Value {
    json!({"reserved": false, "cancelled": false, "credit_note": "", "reservation": null})
}

#[tokio::test]
async fn a_reservation_reads_as_the_contract_shows_it() {
    let (mut yard, vehicle) = Yard::selling(complete()).await;
    assert_eq!(shown(&vehicle), none());
    let command = ReserveVehicle {
        transaction: Line::new("T-4711").unwrap(),
        date: Some(ReservationDate::Day("2026-02-27".parse().unwrap())),
        ..by(ReservationMethod::BankTransfer, Some(12_345))
    };
    let reserved = yard.reserve(vehicle.id, command).await.unwrap();
    let expected = json!({
        "reserved": true, "cancelled": false, "credit_note": "",
        "reservation": {
            "customer": 501, "method": "Bank Transfer", "deposit": 123.45, "transaction": "T-4711",
            "date": 1_772_150_400, "reserved_at": at(60), "vat": false, "invoice": "INV-1", "credit_note": "",
        },
    });
    assert_eq!(shown(&reserved).to_string(), expected.to_string(), "in this order");
    assert_eq!(
        yard.view(&reserved)["status"],
        json!({"id": 2, "name": "reserved", "label": "Reserved"})
    );

    let cancelled = yard.cancel(vehicle.id).await.unwrap();
    let expected = json!({"reserved": false, "cancelled": true, "credit_note": "CN-1", "reservation": null});
    assert_eq!(shown(&cancelled), expected);
    assert_eq!(
        cancelled.content.channels, vehicle.content.channels,
        "it stays published"
    );
    let events = yard.recorded();
    assert_eq!(
        events,
        [
            "invoice.created",
            "invoice.issued",
            "invoice.paid",
            "vehicle.reserved",
            "invoice.credited",
            "vehicle.updated"
        ]
    );

    let again = yard.reserve(vehicle.id, for_ann()).await.unwrap();
    assert_eq!(
        (&shown(&again)["reserved"], &shown(&again)["cancelled"]),
        (&json!(true), &json!(false))
    );
    let again = yard.cancel(vehicle.id).await.unwrap();
    let expected = json!({"reserved": false, "cancelled": true, "credit_note": "", "reservation": null});
    assert_eq!(shown(&again), expected, "nothing was invoiced this time");
}

#[tokio::test]
async fn the_event_shows_the_vehicle_reserved() {
    let (mut yard, vehicle) = Yard::selling(complete()).await;
    let reserved = yard.reserve(vehicle.id, for_ann()).await.unwrap();
    yard.assert_recorded(EventName::VehicleReserved, &reserved);
    let cancelled = yard.cancel(vehicle.id).await.unwrap();
    yard.assert_recorded(EventName::VehicleUpdated, &cancelled);
}

#[tokio::test]
async fn the_deposit_is_the_one_given_or_the_vehicles_or_the_businesss() {
    let reserve = async |given: Option<i64>, vehicles: Option<i64>, businesss: Option<i64>, method| {
        let (mut yard, vehicle) = Yard::selling(complete()).await;
        yard.reform(|business| business.settings.reserve_deposit = businesss.map(Money::from_minor));
        if let Some(pounds) = vehicles {
            let priced = json!({"stock": {"price_reserve": pounds}});
            yard.update(vehicle.id, priced).await.unwrap();
        }
        let reserved = yard.reserve(vehicle.id, by(method, given)).await.unwrap();
        let invoices: Vec<_> = yard
            .store
            .invoices
            .all()
            .map(|invoice| invoice.content.totals().gross)
            .collect();
        let deposit = shown(&reserved)["reservation"]["deposit"].clone();
        (deposit, invoices.first().map(|gross| gross.minor()))
    };
    let card = ReservationMethod::Card;
    for (given, vehicles, businesss, deposit, invoiced) in [
        (Some(1_050), Some(200), Some(9_900), json!(10.5), Some(1_050)),
        (Some(0), Some(200), Some(9_900), json!(0), None),
        (None, Some(200), Some(9_900), json!(200), Some(20_000)),
        (None, Some(0), Some(9_900), json!(0), None),
        (None, None, Some(9_999), json!(99.99), Some(9_999)),
        (None, None, None, json!(0), None),
        (Some(1), None, None, json!(0.01), Some(1)),
    ] {
        assert_eq!(reserve(given, vehicles, businesss, card).await, (deposit, invoiced));
    }
    let unpaid = reserve(Some(1_050), Some(200), Some(9_900), ReservationMethod::NoPayment).await;
    assert_eq!(unpaid, (json!(0), None), "there is no deposit without a payment");
}

#[tokio::test]
async fn every_payment_is_invoiced_where_that_is_wanted() {
    for method in ReservationMethod::ALL {
        assert_eq!(method.to_string().parse(), Ok(method));
        assert_eq!(serde_json::to_value(method).unwrap(), method.name());
        for create_invoice in [true, false] {
            let (mut yard, vehicle) = Yard::selling(complete()).await;
            let command = ReserveVehicle {
                create_invoice,
                ..by(method, Some(5_000))
            };
            let reserved = yard.reserve(vehicle.id, command).await.unwrap();
            let reservation = &shown(&reserved)["reservation"];
            assert_eq!(reservation["method"], method.name());
            let is_paid = method != ReservationMethod::NoPayment;
            assert_eq!(reservation["deposit"], if is_paid { 50 } else { 0 });
            let payments: Vec<_> = yard
                .store
                .invoices
                .all()
                .flat_map(|invoice| &invoice.content.payments)
                .map(|payment| payment.method)
                .collect();
            let expected: Vec<PaymentMethod> = method.payment().filter(|_| create_invoice).into_iter().collect();
            assert_eq!(payments, expected, "{method}");
            assert_eq!(reservation["invoice"], if expected.is_empty() { "" } else { "INV-1" });
            let cancelled = yard.cancel(vehicle.id).await.unwrap();
            assert_eq!(
                shown(&cancelled)["credit_note"],
                if expected.is_empty() { "" } else { "CN-1" }
            );
        }
    }
    for text in ["", "card", "Bank transfer", "NoPayment", "PayPal"] {
        assert!(text.parse::<ReservationMethod>().is_err(), "{text:?}");
    }
}

#[tokio::test]
async fn the_invoice_says_what_the_reservation_does() {
    let (mut yard, vehicle) = Yard::selling(complete()).await;
    let described = json!({"history": {"year": 2019}, "stock": {"vat": "VAT Qualifying"}});
    yard.update(vehicle.id, described).await.unwrap();
    let command = ReserveVehicle {
        customer: BOB,
        transaction: Line::new("T-1").unwrap(),
        date: Some(ReservationDate::Moment(at(-86_400))),
        ..by(ReservationMethod::Card, Some(12_000))
    };
    let reserved = yard.reserve(vehicle.id, command).await.unwrap();
    let reservation = &shown(&reserved)["reservation"];
    assert_eq!(
        (&reservation["vat"], &reservation["date"]),
        (&json!(true), &json!(at(-86_400)))
    );
    let invoice = yard.store.invoices.all().next().unwrap().clone();
    let content = &invoice.content;
    assert_eq!(
        (content.agreement.customer, content.agreement.vehicle),
        (Some(BOB), Some(vehicle.id))
    );
    assert_eq!(
        (content.agreement.site.get(), content.agreement.date),
        (0, at(-86_400).date())
    );
    assert_eq!(
        content.agreement.lines[0].description.as_str(),
        "Deposit for 2019 Ford Fiesta"
    );
    assert_eq!(
        (content.totals().vat, content.totals().net),
        (Money::from_minor(2_000), Money::from_minor(10_000))
    );
    assert_eq!(content.payments[0].reference.as_str(), "T-1");
    assert_eq!(content.status, InvoiceStatus::Paid);

    yard.cancel(vehicle.id).await.unwrap();
    let credited = yard.store.invoices.all().next().unwrap();
    assert_eq!(credited.content.status, InvoiceStatus::Credited);
    assert_eq!(credited.content.credit_notes[0].gross, Money::from_minor(12_000));
}

#[tokio::test]
async fn numbers_have_no_gaps_over_many_reservations() {
    let (mut yard, vehicle) = Yard::selling(complete()).await;
    let rounds = Reservations::MAX_FORMER + 10;
    for round in 1..=rounds {
        let reserved = yard
            .reserve(vehicle.id, by(ReservationMethod::Cash, Some(100)))
            .await
            .unwrap();
        assert_eq!(shown(&reserved)["reservation"]["invoice"], format!("INV-{round}"));
        // A refused request draws no number.
        let twice = yard.reserve(vehicle.id, by(ReservationMethod::Cash, Some(100))).await;
        assert!(matches!(twice, Err(VehicleError::AlreadyReserved)), "{twice:?}");
        let unknown = ReserveVehicle {
            customer: ContactId::new(777),
            ..for_ann()
        };
        assert_eq!(faults(yard.reserve(vehicle.id, unknown).await), ["customer"]);
        let cancelled = yard.cancel(vehicle.id).await.unwrap();
        assert_eq!(shown(&cancelled)["credit_note"], format!("CN-{round}"));
        assert!(matches!(yard.cancel(vehicle.id).await, Err(VehicleError::NotReserved)));
    }
    let kept = &yard.stored(vehicle.id).content.reservation.former;
    assert_eq!(kept.len(), Reservations::MAX_FORMER, "the document stays bounded");
    assert_eq!(
        kept.last()
            .and_then(|last| last.credit_note)
            .map(|note| note.to_string()),
        Some(format!("CN-{rounds}"))
    );
    assert_eq!(yard.store.invoices.all().count(), rounds, "the invoices stay");
}

#[tokio::test]
async fn an_invoice_that_was_credited_before_is_not_credited_again() {
    let (mut yard, vehicle) = Yard::selling(complete()).await;
    yard.reserve(vehicle.id, by(ReservationMethod::Card, Some(5_000)))
        .await
        .unwrap();
    let invoice = yard.store.invoices.all().next().unwrap().id;
    let business = yard.caller.business.clone();
    let reason = Line::new("By hand").unwrap();
    credit_in_full(&mut yard.store, &yard.clock, &business, invoice, reason)
        .await
        .unwrap();
    yard.store.events.clear();
    let cancelled = yard.cancel(vehicle.id).await.unwrap();
    assert_eq!(shown(&cancelled)["credit_note"], "CN-1");
    assert_eq!(yard.recorded(), ["vehicle.updated"]);
}

#[tokio::test]
async fn what_is_named_is_judged_before_the_vehicle() {
    let (mut yard, vehicle) = Yard::selling(complete()).await;
    let wrong = || ReserveVehicle {
        customer: ContactId::new(777),
        date: Some(ReservationDate::Moment(at(i64::MAX / 4))),
        ..by(ReservationMethod::Card, Some(-1))
    };
    for id in [vehicle.id, VehicleId::new(5)] {
        assert_eq!(faults(yard.reserve(id, wrong()).await), ["customer", "deposit", "date"]);
    }
    yard.assert_untouched(&vehicle);
    for (date, is_taken) in [
        ("1884-12-31", false),
        ("1885-01-01", true),
        ("2026-03-02", true),
        ("2026-03-03", false),
    ] {
        let (mut yard, vehicle) = Yard::selling(complete()).await;
        let command = ReserveVehicle {
            date: Some(ReservationDate::Day(date.parse().unwrap())),
            ..for_ann()
        };
        assert_eq!(yard.reserve(vehicle.id, command).await.is_ok(), is_taken, "{date}");
    }
    let outcome = yard.reserve(VehicleId::new(5), for_ann()).await;
    assert!(matches!(outcome, Err(VehicleError::NotFound(_))), "{outcome:?}");
}

#[tokio::test]
async fn a_sale_ends_the_reservation_and_keeps_its_invoice() {
    let (mut yard, vehicle) = Yard::selling(complete()).await;
    yard.reserve(vehicle.id, by(ReservationMethod::Card, Some(5_000)))
        .await
        .unwrap();
    yard.recorded();
    let sold = yard.sell(vehicle.id, SellVehicle::default()).await.unwrap();
    assert_eq!(yard.recorded(), ["vehicle.sold"]);
    assert_eq!(shown(&sold), none());
    assert_eq!(sold.content.reservation.former.len(), 1);
    let invoice = yard.store.invoices.all().next().unwrap();
    assert_eq!(invoice.content.status, InvoiceStatus::Paid);
    let undone = yard.undo_sale(vehicle.id).await.unwrap();
    assert_eq!(undone.content.status, VehicleStatus::Reserved);
    assert_eq!(
        shown(&undone)["reservation"]["invoice"],
        "INV-1",
        "the reservation is back"
    );
}

#[tokio::test]
async fn a_reserved_vehicle_is_changed_and_published_as_before() {
    let (mut yard, vehicle) = Yard::selling(complete()).await;
    yard.reserve(vehicle.id, for_ann()).await.unwrap();
    let published = yard.publish(vehicle.id, &["website", "platform_a"]).await.unwrap();
    assert_eq!(published.content.status, VehicleStatus::Reserved);
    let priceless = yard.update(vehicle.id, json!({"stock": {"price_website": null}})).await;
    assert!(
        matches!(priceless, Err(VehicleError::PublishIncomplete(_))),
        "{priceless:?}"
    );
    let drafted = yard.set_status(vehicle.id, "draft").await;
    assert!(matches!(drafted, Err(VehicleError::Transition(_))), "{drafted:?}");
}

#[tokio::test]
async fn value_added_tax_follows_from_how_the_vehicle_is_sold() {
    for (vat, vat_pricing, carries) in [
        ("", "", false),
        ("Qualifying", "", true),
        ("VAT QUALIFYING", "", true),
        ("vat-qualifying", "", true),
        ("Non-Qualifying", "", false),
        ("Not VAT qualifying", "", false),
        ("Margin", "", false),
        ("", "Inc VAT", true),
        ("", "ex. vat", true),
        ("Margin", "No VAT", false),
    ] {
        let (_, vehicle) = Yard::selling(json!({
            "vehicle": {"type": "Van", "make": "Ford", "model": "Transit"},
            "stock": {"price_website": 1, "vat": vat, "vat_pricing": vat_pricing},
        }))
        .await;
        assert_eq!(
            carries_vat(&vehicle.content.data.stock),
            carries,
            "{vat:?} {vat_pricing:?}"
        );
    }
}
