//! Prints the numbering plans by which telephone numbers are read, one plan to a line. `cargo xtask codegen` writes them to
//! `src/phone/plans.json`. The plans are those of the crate `phonenumber`, which takes them from libphonenumber.

#![expect(clippy::print_stdout, reason = "the plans are what this program is for")]

use std::collections::BTreeSet;

use phonenumber::Metadata;
use phonenumber::metadata::DATABASE;
use serde_json::{Map, Value, json};

fn main() {
    let codes: BTreeSet<u16> = DATABASE.iter().map(Metadata::country_code).collect();
    // The main plan comes first among those that share a code.
    let plans = codes.iter().flat_map(|code| DATABASE.by_code(code).unwrap_or_default());
    let lines: Vec<String> = plans.map(|plan| Value::from(members(plan)).to_string()).collect();
    println!("[\n{}\n]", lines.join(",\n"));
}

/// The part of a plan that reading a number needs.
fn members(plan: &Metadata) -> Map<String, Value> {
    let kinds = plan.descriptors();
    let general = kinds.general();
    let dialled = [
        kinds.fixed_line(),
        kinds.mobile(),
        kinds.toll_free(),
        kinds.premium_rate(),
        kinds.shared_cost(),
        kinds.personal_number(),
        kinds.voip(),
        kinds.pager(),
        kinds.uan(),
        kinds.voicemail(),
    ];
    let lengths: BTreeSet<u16> = dialled
        .into_iter()
        .flatten()
        .flat_map(|kind| kind.possible_length().iter().copied())
        .filter(|length| general.possible_length().is_empty() || general.possible_length().contains(length))
        .collect();
    let members = [
        ("country", json!(plan.id())),
        ("code", json!(plan.country_code())),
        (
            "international_prefix",
            json!(plan.international_prefix().map(|prefix| pattern(prefix.as_str()))),
        ),
        ("national_prefix", json!(plan.national_prefix())),
        (
            "prefix",
            json!(
                plan.national_prefix_for_parsing()
                    .map(|prefix| pattern(prefix.as_str()))
            ),
        ),
        ("transform", json!(plan.national_prefix_transform_rule())),
        ("number", json!(pattern(general.national_number().as_str()))),
        ("lengths", json!(lengths)),
    ];
    let members = members.into_iter().filter(|(_, value)| !value.is_null());
    members.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Removes the line breaks that the crate's patterns contain.
fn pattern(text: &str) -> String {
    text.split_whitespace().collect()
}
