//! Every query that a list or a background job makes is served by an index, on both engines.
//!
//! The statements are those that the stores really send: they are recorded, and explained on the same database. This is a binary
//! of its own, since recording covers the whole process.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "clippy excepts a test, but not what several tests share"
)]

mod backlog;
#[expect(dead_code, reason = "the stores' tests use all of it")]
#[path = "../stores/fleet.rs"]
mod fleet;
#[expect(dead_code, reason = "the stores' tests use all of it")]
#[path = "../stores/installation.rs"]
mod installation;
mod lists;
mod public;
#[expect(dead_code, reason = "the stores' tests use all of it")]
#[path = "../stores/samples.rs"]
mod samples;
mod vehicle_files;

use std::sync::{Mutex, PoisonError};

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Text;
use diesel_async::SimpleAsyncConnection as _;
use forecourt_contacts::{Address, DuplicateKind, DuplicateProbe};
use forecourt_invoices::InvoiceNumber;
use forecourt_invoices::testing::a_draft_sale;
use forecourt_kernel::{
    BusinessId, ContactId, Country, Cursor, EventName, EventSequence, LeadId, LeadNoteId, Mail, NewEvent, PageRequest,
    Position, Range, VehicleId, WebhookId,
};
use forecourt_leads::{LeadDraft, SenderKeys, VehicleChoice, VehicleClue};
use forecourt_orders::testing::a_draft_order;
use forecourt_purchases::testing::a_draft_purchase;
use forecourt_storage::RunQueryDsl;
use forecourt_storage::Storage;
use forecourt_vehicles::VehicleFilter;
use forecourt_webhooks::{DeliveryFilter, DeliveryStatus, EventFilter, Topic, WebhookStatus};

use fleet::a_vehicle;
use installation::{Installation, both_engines};
use samples::{a_business, a_car, a_contact, a_lead, a_webhook, an_event, at, key, moment, room};

both_engines!(
    a_vehicle_is_written_by_indexes,
    each_search_for_a_duplicate_has_an_index,
    what_a_deleted_contact_leaves_is_found_by_indexes,
    each_background_job_has_an_index,
    documents_are_written_by_indexes,
    the_backlog_is_measured_by_indexes,
    keys_are_listed_by_an_index,
    vehicles_of_leads_have_an_index,
    what_is_written_on_leads_has_an_index,
    lists_of_webhooks_have_an_index,
    histories_have_an_index,
    the_event_log_has_an_index,
    deliveries_are_made_by_an_index,
    deliveries_are_taken_and_tried_by_an_index,
    history_is_forgotten_by_an_index,
);

static OVERHEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn overhear() -> Option<Box<dyn Instrumentation>> {
    Some(Box::new(|event: InstrumentationEvent<'_>| {
        if let InstrumentationEvent::StartQuery { query, .. } = event {
            OVERHEARD
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(query.to_string());
        }
    }))
}

/// Returns the statements that were sent since the last call, without their parameters' values.
fn overheard() -> Vec<String> {
    let statements = std::mem::take(&mut *OVERHEARD.lock().unwrap_or_else(PoisonError::into_inner));
    statements
        .iter()
        .map(|text| text.split(" -- binds").next().unwrap_or_default().to_owned())
        .collect()
}

async fn a_vehicle_is_written_by_indexes(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    session.insert_vehicle(business, a_vehicle(), at(0)).await.unwrap();
    session.commit().await.unwrap();
    overheard();
    let mut session = installation.begin().await;
    let page = PageRequest {
        position: Position::Number(1),
        per_page: 1,
    };
    let mut vehicle = session
        .vehicles(business, &VehicleFilter::default(), &page)
        .await
        .unwrap()
        .items
        .remove(0);
    session.lock_vehicle(business, vehicle.id).await.unwrap();
    session.lock_vehicles_for_sale(business).await.unwrap();
    vehicle.content.channels.clear();
    session.save_vehicle(business, &vehicle).await.unwrap();
    session.commit().await.unwrap();
    let mut statements = overheard();
    statements.retain(|statement| {
        ["SELECT", "UPDATE", "DELETE"]
            .iter()
            .any(|verb| statement.starts_with(verb))
    });
    for statement in statements {
        no_scan(&statement, &explain(&installation, &statement).await);
    }
}

