//! Makes leads.

use forecourt_accounts::Business;
use forecourt_dealership::Loaded;
use forecourt_kernel::{Date, SiteId, StaffId, Timestamp, VehicleId};
use forecourt_leads::{AiRead, JunkConfidence, LeadData, LeadDraft, LeadStatus, Rating};
use forecourt_reference::{Catalogue, LeadChannel, LeadType, TagChoice, TagResource};
use rand::{Rng, RngExt, SeedableRng, rngs::Xoshiro256PlusPlus};
use serde::Serialize;

use super::{
    known::{ExistingRecords, KnownVehicle},
    people::{Person, landline, mobile},
    pick::{any, chance, one, weighted, when},
    texts::{CARS, CHANNELS, DAYS, JUNK, NEW, OLD, SCRIPTS, Script, Words},
};

const DAY: i64 = 86_400;
/// The time in seconds for which a lead counts as recent: many that arrived since are still open.
const RECENT: i64 = 14 * DAY;

/// The time over which records were made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Period {
    from: Timestamp,
    seconds: i64,
}

impl Period {
    /// Returns this number of days up to the beginning of today, so that the result does not depend on the time of day.
    pub(crate) fn days_before(now: Timestamp, days: i64) -> Self {
        Self {
            from: now.date().midnight().plus_seconds(-days * DAY),
            seconds: days * DAY,
        }
    }

    /// Returns the start of the `at`th of `count` records, if all are equally far apart.
    fn start_of(&self, at: u64, count: u64) -> i64 {
        let seconds = i128::from(self.seconds) * i128::from(at) / i128::from(count.max(1));
        i64::try_from(seconds).unwrap_or(self.seconds)
    }

    /// Returns a random moment between the start of this record and that of the next.
    pub(super) fn moment(&self, rng: &mut impl Rng, at: u64, count: u64) -> Timestamp {
        let start = self.start_of(at, count);
        let next = self.start_of(at + 1, count);
        let offset = if next > start {
            rng.random_range(start..next)
        } else {
            start
        };
        self.from.plus_seconds(offset)
    }

    /// Returns the end of the period.
    pub(super) fn end(&self) -> Timestamp {
        self.from.plus_seconds(self.seconds)
    }

    /// Returns a random moment in the given number of seconds after `moment`, but not after the period.
    pub(super) fn later(&self, rng: &mut impl Rng, moment: Timestamp, seconds: std::ops::Range<i64>) -> Timestamp {
        moment.plus_seconds(rng.random_range(seconds)).min(self.end())
    }
}

/// The percentage of leads that come from contacts of the business.
const KNOWN_CONTACTS: u32 = 35;

/// A lead, and the vehicle that it concerns.
pub(crate) type MadeLead = (Loaded<LeadDraft>, Option<VehicleId>);

/// Returns true if the writer of such a text asks about a vehicle of the business, not about their own.
fn is_about_stock(status: LeadStatus, script: &Script) -> bool {
    let own = matches!(
        script.about,
        LeadType::Valuation
            | LeadType::Service
            | LeadType::Warranty
            | LeadType::Parts
            | LeadType::Feedback
            | LeadType::Other
    );
    status != LeadStatus::Junk && !own && script.message.contains("{car}")
}

/// An endless source of leads for one business. The same business, seed and calls give the same leads.
pub(crate) struct Generator {
    rng: Xoshiro256PlusPlus,
    period: Period,
    tags: Vec<String>,
    staff: Vec<StaffId>,
    sites: Vec<(SiteId, String)>,
    known: ExistingRecords,
}

/// The values of a lead's free-form detail.
#[derive(Serialize)]
struct Detail<'a> {
    source: &'a str,
    subject: &'a str,
    message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    url: &'a str,
}

