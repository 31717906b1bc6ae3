//! Each filter of a list, and each pair of them, is answered by the list's own index, or by that of a filter that few records
//! pass. A page sorts nothing but its own rows.

use forecourt_appointments::testing::an_appointment;
use forecourt_appointments::{AgendaFilter, AppointmentContent, AppointmentFilter, AppointmentStatus};
use forecourt_billing::{CreditNumber, DealId, InvoiceNumber, OrderId, OrderNumber, PurchaseNumber, VatScheme};
use forecourt_blogs::testing::an_article;
use forecourt_blogs::{ArticleFilter, ArticleStatus, Publication};
use forecourt_calls::testing::a_full_call;
use forecourt_calls::{CallContent, CallDirection, CallFilter, CallOutcome};
use forecourt_contacts::{ContactFilter, WholeText};
use forecourt_dealership::ReadSession;
use forecourt_deals::testing::a_full_deal;
use forecourt_deals::{DealContent, DealFilter, DealStage};
use forecourt_invoices::testing::a_draft_sale;
use forecourt_invoices::{InvoiceFilter, InvoiceId, InvoiceKind, InvoiceStatus, Overdue};
use forecourt_jobs::testing::a_job;
use forecourt_jobs::{JobFilter, JobStatus};
use forecourt_kernel::{
    BusinessId, ContactId, Country, Date, LeadId, Money, PageRequest, Range, SiteId, StaffId, StoreResult, TextFilter,
    VehicleId, View,
};
use forecourt_leads::{LeadFilter, LeadStatus, Phone, Rating};
use forecourt_orders::testing::a_draft_order;
use forecourt_orders::{Expired, OrderFilter, OrderStatus, OrderStatusChoice};
use forecourt_purchases::testing::a_draft_purchase;
use forecourt_purchases::{OverduePurchase, PurchaseFilter, PurchaseKind};
use forecourt_reference::{LeadChannel, StockType};
use forecourt_reviews::testing::a_review;
use forecourt_reviews::{ReviewFilter, ReviewStatus};
use forecourt_stock_book::testing::a_stock_entry;
use forecourt_stock_book::{StockBookFilter, StockStatus};
use forecourt_storage::Storage;
use forecourt_vehicles::{FieldCondition, FieldFilter, FilterKind, StatusChoice, VehicleFilter, field_filters};
use futures_util::future::BoxFuture;
use serde_json::{Map, json};

use super::{about, explain, in_order, listening, no_scan, overheard, pages};
use crate::fleet::{a_full_vehicle, a_vehicle};
use crate::installation::{Installation, both_engines};
use crate::samples::{a_contact, at};

both_engines!(
    leads,
    contacts,
    vehicles,
    articles,
    reviews,
    invoices,
    orders,
    purchases,
    stock_book,
    calls,
    jobs,
    appointments,
    deals
);

/// The indexes of moments by which lists are filtered.
const BY_TIME: [&str; 1] = ["appointments_starts"];

/// The places, apart from the list's index, where a filter's records are found, and the way to set it.
type Case<F> = (Vec<String>, Box<dyn Fn(&mut F) + Send + Sync>);

fn case<F>(places: &[&str], set: impl Fn(&mut F) + Send + Sync + 'static) -> Case<F> {
    (places.iter().map(|place| (*place).to_owned()).collect(), Box::new(set))
}

/// A list, with its index and the tables that it is read from.
struct List<F> {
    index: &'static str,
    tables: &'static [&'static str],
    read: for<'a> fn(&'a mut dyn ReadSession, BusinessId, &'a F, &'a PageRequest) -> BoxFuture<'a, StoreResult<()>>,
}

/// The function that reads a page, from the call of its port.
macro_rules! read {
    (|$reader:ident, $business:ident, $filter:ident: $of:ty, $request:ident| $call:expr) => {{
        fn read<'a>(
            $reader: &'a mut dyn ReadSession,
            $business: BusinessId,
            $filter: &'a $of,
            $request: &'a PageRequest,
        ) -> BoxFuture<'a, StoreResult<()>> {
            Box::pin(async move { $call.await.map(drop) })
        }
        read
    }};
}

impl<F: Default + Sync> List<F> {
    /// Checks the plans of each case, and of each pair.
    async fn check(&self, installation: &Installation, business: BusinessId, cases: &[Case<F>]) {
        self.check_one(installation, business, &[]).await;
        for (number, one) in cases.iter().enumerate() {
            self.check_one(installation, business, &[one]).await;
            for other in &cases[..number] {
                self.check_one(installation, business, &[one, other]).await;
            }
        }
    }

