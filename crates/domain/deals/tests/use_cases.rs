//! The use cases of deals on the store in memory.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail as tests do")]

use forecourt_accounts::{Business, Caller};
use forecourt_billing::BilledContact;
use forecourt_deals::testing::{MemoryDealStore, deal_store_contract};
use forecourt_deals::{
    Deal, DealChanges, DealError, DealStage, Opened, StageChanges, Step, load_deal, move_deal, open_deal, step_deal,
    update_deal,
};
use forecourt_kernel::testing::FixedClock;
use forecourt_kernel::{BusinessId, ContactId, EventName, LeadId, Money, Precondition, ScopeSet, Timestamp, VehicleId};
use serde_json::{Value, json};

struct Shop {
    store: MemoryDealStore,
    clock: FixedClock,
    by: Caller,
}

impl Shop {
    fn new() -> Self {
        let business = Business::new(BusinessId::new(1), "acme", "Acme Cars");
        let mut store = MemoryDealStore::default();
        for id in [17, 18, 19] {
            store.contacts.push((
                business.id,
                BilledContact {
                    id: ContactId::new(id),
                    party: forecourt_billing::Party::default(),
                    email: String::new(),
                    nominal_sales: "4000".to_owned(),
                    nominal_purchases: String::new(),
                },
            ));
        }
        for (id, price, is_net) in [(5, 1_299_500, false), (6, 1_000_000, true)] {
            store.vehicles.push((
                business.id,
                forecourt_billing::BilledVehicle {
                    id: VehicleId::new(id),
                    description: "2019 Ford Focus".to_owned(),
                    registration: "AB19 CDE".to_owned(),
                    vin: String::new(),
                    make: "Ford".to_owned(),
                    model: "Focus".to_owned(),
                    mileage: None,
                    price: Some(Money::from_minor(price)),
                    is_price_net: is_net,
                    carries_vat: is_net,
                    stock_number: None,
                    was_bought_with_vat: false,
                    is_exchangeable: false,
                },
            ));
        }
        store.leads.push((business.id, LeadId::new(73)));
        Self {
            store,
            clock: FixedClock::at(Timestamp::from_epoch_seconds(1_790_000_000)),
            by: Caller::of(business, ScopeSet::all()),
        }
    }

    async fn open(&mut self, body: Value) -> Result<Opened, DealError> {
        let body: DealChanges = serde_json::from_value(body).unwrap();
        open_deal(&mut self.store, &self.clock, &self.by, &Precondition::default(), body).await
    }

    async fn opened(&mut self, body: Value) -> Deal {
        match self.open(body).await.unwrap() {
            Opened::Created(deal) | Opened::Known(deal) => deal,
        }
    }

    async fn change(&mut self, deal: &Deal, body: Value) -> Result<Deal, DealError> {
        let body: DealChanges = serde_json::from_value(body).unwrap();
        update_deal(&mut self.store, &self.clock, &self.by, deal.id, &body).await
    }

    /// Returns a deal in a stage.
    async fn in_stage(&mut self, stage: DealStage) -> Deal {
        let by = &self.by;
        let body = DealChanges::default();
        let deal = load_deal(
            &mut self.store,
            &by.business,
            body,
            stage,
            None,
            Timestamp::from_epoch_seconds(9),
        )
        .await;
        deal.unwrap()
    }
}

fn shown(deal: &Deal) -> Value {
    serde_json::to_value(forecourt_deals::FullDeal::from(deal)).unwrap()
}

