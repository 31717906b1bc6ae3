//! The representation of a vehicle in the API and in webhooks (contract, "Vehicle").

use std::borrow::Cow;

use forecourt_accounts::Business;
use forecourt_kernel::{EventName, Scope, ScopeSet};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value as Json;

use crate::declare::{Detail, FieldValue, GroupValue, Shown, ViewContext};
use crate::finance::{self, FinanceExample};
use crate::placeholder::Placeholder;
use crate::{Data, MediaIds, MediumKind, Vehicle, VehicleStatus, read_sale};

/// The representation of a vehicle.
#[derive(Clone, Copy, Debug)]
pub struct VehicleView<'a> {
    vehicle: &'a Vehicle,
    business: &'a Business,
    detail: Detail,
    pricing: bool,
    sale: bool,
}

impl<'a> VehicleView<'a> {
    /// Creates the representation of `vehicle`, a vehicle of `business`, in this detail for a caller with `scopes`.
    pub const fn new(vehicle: &'a Vehicle, business: &'a Business, detail: Detail, scopes: ScopeSet) -> Self {
        Self {
            vehicle,
            business,
            detail,
            pricing: scopes.contains(Scope::VehiclePricingRead),
            sale: false,
        }
    }

    /// Creates the complete representation of `vehicle`, as events keep it.
    pub(crate) const fn whole(vehicle: &'a Vehicle, business: &'a Business) -> Self {
        Self {
            vehicle,
            business,
            detail: Detail::Full,
            pricing: true,
            sale: false,
        }
    }

    /// Adds its sale, for the event of a sale.
    pub(crate) const fn with_sale(self) -> Self {
        Self { sale: true, ..self }
    }

    fn context(&self) -> ViewContext<'a> {
        ViewContext::new(self.detail, self.pricing, self.business)
    }

    fn finance(&self) -> Finance {
        let price = self.vehicle.content.data.advertised_price();
        let terms = self.business.settings.finance.as_ref();
        let example = price
            .zip(terms)
            .and_then(|(price, terms)| finance::example(price, terms));
        Finance {
            example_monthly: example.as_ref().map(|example| example.monthly().to_string()),
            example,
        }
    }

    fn serialize_advert<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Vehicle {
            id,
            tag,
            created: _,
            updated,
            version: _,
            content,
        } = self.vehicle;
        let url_full = self.business.vehicle_address(&self.vehicle.url());
        let mut advert = serializer.serialize_map(None)?;
        advert.serialize_entry("id", id)?;
        advert.serialize_entry("tag", tag)?;
        advert.serialize_entry("country", &content.country)?;
        advert.serialize_entry("registration", &content.registration)?;
        advert.serialize_entry("url_full", &Some(url_full).filter(|url| !url.is_empty()))?;
        advert.serialize_entry("status", &StatusView::new(content.status))?;
        advert.serialize_entry("data", &DataView(self))?;
        advert.serialize_entry("updated", updated)?;
        advert.end()
    }
}

impl Serialize for VehicleView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.detail == Detail::Advert {
            return self.serialize_advert(serializer);
        }
        let mut shown = serializer.serialize_map(None)?;
        shown.serialize_entry("id", &self.vehicle.id)?;
        if self.detail == Detail::Simple {
            show_simple(self.vehicle, &self.context(), &mut shown)?;
            return shown.end();
        }
        let content = &self.vehicle.content;
        show_head(self.vehicle, &self.context(), &mut shown)?;
        let owner = content.owner.map(|owner| owner.to_string()).unwrap_or_default();
        shown.serialize_entry("version", &self.vehicle.version)?;
        shown.serialize_entry("owner", &owner)?;
        shown.serialize_entry("parent", &content.parent)?;
        shown.serialize_entry("data", &DataView(self))?;
        shown.serialize_entry("media", &MediaIds::new(&content.media))?;
        if self.sale {
            shown.serialize_entry("sale", &read_sale(self.vehicle))?;
        }
        shown.end()
    }
}

/// Writes the members of the simple view that follow the id.
pub(crate) fn show_simple<M: SerializeMap>(
    vehicle: &Vehicle,
    context: &ViewContext<'_>,
    shown: &mut M,
) -> Result<(), M::Error> {
    let content = &vehicle.content;
    show_head(vehicle, context, shown)?;
    let data = Shown {
        value: &*content.data,
        context,
    };
    shown.serialize_entry("data", &data)?;
    let photo = content.media.ids(MediumKind::Photo);
    shown.serialize_entry("media", &SimpleMedia { photo })
}

