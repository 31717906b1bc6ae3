//! The words of a dealer's trade, in tables.

use crate::sample::pick::Weighted;

/// Basic colours with how often they are seen, and what makers call them.
pub(super) const COLOURS: &[Weighted<(&str, &[&str])>] = &[
    (
        26,
        (
            "Grey",
            &[
                "Magnetic Grey",
                "Slate Grey",
                "Daytona Grey",
                "Titanium Grey",
                "Graphite",
            ],
        ),
    ),
    (
        22,
        (
            "Black",
            &[
                "Phantom Black",
                "Obsidian Black",
                "Mythos Black",
                "Cosmos Black",
                "Diamond Black",
            ],
        ),
    ),
    (
        17,
        (
            "Blue",
            &[
                "Deep Impact Blue",
                "Estoril Blue",
                "Ultra Blue",
                "Atlantic Blue",
                "Ink Blue",
            ],
        ),
    ),
    (
        15,
        (
            "White",
            &[
                "Frozen White",
                "Glacier White",
                "Alpine White",
                "Polar White",
                "Pearl White",
            ],
        ),
    ),
    (8, ("Red", &["Race Red", "Ruby Red", "Tornado Red", "Soul Red"])),
    (
        7,
        (
            "Silver",
            &["Moondust Silver", "Reflex Silver", "Polar Silver", "Platinum Silver"],
        ),
    ),
    (2, ("Green", &["Racing Green", "Sage Green", "Emerald Green"])),
    (1, ("Orange", &["Valencia Orange", "Orange Fury", "Tangerine"])),
    (1, ("Yellow", &["Lemon Yellow", "Sunset Yellow"])),
    (1, ("Beige", &["Champagne", "Sand Beige"])),
];
/// Colours of vans, trucks, caravans and motorhomes.
pub(super) const PALE_COLOURS: &[Weighted<&str>] = &[(85, "White"), (15, "Silver")];
/// Colours of machines whose makers have none of their own.
pub(super) const MACHINE_COLOURS: &[Weighted<&str>] = &[(60, "Yellow"), (25, "Orange"), (15, "Grey")];
/// Colours that makers of machines paint theirs in.
pub(super) const LIVERIES: &[(&str, &str)] = &[
    ("John Deere", "Green"),
    ("Claas", "Green"),
    ("New Holland", "Blue"),
    ("Genie", "Blue"),
    ("Massey Ferguson", "Red"),
    ("Case IH", "Red"),
    ("JCB", "Yellow"),
    ("Caterpillar", "Yellow"),
    ("Kubota", "Orange"),
    ("Ifor Williams", "Grey"),
];

pub(super) const UPHOLSTERY: &[Weighted<&str>] = &[
    (60, "Cloth"),
    (18, "Full Leather"),
    (12, "Half Leather"),
    (7, "Leather Effect"),
    (3, "Alcantara"),
];

/// Layouts that both caravans and motorhomes have.
pub(super) const BEDROOMS: &[&str] = &[
    "Fixed island bed",
    "Fixed single beds",
    "Fixed bunk beds",
    "French bed",
    "Transverse bed",
    "Lounge Conversion",
    "Dinette conversion",
];
pub(super) const ENDS: &[&str] = &[
    "End bedroom",
    "End kitchen",
    "End lounge",
    "End washroom",
    "End dinette",
];

/// What is done to a vehicle before it is sold: what for, by whom, and for how many pounds.
pub(super) const COSTS: &[(&str, &str, (i64, i64))] = &[
    ("Valet", "Sparkle Valeting", (45, 140)),
    ("MOT", "Kings Test Centre", (40, 55)),
    ("Service", "Workshop", (120, 380)),
    ("Tyres", "Northside Tyres", (90, 520)),
    ("Transport", "Swift Vehicle Movers", (80, 260)),
    ("Bodywork", "Mill Lane Bodyworks", (110, 900)),
    ("Warranty", "Shield Warranties", (99, 420)),
    ("Brakes", "Workshop", (95, 460)),
    ("Auction fee", "Midland Auctions", (150, 450)),
    ("Provenance check", "Checkline", (4, 18)),
];

pub(super) const SUPPLIERS: &[&str] = &[
    "Midland Auctions",
    "Northern Fleet Disposals",
    "Leaseway Remarketing",
    "Harper Trade Cars",
    "Castle Vehicle Auctions",
];
pub(super) const ORIGINS: &[&str] = &["Auction", "Part exchange", "Private purchase", "Lease return", "Trade"];
pub(super) const FUNDERS: &[&str] = &["Stockline Finance", "Anchor Wholesale Funding", "Meridian Stocking"];

/// Equipment that no factory list names, by what it is for.
pub(super) const CAR_EXTRAS: &[&str] = &[
    "Tow bar",
    "Dash cam",
    "Two keys",
    "Roof bars",
    "Boot liner",
    "Ceramic coating",
    "Mud flaps",
    "Rubber mats",
];
pub(super) const VAN_EXTRAS: &[&str] = &[
    "Ply lining",
    "Roof rack",
    "Bulkhead",
    "Deadlocks",
    "Racking",
    "Tow bar",
    "Beacon",
    "Reverse alarm",
];
pub(super) const BIKE_EXTRAS: &[&str] = &[
    "Heated grips",
    "Top box",
    "Tail tidy",
    "Quickshifter",
    "Screen",
    "Panniers",
];
pub(super) const TRUCK_EXTRAS: &[&str] = &[
    "Tail lift",
    "Tachograph",
    "Night heater",
    "Air suspension",
    "Side guards",
];
pub(super) const CAMPING_EXTRAS: &[&str] = &[
    "Solar panel",
    "Awning",
    "Reversing camera",
    "Motor mover",
    "Satellite TV",
    "Microwave",
    "Refillable gas",
    "Leisure battery",
];
pub(super) const FARM_EXTRAS: &[&str] = &[
    "Front loader",
    "Front linkage",
    "Air brakes",
    "GPS guidance",
    "Spool valves",
];
pub(super) const PLANT_EXTRAS: &[&str] = &[
    "Three buckets",
    "Quick hitch",
    "Immobiliser",
    "Rubber tracks",
    "Work lights",
];

pub(super) const SERVICES: &[Weighted<&str>] = &[
    (45, "Full service history"),
    (20, "Full dealership history"),
    (25, "Part service history"),
    (10, "Service history"),
];

/// Why a customer's vehicle is at the dealership.
pub(super) const JOBS: &[&str] = &[
    "In for service and MOT",
    "Warranty: rattle from the dashboard",
    "Recall work booked",
    "Brake squeal, customer waits",
    "Parking damage to the rear bumper",
    "Battery drains overnight",
];
pub(super) const NOTES: &[&str] = &[
    "Second key in the safe",
    "V5 with accounts",
    "Wing mirror to be replaced before photos",
    "Tyres due in the autumn",
    "Customer deposit on the tow bar",
    "Spare wheel is missing",
];
