//! A business's own lists, as declared in its file (decisions §2).

use std::collections::BTreeMap;

use forecourt_kernel::{FromJson, InvalidValue, Line, SiteId, StaffId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AppliedTag, Calendar, Product, RecordTags, Tag, TagChoice, TagSet, TagView};

/// A site of the business. Site 0 is the main one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Site {
    /// Site id; 0 is the main site.
    pub id: SiteId,
    /// The name to show.
    pub name: String,
    /// A short name, unique within the business.
    #[serde(default)]
    pub tag: String,
    /// The domain of its website.
    #[serde(default)]
    pub domain: String,
    /// The kind of site, for example `main`.
    #[serde(default, rename = "type")]
    pub kind: String,
    /// True if it is in use.
    #[serde(default = "yes")]
    pub active: bool,
}

/// A place where vehicles are kept.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Location {
    /// Its id, which callers send with vehicles.
    pub id: String,
    /// Its name, which vehicles show.
    pub name: String,
}

/// A reference to a location in a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LocationRef {
    /// By its id.
    Id(String),
    /// By its number.
    Number(i64),
}

impl FromJson for LocationRef {
    fn from_json(value: Value) -> Result<Self, InvalidValue> {
        match value {
            Value::Number(_) => i64::from_json(value).map(Self::Number),
            Value::String(_) => Line::from_json(value).map(|id| Self::Id(id.into_string())),
            _ => Err(InvalidValue::here(
                "must be a location's id, a string, or its number, an integer",
            )),
        }
    }
}

/// A member of the business's staff.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StaffUser {
    /// Staff user id.
    pub id: StaffId,
    /// Their name.
    pub name: String,
    /// Their roles.
    #[serde(default)]
    pub role: Vec<String>,
    /// Their email address; not shown by the reference endpoint.
    #[serde(default)]
    pub email: String,
}

/// A place where vehicles are advertised.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// Its id; `website` is the business's own.
    pub id: String,
    /// The name to show.
    pub name: String,
    /// The kind of channel.
    #[serde(default)]
    pub category: String,
}

/// A kind of appointment that can be booked.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BookingType {
    /// Its id.
    pub id: String,
    /// The name to show.
    pub name: String,
    /// True if it can be booked now.
    #[serde(default = "yes")]
    pub enabled: bool,
    /// The calendar in which it is booked.
    #[serde(default)]
    pub calendar: String,
    /// Duration, in minutes.
    #[serde(default)]
    pub duration_minutes: u32,
}

/// A background that vehicle photos can be given.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct MediaBackground {
    /// The value to send as `options.background`.
    pub id: String,
    /// The name to show.
    pub name: String,
    /// A stable name for programs.
    #[serde(default)]
    pub key: String,
}

/// A board of jobs to be done on vehicles.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JobBoard {
    /// Its number.
    pub id: i64,
    /// A short name.
    #[serde(default)]
    pub tag: String,
    /// The name to show.
    pub name: String,
    /// The purpose of the board.
    #[serde(default)]
    pub description: String,
    /// Keys of the stock types that it is applied to automatically; if empty, it is applied by hand.
    #[serde(default)]
    pub apply: Vec<String>,
    /// Its stages, in order.
    #[serde(default)]
    pub stages: Vec<JobStage>,
}

/// A stage of a job board.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct JobStage {
    /// The name to show.
    pub name: String,
    /// The tasks of the stage.
    #[serde(default)]
    pub tasks: Vec<String>,
}

/// Values that a business adds to the built-in option lists, by the list's name.
pub type VehicleOptions = BTreeMap<String, Vec<String>>;

