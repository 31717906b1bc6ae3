//! Sample records, and dice to make them up.

use std::collections::BTreeMap;

use forecourt_accounts::{
    ApiKey, BankAccount, Business, FinanceSettings, KeyId, Legal, LegalAddress, MailWording, Plan, SecretHash,
    Settings, State,
};
pub(crate) use forecourt_contacts::testing::a_contact;
use forecourt_kernel::{
    BusinessId, Country, EventName, LeadId, Moment, Money, NewEvent, ScopeSet, SiteId, StaffId, Timestamp,
};
use forecourt_leads::{LeadData, LeadDraft};
use forecourt_reference::{
    BookingType, Calendar, Catalogue, Channel, JobBoard, JobStage, Location, MediaBackground, OpeningHours, Product,
    ProductVat, Site, StaffUser, StockType, Tag, TagResource,
};
use forecourt_vehicles::{AppraisalOffer, ChannelOptions, Media, Reservations, VehicleDraft, VehicleStatus};
pub(crate) use forecourt_webhooks::testing::a_webhook;
use forecourt_webhooks::{Endpoint, EndpointKey, EndpointState, Room, Secret, Webhook, WebhookDraft};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::installation::Installation;

/// The moment that is `second` seconds after a fixed one.
pub(crate) fn at(second: i64) -> Timestamp {
    Timestamp::from_epoch_seconds(1_790_000_000 + second)
}

/// The moment that is `millis` milliseconds after the same one.
pub(crate) fn moment(millis: i64) -> Moment {
    Moment::from(at(0)).plus_millis(millis)
}

/// A business with the least that it needs.
pub(crate) fn a_business(tag: &str) -> Business {
    Business {
        id: BusinessId::new(0),
        tag: tag.to_owned(),
        name: "Acme Cars".to_owned(),
        email: String::new(),
        country: Country::GB,
        website: String::new(),
        verified: true,
        state: State::Active,
        plan: Plan::Growth,
        api_access: true,
        settings: Settings::default(),
        legal_details: Legal::default(),
        catalogue: Catalogue::default(),
        created: at(0),
        updated: at(0),
    }
}