    async fn check_one(&self, installation: &Installation, business: BusinessId, cases: &[&Case<F>]) {
        let mut filter = F::default();
        for (_, set) in cases {
            set(&mut filter);
        }
        let own: Vec<&str> = cases
            .iter()
            .flat_map(|(places, _)| places)
            .map(String::as_str)
            .collect();
        // The plan of a further page differs only in its bounds.
        let requests = if cases.len() > 1 { pages().split_off(3) } else { pages() };
        for request in requests {
            overheard();
            let mut reader = installation.read().await;
            (self.read)(reader.as_mut(), business, &filter, &request).await.unwrap();
            drop(reader);
            for statement in about(self.tables) {
                let plan = explain(installation, &statement).await;
                no_scan(&statement, &plan);
                self.check_plan(installation, &statement, &plan, &own);
            }
        }
    }

    fn check_plan(&self, installation: &Installation, statement: &str, plan: &str, own: &[&str]) {
        let sorts = match installation.storage {
            Storage::Sqlite(_) => {
                let key = ["PRIMARY KEY", "sqlite_autoindex"];
                for line in plan
                    .lines()
                    .filter(|line| line.starts_with("SEARCH") || line.starts_with("SCAN"))
                {
                    let known = own
                        .iter()
                        .chain(&[self.index])
                        .chain(&key)
                        .any(|place| line.contains(place));
                    let is_other = !self.tables.iter().any(|table| line.split(' ').nth(1) == Some(table));
                    assert!(known || is_other, "{statement}\n{line}\nis not among {own:?}:\n{plan}");
                }
                // The records of a time are found by it, and few.
                let is_by_time = own.iter().any(|place| BY_TIME.contains(place));
                plan.contains("TEMP B-TREE FOR ORDER BY") && !is_by_time
            }
            Storage::Postgres(_) => {
                // What a selective filter finds may have to be sorted.
                let lines: Vec<&str> = plan.lines().map(str::trim).collect();
                let below = |lines: &[&str]| lines[0].contains("Limit") && lines[1].contains("Sort");
                // Among so few rows a bitmap of the list's own index may be as cheap.
                own.is_empty() && !plan.contains("Bitmap") && lines.windows(2).any(below)
            }
        };
        assert!(!sorts, "{statement}\nsorts all that passes:\n{plan}");
    }
}

fn text(text: &str) -> Option<TextFilter> {
    TextFilter::parse(text).ok()
}

fn phone() -> Option<Phone> {
    Phone::parse("+441632960123", Country::GB).ok()
}

fn lately() -> Option<Range<forecourt_kernel::Timestamp>> {
    let (from, to) = (Some(at(3)), Some(at(5)));
    Some(Range { from, to })
}

async fn leads(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let LeadFilter {
        site: _,
        status: _,
        channel: _,
        reference: _,
        name: _,
        email: _,
        phone: _,
        mobile: _,
        contact: _,
        vehicle: _,
        rating_min: _,
        created: _,
        updated: _,
    } = LeadFilter::default();
    let cases: Vec<Case<LeadFilter>> = vec![
        case::<LeadFilter>(&[], |filter| filter.site = Some(SiteId::new(1))),
        case::<LeadFilter>(&[], |filter| filter.status = Some(LeadStatus::Read)),
        case::<LeadFilter>(&[], |filter| filter.channel = Some(LeadChannel::Sms)),
        case::<LeadFilter>(&[], |filter| filter.rating_min = Rating::new(3)),
        case::<LeadFilter>(&[], |filter| filter.created = lately()),
        case::<LeadFilter>(&[], |filter| filter.updated = lately()),
        case::<LeadFilter>(&["leads_reference"], |filter| filter.reference = Some(1)),
        case::<LeadFilter>(&["leads_name"], |filter| filter.name = text("Ann")),
        case::<LeadFilter>(&["lead_search", "leads_name"], |filter| filter.name = text("%nn s%")),
        case::<LeadFilter>(&["leads_email"], |filter| filter.email = text("ann@example.com")),
        case::<LeadFilter>(&["leads_email"], |filter| filter.email = text("a%n%@%")),
        case::<LeadFilter>(&["leads_phone"], |filter| filter.phone = phone()),
        case::<LeadFilter>(&["leads_mobile"], |filter| filter.mobile = phone()),
        case::<LeadFilter>(&["leads_contact"], |filter| filter.contact = Some(ContactId::new(1))),
        case::<LeadFilter>(&["lead_vehicles"], |filter| filter.vehicle = Some(VehicleId::new(1))),
    ];
    let list: List<LeadFilter> = List {
        index: "leads_list",
        tables: &["leads"],
        read: read!(|reader, business, filter: LeadFilter, request| reader.lead_previews(business, filter, request)),
    };
    list.check(&installation, business, &cases).await;
}

