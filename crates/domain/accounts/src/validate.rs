//! The rules of a business's declared values (decisions §2, §10.0).

use forecourt_kernel::{Money, ValidationErrors, bounds::LongText};
use forecourt_reference::{Catalogue, OpeningHours, OptionList, Product, ProductVat, StockType, TagResource};
use validator::{ValidateEmail, ValidateUrl};

use crate::{Business, MailKind, Settings, legal::line_fault, mail::validate_mails};

/// The maximum of `settings.invoice_due_days`.
const MAX_DUE_DAYS: u32 = 365;

/// The maximum of `settings.retention_years`.
const MAX_RETENTION_YEARS: u32 = 100;

/// The maximum of `settings.call_retention_days`.
const MAX_CALL_RETENTION_DAYS: u32 = 36_500;

/// The maximum of `settings.appointment_reminder_minutes`: 30 days.
const MAX_REMINDER_MINUTES: u32 = 43_200;

/// The maximum of a calendar's step and buffer: a day.
const MAX_STEP_MINUTES: u32 = 1_440;

/// The maximum of a calendar's notice: a year.
const MAX_NOTICE_MINUTES: u32 = 525_600;

/// The maximum of a product's price.
const MAX_GROSS: Money = Money::from_minor(9_999_999_999);

/// The maximum number of characters of a product's nominal code.
const MAX_NOMINAL_CHARS: usize = 32;

/// Returns every fault in a business, each with its path in the file.
pub(crate) fn validate_business(business: &Business, mails: &[&MailKind]) -> ValidationErrors {
    let mut errors = ValidationErrors::new();
    let slug = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
    if business.tag.is_empty() || business.tag.len() > 64 || !business.tag.bytes().all(slug) {
        errors.add(
            "tag",
            "must have 1 to 64 lowercase letters, digits, hyphens or underscores",
        );
    }
    if business.name.trim().is_empty() {
        errors.add("name", "must not be empty");
    }
    // The library checks only the end of a bracketed domain.
    let broken = business
        .email
        .contains(|character: char| character.is_whitespace() || character.is_control());
    if !business.email.is_empty() && (broken || !business.email.validate_email()) {
        errors.add("email", "must be an email address");
    }
    if !business.website.is_empty() && !business.website.validate_url() {
        errors.add("website", "must be a URL");
    }
    if business
        .settings
        .reserve_deposit
        .is_some_and(|deposit| deposit < Money::ZERO)
    {
        errors.add("settings.reserve_deposit", "must not be negative");
    }
    if let Some(finance) = &business.settings.finance {
        let percents = [
            ("settings.finance.apr", &finance.apr),
            ("settings.finance.deposit_percent", &finance.deposit_percent),
            ("settings.finance.final_payment_percent", &finance.final_payment_percent),
        ];
        for (field, percent) in percents {
            if !percent
                .parse::<f64>()
                .is_ok_and(|percent| (0.0..=100.0).contains(&percent))
            {
                errors.add(field, "must be a percentage from 0 to 100");
            }
        }
        if finance.term == 0 {
            errors.add("settings.finance.term", "must be at least 1 month");
        }
        let fees = [
            ("settings.finance.admin_fee", finance.admin_fee),
            ("settings.finance.option_purchase_fee", finance.option_purchase_fee),
        ];
        for (field, _) in fees.into_iter().filter(|(_, fee)| *fee < Money::ZERO) {
            errors.add(field, "must not be negative");
        }
    }
    validate_documents(&business.settings, &mut errors);
    validate_times(&business.settings, &mut errors);
    validate_mails(&business.settings, mails, &mut errors);
    business.legal_details.validate(business.country, &mut errors);
    validate_catalogue(&business.catalogue, &mut errors);
    errors
}