async fn each_search_for_a_duplicate_has_an_index(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let text = |kind, value| DuplicateProbe::text(kind, value, Country::GB).unwrap();
    let address = |line1: &str| Address {
        line1: line1.to_owned(),
        city: "Leeds".to_owned(),
        zip: "LS1".to_owned(),
        ..Address::default()
    };
    let probes = [
        text(DuplicateKind::Email, "ann@example.com"),
        text(DuplicateKind::Phone, "+441632960123"),
        text(DuplicateKind::Name, "x"),
        text(DuplicateKind::Company, "x"),
        text(DuplicateKind::Vat, "x"),
        DuplicateProbe::address(&address("1 High Street")).unwrap(),
        DuplicateProbe::address(&address("")).unwrap(),
    ];
    for probe in probes {
        overheard();
        installation.read().await.contact_like(business, &probe).await.unwrap();
        let statements = about(&["contacts"]);
        assert!(!statements.is_empty());
        for statement in statements {
            let plan = explain(&installation, &statement).await;
            no_scan(&statement, &plan);
            // Found by the filter, and not among all of the business.
            assert!(
                !plan.contains("contacts_list") && !plan.contains("contacts_pkey"),
                "{statement}\n{plan}"
            );
        }
    }
}

async fn what_a_deleted_contact_leaves_is_found_by_indexes(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    let contact = session.insert_contact(business, a_contact(), at(0)).await.unwrap();
    let lead = LeadDraft {
        contact: Some(contact.id),
        ..a_lead()
    };
    session.insert_lead(business, lead, at(9)).await.unwrap();
    let created = NewEvent {
        name: EventName::ContactCreated,
        record: contact.id.get(),
        data: "{}".to_owned(),
        at: at(9),
    };
    session.record(business, created).await.unwrap();
    overheard();
    session.erase_contact(business, &contact).await.unwrap();
    session.commit().await.unwrap();
    let mut statements = overheard();
    statements.retain(|statement| {
        let looks = ["SELECT", "UPDATE", "DELETE"]
            .iter()
            .any(|verb| statement.starts_with(verb));
        looks || (statement.starts_with("INSERT") && statement.contains("SELECT"))
    });
    assert!(statements.len() > 5, "{statements:?}");
    let mut named = String::new();
    for statement in statements {
        let plan = explain(&installation, &statement).await;
        no_scan(&statement, &plan);
        named += &plan;
    }
    if let Storage::Sqlite(_) = installation.storage {
        for index in [
            "events_of_contact",
            "leads_contact",
            "leads_suggested",
            "vehicles_contact",
            "vehicles_funder",
            "vehicles_supplier",
        ] {
            assert!(named.contains(index), "{index} is not used:\n{named}");
        }
    }
}

async fn each_background_job_has_an_index(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    session.queue_mail(business, Mail::default(), at(9)).await.unwrap();
    session.commit().await.unwrap();
    let mut session = installation.begin().await;
    overheard();
    session.due_reopenings(at(9), 10).await.unwrap();
    session.take_mails(BusinessId::new(0), at(9), at(99), 10).await.unwrap();
    session.purge_expired(at(9), 10).await.unwrap();
    session
        .take_assessments(BusinessId::new(0), at(9), at(99), 10)
        .await
        .unwrap();
    session.commit().await.unwrap();
    let statements = about(&["leads", "mails", "idempotency_keys", "lead_assessments"]);
    assert_eq!(statements.len(), 7, "{statements:?}");
    for statement in statements {
        no_scan(&statement, &explain(&installation, &statement).await);
    }
}