async fn contacts(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    session.insert_contact(business, a_contact(), at(0)).await.unwrap();
    session.commit().await.unwrap();
    let ContactFilter {
        email: _,
        name: _,
        company: _,
        vat: _,
        zip: _,
        telephone: _,
        mobile: _,
        created: _,
        updated: _,
    } = ContactFilter::default();
    let whole = || Some(WholeText::new("x"));
    let cases: Vec<Case<ContactFilter>> = vec![
        case::<ContactFilter>(&[], |filter| filter.created = lately()),
        case::<ContactFilter>(&[], |filter| filter.updated = lately()),
        case::<ContactFilter>(&["contacts_email"], |filter| filter.email = text("ann@example.com")),
        case::<ContactFilter>(&["contact_search", "contacts_email"], |filter| {
            filter.email = text("%example%");
        }),
        case::<ContactFilter>(&["contacts_name"], move |filter| filter.name = whole()),
        case::<ContactFilter>(&["contacts_company"], move |filter| filter.company = whole()),
        case::<ContactFilter>(&["contacts_vat"], move |filter| filter.vat = whole()),
        case::<ContactFilter>(&["contacts_postcode"], move |filter| filter.zip = whole()),
        case::<ContactFilter>(&["contacts_telephone"], |filter| filter.telephone = phone()),
        case::<ContactFilter>(&["contacts_mobile"], |filter| filter.mobile = phone()),
    ];
    let list: List<ContactFilter> = List {
        index: "contacts_list",
        tables: &["contacts"],
        read: read!(|reader, business, filter: ContactFilter, request| reader.contacts(
            business,
            filter,
            request,
            View::Simple
        )),
    };
    list.check(&installation, business, &cases).await;
}

async fn vehicles(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    for second in 0..9 {
        session.insert_vehicle(business, a_vehicle(), at(second)).await.unwrap();
    }
    session.insert_vehicle(business, a_full_vehicle(), at(9)).await.unwrap();
    session.commit().await.unwrap();
    let VehicleFilter {
        kind: _,
        status: _,
        registration: _,
        tag: _,
        owner: _,
        channel: _,
        tag_name: _,
        created: _,
        updated: _,
        lead: _,
        fields: _,
    } = VehicleFilter::default();
    let mut cases: Vec<Case<VehicleFilter>> = vec![
        case::<VehicleFilter>(&[], |filter| filter.kind = Some(StockType::Appraisal)),
        case::<VehicleFilter>(&[], |filter| filter.status = Some(StatusChoice::Id(2))),
        case::<VehicleFilter>(&[], |filter| filter.owner = Some(StaffId::new(7))),
        case::<VehicleFilter>(&[], |filter| filter.created = lately()),
        case::<VehicleFilter>(&[], |filter| filter.updated = lately()),
        case::<VehicleFilter>(&["vehicle_facts_registration"], |filter| {
            filter.registration = Some("AB12CDE".to_owned());
        }),
        case::<VehicleFilter>(&["vehicles"], |filter| filter.tag = "KQVRK".parse().ok()),
        case::<VehicleFilter>(&["vehicle_channels"], |filter| {
            filter.channel = Some("website".to_owned());
        }),
        case::<VehicleFilter>(&["vehicle_tags"], |filter| filter.tag_name = Some("Ready".to_owned())),
        case::<VehicleFilter>(&["lead_vehicles"], |filter| filter.lead = Some(LeadId::new(1))),
    ];
    for info in field_filters() {
        let wanted = match info.kind {
            FilterKind::Pattern => text("%zzz%").map(FieldCondition::Text),
            FilterKind::Text | FilterKind::Location => Some(FieldCondition::AnyOf(vec!["1".to_owned()])),
            FilterKind::Number => Some(FieldCondition::Within(Range::exactly(1))),
            FilterKind::Range | FilterKind::MoneyRange => Some(FieldCondition::Within(Range {
                from: Some(1),
                to: Some(9),
            })),
        };
        let field = FieldFilter {
            name: info.name,
            wanted: wanted.unwrap(),
        };
        let set = move |filter: &mut VehicleFilter| filter.fields.push(field.clone());
        // PostgreSQL's list has no texts, and its trigrams are found in no order.
        cases.push(case::<VehicleFilter>(&[&format!("vehicle_facts_{}", info.name)], set));
    }
    let list: List<VehicleFilter> = List {
        index: "vehicle_facts_list",
        tables: &["vehicle_facts"],
        read: read!(
            |reader, business, filter: VehicleFilter, request| reader.vehicle_previews(business, filter, request)
        ),
    };
    list.check(&installation, business, &cases).await;
}