fn validate_catalogue(catalogue: &Catalogue, errors: &mut ValidationErrors) {
    unique("sites", catalogue.sites.iter().map(|site| site.id), errors);
    unique(
        "locations",
        catalogue.locations.iter().map(|location| &location.id),
        errors,
    );
    unique("staff", catalogue.staff.iter().map(|user| user.id), errors);
    unique(
        "tags",
        catalogue.tags.iter().map(|tag| (tag.resource, &tag.kind, &tag.name)),
        errors,
    );
    unique("channels", catalogue.channels.iter().map(|channel| &channel.id), errors);
    unique(
        "booking_types",
        catalogue.booking_types.iter().map(|booking| &booking.id),
        errors,
    );
    unique(
        "media_backgrounds",
        catalogue.media_backgrounds.iter().map(|background| &background.id),
        errors,
    );
    unique("job_boards", catalogue.job_boards.iter().map(|board| board.id), errors);
    for (at, site) in catalogue.sites.iter().enumerate() {
        if site.id.get() < 0 {
            errors.add(format!("sites.{at}.id"), "must be 0 or above");
        }
    }
    for (at, user) in catalogue.staff.iter().enumerate() {
        if user.id.get() <= 0 {
            errors.add(format!("staff.{at}.id"), "must be above 0");
        }
    }
    for (at, tag) in catalogue.tags.iter().enumerate() {
        if tag.name.trim().is_empty() {
            errors.add(format!("tags.{at}.name"), "must not be empty");
        }
        let stock_key = StockType::ALL.iter().any(|kind| kind.key() == tag.kind);
        if tag.resource == TagResource::Vehicle && !stock_key {
            errors.add(
                format!("tags.{at}.type"),
                "must be the key of a stock type: s, t, u, r or a",
            );
        }
    }
    validate_products(&catalogue.products, errors);
    validate_calendars(catalogue, errors);
    for (list, values) in &catalogue.vehicle_options {
        let field = format!("vehicle_options.{list}");
        if let Err(unknown) = list.parse::<OptionList>() {
            errors.add(&field, unknown.to_string());
        }
        if values.iter().any(|value| value.trim().is_empty()) {
            errors.add(&field, "must not have an empty value");
        }
    }
}

/// Adds the faults in the settings of invoices and orders.
fn validate_documents(settings: &Settings, errors: &mut ValidationErrors) {
    if settings.invoice_due_days.is_some_and(|days| days > MAX_DUE_DAYS) {
        errors.add("settings.invoice_due_days", format!("must be at most {MAX_DUE_DAYS}"));
    }
    for (field, terms) in [
        ("settings.invoice_terms", &settings.invoice_terms),
        ("settings.order_terms", &settings.order_terms),
    ] {
        if let Some(fault) = terms.as_deref().and_then(text_fault) {
            errors.add(field, fault);
        }
    }
    if let Some(title) = &settings.order_title {
        validate_name("settings.order_title", title, errors);
    }
    let years = settings.retention_years.unwrap_or(Settings::RETENTION_YEARS);
    if !(1..=MAX_RETENTION_YEARS).contains(&years) {
        errors.add(
            "settings.retention_years",
            format!("must be from 1 to {MAX_RETENTION_YEARS}"),
        );
    }
}

/// Adds the faults in the settings of appointments and calls.
fn validate_times(settings: &Settings, errors: &mut ValidationErrors) {
    if let Some(hours) = &settings.opening_hours {
        validate_hours("settings.opening_hours", hours, errors);
    }
    unique("settings.closed_dates", settings.closed_dates.iter().flatten(), errors);
    if settings
        .appointment_reminder_minutes
        .is_some_and(|minutes| minutes > MAX_REMINDER_MINUTES)
    {
        let message = format!("must be at most {MAX_REMINDER_MINUTES}");
        errors.add("settings.appointment_reminder_minutes", message);
    }
    if settings
        .call_retention_days
        .is_some_and(|days| !(1..=MAX_CALL_RETENTION_DAYS).contains(&days))
    {
        let message = format!("must be from 1 to {MAX_CALL_RETENTION_DAYS}");
        errors.add("settings.call_retention_days", message);
    }
}

fn validate_hours(field: &str, hours: &OpeningHours, errors: &mut ValidationErrors) {
    for (place, fault) in hours.faults() {
        errors.add(format!("{field}.{place}"), fault);
    }
}

