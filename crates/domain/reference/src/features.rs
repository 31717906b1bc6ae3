//! The factory options that are known by name, in groups (decisions §7, `feature`).

use std::sync::OnceLock;

use crate::outline::{self, Line};

static TEXT: &str = include_str!("../data/features.txt");

/// A group of factory options.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FeatureGroup {
    /// Its name, in snake_case.
    pub name: &'static str,
    /// The options in it, as adverts name them.
    pub features: Vec<&'static str>,
}

/// The groups, in the order to show them in. An option in none of them belongs under `other`.
pub fn feature_groups() -> &'static [FeatureGroup] {
    static GROUPS: OnceLock<Vec<FeatureGroup>> = OnceLock::new();
    GROUPS.get_or_init(|| read(TEXT))
}

/// The group of a factory option, found without regard to case.
pub fn feature_group(option: &str) -> Option<&'static str> {
    let index = index();
    let found = index.binary_search_by(|(known, _)| outline::folded(known).cmp(outline::folded(option)));
    found.ok().and_then(|at| index.get(at)).map(|(_, group)| *group)
}

/// Every option with its group, ordered for the search.
fn index() -> &'static [(&'static str, &'static str)] {
    static INDEX: OnceLock<Vec<(&'static str, &'static str)>> = OnceLock::new();
    INDEX.get_or_init(|| {
        let groups = feature_groups().iter();
        let mut index: Vec<_> = groups
            .flat_map(|group| group.features.iter().map(|feature| (*feature, group.name)))
            .collect();
        index.sort_unstable_by(|(one, _), (other, _)| outline::folded(one).cmp(outline::folded(other)));
        index
    })
}

fn read(text: &'static str) -> Vec<FeatureGroup> {
    let mut groups: Vec<FeatureGroup> = Vec::new();
    for line in outline::lines(text) {
        match line {
            Line::Heading(name) => groups.push(FeatureGroup {
                name,
                features: Vec::new(),
            }),
            Line::Entry(feature) => {
                if let Some(group) = groups.last_mut() {
                    group.features.push(feature);
                }
            }
        }
    }
    groups
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
            for feature in &group.features {
                for written in [fold(feature), feature.to_uppercase(), (*feature).to_owned()] {
                    assert_eq!(feature_group(&written), Some(group.name), "{feature}");
                }
            }
        }
        assert_eq!(feature_group("Ejector seat"), None);
        assert_eq!(feature_group(""), None);
    }
}
