//! The declarative file that creates or changes a business (decisions §2).

use forecourt_kernel::{BusinessId, Country, Money, TimeZone, Timestamp, ValidationErrors};
use forecourt_reference::{
    BookingType, Catalogue, Channel, JobBoard, Location, MediaBackground, OptionList, Site, StaffUser, StockType, Tag,
    TagResource, VehicleOptions,
};
use serde::{Deserialize, Deserializer};
use validator::{ValidateEmail, ValidateUrl};

use crate::{Business, FinanceSettings, MailKind, MailTexts, Plan, Settings, State, mail::validate_mails};

/// A business as declared by its file. A member that the file omits keeps its stored value, or takes the default on creation.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the members are those of Business and Catalogue")]
pub struct BusinessFile {
    pub tag: String,
    pub name: String,
    pub email: Option<String>,
    pub country: Option<Country>,
    pub website: Option<String>,
    pub verified: Option<bool>,
    pub state: Option<State>,
    pub plan: Option<Plan>,
    pub api_access: Option<bool>,
    pub settings: Option<SettingsFile>,
    pub sites: Option<Vec<Site>>,
    pub locations: Option<Vec<Location>>,
    pub staff: Option<Vec<StaffUser>>,
    pub tags: Option<Vec<Tag>>,
    pub channels: Option<Vec<Channel>>,
    pub booking_types: Option<Vec<BookingType>>,
    pub media_backgrounds: Option<Vec<MediaBackground>>,
    pub job_boards: Option<Vec<JobBoard>>,
    pub vehicle_options: Option<VehicleOptions>,
}

/// The settings in a business file. An omitted one keeps its stored value, and null removes it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the members are those of Settings")]
pub struct SettingsFile {
    #[serde(deserialize_with = "given")]
    pub publish_limit: Option<Option<u32>>,
    #[serde(deserialize_with = "given")]
    pub reserve_deposit: Option<Option<Money>>,
    #[serde(deserialize_with = "given")]
    pub sold_retention_days: Option<Option<u32>>,
    #[serde(deserialize_with = "given")]
    pub test_drive_terms: Option<Option<String>>,
    #[serde(deserialize_with = "given")]
    pub finance: Option<Option<FinanceSettings>>,
    #[serde(deserialize_with = "given")]
    pub storage_limit_mb: Option<Option<u32>>,
    #[serde(deserialize_with = "given")]
    pub language: Option<Option<String>>,
    #[serde(deserialize_with = "given")]
    pub timezone: Option<Option<TimeZone>>,
    #[serde(deserialize_with = "given")]
    pub mail_texts: Option<Option<MailTexts>>,
}

/// Distinguishes a member that is null from an absent one.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// The file's values contradict each other or are out of range.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct InvalidBusinessFile(pub ValidationErrors);

impl BusinessFile {
    /// Merges the file into `stored`, or into a new business, and returns the result. `updated` changes only if something else
    /// does. `mails` are all mails whose texts a business can change.
    ///
    /// # Errors
    /// [`InvalidBusinessFile`] with every fault.
    pub fn apply(
        self,
        stored: Option<&Business>,
        mails: &[&MailKind],
        now: Timestamp,
    ) -> Result<Business, InvalidBusinessFile> {
        let mut business = stored
            .cloned()
            .unwrap_or_else(|| new_business(&self.tag, &self.name, now));
        let Self {
            tag,
            name,
            email,
            country,
            website,
            verified,
            state,
            plan,
            api_access,
            settings,
            sites,
            locations,
            staff,
            tags,
            channels,
            booking_types,
            media_backgrounds,
            job_boards,
            vehicle_options,
        } = self;
        business.tag = tag;
        business.name = name;
        overlay(&mut business.email, email);
        overlay(&mut business.country, country);
        overlay(&mut business.website, website);
        overlay(&mut business.verified, verified);
        overlay(&mut business.state, state);
        overlay(&mut business.plan, plan);
        overlay(&mut business.api_access, api_access);
        if let Some(settings) = settings {
            settings.apply(&mut business.settings);
        }
        let catalogue = &mut business.catalogue;
        overlay(&mut catalogue.sites, sites);
        if let Some(locations) = locations {
            catalogue.replace_locations(locations);
        }
        overlay(&mut catalogue.staff, staff);
        overlay(&mut catalogue.tags, tags);
        if let Some(channels) = channels {
            catalogue.replace_channels(channels);
        }
        overlay(&mut catalogue.booking_types, booking_types);
        overlay(&mut catalogue.media_backgrounds, media_backgrounds);
        overlay(&mut catalogue.job_boards, job_boards);
        catalogue.vehicle_options.extend(vehicle_options.unwrap_or_default());

        validate(&business, mails)
            .into_result(())
            .map_err(InvalidBusinessFile)?;
        if stored.is_some_and(|stored| *stored != business) {
            // Always later than before, because it distinguishes two states of the business.
            business.updated = now.max(business.updated.plus_seconds(1));
        }
        Ok(business)
    }
}