async fn documents_are_written_by_indexes(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let (customer, vehicle) = (ContactId::new(1), VehicleId::new(1));
    let mut session = installation.begin().await;
    let sale = a_draft_sale(customer, vehicle);
    let mut invoice = session.insert_invoice(business, sale.clone(), at(0)).await.unwrap();
    session.insert_invoice(business, sale, at(0)).await.unwrap();
    let mut order = session
        .insert_order(business, a_draft_order(customer, vehicle), at(0))
        .await
        .unwrap();
    let purchase = a_draft_purchase(customer, vehicle);
    let mut purchase = session.insert_purchase(business, purchase, at(0)).await.unwrap();
    session.commit().await.unwrap();
    overheard();
    let mut session = installation.begin().await;
    session.lock_invoice(business, invoice.id).await.unwrap();
    session.lock_order(business, order.id).await.unwrap();
    session.lock_purchase(business, purchase.id).await.unwrap();
    invoice.content.agreement.lines.clear();
    order.content.agreement.lines.clear();
    purchase.content.lines.clear();
    session.save_invoice(business, &invoice).await.unwrap();
    session.save_order(business, &order).await.unwrap();
    session.save_purchase(business, &purchase).await.unwrap();
    session
        .purchase_of_supplier_invoice(business, customer, "v1", None)
        .await
        .unwrap();
    session.invoice_by_number(business, InvoiceNumber::FIRST).await.unwrap();
    session.billed_contacts(business, &[customer]).await.unwrap();
    session.billed_vehicles(business, &[vehicle]).await.unwrap();
    session.paid_deposits(business, &[customer]).await.unwrap();
    session.invoices_with_former_parties(at(0).date(), 9).await.unwrap();
    session.orders_with_former_parties(at(0).date(), 9).await.unwrap();
    session.purchases_with_former_parties(at(0).date(), 9).await.unwrap();
    session.commit().await.unwrap();
    let mut reader = installation.read().await;
    reader.contact_invoices(business, customer, invoice.id).await.unwrap();
    reader.contact_orders(business, customer, order.id).await.unwrap();
    reader.contact_purchases(business, customer, purchase.id).await.unwrap();
    drop(reader);
    let mut statements = overheard();
    statements.retain(|statement| {
        ["SELECT", "UPDATE", "DELETE"]
            .iter()
            .any(|verb| statement.starts_with(verb))
    });
    assert!(statements.len() > 10, "{statements:?}");
    let mut named = String::new();
    for statement in statements {
        let plan = explain(&installation, &statement).await;
        no_scan(&statement, &plan);
        named += &plan;
    }
    if let Storage::Sqlite(_) = installation.storage {
        for index in [
            "invoices_customer",
            "orders_customer",
            "purchases_supplier",
            "purchases_supplier_key",
            "invoices_retained",
            "orders_retained",
            "purchases_retained",
        ] {
            assert!(named.contains(index), "{index} is not used:\n{named}");
        }
    }
}

async fn the_backlog_is_measured_by_indexes(installation: Installation) {
    let (installation, _) = listening(installation).await;
    overheard();
    installation.read().await.backlog().await.unwrap();
    let statements = about(&["webhook_deliveries"]);
    assert_eq!(statements.len(), 1, "{statements:?}");
    let plan = explain(&installation, &statements[0]).await;
    for index in ["webhook_deliveries_due", "webhook_queues_due"] {
        assert!(plan.contains(index), "{index} is not used:\n{plan}");
    }
    let of_mails = ["mails_due", "mails_of_business"];
    let is_used = of_mails.iter().any(|index| plan.contains(index));
    assert!(is_used, "none of {of_mails:?} is used:\n{plan}");
    // Only a bounded number of webhooks, which are few, is read.
    for table in ["webhook_deliveries", "mails"] {
        let on_sqlite = plan.lines().any(|line| line.trim() == format!("SCAN {table}"));
        let on_postgres = plan.contains(&format!("Seq Scan on {table}"));
        assert!(!on_sqlite && !on_postgres, "all of {table} is read:\n{plan}");
    }
}

async fn keys_are_listed_by_an_index(installation: Installation) {
    let (installation, business) = listening(installation).await;
    overheard();
    installation.read().await.keys(Some(business)).await.unwrap();
    let statements = about(&["api_keys"]);
    assert_eq!(statements.len(), 1, "{statements:?}");
    for statement in statements {
        no_scan(&statement, &explain(&installation, &statement).await);
    }
}

async fn what_is_written_on_leads_has_an_index(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    let lead = session.insert_lead(business, a_lead(), at(9)).await.unwrap().id;
    session.request_assessment(business, lead, at(0)).await.unwrap();
    session.commit().await.unwrap();
    let mut session = installation.begin().await;
    overheard();
    for position in positions() {
        let page = PageRequest { position, per_page: 2 };
        session.lead_messages(business, lead, &page).await.unwrap();
        session.lead_notes(business, lead, &page).await.unwrap();
    }
    session.count_lead_notes(business, lead).await.unwrap();
    session
        .delete_lead_note(business, lead, LeadNoteId::new(1))
        .await
        .unwrap();
    let due = session
        .take_assessments(BusinessId::new(0), at(9), at(99), 2)
        .await
        .unwrap();
    session.postpone_assessment(&due[0], at(9)).await.unwrap();
    session.finish_assessment(&due[0]).await.unwrap();
    let keys = SenderKeys {
        email: "ann@example.com".to_owned(),
        mobile: "+447700900123".to_owned(),
        phone: "+441632960123".to_owned(),
    };
    session.contacts_like(business, &keys).await.unwrap();
    for clue in [
        VehicleClue::StockNumber("A-17".to_owned()),
        VehicleClue::Vin("WVWZZZ1KZ6W000001".to_owned()),
        VehicleClue::Registration("AB12CDE".to_owned()),
    ] {
        session.vehicle_with(business, &clue).await.unwrap();
    }
    drop(session);
    let tables = [
        "lead_messages",
        "lead_notes",
        "lead_assessments",
        "contacts",
        "vehicle_facts",
    ];
    let plans = served(&installation, &tables).await;
    if let Storage::Sqlite(_) = installation.storage {
        for index in [
            "lead_messages_lead",
            "lead_notes_lead",
            "lead_assessments_due",
            "contacts_email",
            "contacts_telephone",
            "contacts_mobile",
            "vehicle_facts_number",
            "vehicle_facts_vin",
            "vehicle_facts_registration",
        ] {
            assert!(plans.contains(index), "{index} is not used:\n{plans}");
        }
    }
}