impl Generator {
    /// Makes a source of leads that arrived over `period`, some from contacts of the business and most about its vehicles.
    pub(crate) fn new(business: &Business, seed: u64, period: Period, known: ExistingRecords) -> Self {
        let catalogue = &business.catalogue;
        let lead_tags = catalogue.tags_of(TagResource::Lead);
        let sites = catalogue.listed_sites(&business.name);
        Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            period,
            tags: lead_tags.map(|tag| tag.name.clone()).collect(),
            staff: catalogue.staff.iter().map(|user| user.id).collect(),
            sites: sites.into_iter().map(|site| (site.id, site.name)).collect(),
            known,
        }
    }

    /// Returns the `at`th of `count` leads, in order of arrival, with the vehicle that it concerns.
    pub(crate) fn lead(&mut self, at: u64, count: u64) -> MadeLead {
        let created = self.period.moment(&mut self.rng, at, count);
        let age = self.period.end().epoch_seconds() - created.epoch_seconds();
        let status = *weighted(&mut self.rng, if age < RECENT { &NEW } else { &OLD });
        self.made(status, created)
    }

    /// Returns the same, with a given status.
    pub(crate) fn lead_with(&mut self, status: LeadStatus, at: u64, count: u64) -> MadeLead {
        let created = self.period.moment(&mut self.rng, at, count);
        self.made(status, created)
    }

    fn made(&mut self, status: LeadStatus, created: Timestamp) -> MadeLead {
        let script = weighted(&mut self.rng, if status == LeadStatus::Junk { &JUNK } else { &SCRIPTS });
        let vehicle = if is_about_stock(status, script) {
            self.known.vehicle_there(&mut self.rng, created).cloned()
        } else {
            None
        };
        let content = self.draft(status, created, script, vehicle.as_ref());
        let lead = Loaded {
            updated: self.touched(&content, created),
            content,
            created,
        };
        (lead, vehicle.map(|vehicle| vehicle.id))
    }

    /// Returns the time of a lead's last change: its arrival if nothing has happened to it since.
    fn touched(&mut self, lead: &LeadDraft, created: Timestamp) -> Timestamp {
        let read = lead.ai.as_ref().and_then(|ai| ai.processed);
        let after = match lead.status {
            LeadStatus::New if lead.assign.is_empty() && lead.tags.is_empty() => return read.unwrap_or(created),
            LeadStatus::New => 60..2 * 3_600,
            LeadStatus::NewMessage => 3_600..3 * DAY,
            LeadStatus::Read => 300..8 * 3_600,
            LeadStatus::Replied => 900..2 * DAY,
            LeadStatus::Closed => 3_600..21 * DAY,
            LeadStatus::Junk => 30..DAY,
        };
        self.period
            .later(&mut self.rng, created, after)
            .max(created.plus_seconds(1))
            .max(read.unwrap_or(created))
    }

    fn draft(
        &mut self,
        status: LeadStatus,
        created: Timestamp,
        script: &Script,
        vehicle: Option<&KnownVehicle>,
    ) -> LeadDraft {
        let known = if status != LeadStatus::Junk && chance(&mut self.rng, KNOWN_CONTACTS) {
            self.known.customer_before(&mut self.rng, created).cloned()
        } else {
            None
        };
        let end = self.period.end();
        let rng = &mut self.rng;
        let junk = status == LeadStatus::Junk;
        let &(channel, source) = weighted(rng, &CHANNELS);
        let person = Person::random(rng);
        let name = known
            .as_ref()
            .map_or_else(|| person.name(), |contact| contact.name.clone());
        let some_car = *one(rng, &CARS);
        let car = vehicle.map_or(some_car, |vehicle| vehicle.title.as_str());
        let &day = one(rng, &DAYS);
        let (site, site_name) = one(rng, &self.sites);
        let words = Words {
            car,
            name: &name,
            day,
            site: site_name,
        };
        let online = matches!(
            channel,
            LeadChannel::Website | LeadChannel::Marketplace | LeadChannel::Social
        );
        let url = vehicle
            .filter(|_| online)
            .map_or("", |vehicle| vehicle.address.as_str());
        let data = detail(&Detail {
            source,
            subject: &words.fill(script.subject),
            message: &words.fill(script.message),
            url,
        });
        // Only leads that the AI has read can have become junk because of it.
        let read = junk || chance(rng, 90);
        let oral = matches!(channel, LeadChannel::Phone | LeadChannel::Sms | LeadChannel::Whatsapp);
        let email = when(!oral || chance(rng, 30), &person.email(rng));
        let reachable_by_mail = !email.is_empty() && chance(rng, 28);
        let phone = when(chance(rng, 22), &landline(rng));
        let mobile = when(!reachable_by_mail, &mobile(rng));
        // A known contact writes from their usual addresses.
        let (email, phone, mobile) = match &known {
            Some(contact) => (contact.email.clone(), contact.telephone.clone(), contact.mobile.clone()),
            None => (email, phone, mobile),
        };
        LeadDraft {
            site: *site,
            channel,
            email,
            phone,
            mobile,
            contact: known.as_ref().map(|contact| contact.id),
            types: types(rng, script.about),
            status,
            rating: Rating::new(script.rating).filter(|_| read),
            summary: read.then(|| words.fill(script.summary)),
            session: when(
                channel == LeadChannel::Website,
                &format!("{:016x}", rng.random::<u64>()),
            ),
            assign: assigned(rng, status, &self.staff),
            tags: tags(rng, &self.tags),
            stat: !junk,
            reopen: reopening(rng, status, end),
            data,
            ai: read.then(|| ai_read(rng, script, junk, created, end)),
            name,
            ..LeadDraft::blank(&Catalogue::default())
        }
    }
}

