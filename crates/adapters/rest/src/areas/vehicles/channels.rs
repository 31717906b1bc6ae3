//! The channels on which vehicles are advertised, and the requirements for that, over HTTP (contract, "Vehicles"; decisions
//! §7).

use forecourt_accounts::Business;
use forecourt_dealership::Session;
use forecourt_kernel::{Field, Timestamp, ValidationErrors, bounds::MAX_ITEMS};
use forecourt_vehicles::{
    self as vehicles, ChannelOptionsChange, ChannelOptionsPatch, ChannelsView, PublishCheck, SetChannels,
};
use serde::Deserialize;
use serde_json::Value;
use utoipa::{
    ToSchema,
    openapi::{RefOr, Schema, schema::ArrayBuilder},
};

use super::id::IdParameter;
use crate::{
    body::Form,
    call::Call,
    code::Code,
    error::ApiError,
    operation::{Declared, Operation, operations},
    parameters::FieldsParameter,
    reply::{Envelope, Reply},
    schemas,
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_read_vehicle_channels> read_vehicle_channels,
        self::<__path_set_vehicle_channels> set_vehicle_channels,
        self::<__path_check_vehicle_publishing> check_vehicle_publishing,
    ])
}

/// Read where a vehicle is advertised
#[utoipa::path(get, path = "/2.0/vehicles/{id}/channels", tag = "vehicles", security(("bearer" = ["vehicles:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "The business's channels", body = Envelope<ChannelsView<'static>>),
        (status = 404, description = "`vehicle_not_found`")))]
async fn read_vehicle_channels(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id = call.id(Code::VEHICLE_NOT_FOUND)?;
    let mut session = call.read().await?;
    let vehicle = vehicles::read_vehicle(session.as_mut(), &call.caller, id).await?;
    let channels = ChannelsView::new(&vehicle, &call.caller.business, call.clock().now());
    Reply::projected(&channels, fields.as_ref())
}

/// Set where a vehicle is advertised
///
/// A draft that is published becomes for sale. A vehicle that is taken off every channel stays for sale.
#[utoipa::path(put, path = "/2.0/vehicles/{id}/channels", tag = "vehicles", security(("bearer" = ["vehicles:write"])),
    params(IdParameter), request_body = VehicleChannelsBody,
    responses((status = 200, description = "The business's channels", body = Envelope<ChannelsView<'static>>),
        (status = 404, description = "`vehicle_not_found`"),
        (status = 409, description = "`vehicle_status_transition_invalid`; `vehicle_publish_incomplete`, whose \
            `details.missing` are the fields to be filled in; `vehicle_publish_limit_reached`")))]
async fn set_vehicle_channels(call: Call) -> Result<Reply, ApiError> {
    let command = call
        .read_body(|body: VehicleChannelsBody, rules| Ok(body.command(rules.business, rules.now)?))
        .await;
    call.write(command, async |session: &mut dyn Session, command| {
        let id = call.target(Code::VEHICLE_NOT_FOUND)?;
        let vehicle = vehicles::set_channels(session, call.clock().as_ref(), &call.caller, id, command).await?;
        Reply::ok(&ChannelsView::new(&vehicle, &call.caller.business, call.clock().now()))
    })
    .await
}

/// Check what keeps a vehicle from being published
#[utoipa::path(get, path = "/2.0/vehicles/{id}/publish-check", tag = "vehicles", security(("bearer" = ["vehicles:read"])),
    params(IdParameter, FieldsParameter),
    responses((status = 200, description = "What is missing", body = Envelope<PublishCheck<'static>>),
        (status = 404, description = "`vehicle_not_found`")))]
async fn check_vehicle_publishing(call: Call) -> Result<Reply, ApiError> {
    let fields = call.fields()?;
    let id = call.id(Code::VEHICLE_NOT_FOUND)?;
    let mut session = call.read().await?;
    let (vehicle, for_sale) = vehicles::check_publishing(session.as_mut(), &call.caller, id).await?;
    let check = PublishCheck::new(&vehicle, &call.caller.business, for_sale);
    Reply::projected(&check, fields.as_ref())
}

/// The channels that a vehicle is to be published on.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({"channels": ["website"]}))]
struct VehicleChannelsBody {
    /// The full set of ids; the vehicle is taken off channels that are left out. Without this member only the options change.
    #[serde(default)]
    #[schema(schema_with = channels_schema)]
    channels: Field<Vec<String>>,
    /// Settings of the channels' advertisements; only the supplied platforms and fields change, and null resets them.
    #[serde(default)]
    #[schema(value_type = Option<ChannelOptionsChange>)]
    options: Field<Value>,
}

fn channels_schema() -> RefOr<Schema> {
    ArrayBuilder::new()
        .items(schemas::line())
        .max_items(Some(MAX_ITEMS))
        .description(Some(
            "The full set of ids; the vehicle is taken off what is left out. Without it only the options change.",
        ))
        .into()
}

impl VehicleChannelsBody {
    fn command(self, business: &Business, now: Timestamp) -> Result<SetChannels, ValidationErrors> {
        let Self { channels, options } = self;
        let mut form = Form::new();
        let channels = match &options {
            Field::Absent => Some(form.required("channels", channels).unwrap_or_default()),
            _ => form.present("channels", channels),
        };
        let options = match form.nullable("options", options) {
            None => Ok(ChannelOptionsPatch::default()),
            Some(sent) => vehicles::read_channel_options(&sent.unwrap_or_default(), business, now),
        };
        let options = form.finish_validated(options);
        let unknown = vehicles::validate_channels(channels.as_deref().unwrap_or_default(), business);
        match options {
            Ok(options) => unknown.into_result(SetChannels { channels, options }),
            Err(mut found) => {
                found.extend(unknown);
                Err(found)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use forecourt_kernel::Scope;
    use serde_json::json;

    use super::*;
    use crate::{body, testing::a_caller};

    const NOW: Timestamp = Timestamp::from_epoch_seconds(1_767_225_600);

    fn named(errors: &ValidationErrors) -> Vec<&str> {
        errors.as_slice().iter().map(|error| error.field.as_str()).collect()
    }

    #[test]
    fn channels_and_options_are_validated_together() {
        let by = a_caller(Scope::VehiclesWrite);
        let command = |body: Value| {
            let body: VehicleChannelsBody = body::parse(body.to_string().as_bytes()).unwrap();
            body.command(&by.business, NOW)
        };
        let kept = command(json!({"channels": ["website"]})).unwrap();
        assert_eq!(
            (kept.channels, kept.options),
            (Some(vec!["website".to_owned()]), ChannelOptionsPatch::default())
        );
        let reset = command(json!({"channels": ["website"], "options": null})).unwrap();
        assert!(reset.options.cleared, "null resets");
        let reset = command(json!({"channels": [], "options": {"platform_a": null}})).unwrap();
        assert!(reset.options.platform_a.unwrap().cleared && !reset.options.cleared);
        let faults = command(json!({"channels": ["website", "nowhere"], "options": {"platform_a": {"poa": "Yes"}}}));
        assert_eq!(named(&faults.unwrap_err()), ["options.platform_a.poa", "channels.1"]);
        let alone = command(json!({"options": {"platform_a": {"poa": true}}})).unwrap();
        assert_eq!(alone.channels, None);
        assert_eq!(named(&command(json!({"options": []})).unwrap_err()), ["options"]);
        assert_eq!(named(&command(json!({})).unwrap_err()), ["channels"]);
        assert_eq!(
            named(&command(json!({"channels": null, "options": {}})).unwrap_err()),
            ["channels"]
        );
    }
}