async fn vehicles_of_leads_have_an_index(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    let car = session.insert_vehicle(business, a_car(), at(0)).await.unwrap();
    let lead = session.insert_lead(business, a_lead(), at(9)).await.unwrap().id;
    overheard();
    for choice in [VehicleChoice::Id(car.id), VehicleChoice::Tag(car.tag.to_string())] {
        session.stock_vehicle(business, &choice).await.unwrap();
    }
    session.associate_vehicle(business, lead, car.id, at(9)).await.unwrap();
    for position in positions() {
        let page = PageRequest { position, per_page: 2 };
        session.lead_vehicles(business, lead, &page).await.unwrap();
    }
    session.dissociate_vehicle(business, lead, car.id).await.unwrap();
    session.commit().await.unwrap();
    in_order(&installation, overheard()).await;
}

async fn lists_of_webhooks_have_an_index(installation: Installation) {
    let (installation, business) = listening(installation).await;
    for position in positions() {
        overheard();
        let page = PageRequest { position, per_page: 2 };
        installation.read().await.webhooks(business, &page).await.unwrap();
        in_order(&installation, overheard()).await;
    }
    overheard();
    let mut session = installation.begin().await;
    session.webhook(business, WebhookId::new(1)).await.unwrap();
    session.lock_webhook(business, WebhookId::new(1)).await.unwrap();
    session.commit().await.unwrap();
    in_order(&installation, overheard()).await;
}

async fn histories_have_an_index(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let webhook = installation.webhook(business, a_webhook()).await;
    for status in [None, Some(DeliveryStatus::Failed)] {
        for topic in [None, Some(Topic::Ping)] {
            for position in positions() {
                let page = PageRequest { position, per_page: 2 };
                let filter = DeliveryFilter { status, topic };
                overheard();
                let mut reader = installation.read().await;
                reader.deliveries(business, webhook.id, &filter, &page).await.unwrap();
                let statements = overheard();
                assert!(statements.len() >= 2, "{statements:?}");
                in_order(&installation, statements).await;
            }
        }
    }
}

async fn the_event_log_has_an_index(installation: Installation) {
    let (installation, business) = listening(installation).await;
    for record in 1..9 {
        installation.happen(business, EventName::LeadCreated, record).await;
    }
    for (from, to) in [(None, None), (Some(at(0)), Some(at(1))), (Some(at(5)), None)] {
        for names in [EventName::ALL.to_vec(), vec![EventName::LeadCreated]] {
            for record in [None, Some(3)] {
                let filter = EventFilter {
                    names: names.clone(),
                    record,
                    created: Some(Range { from, to }),
                };
                overheard();
                let mut reader = installation.read().await;
                reader.events(business, &filter, EventSequence(1), 2).await.unwrap();
                in_order(&installation, overheard()).await;
            }
        }
    }
}

async fn deliveries_are_made_by_an_index(installation: Installation) {
    let (installation, business) = listening(installation).await;
    for _ in 0..3 {
        installation.webhook(business, a_webhook()).await;
    }
    overheard();
    let mut session = installation.begin().await;
    for name in [EventName::LeadCreated, EventName::LeadUpdated, EventName::LeadUpdated] {
        session.record(business, an_event(name, LeadId::new(1))).await.unwrap();
    }
    session.commit().await.unwrap();
    let statements = overheard();
    let updates = statements
        .iter()
        .filter(|statement| statement.contains("UPDATE"))
        .count();
    assert!(updates >= 3, "{statements:?}");
    in_order(&installation, statements).await;
}