/// Writes the members after the id with which both views begin.
fn show_head<M: SerializeMap>(vehicle: &Vehicle, context: &ViewContext<'_>, shown: &mut M) -> Result<(), M::Error> {
    let Vehicle {
        id: _,
        tag,
        created,
        updated,
        version: _,
        content,
    } = vehicle;
    let url = vehicle.url();
    shown.serialize_entry("tag", tag)?;
    shown.serialize_entry("country", &content.country)?;
    shown.serialize_entry("registration", &content.registration)?;
    shown.serialize_entry("url", &url)?;
    shown.serialize_entry(
        "url_full",
        &BusinessText {
            placeholder: Placeholder::Address(url.as_str().into()),
            context,
        },
    )?;
    shown.serialize_entry("type", content.kind.slug())?;
    shown.serialize_entry("status", &StatusView::new(content.status))?;
    shown.serialize_entry("created", created)?;
    shown.serialize_entry("updated", updated)
}

/// A text of the business's record, with the context in which it is shown.
struct BusinessText<'a, 'b> {
    placeholder: Placeholder<'a>,
    context: &'a ViewContext<'b>,
}

impl Serialize for BusinessText<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.context.texts().show(&self.placeholder, serializer)
    }
}

/// The state of a vehicle.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VehicleStatusView))]
pub struct StatusView {
    /// 1 draft or initial, 2 active, 3 sold or closed, 4 ended.
    id: u8,
    /// The name to compare.
    name: &'static str,
    /// The name to show.
    label: &'static str,
}

impl StatusView {
    /// Returns the representation of `status`.
    pub const fn new(status: VehicleStatus) -> Self {
        Self {
            id: status.id(),
            name: status.name(),
            label: status.label(),
        }
    }
}

#[derive(Clone, Debug, Serialize)]
struct SimpleMedia<'a> {
    photo: Vec<&'a str>,
}

/// The finance example for a vehicle's price.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = VehicleFinance))]
struct Finance {
    /// Monthly payment; null without an example.
    #[cfg_attr(feature = "openapi", schema(required, pattern = "^-?\\d+\\.\\d{2}$"))]
    example_monthly: Option<String>,
    /// The example; null if the business has no finance terms, or the vehicle has no price or one on application.
    #[cfg_attr(feature = "openapi", schema(required))]
    example: Option<FinanceExample>,
}

/// The data in a view that shows more than its fields.
struct DataView<'a>(&'a VehicleView<'a>);

impl Serialize for DataView<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(view) = self;
        let catalogue = &view.business.catalogue;
        let context = view.context();
        let content = &view.vehicle.content;
        let mut data = serializer.serialize_map(None)?;
        if view.detail == Detail::Advert {
            advertised(&content.data).show_fields(&context, &mut data)?;
        } else {
            content.data.show_fields(&context, &mut data)?;
            data.serialize_entry("tag", &catalogue.applied_tags(content.kind, &content.tags))?;
        }
        data.serialize_entry("finance", &view.finance())?;
        data.end()
    }
}

/// Returns the data, without a price that is on application.
fn advertised(data: &Data) -> Cow<'_, Data> {
    let price = data.advertised_price();
    if price == data.stock.price_website {
        return Cow::Borrowed(data);
    }
    let mut data = data.clone();
    data.stock.price_website = price;
    Cow::Owned(data)
}

/// Removes the parts of a vehicle's representation that a caller with `scopes` may not see (contract, "Delivery request").
pub fn project(shown: &mut Json, scopes: ScopeSet) {
    if !scopes.contains(Scope::VehiclePricingRead)
        && let Some(data) = shown.get_mut("data")
    {
        Data::withhold_pricing(data);
    }
    if !scopes.contains(Scope::VehicleSalesRead)
        && let Json::Object(members) = shown
    {
        members.shift_remove("sale");
    }
}

/// Removes the parts of an event's vehicle that the event does not show to a receiver with `scopes`. Only the event of a sale shows
/// the sale.
pub fn project_event(shown: &mut Json, event: EventName, scopes: ScopeSet) {
    if event != EventName::VehicleSold
        && let Json::Object(members) = &mut *shown
    {
        members.shift_remove("sale");
    }
    project(shown, scopes);
}