/// A business's own lists.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Catalogue {
    /// Its configured sites.
    pub sites: Vec<Site>,
    /// The places where its vehicles are kept.
    pub locations: Vec<Location>,
    /// The ids of its locations in the order in which they were first declared, which numbers them from 1. A former location
    /// keeps its number. If the business's file was last applied before locations had numbers, some ids are missing here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub location_ids: Vec<String>,
    /// Former locations. Vehicles that are still there show the last name of the place. No id is in both lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_locations: Vec<Location>,
    /// Its staff.
    pub staff: Vec<StaffUser>,
    /// The tags that its records can carry.
    pub tags: Vec<Tag>,
    /// The channels on which its vehicles are advertised.
    pub channels: Vec<Channel>,
    /// Ids of former channels, from which vehicles are removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_channels: Vec<String>,
    /// The kinds of appointments that can be booked.
    pub booking_types: Vec<BookingType>,
    /// Its own photo backgrounds, in addition to the default set.
    pub media_backgrounds: Vec<MediaBackground>,
    /// Its job boards.
    pub job_boards: Vec<JobBoard>,
    /// The products that it sells besides its vehicles.
    // Left out if there are none, like the lists below, because servers of the previous release do not know them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub products: Vec<Product>,
    /// Former products, whose last names the lines that refer to them show. No id is in both lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_products: Vec<Product>,
    /// The calendars in which appointments are booked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calendars: Vec<Calendar>,
    /// Former calendars, whose last names the appointments that refer to them show. No id is in both lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_calendars: Vec<Calendar>,
    /// Its additions to the built-in option lists.
    pub vehicle_options: VehicleOptions,
}

impl Catalogue {
    /// Replaces the locations. Those that are left out become former ones.
    pub fn replace_locations(&mut self, locations: Vec<Location>) {
        let mut ids: Vec<String> = self.numbered_ids().map(str::to_owned).collect();
        for location in &locations {
            if !ids.contains(&location.id) {
                ids.push(location.id.clone());
            }
        }
        self.location_ids = ids;
        replace(&mut self.locations, &mut self.former_locations, locations, |location| {
            &location.id
        });
    }

    /// Replaces the channels. Those that are left out become former ones.
    pub fn replace_channels(&mut self, channels: Vec<Channel>) {
        let former = self.former_channels.drain(..);
        let all = self.channels.drain(..).map(|channel| channel.id).chain(former);
        let is_there = |id: &str| channels.iter().any(|channel| channel.id == id);
        let former = all.filter(|id| !is_there(id)).collect();
        self.former_channels = former;
        self.channels = channels;
    }

    /// Replaces the products. Those that are left out become former ones.
    pub fn replace_products(&mut self, products: Vec<Product>) {
        replace(&mut self.products, &mut self.former_products, products, |product| {
            &product.id
        });
    }

    /// Replaces the calendars. Those that are left out become former ones.
    pub fn replace_calendars(&mut self, calendars: Vec<Calendar>) {
        replace(&mut self.calendars, &mut self.former_calendars, calendars, |calendar| {
            &calendar.id
        });
    }

    /// Returns the current product with that id.
    pub fn product(&self, id: &str) -> Option<&Product> {
        self.products.iter().find(|product| product.id == id)
    }

    /// Returns the current or former product with that id.
    pub fn known_product(&self, id: &str) -> Option<&Product> {
        let mut all = self.products.iter().chain(&self.former_products);
        all.find(|product| product.id == id)
    }

    /// Returns the current calendar with that id.
    pub fn calendar(&self, id: &str) -> Option<&Calendar> {
        self.calendars.iter().find(|calendar| calendar.id == id)
    }

    /// Returns the current or former calendar with that id.
    pub fn known_calendar(&self, id: &str) -> Option<&Calendar> {
        let mut all = self.calendars.iter().chain(&self.former_calendars);
        all.find(|calendar| calendar.id == id)
    }

    /// All locations that vehicles may refer to, current ones first.
    pub fn known_locations(&self) -> impl Iterator<Item = &Location> {
        self.locations.iter().chain(&self.former_locations)
    }

    /// The ids of all current and former locations, in the order of their numbers.
    fn numbered_ids(&self) -> impl Iterator<Item = &str> {
        let known = self.known_locations().map(|location| &*location.id);
        let unnumbered = known.filter(|id| !self.location_ids.iter().any(|numbered| numbered == id));
        self.location_ids.iter().map(String::as_str).chain(unnumbered)
    }

    /// Returns the permanent number of the location with that id; `None` if there never was one.
    pub fn location_number(&self, id: &str) -> Option<i64> {
        (1..)
            .zip(self.numbered_ids())
            .find(|(_, known)| *known == id)
            .map(|(number, _)| number)
    }