async fn articles(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    for number in 0..9 {
        let (head, body) = an_article(&format!("a-{number}"), json!({}));
        let publication = Publication::default();
        session
            .insert_article(business, head, body, publication, at(number))
            .await
            .unwrap();
    }
    session.commit().await.unwrap();
    let ArticleFilter {
        status: _,
        category: _,
        author: _,
        tag: _,
        url: _,
        created: _,
        updated: _,
    } = ArticleFilter::default();
    let cases: Vec<Case<ArticleFilter>> = vec![
        case::<ArticleFilter>(&[], |filter| filter.status = Some(ArticleStatus::Draft)),
        case::<ArticleFilter>(&[], |filter| filter.status = Some(ArticleStatus::Published)),
        case::<ArticleFilter>(&[], |filter| filter.created = lately()),
        case::<ArticleFilter>(&[], |filter| filter.updated = lately()),
        case::<ArticleFilter>(&["articles_category"], |filter| filter.category = text("advice")),
        case::<ArticleFilter>(&["articles_category"], |filter| filter.category = text("%dvi%")),
        case::<ArticleFilter>(&["articles_author"], |filter| filter.author = text("sam hill")),
        // The ids are in any index that begins with the business.
        case::<ArticleFilter>(&["article_tags", "articles_url"], |filter| {
            filter.tag = Some("mot".to_owned());
        }),
        case::<ArticleFilter>(&["articles_url"], |filter| filter.url = Some("a-1".to_owned())),
    ];
    let list: List<ArticleFilter> = List {
        index: "articles_list",
        tables: &["articles"],
        read: read!(|reader, business, filter: ArticleFilter, request| reader.article_heads(
            business,
            filter,
            at(9),
            request
        )),
    };
    list.check(&installation, business, &cases).await;
}

async fn jobs(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    for number in 0..9 {
        let content = a_job(VehicleId::new(number), ContactId::new(number));
        session.insert_job(business, content, at(number)).await.unwrap();
    }
    session.commit().await.unwrap();
    let JobFilter {
        board: _,
        status: _,
        stage: _,
        vehicle: _,
        staff: _,
        supplier: _,
        automatic: _,
        overdue: _,
        due: _,
        created: _,
        updated: _,
        today: _,
    } = JobFilter::default();
    let today = at(0).date();
    let cases: Vec<Case<JobFilter>> = vec![
        case::<JobFilter>(&[], |filter| filter.board = Some(7)),
        case::<JobFilter>(&[], |filter| filter.status = Some(JobStatus::Open)),
        case::<JobFilter>(&[], |filter| filter.stage = Some("Photos".to_owned())),
        case::<JobFilter>(&["jobs_vehicle"], |filter| filter.vehicle = Some(VehicleId::new(3))),
        // The entries of the vehicles' index are shorter: it counts what another table selects.
        case::<JobFilter>(&["jobs_vehicle"], |filter| filter.staff = Some(StaffId::new(2))),
        case::<JobFilter>(&["jobs_vehicle"], |filter| filter.supplier = Some(ContactId::new(3))),
        case::<JobFilter>(&[], |filter| filter.automatic = Some(true)),
        case::<JobFilter>(&[], |filter| filter.overdue = Some(true)),
        case::<JobFilter>(&[], |filter| filter.overdue = Some(false)),
        case::<JobFilter>(&[], move |filter| {
            filter.due = Some(Range {
                from: Some(today),
                to: None,
            });
        }),
        case::<JobFilter>(&[], |filter| filter.created = lately()),
        case::<JobFilter>(&[], |filter| filter.updated = lately()),
    ];
    let list: List<JobFilter> = List {
        index: "jobs_list",
        tables: &["jobs"],
        read: read!(|reader, business, filter: JobFilter, request| reader.job_summaries(business, filter, request)),
    };
    list.check(&installation, business, &cases).await;

    let mut session = installation.begin().await;
    overheard();
    let vehicle = VehicleId::new(3);
    session.count_jobs(business, vehicle).await.unwrap();
    session.open_job(business, vehicle, 7, None).await.unwrap();
    session.any_job(business, vehicle).await.unwrap();
    session.lock_job_vehicle(business, vehicle).await.unwrap();
    session.commit().await.unwrap();
    in_order(&installation, overheard()).await;
}

async fn reviews(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    for number in 0..9 {
        let review = a_review(4.0);
        session
            .insert_review(business, review, Map::new(), at(number))
            .await
            .unwrap();
    }
    session.commit().await.unwrap();
    let ReviewFilter {
        status: _,
        source: _,
        verified: _,
        created: _,
        updated: _,
    } = ReviewFilter::default();
    let cases: Vec<Case<ReviewFilter>> = vec![
        case::<ReviewFilter>(&[], |filter| filter.status = Some(ReviewStatus::Pending)),
        case::<ReviewFilter>(&[], |filter| filter.source = text("google")),
        case::<ReviewFilter>(&[], |filter| filter.source = text("%oog%")),
        case::<ReviewFilter>(&[], |filter| filter.verified = Some(true)),
        case::<ReviewFilter>(&[], |filter| filter.created = lately()),
        case::<ReviewFilter>(&[], |filter| filter.updated = lately()),
    ];
    let list: List<ReviewFilter> = List {
        index: "reviews_list",
        tables: &["reviews"],
        read: read!(|reader, business, filter: ReviewFilter, request| reader.reviews(business, filter, request)),
    };
    list.check(&installation, business, &cases).await;
}

fn some_days() -> Option<Range<Date>> {
    let (from, to) = (Some(at(0).date()), Some(at(9 * 86_400).date()));
    Some(Range { from, to })
}

