//! The declarative file that creates or changes a business (decisions §2).

use forecourt_kernel::{BusinessId, Country, Date, Money, TimeZone, Timestamp, ValidationErrors};
use forecourt_reference::{
    BookingType, Calendar, Channel, JobBoard, Location, MediaBackground, OpeningHours, Product, Site, StaffUser, Tag,
    VehicleOptions,
};
use serde::{Deserialize, Deserializer};

use crate::{
    Business, FinanceSettings, LegalFile, MailKind, MailTexts, Plan, Settings, State, validate::validate_business,
};

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
    pub legal: Option<LegalFile>,
    pub sites: Option<Vec<Site>>,
    pub locations: Option<Vec<Location>>,
    pub staff: Option<Vec<StaffUser>>,
    pub tags: Option<Vec<Tag>>,
    pub channels: Option<Vec<Channel>>,
    pub booking_types: Option<Vec<BookingType>>,
    pub media_backgrounds: Option<Vec<MediaBackground>>,
    pub job_boards: Option<Vec<JobBoard>>,
    pub products: Option<Vec<Product>>,
    pub calendars: Option<Vec<Calendar>>,
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
    #[serde(deserialize_with = "given")]
    pub invoice_due_days: Option<Option<u32>>,
    #[serde(deserialize_with = "given")]
    pub invoice_terms: Option<Option<String>>,
    #[serde(deserialize_with = "given")]
    pub order_terms: Option<Option<String>>,
    #[serde(deserialize_with = "given")]
    pub order_title: Option<Option<String>>,
    #[serde(deserialize_with = "given")]
    pub retention_years: Option<Option<u32>>,
    #[serde(deserialize_with = "given")]
    pub opening_hours: Option<Option<OpeningHours>>,
    #[serde(deserialize_with = "given")]
    pub closed_dates: Option<Option<Vec<Date>>>,
    #[serde(deserialize_with = "given")]
    pub appointment_reminder_minutes: Option<Option<u32>>,
    #[serde(deserialize_with = "given")]
    pub call_retention_days: Option<Option<u32>>,
}

/// Distinguishes a member that is null from an absent one.
pub(crate) fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
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
            legal,
            sites,
            locations,
            staff,
            tags,
            channels,
            booking_types,
            media_backgrounds,
            job_boards,
            products,
            calendars,
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
        if let Some(legal) = legal {
            legal.apply(&mut business.legal_details, business.country);
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
        if let Some(products) = products {
            catalogue.replace_products(products);
        }
        if let Some(calendars) = calendars {
            catalogue.replace_calendars(calendars);
        }
        catalogue.vehicle_options.extend(vehicle_options.unwrap_or_default());

        validate_business(&business, mails)
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
            invoice_due_days,
            invoice_terms,
            order_terms,
            order_title,
            retention_years,
            opening_hours,
            closed_dates,
            appointment_reminder_minutes,
            call_retention_days,
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
        overlay(&mut stored.invoice_due_days, invoice_due_days);
        overlay(&mut stored.invoice_terms, invoice_terms);
        overlay(&mut stored.order_terms, order_terms);
        overlay(&mut stored.order_title, order_title);
        overlay(&mut stored.retention_years, retention_years);
        overlay(&mut stored.opening_hours, opening_hours);
        overlay(&mut stored.closed_dates, closed_dates);
        overlay(&mut stored.appointment_reminder_minutes, appointment_reminder_minutes);
        overlay(&mut stored.call_retention_days, call_retention_days);
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