    /// Returns the current location that the reference names.
    pub fn location(&self, named: &LocationRef) -> Option<&Location> {
        let is_named = |location: &&Location| match named {
            LocationRef::Id(id) => location.id == *id,
            LocationRef::Number(number) => self.location_number(&location.id) == Some(*number),
        };
        self.locations.iter().find(is_named)
    }

    /// Returns `true` if a record may be filed under this site: 0, which means none, or a site of the reference list.
    pub fn has_site(&self, id: SiteId) -> bool {
        id.get() == 0 || self.sites.iter().any(|site| site.id == id && site.active)
    }

    /// Returns `true` if the business has a staff user with that id.
    pub fn has_staff(&self, id: StaffId) -> bool {
        self.staff.iter().any(|user| user.id == id)
    }

    /// Returns the tags of a set.
    pub fn tags_of(&self, set: impl Into<TagSet>) -> impl Iterator<Item = &Tag> {
        let set = set.into();
        self.tags.iter().filter(move |tag| set.has(tag))
    }

    /// Returns the tag of that name in a set.
    pub fn tag(&self, set: impl Into<TagSet>, name: &str) -> Option<&Tag> {
        self.tags_of(set).find(|tag| tag.name == name)
    }

    /// Returns the tags that a new record starts with.
    pub fn defaulted_tags(&self, set: impl Into<TagSet>) -> Vec<TagChoice> {
        let defaulted = self.tags_of(set).filter(|tag| tag.defaulted);
        defaulted
            .map(|tag| TagChoice {
                name: tag.name.clone(),
                checked: true,
            })
            .collect()
    }

    /// Returns a record's tags as the record shows them.
    pub fn applied_tags<'a>(&'a self, set: impl Into<TagSet>, choices: &'a [TagChoice]) -> Vec<AppliedTag<'a>> {
        let set = set.into();
        let paint = |choice: &'a TagChoice| {
            let tag = self.tag(set, &choice.name);
            AppliedTag {
                name: &choice.name,
                checked: choice.checked,
                colour: tag.map_or("", |tag| &tag.colour),
                kind: tag.map_or("", |tag| &tag.kind),
            }
        };
        choices.iter().map(paint).collect()
    }

    /// Returns the tags of a record, and the tags that are available to it.
    pub fn record_tags<'a>(&'a self, set: impl Into<TagSet>, choices: &'a [TagChoice]) -> RecordTags<'a> {
        let set = set.into();
        RecordTags {
            applied: self.applied_tags(set, choices),
            available: self.tags_of(set).map(TagView::from).collect(),
        }
    }

    /// Returns the main site, then the active configured ones (contract, "Reference").
    pub fn listed_sites(&self, business_name: &str) -> Vec<Site> {
        let main = self
            .sites
            .iter()
            .find(|site| site.id.get() == 0)
            .cloned()
            .unwrap_or_else(|| Site::main(business_name));
        let others = self
            .sites
            .iter()
            .filter(|site| site.id.get() != 0 && site.active)
            .cloned();
        std::iter::once(main).chain(others).collect()
    }

    /// Returns the default set of photo backgrounds, then the business's own.
    pub fn listed_backgrounds(&self) -> Vec<MediaBackground> {
        let default = |id: &str, name: &str| MediaBackground {
            id: id.into(),
            name: name.into(),
            key: id.into(),
        };
        let defaults = [
            default("studio-white", "Studio white"),
            default("studio-grey", "Studio grey"),
            default("studio-dark", "Studio dark"),
            default("showroom", "Showroom"),
            default("outdoor", "Outdoor"),
        ];
        let replaced = |one: &MediaBackground| self.media_backgrounds.iter().any(|own| own.id == one.id);
        let kept = defaults.into_iter().filter(|one| !replaced(one));
        kept.chain(self.media_backgrounds.iter().cloned()).collect()
    }
}

/// Replaces the items of a list. Those that are left out join the former ones, and those that return leave them.
fn replace<T>(current: &mut Vec<T>, former: &mut Vec<T>, new: Vec<T>, id: impl Fn(&T) -> &str) {
    let all = current.drain(..).chain(former.drain(..));
    let is_there = |item: &T| new.iter().any(|other| id(other) == id(item));
    let gone = all.filter(|item| !is_there(item)).collect();
    *former = gone;
    *current = new;
}