fn faults(error: DealError) -> Vec<String> {
    match error {
        DealError::Invalid(errors) => errors.as_slice().iter().map(|fault| fault.field.clone()).collect(),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn the_store_in_memory_keeps_the_contract() {
    let mut store = MemoryDealStore::default();
    deal_store_contract(&mut store, BusinessId::new(1), BusinessId::new(2)).await;
}

/// The table of areas §10.12, written out once more.
fn row(from: &str) -> &'static str {
    match from {
        "payment_partial" => "confirm declined fatal",
        "confirm" => "payment handover declined fatal",
        "handover" => "confirm complete declined fatal",
        "complete" => "",
        "declined" | "fatal" => "begin",
        _ => "pending begin part_exchange product delivery_collection summary finance payment confirm declined fatal",
    }
}

#[tokio::test]
async fn every_cell_of_the_table_of_stages_holds() {
    let mut shop = Shop::new();
    for &from in DealStage::ALL {
        let allowed: Vec<_> = row(from.name()).split_whitespace().collect();
        let names: Vec<_> = from.allowed().into_iter().map(DealStage::name).collect();
        assert_eq!(names, allowed, "{from:?}");
        for &to in DealStage::ALL {
            let deal = shop.in_stage(from).await;
            let before = shop.store.events.len();
            let moved = move_deal(&mut shop.store, &shop.clock, BusinessId::new(1), &deal, to, None).await;
            match moved {
                Ok(moved) if from == to => assert_eq!((moved, shop.store.events.len()), (deal, before)),
                Ok(moved) => {
                    assert!(allowed.contains(&to.name()), "{from:?} {to:?}");
                    assert_eq!(moved.content.stage, to);
                    assert_eq!(moved.content.history[0].stage, to);
                    let event = &shop.store.events[before].1;
                    assert_eq!(event.name, EventName::DealStageChanged);
                    let data: Value = serde_json::from_str(&event.data).unwrap();
                    assert_eq!(data["stage"]["name"], to.name());
                    let changed = data["changed"].as_array().unwrap();
                    assert!(
                        ["stage", "history", "version", "updated"]
                            .iter()
                            .all(|name| changed.contains(&json!(name)))
                    );
                }
                Err(DealError::InvalidStage(stage)) => {
                    assert_eq!(stage, from);
                    assert!(!allowed.contains(&to.name()), "{from:?} {to:?}");
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[tokio::test]
async fn what_happens_elsewhere_moves_a_deal_by_itself() {
    let early = "pending begin part_exchange product delivery_collection summary finance payment";
    let open = format!("{early} payment_partial confirm handover");
    let cases = [
        (Step::Issued, early.to_owned(), "payment"),
        (Step::PaidInPart, format!("{early} payment_partial"), "payment_partial"),
        (Step::Paid, format!("{early} payment_partial"), "confirm"),
        (Step::Reversed(true), "confirm".to_owned(), "payment_partial"),
        (Step::Reversed(false), "confirm".to_owned(), "payment"),
        (Step::HandedOver, open.clone(), "complete"),
        (Step::VehicleLost, open, "fatal"),
    ];
    let mut shop = Shop::new();
    for (step, from, to) in cases {
        for &stage in DealStage::ALL {
            let deal = shop.in_stage(stage).await;
            let moved = step_deal(&mut shop.store, &shop.clock, BusinessId::new(1), &deal, step)
                .await
                .unwrap();
            let expected = match from.split_whitespace().any(|name| name == stage.name()) {
                true => to,
                false => stage.name(),
            };
            assert_eq!(moved.content.stage.name(), expected, "{step:?} {stage:?}");
            if moved.content.stage != stage {
                assert_eq!(moved.content.history[0].by.name(), "system");
            }
            let code = moved.content.reason.map(|reason| reason.code.name());
            assert_eq!(code.is_some(), step == Step::VehicleLost && stage.is_open());
        }
    }
}

#[tokio::test]
async fn a_deal_adds_up() {
    let mut shop = Shop::new();
    let deal = shop
        .opened(json!({
            "contact": 17, "lead": 73, "vehicle": 5,
            "lines": [
                {"type": "product", "description": "Tow bar", "gross": 480},
                {"type": "adjustment", "description": "Discount", "gross": -500},
                {"type": "product", "description": "Mats", "vehicle": 5, "gross": 20},
            ],
            "part_exchanges": [{"registration": "AB12 CDE", "allowance": 4000, "settlement": 1500, "lender": 18}],
            "finance": {"type": "hp", "provider": 19, "amount": 6000, "term": 48, "apr": 9.9},
        }))
        .await;
    let shown = shown(&deal);
    assert_eq!(shown["price"], "12995.00");
    assert_eq!(
        shown["totals"],
        json!({"gross": "14495.00", "part_exchange": "4000.00", "settlement": "1500.00", "deposit": "0.00",
               "finance": "6000.00", "balance": "4495.00"})
    );
    assert_eq!(shown["lines"][0]["vat_scheme"], "standard");
    assert_eq!(shown["lines"][0]["nominal"], "4000");
    // The mats belong to the car, which is sold under the margin scheme.
    assert_eq!(shown["lines"][2]["vat_scheme"], "margin");
    assert_eq!(shown["finance"]["warnings"], json!([]));
    assert_eq!(shown["stage"], json!({"name": "begin", "label": "Begin"}));
    assert_eq!(
        shown["history"],
        json!([{"stage": "begin", "at": 1_790_000_000, "by": "api", "reason": null}])
    );
    assert_eq!(shown["source"], "api");
}

#[tokio::test]
async fn the_price_is_the_cars_until_a_caller_chooses_one() {
    let mut shop = Shop::new();
    let deal = shop.opened(json!({"vehicle": 5})).await;
    assert_eq!(shown(&deal)["price"], "12995.00");
    let deal = shop.change(&deal, json!({"vehicle": 6})).await.unwrap();
    assert_eq!(shown(&deal)["price"], "12000.00");
    let deal = shop.change(&deal, json!({"price": 11500})).await.unwrap();
    let deal = shop.change(&deal, json!({"vehicle": 5})).await.unwrap();
    assert_eq!(shown(&deal)["price"], "11500.00");
    let deal = shop.change(&deal, json!({"price": null})).await.unwrap();
    assert_eq!(shown(&deal)["price"], "12995.00");
    let version = deal.version;
    let deal = shop.change(&deal, json!({"price": 12995})).await.unwrap();
    assert_eq!(deal.version, version);
    let deal = shop.change(&deal, json!({"vehicle": 6})).await.unwrap();
    assert_eq!(shown(&deal)["price"], "12995.00");
}

#[tokio::test]
async fn finance_is_computed_and_warned_about() {
    let mut shop = Shop::new();
    let deal = shop
        .opened(
            json!({"finance": {"type": "hp", "amount": 6000, "term": 12, "apr": 0, "deposit": 500, "admin_fee": 10}}),
        )
        .await;
    let finance = shown(&deal)["finance"].clone();
    assert_eq!(
        (&finance["monthly"], &finance["total_payable"]),
        (&json!("500.00"), &json!("6510.00"))
    );
    assert_eq!(finance["apr"], "0.00");
    // Nothing is for sale, so the finance is more than there is to pay.
    assert_eq!(finance["warnings"], json!(["amount_mismatch"]));
    let warnings = |deal: &Deal| shown(deal)["finance"]["warnings"].clone();
    let deal = shop
        .change(&deal, json!({"vehicle": 5, "finance": {"total_payable": 6511}}))
        .await
        .unwrap();
    assert_eq!(warnings(&deal), json!([]));
    let deal = shop
        .change(&deal, json!({"finance": {"total_payable": 6511.01}}))
        .await
        .unwrap();
    assert_eq!(warnings(&deal), json!(["total_mismatch"]));
    let deal = shop
        .change(
            &deal,
            json!({"finance": {"apr": null, "monthly": 500, "total_payable": 6510, "provider": 19}}),
        )
        .await
        .unwrap();
    assert_eq!(warnings(&deal), json!(["apr_missing"]));
    let deal = move_deal(
        &mut shop.store,
        &shop.clock,
        BusinessId::new(1),
        &deal,
        DealStage::Finance,
        None,
    )
    .await
    .unwrap();
    assert_eq!(warnings(&deal), json!(["apr_missing", "commission_not_disclosed"]));
    let deal = shop
        .change(&deal, json!({"finance": {"commission_disclosed": true}}))
        .await
        .unwrap();
    assert_eq!(warnings(&deal), json!(["apr_missing"]));
    let deal = shop.change(&deal, json!({"finance": null})).await.unwrap();
    assert_eq!(shown(&deal)["finance"]["type"], "none");
}

#[tokio::test]
async fn another_system_opens_a_deal_once() {
    let mut shop = Shop::new();
    let first = shop
        .opened(json!({"provider": "Desk", "external_id": "1", "stage": "pending"}))
        .await;
    assert_eq!(first.content.stage, DealStage::Pending);
    let again = shop
        .open(json!({"provider": "Desk", "external_id": "1", "stage": "begin", "notes": "x"}))
        .await
        .unwrap();
    let Opened::Known(again) = again else {
        panic!("it is known")
    };
    assert_eq!((again.id, again.content.stage), (first.id, DealStage::Pending));
    let other = shop.opened(json!({"provider": "Desk", "external_id": "2"})).await;
    let refused = shop.change(&other, json!({"external_id": "1"})).await.unwrap_err();
    assert_eq!(faults(refused), ["external_id"]);
    let deal = shop.in_stage(DealStage::Complete).await;
    let deal = shop
        .change(&deal, json!({"notes": "It was a pleasure."}))
        .await
        .unwrap();
    assert!(matches!(
        shop.change(&deal, json!({"distance": true})).await,
        Err(DealError::InvalidStage(DealStage::Complete))
    ));
    let deal = shop.in_stage(DealStage::Handover).await;
    assert!(matches!(
        shop.change(&deal, json!({"contact": 17})).await,
        Err(DealError::InvalidStage(DealStage::Handover))
    ));
    shop.change(&deal, json!({"delivery": {"date": "2026-12-01"}}))
        .await
        .unwrap();
}

#[tokio::test]
async fn faults_name_their_members() {
    let mut shop = Shop::new();
    for (body, expected) in [
        (
            json!({"contact": 99, "lead": 1, "vehicle": 99, "staff": 99, "site": 99}),
            "site contact vehicle staff lead",
        ),
        (json!({"stage": "confirm"}), "stage"),
        (json!({"price": -1}), "price"),
        (json!({"lines": [{"type": "vehicle", "vehicle": 5}]}), "lines.0.type"),
        (
            json!({"finance": {"type": "barter", "apr": 101, "term": 0, "amount": -1, "provider": 99}}),
            "finance.type finance.provider finance.amount finance.term finance.apr",
        ),
        (
            json!({"delivery": {"method": "post", "date": "1700-01-01"}}),
            "delivery.method delivery.date",
        ),
        (
            json!({"vehicle": 5, "lines": [{"type": "adjustment", "description": "x", "gross": -12995.01}]}),
            "lines",
        ),
        (
            json!({"part_exchanges": [{"allowance": 0}]}),
            "part_exchanges.0.registration part_exchanges.0.allowance",
        ),
    ] {
        let found = faults(shop.open(body.clone()).await.unwrap_err());
        assert_eq!(found.join(" "), expected, "{body}");
    }
    let body = |body: Value| serde_json::from_value::<StageChanges>(body).unwrap().read();
    assert!(body(json!({"stage": "declined"})).is_err());
    assert!(body(json!({"stage": "declined", "reason": "bored"})).is_err());
    assert!(body(json!({"reason": "other"})).is_err());
    assert!(body(json!({"stage": "fatal", "reason": "other", "note": "x"})).is_ok());
}