async fn invoices(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    for number in 0..9 {
        let sale = a_draft_sale(ContactId::new(number), VehicleId::new(number));
        session.insert_invoice(business, sale, at(number)).await.unwrap();
    }
    session.commit().await.unwrap();
    let InvoiceFilter {
        site: _,
        status: _,
        kind: _,
        number: _,
        reference: _,
        customer: _,
        vehicle: _,
        deal: _,
        order: _,
        parent: _,
        salesperson: _,
        credit_note: _,
        overdue: _,
        gross: _,
        date: _,
        due_date: _,
        created: _,
        updated: _,
    } = InvoiceFilter::default();
    let overdue = |is_overdue| {
        let today = at(9 * 86_400).date();
        Some(Overdue { is_overdue, today })
    };
    let cases: Vec<Case<InvoiceFilter>> = vec![
        case::<InvoiceFilter>(&[], |filter| filter.site = Some(SiteId::new(1))),
        case::<InvoiceFilter>(&[], |filter| {
            filter.status = Some(forecourt_invoices::StatusChoice(InvoiceStatus::Paid));
        }),
        case::<InvoiceFilter>(&[], |filter| filter.kind = Some(InvoiceKind::Sale)),
        case::<InvoiceFilter>(&[], |filter| filter.salesperson = Some(StaffId::new(3))),
        case::<InvoiceFilter>(&[], move |filter| filter.overdue = overdue(true)),
        case::<InvoiceFilter>(&[], move |filter| filter.overdue = overdue(false)),
        case::<InvoiceFilter>(&[], |filter| {
            let (from, to) = (Some(Money::ZERO), Some(Money::from_minor(9)));
            filter.gross = Some(Range { from, to });
        }),
        case::<InvoiceFilter>(&[], |filter| filter.date = some_days()),
        case::<InvoiceFilter>(&[], |filter| filter.due_date = some_days()),
        case::<InvoiceFilter>(&[], |filter| filter.created = lately()),
        case::<InvoiceFilter>(&[], |filter| filter.updated = lately()),
        case::<InvoiceFilter>(&["invoices_number"], |filter| {
            filter.number = Some(InvoiceNumber::new(1));
        }),
        case::<InvoiceFilter>(&["invoices_reference"], |filter| {
            filter.reference = Some("PO 1".to_owned());
        }),
        case::<InvoiceFilter>(&["invoices_customer"], |filter| {
            filter.customer = Some(ContactId::new(1));
        }),
        case::<InvoiceFilter>(&["invoice_vehicles"], |filter| filter.vehicle = Some(VehicleId::new(1))),
        case::<InvoiceFilter>(&["invoices_deal"], |filter| filter.deal = Some(DealId::new(1))),
        case::<InvoiceFilter>(&["invoices_order"], |filter| filter.order = Some(OrderId::new(1))),
        case::<InvoiceFilter>(&["invoices_parent"], |filter| filter.parent = Some(InvoiceId::new(1))),
        case::<InvoiceFilter>(&["invoice_credits"], |filter| {
            filter.credit_note = Some(CreditNumber::new(1));
        }),
    ];
    let list: List<InvoiceFilter> = List {
        index: "invoices_list",
        tables: &["invoices"],
        read: read!(|reader, business, filter: InvoiceFilter, request| reader.invoices(business, filter, request)),
    };
    list.check(&installation, business, &cases).await;
}

async fn orders(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    for number in 0..9 {
        let order = a_draft_order(ContactId::new(number), VehicleId::new(number));
        session.insert_order(business, order, at(number)).await.unwrap();
    }
    session.commit().await.unwrap();
    let OrderFilter {
        site: _,
        status: _,
        number: _,
        reference: _,
        customer: _,
        vehicle: _,
        deal: _,
        invoice: _,
        salesperson: _,
        expired: _,
        date: _,
        valid_until: _,
        created: _,
        updated: _,
    } = OrderFilter::default();
    let expired = |is_expired| {
        let today = at(9 * 86_400).date();
        Some(Expired { is_expired, today })
    };
    let cases: Vec<Case<OrderFilter>> = vec![
        case::<OrderFilter>(&[], |filter| filter.site = Some(SiteId::new(1))),
        case::<OrderFilter>(&[], |filter| {
            filter.status = Some(OrderStatusChoice(OrderStatus::Issued));
        }),
        case::<OrderFilter>(&[], |filter| filter.salesperson = Some(StaffId::new(3))),
        case::<OrderFilter>(&[], move |filter| filter.expired = expired(true)),
        case::<OrderFilter>(&[], move |filter| filter.expired = expired(false)),
        case::<OrderFilter>(&[], |filter| filter.date = some_days()),
        case::<OrderFilter>(&[], |filter| filter.valid_until = some_days()),
        case::<OrderFilter>(&[], |filter| filter.created = lately()),
        case::<OrderFilter>(&[], |filter| filter.updated = lately()),
        case::<OrderFilter>(&["orders_number"], |filter| filter.number = Some(OrderNumber::new(1))),
        case::<OrderFilter>(&["orders_reference"], |filter| {
            filter.reference = Some("PO 1".to_owned());
        }),
        case::<OrderFilter>(&["orders_customer"], |filter| filter.customer = Some(ContactId::new(1))),
        case::<OrderFilter>(&["order_vehicles"], |filter| filter.vehicle = Some(VehicleId::new(1))),
        case::<OrderFilter>(&["orders_deal"], |filter| filter.deal = Some(DealId::new(1))),
        case::<OrderFilter>(&["orders_invoice"], |filter| filter.invoice = Some(InvoiceId::new(1))),
    ];
    let list: List<OrderFilter> = List {
        index: "orders_list",
        tables: &["orders"],
        read: read!(|reader, business, filter: OrderFilter, request| reader.orders(business, filter, request)),
    };
    list.check(&installation, business, &cases).await;
}