impl Site {
    /// The main site of a business that has not declared one.
    pub fn main(business_name: &str) -> Self {
        Self {
            id: SiteId::new(0),
            name: business_name.to_owned(),
            tag: "main".into(),
            domain: String::new(),
            kind: "main".into(),
            active: true,
        }
    }
}

const fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{StockType, TagResource};

    fn site(id: i64, active: bool) -> Site {
        Site {
            id: SiteId::new(id),
            active,
            ..Site::main("Acme")
        }
    }

    #[test]
    fn the_main_site_comes_first_and_inactive_ones_not_at_all() {
        let catalogue = Catalogue {
            sites: vec![site(2, true), site(3, false), site(0, true)],
            ..Catalogue::default()
        };
        let ids: Vec<_> = catalogue
            .listed_sites("Acme")
            .iter()
            .map(|site| site.id.get())
            .collect();
        assert_eq!(ids, [0, 2]);
        assert_eq!(Catalogue::default().listed_sites("Acme")[0].name, "Acme");
    }

    #[test]
    fn locations_are_numbered_for_good_as_they_first_appear() {
        let location = |id: &str| Location {
            id: id.into(),
            name: format!("Place {id}"),
        };
        // As left by a file that was applied before locations had numbers.
        let mut catalogue = Catalogue {
            locations: vec![location("yard"), location("7")],
            former_locations: vec![location("barn")],
            ..Catalogue::default()
        };
        let numbers = |catalogue: &Catalogue, ids: [&str; 4]| ids.map(|id| catalogue.location_number(id));
        let ids = ["yard", "7", "barn", "roof"];
        assert_eq!(numbers(&catalogue, ids), [Some(1), Some(2), Some(3), None]);
        catalogue.replace_locations(vec![location("roof"), location("barn"), location("7")]);
        assert_eq!(numbers(&catalogue, ids), [Some(1), Some(2), Some(3), Some(4)]);
        catalogue.replace_locations(vec![location("yard")]);
        assert_eq!(numbers(&catalogue, ids), [Some(1), Some(2), Some(3), Some(4)]);

        let found = |named| catalogue.location(&named).map(|location| &*location.id);
        assert_eq!(found(LocationRef::Number(1)), Some("yard"));
        assert_eq!(found(LocationRef::Id("yard".into())), Some("yard"));
        for gone in [
            LocationRef::Number(2),
            LocationRef::Id("7".into()),
            LocationRef::Number(0),
            LocationRef::Id("1".into()),
        ] {
            assert_eq!(found(gone), None);
        }
    }

    #[test]
    fn a_tag_is_painted_as_the_taxonomy_says_now() {
        let hot = Tag {
            resource: TagResource::Lead,
            name: "Hot".into(),
            colour: "#d33".into(),
            kind: String::new(),
            defaulted: true,
        };
        let catalogue = Catalogue {
            tags: vec![hot],
            ..Catalogue::default()
        };
        let choices = catalogue.defaulted_tags(TagResource::Lead);
        assert_eq!(catalogue.applied_tags(TagResource::Lead, &choices)[0].colour, "#d33");
        assert!(catalogue.defaulted_tags(TagResource::Contact).is_empty());
        let gone = [TagChoice {
            name: "Gone".into(),
            checked: false,
        }];
        assert_eq!(catalogue.applied_tags(TagResource::Lead, &gone)[0].colour, "");
    }

    #[test]
    fn tags_of_vehicles_are_apart_for_each_stock_type() {
        let ready = |kind: StockType| Tag {
            resource: TagResource::Vehicle,
            name: "Ready".into(),
            colour: String::new(),
            kind: kind.key().into(),
            defaulted: true,
        };
        let catalogue = Catalogue {
            tags: vec![ready(StockType::InStock), ready(StockType::Customer)],
            ..Catalogue::default()
        };
        let of_customers = catalogue.tag(StockType::Customer, "Ready");
        assert_eq!(of_customers.map(|tag| &*tag.kind), Some("u"));
        assert!(catalogue.tag(StockType::Courtesy, "Ready").is_none());
        assert_eq!(catalogue.defaulted_tags(StockType::InStock).len(), 1);
        assert_eq!(catalogue.tags_of(TagResource::Vehicle).count(), 2);
    }
}
