//! The existing records of a business to which its made-up records refer.

use forecourt_contacts::{Contact, ContactType};
use forecourt_kernel::{ContactId, Timestamp, VehicleId};
use forecourt_reference::{StockType, VehicleClass};
use forecourt_vehicles::{Vehicle, VehicleStatus};
use rand::Rng;

use super::pick::any;

/// The number of tries to find a vehicle that was in stock at some moment.
const TRIES: u32 = 12;
/// The number of the newest vehicles among which one is looked for: people enquire about new ones.
const NEWEST: usize = 60;
/// The maximum number of words in the name of a vehicle, so that a summary of 12 words has room for it.
const TITLE_WORDS: usize = 4;

/// The existing records of a business, each list in order of arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExistingRecords {
    /// The number of its vehicles for sale or reserved.
    pub(crate) for_sale: u32,
    contacts: Vec<(ContactType, Vec<KnownContact>)>,
    vehicles: Vec<KnownVehicle>,
}

/// A contact of the business.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct KnownContact {
    pub(crate) id: ContactId,
    pub(crate) created: Timestamp,
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) telephone: String,
    pub(crate) mobile: String,
}

/// A vehicle that the business advertises, or has advertised.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct KnownVehicle {
    pub(crate) id: VehicleId,
    /// The time from which people could enquire about it.
    pub(crate) from: Timestamp,
    /// The time until which they could; `None` while they can.
    pub(crate) until: Option<Timestamp>,
    /// Make and model.
    pub(crate) title: String,
    /// Its public address; empty if it has none.
    pub(crate) address: String,
}

impl ExistingRecords {
    /// Makes a business that only has this number of vehicles for sale or reserved.
    pub(crate) fn new(for_sale: u32) -> Self {
        Self {
            for_sale,
            ..Self::default()
        }
    }

    /// Adds a contact, which arrived after the existing ones.
    pub(crate) fn add_contact(&mut self, contact: Contact) {
        let Contact {
            id, created, content, ..
        } = contact;
        let known = KnownContact {
            id,
            created,
            name: content.name,
            email: content.email,
            telephone: content.telephone,
            mobile: content.mobile,
        };
        for kind in content.types {
            match self.contacts.iter_mut().find(|(there, _)| *there == kind) {
                Some((_, contacts)) => contacts.push(known.clone()),
                None => self.contacts.push((kind, vec![known.clone()])),
            }
        }
    }

    /// Adds a vehicle, which arrived after the existing ones, if people enquire about its kind. `address` is its public one.
    pub(crate) fn add_vehicle(&mut self, vehicle: &Vehicle, address: String) {
        let content = &vehicle.content;
        let identity = &content.data.vehicle;
        let stock = matches!(content.kind, StockType::InStock | StockType::ToOrder);
        let driven = matches!(
            identity.class.0,
            Some(
                VehicleClass::Car
                    | VehicleClass::Crossover
                    | VehicleClass::Van
                    | VehicleClass::Bike
                    | VehicleClass::Motorhome
            )
        );
        if !stock || !driven || content.status == VehicleStatus::Draft {
            return;
        }
        let there = content.status.counts_as_for_sale();
        let mut title = format!("{} {}", identity.make, identity.model);
        if title.split(' ').count() > TITLE_WORDS {
            title.clone_from(&identity.model);
        }
        self.vehicles.push(KnownVehicle {
            id: vehicle.id,
            from: vehicle.created,
            until: (!there).then_some(vehicle.updated),
            title,
            address,
        });
    }

    /// Returns a contact of one of these types who existed at that moment.
    pub(crate) fn contact_before(
        &self,
        rng: &mut impl Rng,
        kinds: &[ContactType],
        moment: Timestamp,
    ) -> Option<&KnownContact> {
        let of_kind = self.contacts.iter().filter(|(kind, _)| kinds.contains(kind));
        let before = of_kind.map(|(_, contacts)| {
            let count = contacts.partition_point(|contact| contact.created <= moment);
            contacts.get(..count).unwrap_or_default()
        });
        let lists: Vec<_> = before.filter(|contacts| !contacts.is_empty()).collect();
        any(rng, &lists).and_then(|contacts| any(rng, contacts))
    }

    /// Returns a customer who existed at that moment, and whom an answer reaches.
    pub(crate) fn customer_before(&self, rng: &mut impl Rng, moment: Timestamp) -> Option<&KnownContact> {
        let found = self.contact_before(rng, &[ContactType::Customer], moment);
        found.filter(|contact| !contact.email.is_empty() || !contact.mobile.is_empty())
    }

    /// Returns a vehicle that people could enquire about at that moment.
    pub(crate) fn vehicle_there(&self, rng: &mut impl Rng, moment: Timestamp) -> Option<&KnownVehicle> {
        let count = self.vehicles.partition_point(|vehicle| vehicle.from <= moment);
        let newest = self.vehicles.get(count.saturating_sub(NEWEST)..count)?;
        let there = |vehicle: &&KnownVehicle| vehicle.until.is_none_or(|until| moment < until);
        (0..TRIES).find_map(|_| any(rng, newest).filter(there))
    }
}
