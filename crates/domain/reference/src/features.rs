//! The known factory options, in groups (decisions §7, `feature`).

use std::collections::HashMap;
use std::sync::OnceLock;

use crate::outline::{self, Line};

static TEXT: &str = include_str!("../data/features.txt");

/// A group of factory options.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FeatureGroup {
    /// Its name, in snake_case.
    pub name: &'static str,
    /// The options in it, by their names in adverts.
    pub features: Vec<&'static str>,
}

/// A known factory option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feature {
    /// Its name, as the list spells it.
    pub name: &'static str,
    /// The group that it is in.
    pub group: &'static str,
}

/// Returns the groups, in the order in which to show them. An option in none of them belongs under `other`.
pub fn feature_groups() -> &'static [FeatureGroup] {
    static GROUPS: OnceLock<Vec<FeatureGroup>> = OnceLock::new();
    GROUPS.get_or_init(|| {
        let mut groups: Vec<FeatureGroup> = Vec::new();
        for line in outline::lines(TEXT) {
            match line {
                Line::Heading(name) => groups.push(FeatureGroup {
                    name,
                    features: Vec::new(),
                }),
                Line::Entry(entry) => {
                    if let Some(group) = groups.last_mut() {
                        group.features.push(outline::aliased(entry).0);
                    }
                }
            }
        }
        groups
    })
}

/// Finds the factory option that an advert calls `text`, by its name in the list or by another usual name. The order of the
/// words, case, accents, punctuation and plurals do not matter. Sizes in inches and text in brackets count only if the list has
/// them.
pub fn feature(text: &str) -> Option<Feature> {
    let words = words(text);
    let found = look_up(&words).or_else(|| {
        let plain = text.split('(').next().unwrap_or_default();
        look_up(&self::words(plain))
    });
    found.or_else(|| {
        let sizeless: Vec<String> = words.into_iter().filter(|word| !is_size(word)).collect();
        look_up(&sizeless)
    })
}

fn look_up(words: &[String]) -> Option<Feature> {
    let index = index();
    let found = index.get(&joined(words)).or_else(|| index.get(&sorted(words)));
    found.copied()
}

/// All options, by their names.
fn index() -> &'static HashMap<String, Feature> {
    static INDEX: OnceLock<HashMap<String, Feature>> = OnceLock::new();
    INDEX.get_or_init(|| {
        let mut index = HashMap::new();
        let mut reordered = Vec::new();
        for (feature, name) in names() {
            let words = words(name);
            reordered.push((sorted(&words), feature));
            index.insert(joined(&words), feature);
        }
        for (words, feature) in reordered {
            index.entry(words).or_insert(feature);
        }
        index
    })
}

/// Returns all names of all options.
fn names() -> impl Iterator<Item = (Feature, &'static str)> {
    let mut group = "";
    let features = outline::lines(TEXT).filter_map(move |line| match line {
        Line::Heading(name) => {
            group = name;
            None
        }
        Line::Entry(entry) => {
            let (name, aliases) = outline::aliased(entry);
            Some((Feature { name, group }, aliases))
        }
    });
    features.flat_map(|(feature, aliases)| {
        let names = std::iter::once(feature.name).chain(outline::items(aliases));
        names.map(move |name| (feature, name))
    })
}

/// Joins the words of a text: `tow-bar`, `tow bar` and `towbar` are the same.
fn joined(words: &[String]) -> String {
    words.concat()
}

/// Sorts the words of a text: `Parking sensors - rear` are rear parking sensors.
fn sorted(words: &[String]) -> String {
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    words.sort_unstable();
    words.join(" ")
}