impl SettingsFile {
    fn apply(self, stored: &mut Settings) {
        let Self {
            publish_limit,
            reserve_deposit,
            sold_retention_days,
            test_drive_terms,
            finance,
            storage_limit_mb,
            language,
            timezone,
            mail_texts,
        } = self;
        overlay(&mut stored.publish_limit, publish_limit);
        overlay(&mut stored.reserve_deposit, reserve_deposit);
        overlay(&mut stored.sold_retention_days, sold_retention_days);
        overlay(&mut stored.test_drive_terms, test_drive_terms);
        overlay(&mut stored.finance, finance);
        overlay(&mut stored.storage_limit_mb, storage_limit_mb);
        overlay(&mut stored.language, language);
        overlay(&mut stored.timezone, timezone);
        overlay(&mut stored.mail_texts, mail_texts);
    }
}

fn overlay<T>(stored: &mut T, declared: Option<T>) {
    if let Some(declared) = declared {
        *stored = declared;
    }
}

fn new_business(tag: &str, name: &str, now: Timestamp) -> Business {
    Business {
        created: now,
        updated: now,
        // Storage assigns the id.
        ..Business::new(BusinessId::new(0), tag, name)
    }
}

fn validate(business: &Business, mails: &[&MailKind]) -> ValidationErrors {
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
    validate_mails(&business.settings, mails, &mut errors);
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
    use super::*;

    const NOW: Timestamp = Timestamp::from_epoch_seconds(1_000);
    const LATER: Timestamp = Timestamp::from_epoch_seconds(2_000);

    fn file(json: &str) -> BusinessFile {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_new_business_takes_the_defaults() {
        let business = file(r#"{"tag": "acme", "name": "Acme Cars"}"#)
            .apply(None, &[], NOW)
            .unwrap();
        assert!(business.verified && business.api_access);
        assert_eq!((business.state, business.plan), (State::Active, Plan::Growth));
        assert_eq!(business.catalogue.channels[0].id, "website");
        assert_eq!(business.catalogue.sites.len(), 1);
    }

    #[test]
    fn what_a_file_omits_stays_as_it_is_stored() {
        let first =
            file(r#"{"tag": "acme", "name": "Acme", "plan": "scale", "locations": [{"id": "1", "name": "Front"}]}"#);
        let stored = first.apply(None, &[], NOW).unwrap();
        let changed = file(r#"{"tag": "acme", "name": "Acme Cars"}"#)
            .apply(Some(&stored), &[], LATER)
            .unwrap();
        assert_eq!((changed.plan, changed.catalogue.locations.len()), (Plan::Scale, 1));
        assert_eq!((changed.created, changed.updated), (NOW, LATER));
        let same = file(r#"{"tag": "acme", "name": "Acme Cars"}"#)
            .apply(Some(&changed), &[], LATER.plus_seconds(1))
            .unwrap();
        assert_eq!(same, changed);
    }

    #[test]
    fn what_a_file_drops_is_remembered_until_it_comes_back() {
        let apply = |stored: Option<&Business>, lists: &str| {
            let json = format!(r#"{{"tag": "acme", "name": "Acme", {lists}}}"#);
            file(&json).apply(stored, &[], NOW).unwrap()
        };
        let first = apply(
            None,
            r#""locations": [{"id": "1", "name": "Front"}, {"id": "2", "name": "Back"}],
               "channels": [{"id": "website", "name": "Website"}, {"id": "a", "name": "A"}]"#,
        );
        let renamed = apply(
            Some(&first),
            r#""locations": [{"id": "1", "name": "Forecourt"}, {"id": "2", "name": "Back"}]"#,
        );
        assert_eq!(renamed.catalogue.former_locations, []);
        let dropped = apply(
            Some(&renamed),
            r#""locations": [{"id": "2", "name": "Back"}], "channels": []"#,
        );
        let former: Vec<_> = dropped.catalogue.former_locations.iter().map(|it| &*it.name).collect();
        assert_eq!(former, ["Forecourt"]);
        assert_eq!(dropped.catalogue.former_channels, ["website", "a"]);
        let none = apply(
            Some(&dropped),
            r#""locations": [], "channels": [{"id": "a", "name": "A"}]"#,
        );
        let former: Vec<_> = none.catalogue.former_locations.iter().map(|it| &*it.id).collect();
        assert_eq!(former, ["2", "1"]);
        assert_eq!(none.catalogue.former_channels, ["website"]);
        let back = apply(Some(&none), r#""locations": [{"id": "1", "name": "Showroom"}]"#);
        let known: Vec<_> = back.catalogue.known_locations().map(|it| &*it.name).collect();
        assert_eq!(known, ["Showroom", "Back"]);
    }

    #[test]
    fn settings_and_lists_of_options_are_kept_one_by_one() {
        let first = r#"{"tag": "acme", "name": "Acme", "settings": {"publish_limit": 7, "test_drive_terms": "T"},
            "vehicle_options": {"colour": ["Nardo Grey"], "body": ["Ute"]}}"#;
        let stored = file(first).apply(None, &[], NOW).unwrap();
        let second = r#"{"tag": "acme", "name": "Acme", "settings": {"sold_retention_days": 3, "test_drive_terms": null},
            "vehicle_options": {"body": []}}"#;
        let changed = file(second).apply(Some(&stored), &[], LATER).unwrap();
        let expected = Settings {
            publish_limit: Some(7),
            sold_retention_days: Some(3),
            ..Settings::default()
        };
        assert_eq!(changed.settings, expected);
        let options = &changed.catalogue.vehicle_options;
        assert_eq!((options["colour"].len(), options["body"].len()), (1, 0));
    }

    #[test]
    fn values_are_added_to_lists_that_there_are() {
        let good =
            file(r#"{"tag": "acme", "name": "Acme", "vehicle_options": {"colour": ["Nardo Grey"], "body": []}}"#);
        assert_eq!(good.apply(None, &[], NOW).unwrap().catalogue.vehicle_options.len(), 2);
        let faulty = file(r#"{"tag": "acme", "name": "Acme", "vehicle_options": {"color": ["Grey"], "fuel": [" "]}}"#);
        let InvalidBusinessFile(errors) = faulty.apply(None, &[], NOW).unwrap_err();
        let fields: Vec<_> = errors.as_slice().iter().map(|error| error.field.as_str()).collect();
        assert_eq!(fields, ["vehicle_options.color", "vehicle_options.fuel"]);
        assert!(errors.to_string().contains("vehicle_options.color"), "{errors}");
    }

    #[test]
    fn every_fault_is_reported() {
        let faulty = file(
            r#"{"tag": "No Spaces", "name": " ", "email": "nobody", "staff": [{"id": 0, "name": "A"}, {"id": 0, "name": "B"}],
                "tags": [{"resource": "vehicle", "name": "Ready"}]}"#,
        );
        let InvalidBusinessFile(errors) = faulty.apply(None, &[], NOW).unwrap_err();
        let fields: Vec<_> = errors.as_slice().iter().map(|error| error.field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "tag",
                "name",
                "email",
                "staff.1",
                "staff.0.id",
                "staff.1.id",
                "tags.0.type"
            ]
        );
    }
}