async fn purchases(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    for number in 0..9 {
        let purchase = a_draft_purchase(ContactId::new(number), VehicleId::new(number));
        session.insert_purchase(business, purchase, at(number)).await.unwrap();
    }
    session.commit().await.unwrap();
    let PurchaseFilter {
        site: _,
        status: _,
        kind: _,
        number: _,
        supplier: _,
        supplier_invoice: _,
        vehicle: _,
        job: _,
        overdue: _,
        gross: _,
        date: _,
        due_date: _,
        created: _,
        updated: _,
    } = PurchaseFilter::default();
    let overdue = |is_overdue| {
        let today = at(9 * 86_400).date();
        Some(OverduePurchase { is_overdue, today })
    };
    let cases: Vec<Case<PurchaseFilter>> = vec![
        case::<PurchaseFilter>(&[], |filter| filter.site = Some(SiteId::new(1))),
        case::<PurchaseFilter>(&[], |filter| {
            filter.status = Some(forecourt_billing::StatusChoice(InvoiceStatus::Paid));
        }),
        case::<PurchaseFilter>(&[], |filter| filter.kind = Some(PurchaseKind::Cost)),
        case::<PurchaseFilter>(&[], move |filter| filter.overdue = overdue(true)),
        case::<PurchaseFilter>(&[], move |filter| filter.overdue = overdue(false)),
        case::<PurchaseFilter>(&[], |filter| {
            let (from, to) = (Some(Money::ZERO), Some(Money::from_minor(9)));
            filter.gross = Some(Range { from, to });
        }),
        case::<PurchaseFilter>(&[], |filter| filter.date = some_days()),
        case::<PurchaseFilter>(&[], |filter| filter.due_date = some_days()),
        case::<PurchaseFilter>(&[], |filter| filter.created = lately()),
        case::<PurchaseFilter>(&[], |filter| filter.updated = lately()),
        case::<PurchaseFilter>(&["purchases_number"], |filter| {
            filter.number = Some(PurchaseNumber::new(1));
        }),
        case::<PurchaseFilter>(&["purchases_supplier"], |filter| {
            filter.supplier = Some(ContactId::new(1));
        }),
        case::<PurchaseFilter>(&["purchases_supplier_key"], |filter| {
            filter.supplier_invoice = Some("V 1".to_owned());
        }),
        case::<PurchaseFilter>(&["purchase_vehicles"], |filter| {
            filter.vehicle = Some(VehicleId::new(1));
        }),
        case::<PurchaseFilter>(&["purchases_job"], |filter| filter.job = Some(1)),
    ];
    let list: List<PurchaseFilter> = List {
        index: "purchases_list",
        tables: &["purchases"],
        read: read!(|reader, business, filter: PurchaseFilter, request| {
            reader.purchases(business, filter, request)
        }),
    };
    list.check(&installation, business, &cases).await;
}

async fn stock_book(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    for number in 1..10 {
        let entry = a_stock_entry(number, VehicleId::new(number));
        session.save_stock_entry(business, &entry).await.unwrap();
    }
    session.commit().await.unwrap();
    let StockBookFilter {
        status: _,
        vat_scheme: _,
        vehicle: _,
        complete: _,
        purchase_date: _,
        sale_date: _,
    } = StockBookFilter::default();
    let cases: Vec<Case<StockBookFilter>> = vec![
        case::<StockBookFilter>(&[], |filter| filter.status = Some(StockStatus::Sold)),
        case::<StockBookFilter>(&[], |filter| filter.vat_scheme = Some(VatScheme::Standard)),
        case::<StockBookFilter>(&[], |filter| filter.complete = Some(false)),
        case::<StockBookFilter>(&[], |filter| filter.purchase_date = some_days()),
        case::<StockBookFilter>(&[], |filter| filter.sale_date = some_days()),
        case::<StockBookFilter>(&["stock_book_vehicle"], |filter| {
            filter.vehicle = Some(VehicleId::new(1));
        }),
    ];
    let list: List<StockBookFilter> = List {
        index: "stock_book_list",
        tables: &["stock_book"],
        read: read!(|reader, business, filter: StockBookFilter, request| {
            reader.stock_entries(business, filter, request)
        }),
    };
    list.check(&installation, business, &cases).await;
}