/// Returns the words that distinguish options: singular, without `and` and `with`. A size in inches is one word, `17in`.
fn words(text: &str) -> Vec<String> {
    let mut plain = String::with_capacity(text.len());
    for letter in text.replace("''", "\"").replace("’’", "\"").chars() {
        match letter {
            '"' | '”' | '″' => plain.push_str(" inch "),
            '.' => plain.push('.'),
            _ if letter.is_alphanumeric() => plain.extend(outline::bare(letter.encode_utf8(&mut [0; 4]))),
            _ => plain.push(' '),
        }
    }
    let mut words: Vec<String> = Vec::new();
    for word in plain.split_whitespace() {
        let (number, unit) = word.split_at(word.find(char::is_alphabetic).unwrap_or(word.len()));
        let inches = matches!(unit, "in" | "ins" | "inch" | "inches");
        match words.last_mut() {
            Some(size) if inches && number.is_empty() && is_number(size) => size.push_str("in"),
            _ if inches && is_number(number) => words.push(format!("{number}in")),
            _ if is_number(word) => words.push(word.to_owned()),
            _ if matches!(word, "and" | "with") => {}
            _ => words.extend(Some(singular(word.replace('.', ""))).filter(|word| !word.is_empty())),
        }
    }
    words
}

fn is_number(word: &str) -> bool {
    word.parse::<f32>().is_ok_and(f32::is_finite)
}

fn singular(mut word: String) -> String {
    if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
        word.pop();
    }
    word
}