async fn deliveries_are_taken_and_tried_by_an_index(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut webhook = installation.webhook(business, a_webhook()).await;
    let endpoint = key(business, &webhook);
    for record in 1..9 {
        installation.happen(business, EventName::LeadCreated, record).await;
    }
    overheard();
    let now = moment(0);
    for status in [WebhookStatus::Active, WebhookStatus::Disabled] {
        let mut session = installation.begin().await;
        webhook.content.status = status;
        session.save_webhook(business, &webhook).await.unwrap();
        session.queue_ping(business, webhook.id, now).await.unwrap();
        session.due_endpoints(now, 9).await.unwrap();
        let taken = session
            .take_due(endpoint, now, moment(9), room(3), moment(5))
            .await
            .unwrap()
            .deliveries;
        assert!(!taken.is_empty());
        let records: Vec<_> = taken
            .iter()
            .map(|taken| taken.unsendable(endpoint, now, "lost"))
            .collect();
        session.next_due().await.unwrap();
        session.endpoint(endpoint).await.unwrap();
        let health = session.lock_health(endpoint).await.unwrap().unwrap();
        session.save_health(&health, at(0)).await.unwrap();
        session.save_attempts(&records[1..]).await.unwrap();
        session.give_back(endpoint, &[taken[0].id], now).await.unwrap();
        session.reclaim(moment(99), 9).await.unwrap();
        session.delivery(business, webhook.id, taken[0].id).await.unwrap();
        session
            .queue_again(business, webhook.id, taken[0].id, now)
            .await
            .unwrap();
        session.commit().await.unwrap();
    }
    let mut session = installation.begin().await;
    session.delete_webhook(business, webhook.id, at(0)).await.unwrap();
    session.commit().await.unwrap();
    in_order(&installation, overheard()).await;
}

async fn history_is_forgotten_by_an_index(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let webhook = installation.webhook(business, a_webhook()).await;
    installation.clock.set(moment(0));
    for record in 1..9 {
        installation.happen(business, EventName::LeadCreated, record).await;
    }
    let mut session = installation.begin().await;
    session.delete_webhook(business, webhook.id, at(0)).await.unwrap();
    overheard();
    let before = at(8 * 86_400);
    let gone = session.purge_deliveries(before, 99).await.unwrap()
        + session.purge_webhooks(before, 99).await.unwrap()
        + session.purge_events(before, 99).await.unwrap();
    session.commit().await.unwrap();
    assert_eq!(gone, 8 + 1 + 8);
    in_order(&installation, overheard()).await;
}

fn pages() -> Vec<PageRequest> {
    let page = |position, per_page| PageRequest { position, per_page };
    let by_number = [(1, 2), (3, 2), (1, 50)].map(|(number, per_page)| page(Position::Number(number), per_page));
    let by_cursor = [2, 50].map(|per_page| page(Position::After(Cursor::at([7])), per_page));
    by_number.into_iter().chain(by_cursor).collect()
}

/// Returns the plans of the recorded statements on these tables, none of which reads a whole table.
async fn served(installation: &Installation, tables: &[&str]) -> String {
    let mut plans = String::new();
    for statement in about(tables) {
        let plan = explain(installation, &statement).await;
        no_scan(&statement, &plan);
        plans += &plan;
        plans.push('\n');
    }
    assert!(!plans.is_empty());
    plans
}

fn positions() -> [Position; 3] {
    [
        Position::Number(1),
        Position::Number(3),
        Position::After(Cursor::at([7])),
    ]
}

/// Asserts that none of these reads a whole table, or sorts rows that an index could hold in order.
async fn in_order(installation: &Installation, mut statements: Vec<String>) {
    statements.retain(|statement| {
        ["SELECT", "UPDATE", "DELETE", "WITH"]
            .iter()
            .any(|beginning| statement.starts_with(beginning))
    });
    statements.sort_unstable();
    statements.dedup();
    assert!(!statements.is_empty());
    for statement in statements {
        let plan = explain(installation, &statement).await;
        no_scan(&statement, &plan);
        if statement.starts_with("UPDATE") && statement.contains("settle_by") {
            assert!(plan.contains("webhook_deliveries_settling"), "{statement}\n{plan}");
        }
        // The few queues that one transaction leaves something in are sorted to be locked in order.
        if statement.contains("LIMIT") {
            let sorts = plan.contains("TEMP B-TREE FOR ORDER BY") || plan.contains("Sort Key");
            assert!(!sorts, "{statement}\n{plan}");
        }
    }
}

