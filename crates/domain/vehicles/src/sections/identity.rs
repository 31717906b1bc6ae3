use forecourt_kernel::{Date, ValidationErrors};
use forecourt_reference::{Taxonomy, VehicleClass, VehicleOptions};

use crate::declare::section;
use crate::values::{
    BedroomLayouts, Bodies, Colours, Drivetrains, EndLayouts, Fuels, Listed, Transmissions, WordOrEmpty, YesNo,
};

section! {
    /// The identity of a vehicle (contract, "data.vehicle").
    pub struct Identity: IdentityPatch {
        /// Class, case-sensitive.
        class as "type": WordOrEmpty<VehicleClass>, advert;
        /// Make. A make that the taxonomy knows is stored in its spelling.
        make: String, advert, filter_pattern("make");
        /// Model. A model that the taxonomy knows for the make is stored in its spelling.
        model: String, advert, filter_pattern("model");
        /// Generation of the model.
        generation: String, advert, filter_pattern("generation");
        /// Derivative.
        derivative: String, advert, filter_pattern("derivative");
        /// Trim.
        trim: String, advert;
        /// Engine size in litres.
        engine_size: String, advert;
        /// Body style.
        body: WordOrEmpty<Listed<Bodies>>, advert, filter_pattern("body");
        /// Basic colour.
        colour: WordOrEmpty<Listed<Colours>>, advert, filter_pattern("colour");
        /// Manufacturer's name of the colour.
        colour_name: String, advert;
        /// Fuel.
        fuel: WordOrEmpty<Listed<Fuels>>, advert, filter_pattern("fuel");
        /// Transmission.
        transmission: WordOrEmpty<Listed<Transmissions>>, advert, filter_pattern("transmission");
        /// Drivetrain; for cars and bikes.
        drivetrain: WordOrEmpty<Listed<Drivetrains>>, advert;
        /// Number of seats.
        seats: Option<u32>, advert;
        /// Number of doors.
        doors: Option<u32>, advert;
        /// Wheelbase; for vans.
        wheelbase: String;
        /// Cab; for vans and trucks.
        cab_type: String;
        /// Mileage in miles.
        mileage: Option<u32>, advert, filter_range("mileage");
        /// Date of first registration.
        registered: Option<Date>, advert;
        /// Category; for farm machines, plant and trucks.
        category: String;
        /// Side on which the driver sits.
        driver_position: String, advert;
        /// Upholstery.
        interior_upholstery: String, advert;
        /// Colour of the interior.
        interior_colour: String, advert;
        /// Finish of the exterior.
        exterior_finish: String, advert;
        /// Label for grouping vehicles.
        group: String;
        /// Hours of use.
        hour: String, read_only;
        /// Layout of the bedroom; for caravans and motorhomes.
        bedroom_layout: Option<Listed<BedroomLayouts>>, advert;
        /// Layout of the rear end; for caravans and motorhomes.
        end_layout: Option<Listed<EndLayouts>>, advert;
        /// Number of bedrooms; for caravans and motorhomes.
        bedroom: Option<u32>, advert;
        /// Number of berths; for caravans and motorhomes.
        berth: Option<u32>, advert;
        /// Number of seats with a belt; for caravans and motorhomes.
        seat_belt: Option<u32>, advert;
        /// Wheelchair access: Yes or No; for caravans and motorhomes.
        wheelchair: Option<YesNo>, advert;
    }
}

/// The fields with words of option lists that a write changes, and whether it changes the class.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ChangedWords {
    class: bool,
    body: bool,
    colour: bool,
    fuel: bool,
    transmission: bool,
    drivetrain: bool,
    bedroom_layout: bool,
    end_layout: bool,
}

impl ChangedWords {
    /// Returns the fields that `patch` changes.
    pub(crate) const fn of(patch: &IdentityPatch) -> Self {
        Self {
            class: patch.class.is_some() || patch.cleared,
            body: patch.body.is_some(),
            colour: patch.colour.is_some(),
            fuel: patch.fuel.is_some(),
            transmission: patch.transmission.is_some(),
            drivetrain: patch.drivetrain.is_some(),
            bedroom_layout: patch.bedroom_layout.is_some(),
            end_layout: patch.end_layout.is_some(),
        }
    }
}

impl Identity {
    /// Spells make and model as the taxonomy does, if it knows them. Unknown ones stay as they were sent (contract,
    /// "data.vehicle").
    pub(crate) fn match_names(&mut self) {
        let taxonomy = Taxonomy::built_in();
        if let Some((make, model)) = taxonomy.model(self.class.0, &self.make, &self.model) {
            make.name().clone_into(&mut self.make);
            model.name().clone_into(&mut self.model);
        } else if let Some(make) = taxonomy.make(self.class.0, &self.make) {
            make.name().clone_into(&mut self.make);
        }
    }

    /// Spells the words that a write changes as the lists for the vehicle's class do. If the write changes the class, the other
    /// words are spelt anew too. A word that is no longer in any list stays with the vehicle.
    pub(crate) fn validate_words(&mut self, changed: ChangedWords, own: &VehicleOptions) -> ValidationErrors {
        let mut errors = ValidationErrors::new();
        let class = self.class.0;
        macro_rules! fit {
            ($($field:ident: $word:expr;)+) => {$(
                if let Some(word) = $word
                    && (changed.$field || (changed.class && word.is_known(own)))
                    && let Err(message) = word.fit(class, own)
                {
                    errors.add(concat!("data.vehicle.", stringify!($field)), message);
                }
            )+};
        }
        fit! {
            body: &mut self.body.0;
            colour: &mut self.colour.0;
            fuel: &mut self.fuel.0;
            transmission: &mut self.transmission.0;
            drivetrain: &mut self.drivetrain.0;
            bedroom_layout: &mut self.bedroom_layout;
            end_layout: &mut self.end_layout;
        }
        errors
    }
}

impl IdentityPatch {
    /// Returns the faults of its words for the class that it names. Without a class they can be checked only for the whole
    /// vehicle ([`Identity::validate_words`]).
    pub(crate) fn validate_words(&self, own: &VehicleOptions) -> ValidationErrors {
        let Some(class @ WordOrEmpty(Some(_))) = self.class.clone() else {
            return ValidationErrors::new();
        };
        let mut named = Identity {
            class,
            body: self.body.clone().unwrap_or_default(),
            colour: self.colour.clone().unwrap_or_default(),
            fuel: self.fuel.clone().unwrap_or_default(),
            transmission: self.transmission.clone().unwrap_or_default(),
            drivetrain: self.drivetrain.clone().unwrap_or_default(),
            bedroom_layout: self.bedroom_layout.clone().flatten(),
            end_layout: self.end_layout.clone().flatten(),
            ..Identity::default()
        };
        named.validate_words(ChangedWords::of(self), own)
    }
}