fn is_size(word: &str) -> bool {
    let number = word.strip_suffix("in");
    number.is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use forecourt_kernel::fold;

    use super::*;

    #[test]
    fn every_option_is_in_one_group() {
        let all: Vec<_> = feature_groups().iter().flat_map(|group| &group.features).collect();
        let mut seen = HashSet::new();
        let twice: Vec<_> = all.iter().filter(|feature| !seen.insert(fold(feature))).collect();
        assert!(twice.is_empty(), "{twice:?}");
        let said = outline::lines(TEXT)
            .filter(|line| matches!(line, Line::Entry(_)))
            .count();
        assert_eq!(all.len(), said, "none is lost");
        assert!(all.len() > 250, "{}", all.len());
    }

    #[test]
    fn a_name_is_one_options() {
        let mut owners = HashMap::new();
        let mut wrong = Vec::new();
        for (feature, name) in names() {
            let words = words(name);
            let twin = owners.insert(joined(&words), name);
            if words.is_empty() || twin.is_some() || super::feature(name) != Some(feature) {
                wrong.push((feature.name, name, twin));
            }
        }
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    #[test]
    fn the_data_is_neat() {
        for line in TEXT.lines() {
            assert_eq!(line.trim(), line);
            assert!(
                !line.contains("  ") && !line.contains(" ,") && !line.contains(",,"),
                "{line}"
            );
        }
    }

    #[test]
    fn groups_have_names_for_programs() {
        let mut names = HashSet::new();
        for group in feature_groups() {
            let snake = group.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
            assert!(
                snake && group.name != "other" && names.insert(group.name),
                "{}",
                group.name
            );
            assert!(!group.features.is_empty(), "{}", group.name);
        }
    }

    #[test]
    fn an_option_is_found_in_any_case() {
        for group in feature_groups() {
            for &name in &group.features {
                for written in [fold(name), name.to_uppercase(), name.to_owned()] {
                    let expected = Feature {
                        name,
                        group: group.name,
                    };
                    assert_eq!(feature(&written), Some(expected), "{name}");
                }
            }
        }
        for unknown in ["Ejector seat", "", "-", "17in", "Roof"] {
            assert_eq!(feature(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn the_usual_phrases_of_adverts_are_known() {
        let table = [
            ("Air con", "comfort"),
            ("A/C", "comfort"),
            ("Climate control", "comfort"),
            ("Dual zone climate control", "comfort"),
            ("Heated steering wheel", "comfort"),
            ("Electric windows", "comfort"),
            ("Front electric windows", "comfort"),
            ("Armrest", "comfort"),
            ("Cruise control", "driver_convenience"),
            ("Adaptive cruise", "driver_convenience"),
            ("Adaptive Cruise Control", "driver_convenience"),
            ("Speed limiter", "driver_convenience"),
            ("Parking sensors", "driver_convenience"),
            ("Front parking sensors", "driver_convenience"),
            ("Rear Parking Sensors", "driver_convenience"),
            ("Parking sensors - rear", "driver_convenience"),
            ("Front & rear parking sensors", "driver_convenience"),
            ("PDC", "driver_convenience"),
            ("Reverse camera", "driver_convenience"),
            ("Reversing Camera", "driver_convenience"),
            ("Rear-view camera", "driver_convenience"),
            ("360 camera", "driver_convenience"),
            ("360° camera", "driver_convenience"),
            ("Park assist", "driver_convenience"),
            ("Keyless entry", "driver_convenience"),
            ("Keyless go", "driver_convenience"),
            ("Keyless entry & start", "driver_convenience"),
            ("Push-button start", "driver_convenience"),
            ("Remote central locking", "driver_convenience"),
            ("Electric tailgate", "driver_convenience"),
            ("Power boot", "driver_convenience"),
            ("Hands-free boot", "driver_convenience"),
            ("Rain sensor", "driver_convenience"),
            ("Auto wipers", "driver_convenience"),
            ("Heated windscreen", "driver_convenience"),
            ("Heated front screen", "driver_convenience"),
            ("Heated mirrors", "driver_convenience"),
            ("Electric folding mirrors", "driver_convenience"),
            ("Head up display", "driver_convenience"),
            ("Heads-up display", "driver_convenience"),
            ("HUD", "driver_convenience"),
            ("Virtual cockpit", "driver_convenience"),
            ("Digital cockpit", "driver_convenience"),
            ("Multi-function steering wheel", "driver_convenience"),
            ("Paddle shifters", "driver_convenience"),
            ("Start/stop", "driver_convenience"),
            ("Electric handbrake", "driver_convenience"),
            ("Hill hold", "driver_convenience"),
            ("Traffic sign recognition", "driver_convenience"),
            ("Sat nav", "driver_convenience"),
            ("Satnav", "driver_convenience"),
            ("SAT-NAV", "driver_convenience"),
            ("Navigation", "driver_convenience"),
            ("Satellite Navigation", "driver_convenience"),
            ("CarPlay", "entertainment"),
            ("Apple CarPlay", "entertainment"),
            ("Apple Car Play", "entertainment"),
            ("Android Auto", "entertainment"),
            ("Apple CarPlay & Android Auto", "entertainment"),
            ("Bluetooth", "entertainment"),
            ("Bluetooth connectivity", "entertainment"),
            ("DAB", "entertainment"),
            ("DAB Radio", "entertainment"),
            ("D.A.B. digital radio", "entertainment"),
            ("CD player", "entertainment"),
            ("AUX", "entertainment"),
            ("USB", "entertainment"),
            ("USB connection", "entertainment"),
            ("USB ports", "entertainment"),
            ("Wireless charging", "entertainment"),
            ("Touchscreen", "entertainment"),
            (r#"10.25" touchscreen"#, "entertainment"),
            ("8 inch touch screen", "entertainment"),
            ("Voice control", "entertainment"),
            ("Bose", "entertainment"),
            ("B&O sound system", "entertainment"),
            ("Harman/Kardon", "entertainment"),
            ("Panoramic roof", "exterior"),
            ("Pan roof", "exterior"),
            ("Panoramic Sunroof", "exterior"),
            ("Sunroof", "exterior"),
            ("Electric sunroof", "exterior"),
            ("Roof rails", "exterior"),
            ("Roof bars", "exterior"),
            ("Privacy glass", "exterior"),
            ("Tinted windows", "exterior"),
            ("Metallic paint", "exterior"),
            ("Rear spoiler", "exterior"),
            ("Ambient lighting", "interior"),
            ("Floor mats", "interior"),
            ("Leather steering wheel", "interior"),
            ("LED headlights", "lights"),
            ("LED Headlamps", "lights"),
            ("Xenon headlights", "lights"),
            ("Xenons", "lights"),
            ("Bi-xenon", "lights"),
            ("Matrix LED", "lights"),
            ("LED daytime running lights", "lights"),
            ("DRL", "lights"),
            ("Auto lights", "lights"),
            ("Automatic headlights", "lights"),
            ("Fog lights", "lights"),
            ("High beam assist", "lights"),
            ("ISOFIX", "safety"),
            ("Isofix points", "safety"),
            ("Lane assist", "safety"),
            ("Lane keeping assist", "safety"),
            ("Lane departure warning", "safety"),
            ("Blind spot", "safety"),
            ("Blind-spot monitor", "safety"),
            ("Blind spot assist", "safety"),
            ("Rear cross traffic alert", "safety"),
            ("Tyre pressure monitor", "safety"),
            ("Tyre pressure monitoring system (TPMS)", "safety"),
            ("TPMS", "safety"),
            ("ABS", "safety"),
            ("ESP", "safety"),
            ("Traction control", "safety"),
            ("Airbags", "safety"),
            ("Side airbags", "safety"),
            ("Emergency braking", "safety"),
            ("AEB", "safety"),
            ("Spare wheel", "safety"),
            ("Alarm", "security"),
            ("Immobiliser", "security"),
            ("Alloy wheels", "wheels"),
            ("Alloys", "wheels"),
            (r#"17" alloys"#, "wheels"),
            ("18 inch alloy wheels", "wheels"),
            ("18-inch Alloy Wheels", "wheels"),
            ("19'' alloys", "wheels"),
            ("20” alloy wheels", "wheels"),
            ("21in alloys", "wheels"),
            ("25 inch alloy wheels", "wheels"),
            (r#"19" diamond cut alloy wheels"#, "wheels"),
            ("Leather", "seats"),
            ("Leather seats", "seats"),
            ("Full leather", "seats"),
            ("Half-leather", "seats"),
            ("Heated seats", "seats"),
            ("Heated front seats", "seats"),
            ("Front heated seats", "seats"),
            ("Heated rear seats", "seats"),
            ("Ventilated seats", "seats"),
            ("Electric seats", "seats"),
            ("Memory seats", "seats"),
            ("Sports seats", "seats"),
            ("Lumbar support", "seats"),
            ("7 seats", "seats"),
            ("Towbar", "towing"),
            ("Tow bar", "towing"),
            ("Tow-bar", "towing"),
            ("Towbar (detachable)", "towing"),
            ("Detachable towbar", "towing"),
            ("Tow bar detachable", "towing"),
            ("4x4", "performance"),
            ("Sports suspension", "performance"),
            ("Drive mode select", "performance"),
            ("Type 2 cable", "ev_charging"),
            ("Rapid charging", "ev_charging"),
            ("Ply lined", "commercial"),
            ("Heated grips", "motorcycle"),
            ("Solar panel", "motorhome_caravan"),
        ];
        assert!(table.len() >= 120);
        let lost: Vec<_> = table
            .into_iter()
            .filter(|(written, group)| feature(written).map(|feature| feature.group) != Some(group))
            .collect();
        assert!(lost.is_empty(), "{lost:?}");
    }

    #[test]
    fn other_names_give_the_lists_own() {
        let table = [
            ("sat nav", "Satellite navigation"),
            ("ISOFIX", "ISOFIX child seat anchor points"),
            ("CarPlay", "Apple CarPlay"),
            ("DAB", "DAB radio"),
            ("towbar", "Tow bar"),
            ("Lane assist", "Lane keep assist"),
            ("Sensors, rear parking", "Rear parking sensors"),
            ("18 inch alloys", "18in alloy wheels"),
            ("17\" alloys", "17in alloy wheels"),
            ("25\" alloys", "Alloy wheels"),
            ("Front heated seats", "Heated front seats"),
        ];
        for (written, name) in table {
            assert_eq!(feature(written).map(|feature| feature.name), Some(name), "{written}");
        }
    }
}