/// A business with a value in every place, none of them a blank one's.
pub(crate) fn a_full_business(tag: &str) -> Business {
    let text = |text: &str| text.to_owned();
    Business {
        id: BusinessId::new(0),
        tag: tag.to_owned(),
        name: text("Çelik & Söhne \"Autos\" 🚗"),
        email: text("büro@acme.example"),
        country: "DE".parse().unwrap(),
        website: text("https://acme.example/?a=b&c=%25"),
        verified: false,
        state: State::ReadOnly,
        plan: Plan::Scale,
        api_access: false,
        settings: Settings {
            publish_limit: Some(1000),
            reserve_deposit: Some(Money::from_minor(9900)),
            sold_retention_days: Some(14),
            test_drive_terms: Some(text("Drive\r\ncarefully")),
            finance: Some(FinanceSettings {
                apr: text("9.9"),
                term: 48,
                deposit_percent: text("10"),
                admin_fee: Money::from_minor(1),
                option_purchase_fee: Money::from_minor(1000),
                final_payment_percent: text("30"),
            }),
            storage_limit_mb: Some(7),
            language: Some(text("de")),
            timezone: "Europe/Busingen".parse().ok(),
            mail_texts: Some(BTreeMap::from([(
                text("de"),
                BTreeMap::from([(
                    text("contact_login"),
                    MailWording {
                        subject: Some(text("Grüße von {{business}}")),
                        text: None,
                    },
                )]),
            )])),
            invoice_due_days: Some(14),
            invoice_terms: Some(text("Zahlbar\nohne Abzug")),
            order_terms: Some(text("Es gilt \"das Übliche\"")),
            order_title: Some(text("Kaufvertrag")),
            retention_years: Some(10),
            opening_hours: Some(some_hours()),
            closed_dates: Some(vec!["2026-12-25".parse().unwrap()]),
            appointment_reminder_minutes: Some(60),
            call_retention_days: Some(90),
        },
        legal_details: Legal {
            name: text("Çelik & Söhne GmbH"),
            address: LegalAddress {
                line1: text("Hafenstraße 1"),
                line2: text("Hinterhaus"),
                line3: text("Tor 3"),
                city: text("Köln"),
                state: text("NRW"),
                zip: text("50667"),
                country: "DE".parse().ok(),
            },
            phone: text("+492211234567"),
            company_number: text("HRB 12345"),
            vat_number: text("DE123456789"),
            fca_number: text("123456"),
            bank: BankAccount {
                account_name: text("Çelik & Söhne"),
                sort_code: text("12-34-56"),
                account_number: text("12345678"),
                iban: text("DE89370400440532013000"),
                bic: text("COBADEFF"),
            },
        },
        catalogue: Catalogue {
            sites: vec![Site {
                id: SiteId::new(3),
                name: text("North"),
                tag: text("north"),
                domain: text("north.acme.example"),
                kind: text("branch"),
                active: false,
            }],
            locations: vec![Location {
                id: text("1"),
                name: text("Front"),
            }],
            location_ids: vec![text("2"), text("1")],
            former_locations: vec![Location {
                id: text("2"),
                name: text("Back"),
            }],
            staff: vec![StaffUser {
                id: StaffId::new(1),
                name: text("Sam Hill"),
                role: vec![text("sales"), text("admin")],
                email: text("sam@acme.example"),
            }],
            tags: vec![Tag {
                resource: TagResource::Lead,
                name: text("Hot"),
                colour: text("#d33"),
                kind: text("s"),
                defaulted: true,
            }],
            channels: vec![Channel {
                id: text("website"),
                name: text("Website"),
                category: text("website"),
            }],
            former_channels: vec![text("platform_a")],
            booking_types: vec![BookingType {
                id: text("service"),
                name: text("Service"),
                enabled: false,
                calendar: text("workshop"),
                duration_minutes: 45,
            }],
            media_backgrounds: vec![MediaBackground {
                id: text("7"),
                name: text("Showroom"),
                key: text("showroom"),
            }],
            job_boards: vec![JobBoard {
                id: 2,
                tag: text("prep"),
                name: text("Preparation"),
                description: text("What is to be done"),
                apply: vec![text("s")],
                stages: vec![JobStage {
                    name: text("Wash"),
                    tasks: vec![text("Inside"), text("Outside")],
                }],
            }],
            products: vec![Product {
                id: text("warranty"),
                name: text("Garantie"),
                gross: Money::from_minor(39_900),
                vat_scheme: ProductVat::Standard,
                vat_rate: "19".parse().ok(),
                nominal: text("4010"),
            }],
            former_products: vec![Product {
                id: text("mats"),
                name: text("Matten"),
                gross: Money::ZERO,
                vat_scheme: ProductVat::Margin,
                vat_rate: None,
                nominal: String::new(),
            }],
            calendars: vec![a_calendar("sales")],
            former_calendars: vec![a_calendar("workshop")],
            vehicle_options: BTreeMap::from([(text("colour"), vec![text("Nardo Grey")])]),
        },
        created: at(-5),
        updated: at(7),
    }
}