fn validate_products(products: &[Product], errors: &mut ValidationErrors) {
    unique("products", products.iter().map(|product| &product.id), errors);
    for (at, product) in products.iter().enumerate() {
        let Product {
            id,
            name,
            gross,
            vat_scheme,
            vat_rate,
            nominal,
        } = product;
        validate_name(&format!("products.{at}.id"), id, errors);
        validate_name(&format!("products.{at}.name"), name, errors);
        if !(Money::ZERO..=MAX_GROSS).contains(gross) {
            errors.add(
                format!("products.{at}.gross"),
                format!("must be from 0.00 to {MAX_GROSS}"),
            );
        }
        if vat_rate.is_some() && *vat_scheme != ProductVat::Standard {
            errors.add(
                format!("products.{at}.vat_rate"),
                "must be absent unless vat_scheme is standard",
            );
        }
        let fault = match nominal.chars().count() {
            0..=MAX_NOMINAL_CHARS => line_fault(nominal),
            _ => Some(format!("must have at most {MAX_NOMINAL_CHARS} characters")),
        };
        if let Some(fault) = fault {
            errors.add(format!("products.{at}.nominal"), fault);
        }
    }
}

fn validate_calendars(catalogue: &Catalogue, errors: &mut ValidationErrors) {
    unique(
        "calendars",
        catalogue.calendars.iter().map(|calendar| &calendar.id),
        errors,
    );
    for (at, calendar) in catalogue.calendars.iter().enumerate() {
        let field = |name: &str| format!("calendars.{at}.{name}");
        validate_name(&field("id"), &calendar.id, errors);
        validate_name(&field("name"), &calendar.name, errors);
        if calendar.capacity == Some(0) {
            errors.add(field("capacity"), "must be at least 1");
        }
        unique(&field("staff"), calendar.staff.iter(), errors);
        for (place, user) in calendar.staff.iter().enumerate() {
            if !catalogue.has_staff(*user) {
                errors.add(field(&format!("staff.{place}")), "must be a staff user of the business");
            }
        }
        if let Some(hours) = &calendar.opening_hours {
            validate_hours(&field("opening_hours"), hours, errors);
        }
        if !(1..=MAX_STEP_MINUTES).contains(&calendar.step_minutes) {
            errors.add(field("step_minutes"), format!("must be from 1 to {MAX_STEP_MINUTES}"));
        }
        if calendar.buffer_minutes > MAX_STEP_MINUTES {
            errors.add(field("buffer_minutes"), format!("must be at most {MAX_STEP_MINUTES}"));
        }
        if calendar.notice_minutes > MAX_NOTICE_MINUTES {
            errors.add(field("notice_minutes"), format!("must be at most {MAX_NOTICE_MINUTES}"));
        }
    }
    // Businesses named calendars before they could declare them.
    if catalogue.calendars.is_empty() {
        return;
    }
    for (at, booking) in catalogue.booking_types.iter().enumerate() {
        if !booking.calendar.is_empty() && catalogue.calendar(&booking.calendar).is_none() {
            errors.add(
                format!("booking_types.{at}.calendar"),
                "must be a calendar of the business",
            );
        }
    }
}

/// Adds the fault in a text that names something.
fn validate_name(field: &str, name: &str, errors: &mut ValidationErrors) {
    if name.trim().is_empty() {
        errors.add(field, "must not be empty");
    } else if let Some(fault) = line_fault(name) {
        errors.add(field, fault);
    }
}

/// Returns the fault in a text of several lines.
fn text_fault(text: &str) -> Option<String> {
    let is_line_break_or_tab = |character| matches!(character, '\n' | '\r' | '\t');
    if text.contains(|character: char| character.is_control() && !is_line_break_or_tab(character)) {
        return Some("must not contain control characters other than line breaks and tabs".to_owned());
    }
    LongText::check(text).err().map(|error| error.to_string())
}

