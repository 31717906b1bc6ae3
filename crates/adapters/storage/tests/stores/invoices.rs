//! Invoices: the contract suite of their domain, and what concerns other records: customers that are erased, the contacts and
//! vehicles that documents show, and transactions that wait for one another.

use forecourt_accounts::Business;
use forecourt_billing::{ExchangeScheme, PartExchange, Party};
use forecourt_dealership::Session;
use forecourt_invoices::testing::{a_deposit, a_draft_sale, invoice_store_contract};
use forecourt_invoices::{
    Invoice, InvoiceContent, InvoiceFilter, InvoiceNumber, InvoiceStatus, RaiseDeposit, StatusChoice, raise_deposit,
};
use forecourt_kernel::{BusinessId, ContactId, Date, Line, Money, Page, PageRequest, VehicleId};
use forecourt_vehicles::VehicleStatus;

use crate::installation::{Installation, both_engines};
use crate::samples::{a_business, a_car, a_contact, a_lead, at};

both_engines!(
    invoices_are_kept_as_their_domain_asks,
    totals_of_invoices_follow_every_change,
    drafts_of_one_business_do_not_take_turns,
    an_invoice_keeps_its_contacts_until_it_is_there,
    an_invoice_forgets_who_is_erased,
    parties_of_a_deleted_business_are_left_to_its_deletion,
    what_documents_show_is_the_businesss_own,
);

async fn invoices_are_kept_as_their_domain_asks(installation: Installation) {
    let mut session = installation.begin().await;
    let ours = session.insert_business(&a_business("ours")).await.unwrap();
    let theirs = session.insert_business(&a_business("theirs")).await.unwrap();
    invoice_store_contract(session.as_mut(), ours, theirs).await;
    session.commit().await.unwrap();
}

impl Installation {
    pub(crate) async fn invoice(&self, business: BusinessId, content: InvoiceContent) -> Invoice {
        let mut session = self.begin().await;
        let invoice = session.insert_invoice(business, content, at(0)).await.unwrap();
        session.commit().await.unwrap();
        invoice
    }

    pub(crate) async fn save_invoice(&self, business: BusinessId, invoice: &Invoice) {
        let mut session = self.begin().await;
        session.save_invoice(business, invoice).await.unwrap();
        session.commit().await.unwrap();
    }

    /// Raises a deposit of 99.00 for a vehicle.
    pub(crate) async fn deposit(&self, business: BusinessId, customer: ContactId, vehicle: VehicleId) -> Invoice {
        let acme = Business {
            id: business,
            ..a_business("acme")
        };
        let deposit = RaiseDeposit {
            customer,
            vehicle,
            ..a_deposit(9_900)
        };
        let mut session = self.begin().await;
        let raised = raise_deposit(session.as_mut(), self.clock.as_ref(), &acme, deposit).await;
        session.commit().await.unwrap();
        raised.unwrap()
    }

    async fn invoices(&self, business: BusinessId, filter: &InvoiceFilter) -> Page<Invoice> {
        let page = PageRequest::first();
        self.read().await.invoices(business, filter, &page).await.unwrap()
    }
}

/// The invoice as it is once it is issued.
fn issued(draft: &Invoice, number: i64) -> Invoice {
    let mut issued = draft.clone();
    issued.number = Some(InvoiceNumber::new(number));
    issued.version = draft.version.next();
    issued.content.status = InvoiceStatus::Issued;
    issued.content.agreement.bill_to = Some(Party {
        name: "Ann Smith".to_owned(),
        ..Party::default()
    });
    issued
}

/// A total is counted once, and again after the next write.
async fn totals_of_invoices_follow_every_change(installation: Installation) {
    let business = installation.business("acme").await;
    let sale = || a_draft_sale(ContactId::new(7), VehicleId::new(21));
    let in_status = |status| InvoiceFilter {
        status: Some(StatusChoice(status)),
        ..InvoiceFilter::default()
    };
    let totals = async || {
        let mut totals = Vec::new();
        for filter in [
            InvoiceFilter::default(),
            in_status(InvoiceStatus::Draft),
            in_status(InvoiceStatus::Issued),
        ] {
            let counted = installation.invoices(business, &filter).await.total;
            assert_eq!(
                installation.invoices(business, &filter).await.total,
                counted,
                "it is remembered"
            );
            totals.push(counted.unwrap());
        }
        totals
    };
    assert_eq!(totals().await, [0, 0, 0]);
    let first = installation.invoice(business, sale()).await;
    assert_eq!(totals().await, [1, 1, 0]);
    installation.invoice(business, sale()).await;
    assert_eq!(totals().await, [2, 2, 0]);
    installation.save_invoice(business, &issued(&first, 1)).await;
    assert_eq!(totals().await, [2, 1, 1]);
    // What is given up is not counted.
    let mut session = installation.begin().await;
    session.insert_invoice(business, sale(), at(0)).await.unwrap();
    session.rollback().await.unwrap();
    assert_eq!(totals().await, [2, 1, 1]);
    // Numbers are drawn by the same counter.
    let mut session = installation.begin().await;
    assert_eq!(
        session.next_invoice_number(business).await.unwrap(),
        InvoiceNumber::FIRST
    );
    session.commit().await.unwrap();
    assert_eq!(totals().await, [2, 1, 1]);
}

