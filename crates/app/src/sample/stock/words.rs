//! The vocabulary of a dealer.

use forecourt_reference::{StockType, VehicleClass};
use forecourt_vehicles::VehicleStatus;

use crate::sample::{data::tables, pick::Weighted};

tables! { "words.txt":
    /// Basic colours, and the makers' names for them.
    COLOURS: Weighted<(&'static str, Vec<&'static str>)>,
    /// Colours of vans, trucks, caravans and motorhomes.
    PALE_COLOURS: Weighted<&'static str>,
    /// Colours of machines whose makers have none of their own.
    MACHINE_COLOURS: Weighted<&'static str>,
    /// Makers of machines, with the colour of their machines.
    LIVERIES: (&'static str, &'static str),
    UPHOLSTERY: Weighted<&'static str>,
    INTERIOR_COLOURS: Weighted<&'static str>,
    FINISHES: Weighted<&'static str>,
    /// Wheelbases of vans.
    WHEELBASES: Weighted<&'static str>,
    GROUPS: &'static str,
    /// Layouts that both caravans and motorhomes have.
    BEDROOMS: &'static str,
    ENDS: &'static str,
    /// Work on a vehicle before it is sold: its purpose, the firm, and the cost in pounds.
    COSTS: (&'static str, &'static str, (i64, i64)),
    SUPPLIERS: &'static str,
    ORIGINS: &'static str,
    FUNDERS: &'static str,
    /// Classes, and equipment of theirs that no factory list names.
    EXTRAS: (Vec<&'static str>, Vec<&'static str>),
    SERVICES: Weighted<&'static str>,
    /// The reasons why a customer's vehicle is at the dealership.
    JOBS: &'static str,
    NOTES: &'static str,
    /// The endings of descriptions.
    ENDINGS: &'static str,
    KINDS: Weighted<StockType>,
    CLASSES: Weighted<VehicleClass>,
    COURTESY_CLASSES: Weighted<VehicleClass>,
    AGES: Weighted<(u32, u32)>,
    NEW_STOCK: Weighted<VehicleStatus>,
    OLD_STOCK: Weighted<VehicleStatus>,
    CUSTOMERS: Weighted<VehicleStatus>,
    COURTESY: Weighted<VehicleStatus>,
    APPRAISALS: Weighted<VehicleStatus>,
}