fn unique<T: Eq + std::hash::Hash>(field: &str, values: impl Iterator<Item = T>, errors: &mut ValidationErrors) {
    let mut seen = std::collections::HashSet::new();
    for (at, value) in values.enumerate() {
        if !seen.insert(value) {
            errors.add(format!("{field}.{at}"), "names something that the list already has");
        }
    }
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::Timestamp;
    use serde_json::{Value, json};

    use super::*;
    use crate::{BusinessFile, InvalidBusinessFile};

    fn apply(stored: Option<&Business>, members: &Value) -> Result<Business, Vec<String>> {
        let mut file = json!({"tag": "acme", "name": "Acme", "staff": [{"id": 1, "name": "Sam"}]});
        for (name, value) in members.as_object().unwrap() {
            file[name] = value.clone();
        }
        let file: BusinessFile = serde_json::from_value(file).unwrap();
        let applied = file.apply(stored, &[], Timestamp::from_epoch_seconds(1_000));
        applied.map_err(|InvalidBusinessFile(errors)| {
            let fields = errors.as_slice().iter();
            fields.map(|error| error.field.clone()).collect()
        })
    }

    #[test]
    fn settings_of_documents_and_times_have_defaults() {
        let business = apply(None, &json!({})).unwrap();
        let settings = &business.settings;
        assert_eq!(
            (
                settings.invoice_due_days(),
                settings.retention_years(),
                settings.appointment_reminder_minutes()
            ),
            (0, 6, 1_440)
        );
        assert_eq!(
            (settings.invoice_terms(), settings.order_terms(), settings.order_title()),
            ("", "", "Order")
        );
        assert_eq!((&settings.opening_hours, settings.call_retention_days), (&None, None));
        let stored = serde_json::to_value(settings).unwrap();
        let names: Vec<_> = stored.as_object().unwrap().keys().collect();
        let before = [
            "publish_limit",
            "reserve_deposit",
            "sold_retention_days",
            "test_drive_terms",
            "finance",
        ];
        assert_eq!(names, before, "what was never declared is not stored");
        let lists = serde_json::to_value(&business.catalogue).unwrap();
        assert!(["products", "calendars"].iter().all(|list| lists.get(list).is_none()));
    }

    #[test]
    fn settings_are_kept_until_null_removes_them() {
        let first = json!({"settings": {"invoice_due_days": 30, "invoice_terms": "Net", "order_title": "Contract",
            "retention_years": 10, "opening_hours": {"mon": [["09:00", "18:00"]]}, "closed_dates": ["2026-12-25"],
            "appointment_reminder_minutes": 0, "call_retention_days": 90}});
        let stored = apply(None, &first).unwrap();
        let settings = &stored.settings;
        assert_eq!(
            (
                settings.invoice_due_days(),
                settings.retention_years(),
                settings.appointment_reminder_minutes()
            ),
            (30, 10, 0)
        );
        assert!(settings.is_closed_on("2026-12-25".parse().unwrap()));
        assert!(!settings.is_closed_on("2026-12-26".parse().unwrap()));
        let second = json!({"settings": {"order_title": null, "opening_hours": null}});
        let changed = apply(Some(&stored), &second).unwrap().settings;
        assert_eq!((changed.order_title(), &changed.opening_hours), ("Order", &None));
        assert_eq!(
            (changed.invoice_terms(), changed.call_retention_days),
            ("Net", Some(90))
        );
    }

    #[test]
    fn settings_out_of_range_are_reported_by_their_paths() {
        let faulty = json!({"settings": {"invoice_due_days": 366, "invoice_terms": "a\u{0}b", "order_terms": "x".repeat(20_001),
            "order_title": " ", "retention_years": 0, "opening_hours": {"mon": [["18:00", "09:00"]]},
            "closed_dates": ["2026-12-25", "2026-12-25"], "appointment_reminder_minutes": 43_201, "call_retention_days": 0}});
        let expected = [
            "settings.invoice_due_days",
            "settings.invoice_terms",
            "settings.order_terms",
            "settings.order_title",
            "settings.retention_years",
            "settings.opening_hours.mon.0",
            "settings.closed_dates.1",
            "settings.appointment_reminder_minutes",
            "settings.call_retention_days",
        ];
        assert_eq!(apply(None, &faulty).unwrap_err(), expected);
    }

    #[test]
    fn products_and_calendars_are_known_by_their_last_name() {
        let first = json!({
            "products": [{"id": "warranty", "name": "Warranty", "gross": "399"}, {"id": "mats", "name": "Mats", "gross": "0.00"}],
            "calendars": [{"id": "sales", "name": "Sales", "staff": [1]}],
        });
        let stored = apply(None, &first).unwrap();
        let same = apply(Some(&stored), &json!({})).unwrap();
        assert_eq!(same, stored);
        let second = json!({"products": [{"id": "warranty", "name": "Guarantee", "gross": "499.00"}], "calendars": []});
        let catalogue = apply(Some(&stored), &second).unwrap().catalogue;
        let named = |id| {
            (
                catalogue.product(id).is_some(),
                catalogue.known_product(id).map(|product| &*product.name),
            )
        };
        assert_eq!(named("warranty"), (true, Some("Guarantee")));
        assert_eq!(named("mats"), (false, Some("Mats")));
        assert!(catalogue.calendar("sales").is_none() && catalogue.known_calendar("sales").is_some());
    }

    #[test]
    fn faults_of_products_are_reported_by_their_paths() {
        let faulty = json!({"products": [
            {"id": "a", "name": "A", "gross": "-0.01"},
            {"id": "a", "name": "B", "gross": "100000000.00"},
            {"id": "", "name": " ", "gross": "1", "vat_scheme": "exempt", "vat_rate": "20", "nominal": "1".repeat(33)},
            {"id": "b", "name": "B", "gross": "99999999.99", "vat_scheme": "standard", "vat_rate": "5.5", "nominal": "4010"},
        ]});
        let expected = [
            "products.1",
            "products.0.gross",
            "products.1.gross",
            "products.2.id",
            "products.2.name",
            "products.2.vat_rate",
            "products.2.nominal",
        ];
        assert_eq!(apply(None, &faulty).unwrap_err(), expected);
        for wrong in [
            json!({"vat_scheme": "reduced"}),
            json!({"vat_rate": "100.01"}),
            json!({"gross": "1.001"}),
            json!({"vat": 1}),
        ] {
            let mut product = json!({"id": "a", "name": "A", "gross": "1"});
            let members = wrong.as_object().unwrap().clone();
            product.as_object_mut().unwrap().extend(members);
            let file = json!({"tag": "acme", "name": "Acme", "products": [product]});
            assert!(serde_json::from_value::<BusinessFile>(file).is_err(), "{wrong}");
        }
    }

    #[test]
    fn faults_of_calendars_are_reported_by_their_paths() {
        let faulty = json!({
            "calendars": [
                {"id": "sales", "name": "Sales", "capacity": 0, "staff": [1, 1, 7], "step_minutes": 0, "buffer_minutes": 1_441,
                 "notice_minutes": 525_601, "opening_hours": {"tue": [["09:00", "12:00"], ["11:00", "13:00"]]}},
                {"id": "sales", "name": ""},
            ],
            "booking_types": [
                {"id": "viewing", "name": "Viewing", "calendar": "sales"},
                {"id": "call", "name": "Call"},
                {"id": "service", "name": "Service", "calendar": "workshop"},
            ],
        });
        let expected = [
            "calendars.1",
            "calendars.0.capacity",
            "calendars.0.staff.1",
            "calendars.0.staff.2",
            "calendars.0.opening_hours.tue.1",
            "calendars.0.step_minutes",
            "calendars.0.buffer_minutes",
            "calendars.0.notice_minutes",
            "calendars.1.name",
            "booking_types.2.calendar",
        ];
        assert_eq!(apply(None, &faulty).unwrap_err(), expected);
    }

    #[test]
    fn a_booking_type_may_name_a_calendar_while_none_is_declared() {
        let types = json!({"booking_types": [{"id": "viewing", "name": "Viewing", "calendar": "sales"}]});
        assert!(apply(None, &types).is_ok());
    }

    #[test]
    fn a_calendar_has_the_hours_of_the_business_or_its_own() {
        let business = apply(
            None,
            &json!({
                "settings": {"opening_hours": {"mon": [["09:00", "18:00"]]}},
                "calendars": [
                    {"id": "sales", "name": "Sales"},
                    {"id": "workshop", "name": "Workshop", "opening_hours": {"mon": [["08:00", "12:00"]]}},
                ],
            }),
        )
        .unwrap();
        let opens = |id| {
            let hours = business
                .opening_hours(business.catalogue.calendar(id).unwrap())
                .unwrap();
            hours.mon[0].opens().to_string()
        };
        assert_eq!((opens("sales"), opens("workshop")), ("09:00".into(), "08:00".into()));
    }
}