/// A transaction that issues locks its vehicles after its document. So a document must not lock what vehicles lock last.
async fn drafts_of_one_business_do_not_take_turns(installation: Installation) {
    if installation.takes_turns() {
        return;
    }
    let business = installation.business("acme").await;
    let contact = installation.contact(business, a_contact(), 0).await.id;
    let car = installation.cars(business, 1).await[0];
    let mut drafting = installation.begin().await;
    let mut draft = drafting
        .insert_invoice(business, a_draft_sale(contact, car), at(0))
        .await
        .unwrap();
    drafting.billed_contacts(business, &[contact]).await.unwrap();
    drafting.billed_vehicles(business, &[car]).await.unwrap();
    draft.content.agreement.notes = "x".to_owned().try_into().unwrap();
    drafting.save_invoice(business, &draft).await.unwrap();

    let mut other = installation.begin().await;
    let mut vehicle = other.lock_vehicle(business, car).await.unwrap().unwrap();
    vehicle.content.status = VehicleStatus::Deleted;
    other.save_vehicle(business, &vehicle).await.unwrap();
    other.insert_lead(business, a_lead(), at(0)).await.unwrap();
    other.commit().await.unwrap();
    drafting.commit().await.unwrap();
    assert_eq!(
        installation.invoices(business, &InvoiceFilter::default()).await.total,
        Some(1)
    );
}

