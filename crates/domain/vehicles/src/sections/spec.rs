use crate::declare::section;
use crate::values::{Figure, Figures};

section! {
    /// A vehicle's data sheet (contract, "data.spec"). Figures are kept as they are sent: numbers, or texts with a unit.
    pub struct Spec: SpecPatch {
        /// How it drives.
        performance: Performance;
        /// Its engine.
        engine: Engine;
        /// Its traction battery.
        battery: Battery;
        /// What it burns, and what it emits.
        fuel: Fuel;
        /// What it measures and weighs.
        size: Size;
        /// Its insurance rating.
        insurance: Insurance;
        /// Whatever else is known.
        other: OtherSpec;
    }
}

section! {
    /// How a vehicle drives.
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
        /// Who made it.
        make: Option<Figure>;
        /// Its model.
        model: Option<Figure>;
        /// Its code.
        code: Option<Figure>;
        /// Cylinders.
        cylinders: Option<Figure>;
        /// How the cylinders are arranged.
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
        /// Gears.
        gears: Option<Figure>;
        /// Valves.
        valves: Option<Figure>;
        /// Bore in millimetres.
        bore: Option<Figure>;
        /// Stroke in millimetres.
        stroke: Option<Figure>;
        /// Compression ratio.
        compression_ratio: Option<Figure>;
        /// How air reaches it.
        aspiration: Option<Figure>;
        /// How fuel reaches it.
        fuel_delivery: Option<Figure>;
        /// Where it is mounted.
        position: Option<Figure>;
        /// Valve gear.
        valve_gear: Option<Figure>;
        /// Whether it stops by itself at a standstill.
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
        /// Capacity that can be used, in kilowatt-hours.
        kwh_usable: Option<Figure>;
        /// State of health in percent.
        health: Option<Figure>;
        /// Connector.
        connector: Option<Figure>;
    }
}

section! {
    /// What a vehicle burns, and what it emits.
    pub struct Fuel: FuelPatch {
        /// Consumption in miles per gallon, by cycle: `mpg_combined`, `mpg_urban`, …
        mpg as "mpg_*": Figures;
        /// Emissions, by substance or standard: `emission_co2`, `emission_euro`, …
        emission as "emission_*": Figures;
        /// Capacity of the tank in litres.
        tank: Option<Figure>;
        /// Whether it meets the ultra low emission zone's standard.
        ulez: Option<Figure>;
        /// Whether it meets the clean air zones' standard.
        caz: Option<Figure>;
    }
}

section! {
    /// What a vehicle measures and weighs, in millimetres, kilogrammes and litres.
    pub struct Size: SizePatch {
        /// Length.
        length: Option<Figure>;
        /// Width.
        width: Option<Figure>;
        /// Width with the mirrors.
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
        /// Most that it may tow with brakes.
        towing_braked: Option<Figure>;
        /// Most that it may tow without brakes.
        towing_unbraked: Option<Figure>;
        /// Most that the roof may carry.
        roof_load: Option<Figure>;
        /// Further weights: `weight_max`, `weight_payload`, …
        weight as "weight_*": Figures;
        /// Boot with the seats up.
        boot_seats_up: Option<Figure>;
        /// Boot with the seats down.
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
    /// The rest of a data sheet.
    pub struct OtherSpec: OtherSpecPatch {
        /// Axles.
        axles: Option<Figure>;
        /// Country of make.
        country: Option<Figure>;
        /// Sector.
        sector: Option<Figure>;
    }
}