/// A made-up vehicle in the full view, as a caller without `vehicle-pricing:read` sees it.
#[cfg(feature = "openapi")]
pub fn example() -> Json {
    use forecourt_kernel::{BusinessId, Country, Timestamp, VehicleId, Version};
    use forecourt_reference::StockType;
    use serde_json::json;

    use crate::{AppraisalOffer, ChannelOptions, Media, Reservations, VehicleDraft, VehicleTag, validate_data};

    let at = Timestamp::from_epoch_seconds(1_767_225_600);
    let business = Business {
        website: "https://acme.example".into(),
        ..Business::new(BusinessId::new(1), "acme", "Acme Cars")
    };
    let sent = json!({
        "vehicle": {"type": "Car", "make": "BMW", "model": "3 Series", "derivative": "320d M Sport", "mileage": 41_250},
        "history": {"year": 2019},
        "stock": {"reference": "A-17", "price_website": 17_495},
    });
    let (patch, _) = validate_data(&sent, &business, at, true);
    let mut data = Box::<Data>::default();
    data.apply(*patch);
    data.derive_values();
    let vehicle = Vehicle {
        id: VehicleId::new(1042),
        tag: VehicleTag::nth(1),
        created: at,
        updated: at,
        version: Version::FIRST,
        content: VehicleDraft {
            kind: StockType::InStock,
            status: VehicleStatus::ForSale,
            country: Country::GB,
            registration: "AB19 CDE".parse().ok(),
            owner: None,
            parent: None,
            tags: Vec::new(),
            channels: vec!["website".into()],
            channel_options: ChannelOptions::default(),
            data,
            media: Media::default(),
            reservation: Reservations::default(),
            sale: None,
            offer: AppraisalOffer::default(),
            acquisition: None,
            stock_number: None,
        },
    };
    let view = VehicleView::new(&vehicle, &business, Detail::Full, ScopeSet::NONE);
    serde_json::to_value(view).unwrap_or_default()
}

#[cfg(feature = "openapi")]
mod schemas {
    use std::borrow::Cow;

