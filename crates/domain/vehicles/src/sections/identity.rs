use forecourt_kernel::Date;
use forecourt_reference::{Taxonomy, VehicleClass};

use crate::declare::section;
use crate::values::{
    BedroomLayouts, Bodies, Colours, Drivetrains, EndLayouts, Fuels, Listed, Transmissions, Worded, YesNo,
};

section! {
    /// What a vehicle is (contract, "data.vehicle").
    pub struct Identity: IdentityPatch {
        /// Class, case-sensitive.
        class as "type": Worded<VehicleClass>, advert;
        /// Make; one that the taxonomy knows is kept as the taxonomy spells it.
        make: String, advert, filter_pattern("make");
        /// Model.
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
        body: Worded<Listed<Bodies>>, advert, filter_pattern("body");
        /// Basic colour.
        colour: Worded<Listed<Colours>>, advert, filter_pattern("colour");
        /// Manufacturer's name of the colour.
        colour_name: String, advert;
        /// Fuel.
        fuel: Worded<Listed<Fuels>>, advert, filter_pattern("fuel");
        /// Transmission.
        transmission: Worded<Listed<Transmissions>>, advert, filter_pattern("transmission");
        /// Which wheels are driven, and by what; of cars and bikes.
        drivetrain: Worded<Listed<Drivetrains>>, advert;
        /// Seats.
        seats: Option<u32>, advert;
        /// Doors.
        doors: Option<u32>, advert;
        /// Wheelbase; of vans.
        wheelbase: String;
        /// Cab; of vans and trucks.
        cab_type: String;
        /// Mileage in miles.
        mileage: Option<u32>, advert, filter_range("mileage");
        /// Date of first registration.
        registered: Option<Date>, advert;
        /// Category; of farm machines, plant and trucks.
        category: String;
        /// On which side the driver sits.
        driver_position: String, advert;
        /// Upholstery.
        interior_upholstery: String, advert;
        /// Colour of the interior.
        interior_colour: String, advert;
        /// Finish of the exterior.
        exterior_finish: String, advert;
        /// Label to group vehicles by.
        group: String;
        /// Hours of use.
        hour: String, read_only;
        /// Layout of the bedroom; of caravans and motorhomes.
        bedroom_layout: Option<Listed<BedroomLayouts>>, advert;
        /// Layout of the rear end; of caravans and motorhomes.
        end_layout: Option<Listed<EndLayouts>>, advert;
        /// Bedrooms; of caravans and motorhomes.
        bedroom: Option<u32>, advert;
        /// Berths; of caravans and motorhomes.
        berth: Option<u32>, advert;
        /// Seats with a belt; of caravans and motorhomes.
        seat_belt: Option<u32>, advert;
        /// Whether a wheelchair has access; of caravans and motorhomes.
        wheelchair: Option<YesNo>, advert;
    }
}

impl Identity {
    /// The make as the taxonomy spells it, if it knows it; any other is kept as it was sent (contract, "data.vehicle").
    pub(crate) fn match_make(&mut self) {
        if let Some(make) = Taxonomy::built_in().make(self.class.0, &self.make) {
            make.name().clone_into(&mut self.make);
        }
    }
}