/// Leaves the statistics of all tables as they are.
const STEADY: &str = "
    DO $$ DECLARE name regclass; BEGIN
        FOR name IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace LOOP
            EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', name);
        END LOOP;
    END $$";

/// Returns the same database with recorded connections, and a business with some leads.
async fn listening(installation: Installation) -> (Installation, BusinessId) {
    set_default_instrumentation(overhear).unwrap();
    let installation = installation.restarted().await;
    if let Storage::Postgres(engine) = &installation.storage {
        // Statistics that are gathered in the midst of a test would change its plans.
        let mut conn = engine.begin().await.unwrap();
        conn.batch_execute(STEADY).await.unwrap();
        conn.commit().await.unwrap();
    }
    let mut session = installation.begin().await;
    let business = session.insert_business(&a_business("acme")).await.unwrap();
    for second in 0..9 {
        session.insert_lead(business, a_lead(), at(second)).await.unwrap();
    }
    session.commit().await.unwrap();
    (installation, business)
}

/// Returns the recorded statements on these tables.
fn about(tables: &[&str]) -> Vec<String> {
    let names = |statement: &String| {
        tables
            .iter()
            .any(|table| statement.replace(['"', '`'], "").contains(&format!("FROM {table}")))
    };
    let selects = overheard()
        .into_iter()
        .filter(|statement| statement.starts_with("SELECT") || statement.starts_with("WITH"));
    let mut statements: Vec<_> = selects.filter(names).collect();
    statements.dedup();
    statements
}

fn no_scan(statement: &str, plan: &str) {
    for table in [
        "leads",
        "lead_vehicles",
        "lead_messages",
        "lead_notes",
        "lead_assessments",
        "vehicles",
        "vehicle_facts",
        "vehicle_channels",
        "vehicle_tags",
        "vehicle_documents",
        "vehicle_drives",
        "files",
        "contacts",
        "contact_notes",
        "mails",
        "idempotency_keys",
        "api_keys",
        "webhooks",
        "webhook_queues",
        "webhook_deliveries",
        "events",
        "reviews",
        "calls",
        "appointments",
        "appointment_staff",
        "lead_appointments",
        "appointment_feeds",
        "articles",
        "invoices",
        "invoice_vehicles",
        "invoice_credits",
        "invoice_contacts",
        "orders",
        "order_vehicles",
        "order_contacts",
        "purchases",
        "purchase_vehicles",
        "purchase_credits",
        "deals",
        "deal_contacts",
        "counters",
    ] {
        let on_sqlite = plan.lines().any(|line| line.trim() == format!("SCAN {table}"));
        let on_postgres = plan.contains(&format!("Seq Scan on {table}"));
        assert!(!on_sqlite && !on_postgres, "{statement}\nreads all of {table}:\n{plan}");
    }
}

#[derive(QueryableByName)]
struct Step {
    #[diesel(sql_type = Text)]
    detail: String,
}

/// Returns the plan of a statement, for any parameters.
async fn explain(installation: &Installation, statement: &str) -> String {
    match &installation.storage {
        Storage::Sqlite(engine) => {
            let mut conn = engine.begin().await.unwrap();
            let steps: Vec<Step> = diesel::sql_query(format!("EXPLAIN QUERY PLAN {statement}"))
                .load(&mut *conn)
                .await
                .unwrap();
            steps.into_iter().map(|step| step.detail).collect::<Vec<_>>().join("\n")
        }
        Storage::Postgres(engine) => {
            let mut conn = engine.begin().await.unwrap();
            // Among so few rows reading all would be right.
            let setup = format!(
                "SET LOCAL enable_seqscan = off; SET LOCAL plan_cache_mode = force_generic_plan; PREPARE it AS {statement}"
            );
            conn.batch_execute(&setup).await.unwrap();
            let parameters = (1..)
                .take_while(|number| statement.contains(&format!("${number}")))
                .count();
            let nulls = vec!["NULL"; parameters].join(", ");
            let call = if nulls.is_empty() {
                "it".to_owned()
            } else {
                format!("it({nulls})")
            };
            let plan: Vec<String> = sql::<Text>(&format!("EXPLAIN EXECUTE {call}"))
                .load(&mut *conn)
                .await
                .unwrap();
            conn.batch_execute("DEALLOCATE it").await.unwrap();
            plan.join("\n")
        }
    }
}