/// A contact that a new document names is not deleted before the document is there; the erasure then finds it.
async fn an_invoice_keeps_its_contacts_until_it_is_there(installation: Installation) {
    let business = installation.business("acme").await;
    let contact = installation.contact(business, a_contact(), 0).await;
    let mut drafting = installation.begin().await;
    let found = drafting.billed_contacts(business, &[contact.id]).await.unwrap();
    assert_eq!(found.len(), 1);
    let erasing = tokio::spawn({
        let (database, contact) = (installation.database.clone(), contact.clone());
        async move {
            let mut session = database.begin().await?;
            session.lock_contact(business, contact.id).await?;
            session.erase_contact(business, &contact).await?;
            session.commit().await
        }
    });
    installation.until_one_waits().await;
    let draft = a_draft_sale(contact.id, VehicleId::new(21));
    let draft = drafting.insert_invoice(business, draft, at(0)).await.unwrap();
    drafting.commit().await.unwrap();
    erasing.await.unwrap().unwrap();
    installation.finish_deletions().await;
    let left = installation
        .read()
        .await
        .invoice(business, draft.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(left.content.agreement.customer, None);
}

async fn an_invoice_forgets_who_is_erased(installation: Installation) {
    let business = installation.business("acme").await;
    let [customer, lender, provider] = {
        let mut contacts = Vec::new();
        for email in ["ann@example.com", "bea@example.com", "cid@example.com"] {
            let mut contact = a_contact();
            contact.email = email.to_owned();
            contacts.push(installation.contact(business, contact, 0).await);
        }
        <[_; 3]>::try_from(contacts).unwrap()
    };
    let mut sale = a_draft_sale(customer.id, VehicleId::new(21));
    sale.agreement.finance.provider = Some(provider.id);
    sale.agreement.reference = Line::new("of ann@example.com").unwrap();
    sale.agreement.part_exchanges.push(a_part_exchange(lender.id));
    let draft = installation.invoice(business, sale.clone()).await;
    let issued = issued(&installation.invoice(business, sale).await, 1);
    installation.save_invoice(business, &issued).await;
    let of_customer = InvoiceFilter {
        customer: Some(customer.id),
        ..InvoiceFilter::default()
    };
    assert_eq!(installation.invoices(business, &of_customer).await.total, Some(2));

    for contact in [&lender, &provider, &customer] {
        installation.erase(business, contact).await;
    }
    // The links are still there, but nobody sees them.
    let found = installation.invoices(business, &of_customer).await;
    assert_eq!((found.items, found.total), (vec![], Some(0)));
    installation.finish_deletions().await;
    for (stored, is_issued) in [(&draft, false), (&issued, true)] {
        let left = installation
            .read()
            .await
            .invoice(business, stored.id)
            .await
            .unwrap()
            .unwrap();
        let agreement = &left.content.agreement;
        assert_eq!((agreement.customer, agreement.finance.provider), (None, None));
        assert_eq!(agreement.part_exchanges[0].lender, None);
        assert_eq!(agreement.reference.as_str(), "of …");
        assert_eq!(agreement.bill_to.is_some(), is_issued, "tax law asks for it");
        assert!(left.version.number() > stored.version.number());
        assert_eq!(left.number, stored.number);
    }
    assert_eq!(installation.number("SELECT count(*) FROM invoice_contacts").await, 0);
    let by_reference = InvoiceFilter {
        reference: Some("of ann@example.com".to_owned()),
        ..InvoiceFilter::default()
    };
    assert_eq!(installation.invoices(business, &by_reference).await.total, Some(0));
    let mut session = installation.begin().await;
    let kept = session.invoices_with_former_parties(years_later(), 9).await.unwrap();
    assert_eq!(kept, [(business, issued.id)]);
    session.commit().await.unwrap();
}

fn a_part_exchange(lender: ContactId) -> PartExchange {
    let empty = Line::default;
    PartExchange {
        id: 1,
        registration: Line::new("AB12 CDE").unwrap(),
        vin: empty(),
        make: empty(),
        model: empty(),
        mileage: None,
        vehicle: None,
        allowance: Money::from_minor(1),
        settlement: Money::ZERO,
        lender: Some(lender),
        vat_scheme: ExchangeScheme::Margin,
        purchase: None,
        settlement_purchase: None,
        stock_vehicle: None,
    }
}

fn years_later() -> Date {
    "2099-01-01".parse().unwrap()
}

async fn parties_of_a_deleted_business_are_left_to_its_deletion(installation: Installation) {
    let gone = installation.business("gone").await;
    let held = issued(
        &installation
            .invoice(gone, a_draft_sale(ContactId::new(7), VehicleId::new(21)))
            .await,
        1,
    );
    let mut held = held;
    held.content.agreement.customer = None;
    installation.save_invoice(gone, &held).await;
    let mut session = installation.begin().await;
    let found = session.invoices_with_former_parties(years_later(), 9).await.unwrap();
    assert_eq!(found, [(gone, held.id)]);
    session.load_leads(gone, vec![(a_lead(), at(0)); 1_300]).await.unwrap();
    session.delete_business(gone).await.unwrap();
    let found = session.invoices_with_former_parties(years_later(), 9).await.unwrap();
    assert_eq!(found, [], "the business is no longer found");
    session.commit().await.unwrap();
    installation.finish_deletions().await;
    for table in ["invoices", "invoice_vehicles", "invoice_credits", "invoice_contacts"] {
        let count = installation.number(&format!("SELECT count(*) FROM {table}")).await;
        assert_eq!(count, 0, "{table}");
    }
}

async fn what_documents_show_is_the_businesss_own(installation: Installation) {
    let ours = installation.business("ours").await;
    let theirs = installation.business("theirs").await;
    let contacts = [
        installation.contact(ours, a_contact(), 0).await.id,
        installation.contact(theirs, a_contact(), 0).await.id,
        ContactId::new(i64::MAX),
    ];
    let mut session = installation.begin().await;
    let mut vehicles = Vec::new();
    for business in [ours, ours, theirs] {
        vehicles.push(session.insert_vehicle(business, a_car(), at(0)).await.unwrap());
    }
    let mut deleted = vehicles[1].clone();
    deleted.content.status = VehicleStatus::Deleted;
    session.save_vehicle(ours, &deleted).await.unwrap();
    let ids: Vec<VehicleId> = vehicles.iter().map(|vehicle| vehicle.id).collect();
    let seen_in_writing = shown(session.as_mut(), ours, &contacts, &ids).await;
    session.commit().await.unwrap();
    let mut reader = installation.read().await;
    let found = reader.billed_contacts(ours, &contacts).await.unwrap();
    assert_eq!(
        found.iter().map(|contact| contact.id).collect::<Vec<_>>(),
        [contacts[0]]
    );
    assert_eq!(found[0].party.name, a_contact().name);
    let found = reader.billed_vehicles(ours, &ids).await.unwrap();
    assert_eq!(found.iter().map(|vehicle| vehicle.id).collect::<Vec<_>>(), [ids[0]]);
    assert_eq!(seen_in_writing, (vec![contacts[0]], vec![ids[0]]));
    assert_eq!(reader.billed_contacts(ours, &[]).await.unwrap(), []);
    assert_eq!(reader.billed_vehicles(ours, &[]).await.unwrap(), []);
}

async fn shown(
    session: &mut dyn Session,
    business: BusinessId,
    contacts: &[ContactId],
    vehicles: &[VehicleId],
) -> (Vec<ContactId>, Vec<VehicleId>) {
    let contacts = session.billed_contacts(business, contacts).await.unwrap();
    let vehicles = session.billed_vehicles(business, vehicles).await.unwrap();
    (
        contacts.iter().map(|contact| contact.id).collect(),
        vehicles.iter().map(|vehicle| vehicle.id).collect(),
    )
}