    use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Schema, Type};
    use utoipa::openapi::{Ref, RefOr};
    use utoipa::{PartialSchema, ToSchema};

    use forecourt_reference::StockType;

    use super::{Finance, StatusView, VehicleView};
    use crate::declare::FieldValue;
    use crate::schema::{Side, array, plain, words};
    use crate::{ChannelOptions, Data, MediaIds};

    /// A vehicle in the full view. It refers to the one schema that responses and events share.
    #[derive(Clone, Copy, Debug)]
    pub struct FullVehicle;

    /// A vehicle in the simple view.
    #[derive(Clone, Copy, Debug)]
    pub struct SimpleVehicle;

    /// The data of a vehicle in a change.
    #[derive(Clone, Copy, Debug)]
    pub struct VehicleDataChange;

    /// The stock type of a vehicle.
    #[derive(Clone, Copy, Debug)]
    struct StockTypeSlug;

    /// The data of a new vehicle.
    #[derive(Clone, Copy, Debug)]
    pub struct NewVehicleData;

    /// The advertising options of the channels.
    #[derive(Clone, Copy, Debug)]
    pub struct ChannelOptionsSchema;

    /// A change of the channels' advertising options.
    #[derive(Clone, Copy, Debug)]
    pub struct ChannelOptionsChange;

    fn text(description: &str, nullable: bool) -> Schema {
        plain(Type::String, nullable).description(Some(description)).into()
    }

    fn number(description: &str, nullable: bool) -> Schema {
        plain(Type::Integer, nullable).description(Some(description)).into()
    }

    fn version() -> Schema {
        let about = "Raised by one with each change, from 1.";
        plain(Type::Integer, false)
            .minimum(Some(1))
            .description(Some(about))
            .into()
    }

    fn reference<T: ToSchema>() -> Ref {
        Ref::from_schema_name(T::name())
    }

    fn object(members: Vec<(&str, RefOr<Schema>)>, description: &str) -> RefOr<Schema> {
        let object = ObjectBuilder::new()
            .schema_type(Type::Object)
            .description(Some(description));
        let all = members.into_iter().fold(object, |object, (name, schema)| {
            object.property(name, schema).required(name)
        });
        RefOr::T(all.into())
    }

    fn head() -> Vec<(&'static str, RefOr<Schema>)> {
        vec![
            ("id", number("Vehicle id.", false).into()),
            ("tag", text("Short code, unique within the business.", false).into()),
            ("country", text("Country, two-letter ISO code.", false).into()),
            (
                "registration",
                text("Registration mark, as it is usually written.", true).into(),
            ),
            (
                "url_full",
                text("Public address; empty if the business has no website.", false).into(),
            ),
            (
                "url",
                text("Slug of year, make, model, derivative and tag.", false).into(),
            ),
            ("type", reference::<StockTypeSlug>().into()),
            ("status", reference::<StatusView>().into()),
            (
                "created",
                number("Time at which the record was created, epoch seconds.", false).into(),
            ),
            (
                "updated",
                number("Time of the last change of the record, epoch seconds.", false).into(),
            ),
        ]
    }

    /// Returns the schema of the data, with the members that are shown beside its sections.
    fn full_data() -> Schema {
        let mut data = Data::schema(Side::Read);
        if let Schema::Object(object) = &mut data {
            let applied = <forecourt_reference::AppliedTag<'static> as ToSchema>::name();
            let tags = Schema::from(
                utoipa::openapi::ArrayBuilder::new()
                    .items(Ref::from_schema_name(applied))
                    .build(),
            );
            for (name, schema) in [("tag", RefOr::from(tags)), ("finance", reference::<Finance>().into())] {
                object.properties.insert(name.to_owned(), schema);
                object.required.push(name.to_owned());
            }
        }
        data
    }

    /// Returns the schema of an advert's data.
    pub fn advert_data() -> RefOr<Schema> {
        let mut data = crate::schema::of_advert::<Data>();
        if let Schema::Object(object) = &mut data {
            object
                .properties
                .insert("finance".to_owned(), reference::<Finance>().into());
            object.required.push("finance".to_owned());
        }
        data.into()
    }

    /// Adds the schemas that [`advert_data`] and the status of an advert refer to.
    pub fn add_advert_schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        add::<StatusView>(schemas);
        add::<Finance>(schemas);
    }

    impl FullVehicle {
        fn described() -> RefOr<Schema> {
            let mut members = head();
            members.extend([
                ("version", version().into()),
                (
                    "owner",
                    text("Staff user id; empty if the vehicle is not assigned.", false).into(),
                ),
                ("parent", number("The record that it is a variant of.", true).into()),
                ("data", full_data().into()),
                ("media", reference::<MediaIds<'static>>().into()),
            ]);
            object(members, "A vehicle in the full view.")
        }
    }

    impl PartialSchema for FullVehicle {
        fn schema() -> RefOr<Schema> {
            reference::<Self>().into()
        }
    }

    impl ToSchema for FullVehicle {
        fn name() -> Cow<'static, str> {
            "Vehicle".into()
        }

        fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
            schemas.push((Self::name().into_owned(), Self::described()));
            add::<StatusView>(schemas);
            add::<StockTypeSlug>(schemas);
            add::<Finance>(schemas);
            add::<MediaIds<'static>>(schemas);
            add::<forecourt_reference::AppliedTag<'static>>(schemas);
        }
    }

    /// A full vehicle is also a simple one, so "one of" would be wrong.
    impl PartialSchema for VehicleView<'_> {
        fn schema() -> RefOr<Schema> {
            let views = [reference::<FullVehicle>(), reference::<SimpleVehicle>()];
            let views = views.into_iter().fold(AnyOfBuilder::new(), AnyOfBuilder::item);
            Schema::AnyOf(views.build()).into()
        }
    }

    impl ToSchema for VehicleView<'_> {
        fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
            FullVehicle::schemas(schemas);
            add::<SimpleVehicle>(schemas);
        }
    }

    /// Adds the schema of `T` under its name, and those that it refers to.
    fn add<T: ToSchema>(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(schemas);
    }

    impl PartialSchema for SimpleVehicle {
        fn schema() -> RefOr<Schema> {
            let mut members = head();
            let photo = Schema::from(array(plain(Type::String, false).into(), Side::Read));
            members.extend([
                ("data", Data::schema(Side::ReadSimple).into()),
                ("media", object(vec![("photo", photo.into())], "Its photos.")),
            ]);
            object(members, "A vehicle in the simple view.")
        }
    }

    impl PartialSchema for VehicleDataChange {
        fn schema() -> RefOr<Schema> {
            crate::schema::of_sent::<Data>(Side::Write).into()
        }
    }

    impl PartialSchema for StockTypeSlug {
        fn schema() -> RefOr<Schema> {
            words(StockType::ALL.map(StockType::slug), false)
                .description(Some("Stock type."))
                .into()
        }
    }

    impl PartialSchema for NewVehicleData {
        fn schema() -> RefOr<Schema> {
            crate::schema::of_sent::<Data>(Side::Create).into()
        }
    }

    impl PartialSchema for ChannelOptionsSchema {
        fn schema() -> RefOr<Schema> {
            ChannelOptions::schema(Side::Read).into()
        }
    }

    impl PartialSchema for ChannelOptionsChange {
        fn schema() -> RefOr<Schema> {
            crate::schema::of_merged::<ChannelOptions>().into()
        }
    }

    macro_rules! named {
        ($($schema:ident = $name:literal [$($part:ty),*];)+) => {$(
            impl ToSchema for $schema {
                fn name() -> Cow<'static, str> {
                    $name.into()
                }

                fn schemas(_schemas: &mut Vec<(String, RefOr<Schema>)>) {
                    $(add::<$part>(_schemas);)*
                }
            }
        )+};
    }

    named! {
        StockTypeSlug = "StockType" [];
        SimpleVehicle = "SimpleVehicle" [StatusView, StockTypeSlug];
        VehicleDataChange = "VehicleDataChange" [];
        NewVehicleData = "NewVehicleData" [];
        ChannelOptionsSchema = "ChannelOptions" [];
        ChannelOptionsChange = "ChannelOptionsChange" [];
    }
}

#[cfg(feature = "openapi")]
pub use schemas::{
    ChannelOptionsChange, ChannelOptionsSchema, FullVehicle, NewVehicleData, SimpleVehicle, VehicleDataChange,
    add_advert_schemas, advert_data,
};