async fn calls(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    for number in 0..9 {
        let call = CallContent {
            external_id: number.to_string(),
            ..a_full_call()
        };
        session.insert_call(business, call, at(number)).await.unwrap();
    }
    session.commit().await.unwrap();
    let CallFilter {
        site: _,
        direction: _,
        outcome: _,
        contact: _,
        lead: _,
        vehicle: _,
        staff: _,
        from: _,
        to: _,
        number: _,
        provider: _,
        external_id: _,
        tracking: _,
        started: _,
        created: _,
        updated: _,
    } = CallFilter::default();
    let cases: Vec<Case<CallFilter>> = vec![
        case::<CallFilter>(&[], |filter| filter.site = Some(SiteId::new(0))),
        case::<CallFilter>(&[], |filter| filter.direction = Some(CallDirection::In)),
        case::<CallFilter>(&[], |filter| filter.outcome = Some(CallOutcome::Missed)),
        case::<CallFilter>(&["calls_contact"], |filter| filter.contact = Some(ContactId::new(1))),
        case::<CallFilter>(&["calls_lead"], |filter| filter.lead = Some(LeadId::new(1))),
        case::<CallFilter>(&["calls_vehicle"], |filter| filter.vehicle = Some(VehicleId::new(1))),
        case::<CallFilter>(&[], |filter| filter.staff = Some(StaffId::new(1))),
        case::<CallFilter>(&["calls_from"], |filter| filter.from = phone()),
        case::<CallFilter>(&["calls_to"], |filter| filter.to = phone()),
        case::<CallFilter>(&["calls_from", "calls_to"], |filter| filter.number = phone()),
        case::<CallFilter>(&["calls_provider"], |filter| filter.provider = Some("board".to_owned())),
        case::<CallFilter>(&["calls_external_id", "calls_reported"], |filter| {
            filter.external_id = Some("c-1".to_owned());
        }),
        case::<CallFilter>(&["calls_tracking"], |filter| {
            filter.tracking = Some("spring".to_owned());
        }),
        case::<CallFilter>(&[], |filter| filter.started = lately()),
        case::<CallFilter>(&[], |filter| filter.created = lately()),
        case::<CallFilter>(&[], |filter| filter.updated = lately()),
    ];
    let list: List<CallFilter> = List {
        index: "calls_list",
        tables: &["calls"],
        read: read!(|reader, business, filter: CallFilter, request| reader.calls(business, filter, request)),
    };
    list.check(&installation, business, &cases).await;
}

async fn appointments(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    for number in 0..9 {
        let content = AppointmentContent {
            start: at(number),
            end: at(number + 60),
            ..an_appointment()
        };
        session
            .insert_appointment(business, content, None, at(number))
            .await
            .unwrap();
    }
    session.commit().await.unwrap();
    let AppointmentFilter {
        site: _,
        kind: _,
        calendar: _,
        status: _,
        contact: _,
        lead: _,
        vehicle: _,
        deal: _,
        staff: _,
        source: _,
        start: _,
        end: _,
        created: _,
        updated: _,
    } = AppointmentFilter::default();
    let cases: Vec<Case<AppointmentFilter>> = vec![
        case::<AppointmentFilter>(&[], |filter| filter.site = Some(SiteId::new(0))),
        case::<AppointmentFilter>(&[], |filter| filter.kind = Some("viewing".to_owned())),
        case::<AppointmentFilter>(&[], |filter| filter.calendar = Some("sales".to_owned())),
        case::<AppointmentFilter>(&[], |filter| filter.status = Some(AppointmentStatus::Booked)),
        case::<AppointmentFilter>(&["appointments_contact"], |filter| {
            filter.contact = Some(ContactId::new(1));
        }),
        case::<AppointmentFilter>(&["appointments_lead"], |filter| filter.lead = Some(LeadId::new(1))),
        case::<AppointmentFilter>(&["appointments_vehicle"], |filter| {
            filter.vehicle = Some(VehicleId::new(1));
        }),
        case::<AppointmentFilter>(&["appointments_deal"], |filter| filter.deal = Some(1)),
        case::<AppointmentFilter>(&["appointment_staff", "appointments_starts"], |filter| {
            filter.staff = Some(StaffId::new(1));
        }),
        case::<AppointmentFilter>(&[], |filter| filter.source = Some(LeadChannel::Api)),
        case::<AppointmentFilter>(&["appointments_starts"], |filter| filter.start = lately()),
        case::<AppointmentFilter>(&[], |filter| filter.end = lately()),
        case::<AppointmentFilter>(&[], |filter| filter.created = lately()),
        case::<AppointmentFilter>(&[], |filter| filter.updated = lately()),
    ];
    let list: List<AppointmentFilter> = List {
        index: "appointments_list",
        tables: &["appointments"],
        read: read!(|reader, business, filter: AppointmentFilter, request| {
            reader.appointments(business, filter, request)
        }),
    };
    list.check(&installation, business, &cases).await;

    overheard();
    let mut reader = installation.read().await;
    let whole = AgendaFilter {
        calendar: Some("sales".to_owned()),
        staff: Some(StaffId::new(1)),
        site: Some(SiteId::new(0)),
        vehicle: Some(VehicleId::new(1)),
        ..AgendaFilter::between(at(0), at(99))
    };
    for filter in [AgendaFilter::between(at(0), at(99)), whole] {
        for after in [None, Some((at(1), forecourt_appointments::AppointmentId::new(1)))] {
            reader.agenda(business, &filter, after, 9).await.unwrap();
        }
        reader.count_agenda(business, &filter, 9).await.unwrap();
    }
    reader.occupied(business, at(0), at(99)).await.unwrap();
    let page = pages().remove(0);
    reader.lead_appointments(business, LeadId::new(1), &page).await.unwrap();
    reader.appointment_feeds(business, &page).await.unwrap();
    reader.feed_of_token("digest").await.unwrap();
    let after = forecourt_appointments::AppointmentId::new(0);
    reader
        .contact_appointments(business, ContactId::new(1), after)
        .await
        .unwrap();
    drop(reader);
    let mut session = installation.begin().await;
    session.due_reminders(at(0), 9).await.unwrap();
    session.commit().await.unwrap();
    let tables = [
        "appointments",
        "appointment_staff",
        "lead_appointments",
        "appointment_feeds",
    ];
    let statements = about(&tables);
    assert!(statements.len() > 9, "{statements:?}");
    for statement in statements {
        no_scan(&statement, &explain(&installation, &statement).await);
    }
}