fn some_hours() -> OpeningHours {
    serde_json::from_str(r#"{"mon": [["09:00", "12:30"], ["13:00", "24:00"]], "sun": []}"#).unwrap()
}

fn a_calendar(id: &str) -> Calendar {
    Calendar {
        id: id.to_owned(),
        name: format!("Kalender {id}"),
        capacity: Some(3),
        staff: vec![StaffId::new(1)],
        opening_hours: Some(some_hours()),
        step_minutes: 20,
        buffer_minutes: 10,
        notice_minutes: 120,
    }
}

/// A key of that number.
pub(crate) fn a_key(number: u8, business: Option<BusinessId>) -> ApiKey {
    ApiKey {
        id: key_id(number),
        secret_hash: SecretHash::from_bytes([number; 32]),
        business,
        scopes: ScopeSet::NONE,
        from: Vec::new(),
        created: at(0),
        expires: None,
        revoked: None,
        last_used: None,
    }
}

pub(crate) fn key_id(number: u8) -> KeyId {
    format!("fck_{number:016}").parse().unwrap()
}

/// A lead with little in it.
pub(crate) fn a_lead() -> LeadDraft {
    LeadDraft::blank(&Catalogue::default())
}

/// A vehicle with nothing in it.
pub(crate) fn a_car() -> VehicleDraft {
    let kind = StockType::InStock;
    VehicleDraft {
        kind,
        status: VehicleStatus::initial(kind),
        country: Country::GB,
        registration: None,
        owner: None,
        parent: None,
        tags: Vec::new(),
        channels: Vec::new(),
        channel_options: ChannelOptions::default(),
        data: Box::default(),
        media: Media::default(),
        reservation: Reservations::default(),
        sale: None,
        offer: AppraisalOffer::default(),
        acquisition: None,
        stock_number: None,
    }
}

/// Free-form detail with this text.
pub(crate) fn data(text: &str) -> LeadData {
    serde_json::from_str(text).unwrap()
}

/// An event about a lead.
pub(crate) fn an_event(name: EventName, lead: LeadId) -> NewEvent {
    NewEvent {
        name,
        record: lead.get(),
        data: format!(r#"{{"id":{lead},"text":"é \u0000"}}"#),
        at: at(0),
    }
}

/// A secret to sign with.
pub(crate) fn a_secret(text: &str) -> Secret {
    Secret::from_stored(format!("whsec_{text}"))
}

/// Room for this number of deliveries of any size.
pub(crate) const fn room(deliveries: u32) -> Room {
    Room {
        deliveries,
        bytes: usize::MAX,
    }
}

/// Returns an endpoint that can be sent to.
#[track_caller]
pub(crate) fn ready(state: EndpointState) -> Endpoint {
    match state {
        EndpointState::Ready(endpoint) => endpoint,
        state => unreachable!("no other state was asked for: {state:?}"),
    }
}

/// Names a business's webhook.
pub(crate) fn key(business: BusinessId, webhook: &Webhook) -> EndpointKey {
    EndpointKey {
        business,
        webhook: webhook.id,
    }
}

impl Installation {
    /// A webhook of a business.
    pub(crate) async fn webhook(&self, business: BusinessId, draft: WebhookDraft) -> Webhook {
        let mut session = self.begin().await;
        let webhook = session
            .insert_webhook(business, draft, &a_secret("sample"), at(0))
            .await
            .unwrap();
        session.commit().await.unwrap();
        webhook
    }

    /// Records an event of a business's record.
    pub(crate) async fn happen(&self, business: BusinessId, name: EventName, record: i64) {
        let mut session = self.begin().await;
        session
            .record(business, an_event(name, LeadId::new(record)))
            .await
            .unwrap();
        session.commit().await.unwrap();
    }

    /// A business that has nothing yet.
    pub(crate) async fn business(&self, tag: &str) -> BusinessId {
        let mut session = self.begin().await;
        let id = session.insert_business(&a_business(tag)).await.unwrap();
        session.commit().await.unwrap();
        id
    }
}

/// Makes choices that look random, and are the same in every run.
pub(crate) struct Dice(Xoshiro256PlusPlus);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// A number from 0 to `below`, exclusive.
    pub(crate) fn roll(&mut self, below: usize) -> usize {
        self.0.random_range(0..below)
    }

    /// Returns the same as an `i64`, for a stamp or an id.
    pub(crate) fn number(&mut self, below: i64) -> i64 {
        self.0.random_range(0..below)
    }

    /// Returns `true` `percent` times in a hundred.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.roll(100) < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.roll(list.len())]
    }
}
