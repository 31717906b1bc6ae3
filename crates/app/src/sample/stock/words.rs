//! The words of a dealer's trade.

use forecourt_reference::{StockType, VehicleClass};
use forecourt_vehicles::VehicleStatus;

use super::models::Measures;
use crate::sample::{data::tables, pick::Weighted};

tables! { "words.txt":
    /// Basic colours, and what makers call them.
    COLOURS: Weighted<(&'static str, Vec<&'static str>)>,
    /// Colours of vans, trucks, caravans and motorhomes.
    PALE_COLOURS: Weighted<&'static str>,
    /// Colours of machines whose makers have none of their own.
    MACHINE_COLOURS: Weighted<&'static str>,
    /// Makers of machines with the colour that they paint theirs in.
    LIVERIES: (&'static str, &'static str),
    UPHOLSTERY: Weighted<&'static str>,
    INTERIOR_COLOURS: Weighted<&'static str>,
    FINISHES: Weighted<&'static str>,
    /// Those of vans.
    WHEELBASES: Weighted<&'static str>,
    GROUPS: &'static str,
    /// Layouts that both caravans and motorhomes have.
    BEDROOMS: &'static str,
    ENDS: &'static str,
    /// What is done to a vehicle before it is sold: what for, by whom, and for how many pounds.
    COSTS: (&'static str, &'static str, (i64, i64)),
    SUPPLIERS: &'static str,
    ORIGINS: &'static str,
    FUNDERS: &'static str,
    /// Classes, and equipment of theirs that no factory list names.
    EXTRAS: (Vec<&'static str>, Vec<&'static str>),
    SERVICES: Weighted<&'static str>,
    /// Why a customer's vehicle is at the dealership.
    JOBS: &'static str,
    NOTES: &'static str,
    /// How a description ends.
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
    /// By class and body; none stands for all others.
    SIZES: (Option<VehicleClass>, Option<&'static str>, Measures),
}