fn detail(detail: &Detail<'_>) -> LeadData {
    let text = serde_json::to_string(detail);
    // Each text by itself is valid JSON, and far below the limit.
    text.and_then(|text| serde_json::from_str(&text)).unwrap_or_default()
}

/// Returns the types of an enquiry. Some are about finance as well.
fn types(rng: &mut impl Rng, about: LeadType) -> Vec<LeadType> {
    let buying = matches!(
        about,
        LeadType::TestDrive | LeadType::Availability | LeadType::PartExchange
    );
    if buying && chance(rng, 15) {
        vec![about, LeadType::Finance]
    } else {
        vec![about]
    }
}

fn ai_read(rng: &mut impl Rng, script: &Script, junk: bool, created: Timestamp, end: Timestamp) -> AiRead {
    let confidence = if chance(rng, 80) {
        JunkConfidence::High
    } else {
        JunkConfidence::Medium
    };
    AiRead {
        intent: Some(script.about),
        rating_reason: Some(script.reason.to_owned()),
        next_action: Some(script.next_action.to_owned()),
        junk,
        junk_confidence: junk.then_some(confidence),
        processed: Some(created.plus_seconds(rng.random_range(1..=5)).min(end)),
    }
}

/// Returns the assignees. A lead that was touched mostly has one, sometimes two.
fn assigned(rng: &mut impl Rng, status: LeadStatus, staff: &[StaffId]) -> Vec<StaffId> {
    let share = match status {
        LeadStatus::New => 25,
        LeadStatus::NewMessage => 60,
        LeadStatus::Read | LeadStatus::Replied | LeadStatus::Closed => 92,
        LeadStatus::Junk => 3,
    };
    let mut assigned = Vec::new();
    if chance(rng, share) {
        assigned.extend(any(rng, staff).copied());
        if chance(rng, 8) {
            assigned.extend(any(rng, staff).filter(|second| !assigned.contains(second)).copied());
        }
    }
    assigned
}

fn tags(rng: &mut impl Rng, taxonomy: &[String]) -> Vec<TagChoice> {
    let mut tags: Vec<TagChoice> = Vec::new();
    let &wanted = weighted(rng, &[(45, 0), (38, 1), (17, 2)]);
    for _ in 0..wanted {
        let new = any(rng, taxonomy).filter(|name| tags.iter().all(|tag| tag.name != **name));
        tags.extend(new.map(|name| TagChoice {
            name: name.clone(),
            checked: true,
        }));
    }
    tags
}

/// Returns the day of reopening: a few of the closed leads reopen within three months.
fn reopening(rng: &mut impl Rng, status: LeadStatus, after: Timestamp) -> Option<Date> {
    let wanted = status == LeadStatus::Closed && chance(rng, 4);
    wanted.then(|| after.plus_seconds(rng.random_range(1..=90) * DAY).date())
}

#[cfg(test)]
mod tests;
