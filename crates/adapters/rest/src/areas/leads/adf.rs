//! Enquiries in the Auto-lead Data Format, over HTTP (decisions §5).

use forecourt_dealership::Session;
use forecourt_kernel::bounds::MAX_ADF_BYTES;
use forecourt_leads::{self as leads, FullLead};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        RefOr, Schema,
        schema::{KnownFormat, ObjectBuilder, SchemaFormat, Type},
    },
};

use crate::{
    call::Call,
    error::ApiError,
    operation::{Declared, Operation, operations},
    reply::{Envelope, Reply},
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_create_lead_from_adf> create_lead_from_adf { takes_xml: true },
    ])
}

/// Create a lead from an ADF document
///
/// Turns one `prospect` of ADF 1.0, in at most 256 KiB of XML, into one lead on channel marketplace. The first vehicle of the
/// business that has the stock number, the VIN or the registration of one in the document is associated with it. A document
/// type declaration, malformed XML, or any other number of prospects than one gives 422 (`body`).
#[utoipa::path(post, path = "/2.0/leads/adf", tag = "leads", security(("bearer" = ["leads:write"])),
    request_body(content((AdfText = "application/xml", example = json!(EXAMPLE)), (AdfDocument = "text/xml")), description = "An ADF 1.0 document"),
    responses((status = 201, description = "The lead that was created", body = Envelope<FullLead<'static>>)))]
async fn create_lead_from_adf(call: Call) -> Result<Reply, ApiError> {
    let country = call.caller.business.country;
    let read = call.parse(move |document| Ok(leads::read_adf(document, country)?));
    call.write(read.await, async |session: &mut dyn Session, prospect| {
        let lead = leads::create_lead_from_adf(session, call.clock().as_ref(), &call.caller, prospect).await?;
        call.created(&lead)
    })
    .await
}

/// The shortest document that makes a lead.
const EXAMPLE: &str = r#"<?adf version="1.0"?><adf><prospect><customer><contact><name part="full">Ann Lee</name></contact></customer></prospect></adf>"#;

/// The body as a text, since its elements are defined by ADF. Its media type comes first, so that the reference shows it for
/// editing.
struct AdfText;

impl PartialSchema for AdfText {
    fn schema() -> RefOr<Schema> {
        document()
            .description(Some(
                "An ADF 1.0 document with one prospect, in UTF-8, of at most 256 KiB.",
            ))
            .into()
    }
}

impl ToSchema for AdfText {}

/// The body as a file. XML names its own encoding, so the body is bytes.
struct AdfDocument;

impl PartialSchema for AdfDocument {
    fn schema() -> RefOr<Schema> {
        document()
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::Binary)))
            .description(Some("An ADF 1.0 document with one prospect, of at most 256 KiB."))
            .examples([EXAMPLE])
            .into()
    }
}

impl ToSchema for AdfDocument {}

fn document() -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .max_length(Some(MAX_ADF_BYTES))
}
