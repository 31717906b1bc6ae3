use crate::declare::section;
use crate::values::{Figure, Figures};

section! {
    /// A vehicle's data sheet (contract, "data.spec"). Figures are kept as they are sent: numbers, or texts with a unit.
    pub struct Spec: SpecPatch {
        /// Performance.
        performance: Performance;
        /// Engine.
        engine: Engine;
        /// Traction battery.
        battery: Battery;
        /// Fuel and emissions.
        fuel: Fuel;
        /// Measures and weights.
        size: Size;
        /// Insurance rating.
        insurance: Insurance;
        /// Other figures.
        other: OtherSpec;
    }
}

section! {
    /// The performance of a vehicle.
    pub struct Performance: PerformancePatch {
        /// Top speed in mph.
        top_speed: Option<Figure>;
        /// Seconds from 0 to 60 mph.
        zero_sixty: Option<Figure>;
        /// Seconds from 0 to 62 mph.
        zero_sixty_two: Option<Figure>;
    }
}

section! {
    /// A vehicle's engine.
    pub struct Engine: EnginePatch {
        /// Manufacturer of the engine.
        make: Option<Figure>;
        /// Model of the engine.
        model: Option<Figure>;
        /// Code of the engine.
        code: Option<Figure>;
        /// Number of cylinders.
        cylinders: Option<Figure>;
        /// Arrangement of the cylinders.
        cylinder_layout: Option<Figure>;
        /// Capacity in cubic centimetres.
        capacity: Option<Figure>;
        /// Brake horsepower.
        bhp: Option<Figure>;
        /// Metric horsepower.
        ps: Option<Figure>;
        /// Power in kilowatts.
        kw: Option<Figure>;
        /// Torque in newton metres.
        nm: Option<Figure>;
        /// Torque in pound-feet.
        lb_ft: Option<Figure>;
        /// Number of gears.
        gears: Option<Figure>;
        /// Number of valves.
        valves: Option<Figure>;
        /// Bore in millimetres.
        bore: Option<Figure>;
        /// Stroke in millimetres.
        stroke: Option<Figure>;
        /// Compression ratio.
        compression_ratio: Option<Figure>;
        /// Aspiration.
        aspiration: Option<Figure>;
        /// Fuel delivery.
        fuel_delivery: Option<Figure>;
        /// Mounting position.
        position: Option<Figure>;
        /// Valve gear.
        valve_gear: Option<Figure>;
        /// Automatic stop at a standstill.
        start_stop: Option<Figure>;
    }
}

section! {
    /// A vehicle's traction battery.
    pub struct Battery: BatteryPatch {
        /// Time to charge.
        charge_time: Option<Figure>;
        /// Time to charge at a rapid charger.
        charge_time_rapid: Option<Figure>;
        /// Range in miles.
        range: Option<Figure>;
        /// Capacity in kilowatt-hours.
        kwh: Option<Figure>;
        /// Usable capacity in kilowatt-hours.
        kwh_usable: Option<Figure>;
        /// State of health in percent.
        health: Option<Figure>;
        /// Connector.
        connector: Option<Figure>;
    }
}

section! {
    /// The fuel consumption and emissions of a vehicle.
    pub struct Fuel: FuelPatch {
        /// Consumption in miles per gallon, by cycle: `mpg_combined`, `mpg_urban`, …
        mpg as "mpg_*": Figures;
        /// Emissions, by substance or standard: `emission_co2`, `emission_euro`, …
        emission as "emission_*": Figures;
        /// Capacity of the tank in litres.
        tank: Option<Figure>;
        /// Compliance with the standard of the ultra low emission zone.
        ulez: Option<Figure>;
        /// Compliance with the standard of the clean air zones.
        caz: Option<Figure>;
    }
}

section! {
    /// The measures and weights of a vehicle, in millimetres, kilogrammes and litres.
    pub struct Size: SizePatch {
        /// Length.
        length: Option<Figure>;
        /// Width.
        width: Option<Figure>;
        /// Width including the mirrors.
        width_mirrors: Option<Figure>;
        /// Height.
        height: Option<Figure>;
        /// Wheelbase.
        wheelbase: Option<Figure>;
        /// Ground clearance.
        ground_clearance: Option<Figure>;
        /// Kerb weight.
        kerb_weight: Option<Figure>;
        /// Gross weight.
        gross_weight: Option<Figure>;
        /// Unladen weight.
        unladen_weight: Option<Figure>;
        /// Mass in running order.
        mass_in_running_order: Option<Figure>;
        /// Maximum technically permissible laden mass.
        mtplm: Option<Figure>;
        /// Payload.
        payload: Option<Figure>;
        /// Maximum towed weight with brakes.
        towing_braked: Option<Figure>;
        /// Maximum towed weight without brakes.
        towing_unbraked: Option<Figure>;
        /// Maximum load of the roof.
        roof_load: Option<Figure>;
        /// Further weights: `weight_max`, `weight_payload`, …
        weight as "weight_*": Figures;
        /// Volume of the boot with the seats up.
        boot_seats_up: Option<Figure>;
        /// Volume of the boot with the seats down.
        boot_seats_down: Option<Figure>;
        /// Further measures of the boot: `boot_length`, …
        boot as "boot_*": Figures;
        /// Measures of the load space: `load_length`, `load_volume`, …
        load as "load_*": Figures;
    }
}

section! {
    /// A vehicle's insurance rating.
    pub struct Insurance: InsurancePatch {
        /// Group.
        group: Option<Figure>;
        /// Code.
        code: Option<Figure>;
    }
}

section! {
    /// Other figures of a data sheet.
    pub struct OtherSpec: OtherSpecPatch {
        /// Number of axles.
        axles: Option<Figure>;
        /// Country of make.
        country: Option<Figure>;
        /// Sector.
        sector: Option<Figure>;
    }
}
