//! The stored forms of documents, one file for each kind in `tests/stored`, which databases contain.
//!
//! A file never changes, except that a new field is added to it. A field that is renamed in the code fails here instead of in a
//! dealer's database.

use std::fmt::Debug;

use forecourt_accounts::Business;
use forecourt_appointments::AppointmentContent;
use forecourt_billing::Agreement;
use forecourt_blogs::{ArticleBody, ArticleHead, Publication};
use forecourt_calls::CallContent;
use forecourt_contacts::ContactDraft;
use forecourt_deals::DealContent;
use forecourt_invoices::InvoiceContent;
use forecourt_jobs::{JobContent, JobOutline};
use forecourt_leads::LeadDraft;
use forecourt_orders::OrderContent;
use forecourt_purchases::PurchaseContent;
use forecourt_reviews::ReviewContent;
use forecourt_vehicles::{
    AppraisalOffer, DriveCode, FormerReservation, Reservation, Reservations, Sale, TestDriveContent,
    VehicleDocumentContent, VehicleDraft,
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::installation::{Installation, both_engines};
use crate::samples::{a_full_business, at};

both_engines!(documents_are_stored_in_their_pinned_form);

macro_rules! form {
    ($kind:literal) => {
        include_str!(concat!("../stored/", $kind, ".json"))
    };
}

/// Returns the content in a stored form, after it was checked that nothing of the form is lost in it.
#[track_caller]
fn pinned<T: DeserializeOwned + Serialize>(form: &str) -> T {
    let content: T = serde_json::from_str(form).unwrap();
    assert_eq!(serde_json::to_value(&content).unwrap(), value(form));
    content
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// Asserts that the only text of a query is this form.
async fn assert_stored(installation: &Installation, query: &str, form: &str) {
    let [stored] = <[String; 1]>::try_from(installation.texts(query).await).unwrap();
    assert_eq!(value(&stored), value(form), "{query}");
}

#[track_caller]
fn assert_set<T: Default + PartialEq + Debug>(field: &T) {
    assert_ne!(*field, T::default(), "the form lacks a field");
}

async fn documents_are_stored_in_their_pinned_form(installation: Installation) {
    let mut session = installation.begin().await;
    let id = session.insert_business(&a_full_business("acme")).await.unwrap();
    let lead: LeadDraft = pinned(form!("lead"));
    let contact: ContactDraft = pinned(form!("contact"));
    let vehicle: VehicleDraft = pinned(form!("vehicle"));
    let invoice: InvoiceContent = pinned(form!("invoice"));
    let order: OrderContent = pinned(form!("order"));
    let purchase: PurchaseContent = pinned(form!("purchase"));
    let (head, body): (ArticleHead, ArticleBody) = (pinned(form!("article_head")), pinned(form!("article_body")));
    let review: ReviewContent = pinned(form!("review"));
    let call: CallContent = pinned(form!("call"));
    let deal: DealContent = pinned(form!("deal"));
    let appointment: AppointmentContent = pinned(form!("appointment"));
    let drive: TestDriveContent = pinned(form!("drive"));
    let document: VehicleDocumentContent = pinned(form!("document"));
    let (job, outline): (JobContent, JobOutline) = (pinned(form!("job")), pinned(form!("job_outline")));
    assert_eq!(job.outline(), outline);

    let stored_lead = session.insert_lead(id, lead.clone(), at(0)).await.unwrap().id;
    let stored_contact = session.insert_contact(id, contact.clone(), at(0)).await.unwrap().id;
    let stored_vehicle = session.insert_vehicle(id, vehicle.clone(), at(0)).await.unwrap().id;
    let stored_invoice = session.insert_invoice(id, invoice.clone(), at(0)).await.unwrap().id;
    let stored_order = session.insert_order(id, order.clone(), at(0)).await.unwrap().id;
    let stored_purchase = session.insert_purchase(id, purchase.clone(), at(0)).await.unwrap().id;
    let stored_article = session
        .insert_article(id, head.clone(), body.clone(), Publication::default(), at(0))
        .await
        .unwrap()
        .id;
    let data = value(r#"{"order": {"number": 7}}"#).as_object().unwrap().clone();
    let stored_review = session
        .insert_review(id, review.clone(), data.clone(), at(0))
        .await
        .unwrap()
        .id;
    let stored_deal = session.insert_deal(id, deal.clone(), at(0)).await.unwrap().id;
    let stored_call = session.insert_call(id, call.clone(), at(0)).await.unwrap().id;
    let stored_appointment = session
        .insert_appointment(id, appointment.clone(), None, at(0))
        .await
        .unwrap()
        .id;
    let code = DriveCode::stored("AAAA2222".into());
    session
        .insert_drive(id, stored_vehicle, code.clone(), drive.clone())
        .await
        .unwrap();
    session
        .insert_files(id, std::slice::from_ref(&document.file))
        .await
        .unwrap();
    let stored_document = session
        .insert_vehicle_document(id, stored_vehicle, document.clone(), at(0))
        .await
        .unwrap()
        .id;
    let stored_job = session.insert_job(id, job.clone(), at(0)).await.unwrap().id;
    session.commit().await.unwrap();

    for (table, column, form) in [
        ("leads", "document", form!("lead")),
        ("contacts", "document", form!("contact")),
        ("vehicles", "document", form!("vehicle")),
        ("invoices", "document", form!("invoice")),
        ("orders", "document", form!("order")),
        ("purchases", "document", form!("purchase")),
        ("reviews", "document", form!("review")),
        ("calls", "document", form!("call")),
        ("deals", "document", form!("deal")),
        ("appointments", "document", form!("appointment")),
        ("vehicle_drives", "document", form!("drive")),
        ("vehicle_documents", "document", form!("document")),
        ("jobs", "document", form!("job")),
        ("jobs", "outline", form!("job_outline")),
        ("businesses", "settings", form!("settings")),
        ("businesses", "catalogue", form!("catalogue")),
    ] {
        assert_stored(&installation, &format!("SELECT {column} FROM {table}"), form).await;
    }
    for (column, form) in [("head", form!("article_head")), ("body", form!("article_body"))] {
        let query = format!("SELECT {column} FROM articles WHERE url = 'spring-offers'");
        assert_stored(&installation, &query, form).await;
    }

    let mut reader = installation.read().await;
    // Vehicles and articles that do not exist are not shown.
    let lead = LeadDraft {
        vehicles: Vec::new(),
        ..lead
    };
    assert_eq!(reader.lead(id, stored_lead).await.unwrap().unwrap().content, lead);
    assert_eq!(
        reader.contact(id, stored_contact).await.unwrap().unwrap().content,
        contact
    );
    assert_eq!(
        reader.vehicle(id, stored_vehicle).await.unwrap().unwrap().content,
        vehicle
    );
    assert_eq!(
        reader.invoice(id, stored_invoice).await.unwrap().unwrap().content,
        invoice
    );
    assert_eq!(reader.order(id, stored_order).await.unwrap().unwrap().content, order);
    let found = reader.purchase(id, stored_purchase).await.unwrap().unwrap();
    assert_eq!(found.content, purchase);
    let article = reader.article(id, stored_article).await.unwrap().unwrap();
    let body = ArticleBody {
        related: article.body.related.clone(),
        ..body
    };
    assert_eq!((article.head, article.body), (head, body));
    let found = reader.review(id, stored_review).await.unwrap().unwrap();
    assert_eq!((found.content, found.data), (review, data));
    assert_eq!(reader.deal(id, stored_deal).await.unwrap().unwrap().content, deal);
    assert_eq!(reader.call(id, stored_call).await.unwrap().unwrap().content, call);
    let found = reader.appointment(id, stored_appointment).await.unwrap().unwrap();
    assert_eq!(found.content, appointment);
    let found = reader.drive(id, stored_vehicle, &code).await.unwrap().unwrap();
    assert_eq!(found.content, drive);
    let found = reader
        .vehicle_document(id, stored_vehicle, stored_document)
        .await
        .unwrap();
    assert_eq!(found.unwrap().content, document);
    assert_eq!(reader.job(id, stored_job).await.unwrap().unwrap().content, job);
    let business = reader.business(id).await.unwrap().unwrap();
    let Business {
        settings, catalogue, ..
    } = a_full_business("acme");
    assert_eq!((business.settings, business.catalogue), (settings, catalogue));
}

/// The deposits of the first release have no part of what invoices have had since.
#[test]
fn a_deposit_of_the_first_release_is_read() {
    let first: InvoiceContent = serde_json::from_str(form!("first_invoice")).unwrap();
    let written = serde_json::to_value(&first).unwrap();
    let Value::Object(form) = value(form!("first_invoice")) else {
        panic!("it is an object")
    };
    for (member, stored) in form {
        match member.as_str() {
            // Their rows have more members now.
            "lines" | "payments" | "credit_notes" => {
                let Value::Object(row) = &stored[0] else {
                    panic!("it is an object")
                };
                for (name, stored) in row {
                    assert_eq!(written[&member][0][name], *stored, "{member}.{name}");
                }
            }
            _ => assert_eq!(written[&member], stored, "{member}"),
        }
    }
    assert_eq!(written["lines"][0]["vat_scheme"], "standard", "as its rate says");
    assert_eq!(written["payments"][0]["type"], "payment");
    assert_eq!(
        (first.agreement.bill_to, first.agreement.finance.provider),
        (None, None)
    );
}

/// A field that is left out while it has no value would not be missed in a form. A new one does not compile until it is here.
#[test]
fn no_form_lacks_a_field() {
    let VehicleDraft {
        kind: _,
        status: _,
        country: _,
        registration,
        owner,
        parent,
        tags,
        channels,
        channel_options,
        // `a_vehicle_of_which_everything_is_known` of the vehicles' crate.
        data: _,
        media,
        reservation,
        sale,
        offer,
        acquisition,
        stock_number,
    } = pinned(form!("vehicle"));
    assert_set(&registration);
    assert_set(&acquisition);
    assert_set(&stock_number);
    assert_set(&owner);
    assert_set(&parent);
    assert_set(&tags);
    assert_set(&channels);
    assert_set(&channel_options);
    assert_set(&media);
    let Reservations { current, former } = reservation;
    let [
        FormerReservation {
            reservation: _,
            end: _,
            ended_at: _,
            credit_note,
        },
    ] = former.try_into().unwrap();
    assert_set(&credit_note);
    let Reservation {
        customer: _,
        method: _,
        deposit: _,
        transaction: _,
        date: _,
        reserved_at: _,
        vat: _,
        invoice,
        made_by,
    } = current.unwrap();
    assert_set(&invoice);
    assert_set(&made_by);
    let Sale {
        customer: _,
        price: _,
        date: _,
        at: _,
        handed_over,
        invoice,
    } = sale.unwrap();
    assert_set(&handed_over);
    let invoice = invoice.unwrap();
    assert_set(&invoice.order);
    assert_set(&invoice.deal);
    let AppraisalOffer {
        requested,
        max_offer,
        appraised_by,
        comments,
    } = offer;
    assert_set(&requested);
    assert_set(&max_offer);
    assert_set(&appraised_by);
    assert_set(&comments);

    let invoice: InvoiceContent = pinned(form!("invoice"));
    let Agreement {
        site: _,
        customer: _,
        vehicle: _,
        date: _,
        currency: _,
        lines,
        notes: _,
        deal,
        part_exchanges,
        finance: _,
        reference: _,
        salesperson: _,
        distance: _,
        cancel_until: _,
        terms: _,
        bill_to,
        bill_from,
    } = invoice.agreement;
    assert_set(&lines[0].category);
    assert_set(&deal);
    assert_set(&part_exchanges);
    assert_set(&bill_to);
    assert_set(&bill_from);
    assert_set(&invoice.parent_payments);

    let lead: LeadDraft = pinned(form!("lead"));
    assert_set(&lead.suggestion);
    assert_set(&lead.vehicles);
    assert_set(&lead.junk);
    assert!(lead.answered);

    let TestDriveContent {
        contact: _,
        license_number: _,
        license_code: _,
        gave_license_number,
        gave_license_code,
        ni: _,
        dob: _,
        license_checked: _,
        license_checked_by: _,
        return_date: _,
        return_time: _,
        fuel: _,
        note: _,
        condition: _,
        location: _,
        consent: _,
        photos,
        esign,
        started: _,
        ended,
    } = pinned(form!("drive"));
    assert!(gave_license_number && gave_license_code);
    assert_set(&photos[0].thumbnail);
    assert_set(&esign);
    assert_set(&ended);
}
