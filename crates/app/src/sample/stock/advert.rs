//! A vehicle's equipment and the texts of its advert.

use forecourt_reference::VehicleClass;
use forecourt_vehicles::{History, Options};
use rand::{Rng, RngExt};

use super::{
    build::Build,
    equipment::equipment,
    models::Power,
    words::{ENDINGS, EXTRAS},
};
use crate::sample::pick::{any, chance, one};

/// Returns its equipment and the texts of its advert; a draft may have no texts yet.
pub(super) fn options(rng: &mut impl Rng, build: &Build, history: &History, written: bool) -> Options {
    let factory = equipment(rng, build);
    let extras = extras(build.class);
    let mut custom: Vec<&str> = Vec::new();
    for _ in 0..rng.random_range(0..4) {
        let known = |extra: &str| custom.contains(&extra) || factory.iter().any(|option| option == extra);
        let extra = any(rng, extras).copied().filter(|extra| !known(extra));
        custom.extend(extra);
    }
    let points = points(build, history);
    let mut options = Options {
        option_custom: custom.iter().map(|&extra| extra.to_owned()).collect(),
        ..Options::default()
    };
    if written {
        options.attention = points.iter().take(2).map(String::as_str).collect::<Vec<_>>().join(", ");
        options.description = description(rng, build, &points, &factory).into();
        options.website = html(build, &points, &factory).into();
    }
    options.factory = factory;
    options
}

fn extras(class: VehicleClass) -> &'static [&'static str] {
    let found = EXTRAS.iter().find(|(classes, _)| classes.contains(&class.name()));
    found.map_or(&[], |(_, extras)| extras)
}

/// Returns its selling points, the best first.
fn points(build: &Build, history: &History) -> Vec<String> {
    let years = (build.age() / 365).max(1);
    let mut points = Vec::with_capacity(6);
    if build.is_new() {
        points.push("Brand new".to_owned());
    }
    if history.previous_owner == Some(1) {
        points.push("One owner from new".to_owned());
    }
    if history.service_history.starts_with("Full") {
        points.push(history.service_history.clone());
    }
    if build
        .mileage
        .is_some_and(|mileage| !build.is_new() && mileage / years < 7_000)
    {
        points.push("Low mileage".to_owned());
    }
    if build.engine.power == Power::Electric {
        points.push("Zero emissions".to_owned());
    }
    if let Some(hours) = build.hours {
        points.push(format!("{} hours", grouped(hours)));
    }
    if history.keys == Some(2) {
        points.push("Two keys".to_owned());
    }
    if !build.is_new() {
        points.push(format!("{} condition", history.condition));
    }
    points
}

/// Formats a number of at most six digits with commas between its thousands.
fn grouped(number: u32) -> String {
    match number {
        ..1_000 => number.to_string(),
        _ => format!("{},{:03}", number / 1_000, number % 1_000),
    }
}

fn title(build: &Build) -> String {
    format!("{} {} {}", build.model.make, build.model.name, build.derivative())
}

fn description(rng: &mut impl Rng, build: &Build, points: &[String], options: &[String]) -> String {
    let colour = if build.colour_name.is_empty() {
        build.colour
    } else {
        build.colour_name
    };
    let mut text = format!("{} in {colour}. ", title(build));
    if let Some(mileage) = build.mileage.filter(|_| !build.is_new()) {
        text.push_str(&format!("{} miles. ", grouped(mileage)));
    }
    text.push_str(&points.join(", "));
    text.push_str(". ");
    if !options.is_empty() {
        text.push_str("Equipment includes ");
        text.push_str(
            &options
                .iter()
                .take(5)
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", "),
        );
        text.push_str(". ");
    }
    let &ending = one(rng, &ENDINGS);
    text.push_str(ending);
    if chance(rng, 20) {
        text.push_str(" Viewing by appointment.");
    }
    text
}

fn html(build: &Build, points: &[String], options: &[String]) -> String {
    let mut text = format!("<h2>{}</h2><ul>", escaped(&title(build)));
    for point in points.iter().chain(options.iter().take(6)) {
        text.push_str("<li>");
        text.push_str(&escaped(point));
        text.push_str("</li>");
    }
    text.push_str("</ul>");
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