async fn deals(installation: Installation) {
    let (installation, business) = listening(installation).await;
    let mut session = installation.begin().await;
    for number in 0..9 {
        let deal = DealContent {
            external_id: number.to_string().try_into().unwrap(),
            ..a_full_deal()
        };
        session.insert_deal(business, deal, at(number)).await.unwrap();
    }
    session.commit().await.unwrap();
    let DealFilter {
        site: _,
        reference: _,
        stage: _,
        open: _,
        contact: _,
        lead: _,
        vehicle: _,
        staff: _,
        source: _,
        provider: _,
        external_id: _,
        order: _,
        invoice: _,
        created: _,
        updated: _,
    } = DealFilter::default();
    let cases: Vec<Case<DealFilter>> = vec![
        case::<DealFilter>(&[], |filter| filter.site = Some(SiteId::new(0))),
        case::<DealFilter>(&["deals_reference"], |filter| filter.reference = Some(1)),
        case::<DealFilter>(&[], |filter| filter.stage = Some(DealStage::Begin)),
        case::<DealFilter>(&[], |filter| filter.open = Some(true)),
        case::<DealFilter>(&["deals_contact"], |filter| filter.contact = Some(ContactId::new(1))),
        case::<DealFilter>(&["deals_lead"], |filter| filter.lead = Some(LeadId::new(1))),
        case::<DealFilter>(&["deals_vehicle"], |filter| filter.vehicle = Some(VehicleId::new(1))),
        case::<DealFilter>(&[], |filter| filter.staff = Some(StaffId::new(1))),
        case::<DealFilter>(&[], |filter| filter.source = Some(LeadChannel::Api)),
        case::<DealFilter>(&["deals_provider"], |filter| filter.provider = Some("Desk".to_owned())),
        case::<DealFilter>(&["deals_external_id", "deals_reported"], |filter| {
            filter.external_id = Some("1".to_owned());
        }),
        case::<DealFilter>(&["deals_order"], |filter| filter.order = Some(OrderId::new(1))),
        case::<DealFilter>(&["deals_invoice"], |filter| filter.invoice = Some(InvoiceId::new(1))),
        case::<DealFilter>(&[], |filter| filter.created = lately()),
        case::<DealFilter>(&[], |filter| filter.updated = lately()),
    ];
    let list: List<DealFilter> = List {
        index: "deals_list",
        tables: &["deals"],
        read: read!(|reader, business, filter: DealFilter, request| reader.deals(business, filter, request)),
    };
    list.check(&installation, business, &cases).await;

    overheard();
    let mut reader = installation.read().await;
    let none = forecourt_deals::DealId::new(0);
    reader.contact_deals(business, ContactId::new(1), none).await.unwrap();
    reader.reserved_by_deals(business, &[VehicleId::new(1)]).await.unwrap();
    drop(reader);
    let mut session = installation.begin().await;
    session.deal_reported_as(business, "Desk", "1").await.unwrap();
    session
        .open_deals_of_vehicle(business, VehicleId::new(1))
        .await
        .unwrap();
    session.commit().await.unwrap();
    let statements = about(&["deals"]);
    assert!(statements.len() > 2, "{statements:?}");
    for statement in statements {
        no_scan(&statement, &explain(&installation, &statement).await);
    }
}
