//! Enquiries in the Auto-lead Data Format 1.0, an XML format that marketplaces and manufacturers send.

use forecourt_accounts::{Caller, Rules};
use forecourt_kernel::{
    Clock, Country, Email, Field, Line, OrEmpty, Phone, Valid, ValidationErrors, Words,
    bounds::{
        MAX_ADF_ATTRIBUTES, MAX_ADF_BYTES, MAX_ADF_DEPTH, MAX_ADF_ELEMENTS, MAX_ADF_NAMESPACES, MAX_LINE_CHARS,
        MAX_TEXT_CHARS,
    },
};
use forecourt_reference::{LeadChannel, LeadType};
use roxmltree::{Document, Node, ParsingOptions};
use serde_json::{Map, Value};

use crate::{
    Lead, LeadChanges, LeadData, LeadError, LeadStore, PhoneLine, VehicleClue, create_lead, validate_lead,
    xml_extent::XmlExtent,
};

/// The maximum number of vehicles of a prospect that are searched for.
const MAX_VEHICLES: usize = 20;

/// A parsed `prospect`.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AdfProspect {
    /// The fields of the lead.
    pub fields: LeadChanges,
    /// The clues to the vehicles that the prospect is about, in the order of the document. For each vehicle they are its stock
    /// number, then its VIN, then its registration mark.
    pub clues: Vec<VehicleClue>,
}

/// Reads the only `prospect` of a document. Telephone numbers without a country code are read as numbers of `country`. An invalid
/// email or number is kept as a member of the lead's data.
///
/// # Errors
/// A fault of `body`: the document is longer than 256 KiB, or exceeds the limit of elements, levels, attributes or namespaces. It
/// is not XML, or has a document type declaration. It has no prospect or several. Or one of its texts is longer than a lead's may
/// be.
pub fn read_adf(document: &[u8], country: Country) -> Result<AdfProspect, ValidationErrors> {
    read(document, country).map_err(|fault| ValidationErrors::one("body", fault))
}

/// Stores a prospect as a new lead, and associates the first vehicle of the business that matches a clue.
///
/// # Errors
/// As for [`create_lead`].
pub async fn create_lead_from_adf(
    store: &mut dyn LeadStore,
    clock: &dyn Clock,
    by: &Caller,
    prospect: AdfProspect,
) -> Result<Lead, LeadError> {
    let AdfProspect { mut fields, clues } = prospect;
    for clue in &clues {
        if let Some(vehicle) = store.vehicle_with(by.business_id(), clue).await? {
            fields.vehicle = Field::Value(vehicle.get());
            break;
        }
    }
    let rules = Rules {
        business: &by.business,
        now: clock.now(),
    };
    let fields = Valid::new(fields, |fields| validate_lead(fields, &rules))?;
    create_lead(store, clock, by, fields).await
}

fn read(document: &[u8], country: Country) -> Result<AdfProspect, String> {
    if document.len() > MAX_ADF_BYTES {
        return Err(format!("must have at most {} KiB", MAX_ADF_BYTES / 1024));
    }
    let text = decoded(document)?;
    check_extent(XmlExtent::of(&text))?;
    let options = ParsingOptions {
        allow_dtd: false,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(&text, options).map_err(|error| match error {
        roxmltree::Error::DtdDetected => NO_DTD.to_owned(),
        error => format!("must be well-formed XML: {error}"),
    })?;
    let root = document.root_element();
    // The parser accepts a document type declaration that declares nothing.
    if text
        .get(..root.range().start)
        .is_some_and(|prolog| prolog.contains("<!DOCTYPE"))
    {
        return Err(NO_DTD.to_owned());
    }
    let mut prospects: Vec<Node<'_, '_>> = if is(root, "prospect") {
        vec![root]
    } else {
        all(root, "prospect").filter(|_| is(root, "adf")).collect()
    };
    match (prospects.pop(), prospects.len()) {
        (Some(prospect), 0) => read_prospect(prospect, country),
        (Some(_), _) => Err("must have one prospect, and has several".to_owned()),
        (None, _) => Err("must have a prospect of ADF 1.0".to_owned()),
    }
}

/// Checks the limits. The parser's work grows with the cube of the depth of nested namespaces, and with the square of an
/// element's attributes.
fn check_extent(extent: XmlExtent) -> Result<(), String> {
    let XmlExtent {
        depth,
        elements,
        attributes,
        namespaces,
    } = extent;
    if depth > MAX_ADF_DEPTH {
        Err(format!("must be nested at most {MAX_ADF_DEPTH} deep"))
    } else if elements > MAX_ADF_ELEMENTS {
        Err(format!("must have at most {MAX_ADF_ELEMENTS} elements"))
    } else if attributes > MAX_ADF_ATTRIBUTES {
        Err(format!("must have elements of at most {MAX_ADF_ATTRIBUTES} attributes"))
    } else if namespaces > MAX_ADF_NAMESPACES {
        Err(format!("must declare at most {MAX_ADF_NAMESPACES} namespaces"))
    } else {
        Ok(())
    }
}

const NO_DTD: &str = "must have no document type declaration";

/// Returns the text of a document, which is UTF-8 unless it declares Latin-1.
fn decoded(document: &[u8]) -> Result<String, String> {
    let document = document.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(document);
    if let Ok(text) = std::str::from_utf8(document) {
        return Ok(text.to_owned());
    }
    let head = document.get(..document.len().min(100)).unwrap_or_default();
    let head = String::from_utf8_lossy(head).to_lowercase();
    if ["iso-8859-1", "latin1", "windows-1252"]
        .iter()
        .any(|name| head.contains(name))
    {
        return Ok(document.iter().map(|byte| char::from(*byte)).collect());
    }
    Err("must be UTF-8".to_owned())
}

fn read_prospect(prospect: Node<'_, '_>, country: Country) -> Result<AdfProspect, String> {
    let mut data = Map::new();
    let mut keep = |name: &str, text: String| {
        if !text.is_empty() {
            data.insert(name.to_owned(), Value::String(text));
        }
    };

    let customer = first(prospect, "customer");
    let contact = customer.and_then(|customer| preferred(customer, "contact", "primarycontact"));
    let name = contact.map(name_of).unwrap_or_default();
    check(&name, "name", MAX_LINE_CHARS)?;

    let email = contact.and_then(|contact| preferred(contact, "email", "preferredcontact"));
    let email = email.map(line).unwrap_or_default();
    let address = email.parse::<Email>().ok();
    if address.is_none() {
        check(&email, "email", MAX_LINE_CHARS)?;
        keep("email", email);
    }

    let (mut phone, mut mobile) = (None, None);
    for number in contact.into_iter().flat_map(|contact| all(contact, "phone")) {
        let kind = number.attribute("type").unwrap_or_default().to_lowercase();
        let text = line(number);
        let (slot, member) = match kind.as_str() {
            "fax" | "pager" => continue,
            "cellphone" | "cell" | "mobile" => (&mut mobile, "mobile"),
            _ => (&mut phone, "phone"),
        };
        if text.is_empty() || slot.is_some() {
            continue;
        }
        match Phone::parse(&text, country) {
            Ok(number) => *slot = Some(number),
            Err(_) => {
                check(&text, member, MAX_LINE_CHARS)?;
                keep(member, text);
            }
        }
    }

    let vehicles: Vec<Node<'_, '_>> = all(prospect, "vehicle").collect();
    // A vehicle that the sender offers in exchange is not one of the business's.
    let (offered, wanted): (Vec<_>, Vec<_>) = vehicles
        .into_iter()
        .partition(|vehicle| matches!(interest(*vehicle).as_str(), "trade-in" | "sell"));
    let comments = customer.into_iter().chain(wanted.iter().copied());
    let comments: Vec<String> = comments
        .filter_map(|node| first(node, "comments").map(text))
        .filter(|text| !text.is_empty())
        .collect();
    let message = comments.join("\n\n");
    check(&message, "comments", MAX_TEXT_CHARS)?;
    keep("message", message);
    let described = wanted.first().map(|vehicle| described(*vehicle)).unwrap_or_default();
    check(&described, "description of a vehicle", MAX_LINE_CHARS)?;
    keep("vehicle", described);
    if let Some(offered) = offered.first() {
        let described = self::described(*offered);
        check(&described, "description of a vehicle", MAX_LINE_CHARS)?;
        keep("part_exchange", described);
    }
    let provider = first(prospect, "provider");
    let source = provider.and_then(|provider| first(provider, "name")).map(line);
    let source = source.unwrap_or_default();
    check(&source, "name of the provider", MAX_LINE_CHARS)?;
    keep("source", source);
    let date = first(prospect, "requestdate").map(line).unwrap_or_default();
    check(&date, "request date", MAX_LINE_CHARS)?;
    keep("requested", date);

    let channel_id = first(prospect, "id").map(line).filter(|id| !id.is_empty());
    check(channel_id.as_deref().unwrap_or_default(), "id", MAX_LINE_CHARS)?;
    // Each text is within its bound by now, but together they may still exceed the bound of a lead.
    let id = channel_id
        .iter()
        .map(|id| ("channel_id".to_owned(), id.as_str().into()));
    let kept = data.clone().into_iter().chain(id).collect();
    if LeadData::default().merged(kept).is_err() {
        return Err(format!(
            "has more than the {} KiB that a lead holds",
            LeadData::MAX_BYTES / 1024
        ));
    }
    let mut types = Vec::new();
    if wanted.iter().any(|vehicle| interest(*vehicle) == "test-drive") {
        types.push(LeadType::TestDrive);
    }
    if !offered.is_empty() {
        types.push(LeadType::PartExchange);
    }
    Ok(AdfProspect {
        fields: LeadChanges {
            channel: LeadChannel::Marketplace.into(),
            channel_id: channel_id.map(said).transpose()?.map_or(Field::Absent, Field::Value),
            name: said(name)?.into(),
            email: address.map_or(Field::Absent, |address| OrEmpty(Some(address)).into()),
            phone: phone.map_or(Field::Absent, |phone| PhoneLine::from(phone).into()),
            mobile: mobile.map_or(Field::Absent, |mobile| PhoneLine::from(mobile).into()),
            types: if types.is_empty() {
                Field::Absent
            } else {
                Words::from(types).into()
            },
            data: data.into(),
            ..LeadChanges::default()
        },
        clues: wanted.into_iter().take(MAX_VEHICLES).flat_map(clues).collect(),
    })
}

fn said(text: String) -> Result<Line, String> {
    Line::new(text).map_err(|error| error.to_string())
}

/// Returns the clues by which a business may find a vehicle.
fn clues(vehicle: Node<'_, '_>) -> Vec<VehicleClue> {
    let said = |name: &str| {
        let text = first(vehicle, name).map(line).unwrap_or_default();
        Some(text).filter(|text| !text.is_empty() && text.chars().nth(MAX_LINE_CHARS).is_none())
    };
    let mark = ["plate", "licenseplate", "registration", "vrm", "id"]
        .into_iter()
        .find_map(said);
    let clues = [
        said("stock").map(VehicleClue::StockNumber),
        said("vin").map(VehicleClue::Vin),
        mark.map(VehicleClue::Registration),
    ];
    clues.into_iter().flatten().collect()
}

/// Returns the usual name of a vehicle: year, make, model and trim, as far as they are given.
fn described(vehicle: Node<'_, '_>) -> String {
    let parts = ["year", "make", "model", "trim"]
        .into_iter()
        .filter_map(|name| first(vehicle, name));
    let parts: Vec<String> = parts.map(line).filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

/// Returns the sender's interest in a vehicle: to buy it, unless the document says otherwise.
fn interest(vehicle: Node<'_, '_>) -> String {
    let interest = vehicle.attribute("interest").unwrap_or("buy");
    interest.trim().to_lowercase()
}

/// Returns the full name of a person, or its parts joined.
fn name_of(contact: Node<'_, '_>) -> String {
    let part = |wanted: &str| {
        let names = all(contact, "name");
        let part = |name: &Node<'_, '_>| name.attribute("part").unwrap_or("full").trim().to_lowercase();
        let mut of_part = names.filter(|name| part(name) == wanted);
        of_part.next().map(line).filter(|name| !name.is_empty())
    };
    part("full").unwrap_or_else(|| {
        let parts: Vec<String> = ["first", "middle", "last", "suffix"]
            .into_iter()
            .filter_map(part)
            .collect();
        parts.join(" ")
    })
}

fn is(node: Node<'_, '_>, name: &str) -> bool {
    node.is_element() && node.tag_name().name().eq_ignore_ascii_case(name)
}

/// Returns the direct children with that name.
fn all<'a, 'i>(within: Node<'a, 'i>, name: &str) -> impl Iterator<Item = Node<'a, 'i>> {
    within.children().filter(move |node| is(*node, name))
}

fn first<'a, 'i>(within: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    all(within, name).next()
}

/// Returns the child with that name that `attribute` marks, or else the first one with the name.
fn preferred<'a, 'i>(within: Node<'a, 'i>, name: &str, attribute: &str) -> Option<Node<'a, 'i>> {
    let marked = all(within, name).find(|node| node.attribute(attribute) == Some("1"));
    marked.or_else(|| first(within, name))
}

/// Returns the text directly within an element, with its line breaks.
fn text(node: Node<'_, '_>) -> String {
    let parts = node.children().filter(Node::is_text).filter_map(|part| part.text());
    let mut text: String = parts.collect();
    text.retain(|character| !character.is_control() || matches!(character, '\n' | '\t'));
    text.trim().to_owned()
}

/// Returns the text of an element as one line.
fn line(node: Node<'_, '_>) -> String {
    let text = text(node);
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

fn check(text: &str, what: &str, most: usize) -> Result<(), String> {
    match text.chars().nth(most) {
        Some(_) => Err(format!("has a {what} of more than {most} characters")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use forecourt_accounts::{BusinessFile, Rules};
    use forecourt_kernel::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::LeadDraft;

    fn prospect(document: &str) -> AdfProspect {
        read_adf(document.as_bytes(), Country::GB).unwrap()
    }

    #[track_caller]
    fn refused(document: &[u8]) -> String {
        let errors = read_adf(document, Country::GB).unwrap_err();
        let [error] = errors.as_slice() else {
            unreachable!("one fault: {errors:?}")
        };
        assert_eq!(error.field, "body");
        error.message.clone()
    }

    fn data(prospect: &AdfProspect) -> Value {
        Value::Object(prospect.fields.data.value().cloned().unwrap_or_default())
    }

    /// Makes a lead from the prospect.
    fn lead(prospect: AdfProspect) -> LeadDraft {
        let acme: BusinessFile = serde_json::from_value(json!({"tag": "acme", "name": "Acme Cars"})).unwrap();
        let now = Timestamp::from_epoch_seconds(0);
        let business = &acme.apply(None, &[], now).unwrap();
        let blank = LeadDraft::blank(&business.catalogue);
        let mut lead = blank.clone();
        prospect.fields.apply(&mut lead, &blank, &Rules { business, now });
        lead
    }

    /// An example from a marketplace.
    const MARKETPLACE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<?adf version="1.0"?>
<adf>
  <prospect status="new">
    <id sequence="1" source="AutoMart">AM-991827</id>
    <requestdate>2026-03-01T09:30:00+00:00</requestdate>
    <vehicle interest="buy" status="used">
      <year>2021</year><make>Volkswagen</make><model>Golf</model><trim>1.5 TSI Match</trim>
      <vin>wvwzzz1kz6w000001</vin><stock>A-17</stock>
    </vehicle>
    <customer>
      <contact primarycontact="1">
        <name part="first">Ann</name><name part="last">O&apos;Neill</name>
        <email preferredcontact="1">ann@example.com</email>
        <phone type="voice" time="evening">01632 960123</phone>
        <phone type="cellphone">07700 900123</phone>
      </contact>
      <comments><![CDATA[Is it still there?
I could come on Saturday & bring <cash>.]]></comments>
    </customer>
    <vendor><vendorname>Acme Cars</vendorname></vendor>
    <provider><name part="full">AutoMart UK</name><service>Enquiries</service></provider>
  </prospect>
</adf>"#;

    #[test]
    fn a_marketplaces_prospect_is_read() {
        let read = prospect(MARKETPLACE);
        let fields = &read.fields;
        assert_eq!(fields.channel_id.value().map(Line::as_str), Some("AM-991827"));
        assert_eq!((&fields.types, &fields.contact), (&Field::Absent, &Field::Absent));
        assert_eq!(fields.status, Field::Absent);
        let lead = lead(read.clone());
        assert_eq!(lead.channel, LeadChannel::Marketplace);
        assert_eq!(
            (lead.name.as_str(), lead.email.as_str()),
            ("Ann O'Neill", "ann@example.com")
        );
        assert_eq!(
            (lead.phone.as_str(), lead.mobile.as_str()),
            ("+441632960123", "+447700900123")
        );
        assert_eq!(
            data(&read),
            json!({
                "message": "Is it still there?\nI could come on Saturday & bring <cash>.",
                "vehicle": "2021 Volkswagen Golf 1.5 TSI Match", "source": "AutoMart UK",
                "requested": "2026-03-01T09:30:00+00:00",
            })
        );
        assert_eq!(
            read.clues,
            [
                VehicleClue::StockNumber("A-17".into()),
                VehicleClue::Vin("wvwzzz1kz6w000001".into())
            ]
        );
    }

    #[test]
    fn a_prospect_needs_nothing_within_it() {
        for document in [
            "<adf><prospect/></adf>",
            "<prospect/>",
            "<ADF><Prospect></Prospect></ADF>",
        ] {
            let read = prospect(document);
            assert_eq!(read.fields.name.value().map(Line::as_str), Some(""));
            assert_eq!((data(&read), read.clues), (json!({}), vec![]));
        }
    }

    #[test]
    fn the_whole_name_ranks_before_its_parts_and_the_marked_contact_before_others() {
        let read = prospect(
            r#"<adf><prospect><customer>
                <contact><name part="full">Bea</name></contact>
                <contact primarycontact="1">
                  <name part="first">Zoë</name><name part="full" type="individual"> Zoë
                    Öz </name>
                  <email>old@example.com</email><email preferredcontact="1">zoe@example.com</email>
                </contact></customer></prospect></adf>"#,
        );
        let lead = self::lead(read);
        assert_eq!((lead.name.as_str(), lead.email.as_str()), ("Zoë Öz", "zoe@example.com"));
        let read = prospect(
            r#"<prospect><customer><contact><name part="last">Lee</name><name part="suffix">Jr</name>
               <name part="first">Ann</name><name part="middle">B.</name></contact></customer></prospect>"#,
        );
        assert_eq!(self::lead(read).name, "Ann B. Lee Jr");
    }

    #[test]
    fn what_is_no_address_and_no_number_is_kept_as_it_is() {
        let read = prospect(
            r#"<adf><prospect><customer><contact>
                <email>ann at example</email><phone type="voice">ask for Ann</phone><phone type="fax">01632 960999</phone>
                <phone type="mobile">+49 151 23456789</phone><phone type="mobile">07700 900123</phone>
                </contact></customer></prospect></adf>"#,
        );
        assert_eq!(
            (&read.fields.email, &read.fields.phone),
            (&Field::Absent, &Field::Absent)
        );
        assert_eq!(lead(read.clone()).mobile, "+4915123456789");
        assert_eq!(data(&read), json!({"email": "ann at example", "phone": "ask for Ann"}));
    }

    #[test]
    fn each_vehicle_is_described_in_the_order_of_the_document() {
        let read = prospect(
            r#"<adf><prospect>
                <vehicle interest="test-drive"><id source="stock">ab12 cde</id><make>Ford</make><comments>The red one</comments></vehicle>
                <vehicle><plate>CD34EFG</plate><stock> B 2 </stock></vehicle>
                <vehicle interest="trade-in"><vin>X</vin><stock>Y</stock><year>2015</year><make>Fiat</make></vehicle>
                <customer><comments>Can I drive it?</comments></customer></prospect></adf>"#,
        );
        assert_eq!(
            read.clues,
            [
                VehicleClue::Registration("ab12 cde".into()),
                VehicleClue::StockNumber("B 2".into()),
                VehicleClue::Registration("CD34EFG".into()),
            ]
        );
        assert_eq!(lead(read.clone()).types, [LeadType::TestDrive, LeadType::PartExchange]);
        assert_eq!(
            data(&read),
            json!({"message": "Can I drive it?\n\nThe red one", "vehicle": "Ford", "part_exchange": "2015 Fiat"})
        );
    }

    #[test]
    fn a_document_says_how_it_is_written() {
        let document = "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><prospect><customer><contact><name>Zo\u{eb}</name></contact></customer></prospect>";
        let latin: Vec<u8> = document
            .chars()
            .map(|character| u8::try_from(character).unwrap())
            .collect();
        assert_eq!(lead(read_adf(&latin, Country::GB).unwrap()).name, "Zoë");
        let with_mark = format!("\u{feff}{}", "<prospect><id>7</id></prospect>");
        assert_eq!(
            prospect(&with_mark).fields.channel_id.value().map(Line::as_str),
            Some("7")
        );
        assert_eq!(refused(b"<prospect><id>\xff</id></prospect>"), "must be UTF-8");
    }

    #[test]
    fn a_document_type_declaration_is_refused() {
        for document in [
            r#"<!DOCTYPE adf><adf><prospect/></adf>"#,
            r#"<!DOCTYPE adf SYSTEM "http://example.com/adf.dtd"><adf><prospect/></adf>"#,
            r#"<?xml version="1.0"?><!DOCTYPE adf [<!ENTITY x SYSTEM "file:///etc/passwd">]><adf><prospect><id>&x;</id></prospect></adf>"#,
            r#"<!DOCTYPE adf [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><adf><prospect><id>&b;</id></prospect></adf>"#,
        ] {
            assert_eq!(refused(document.as_bytes()), NO_DTD, "{document}");
        }
        // Text that looks like a declaration is not one.
        let quoted = "<prospect><customer><comments><![CDATA[<!DOCTYPE adf>]]></comments></customer></prospect>";
        assert_eq!(data(&prospect(quoted)), json!({"message": "<!DOCTYPE adf>"}));
    }

    #[test]
    fn what_is_no_prospect_is_refused() {
        for document in [
            "",
            "hello",
            "{}",
            "<adf>",
            "<adf><prospect></adf>",
            "<a>&unknown;</a>",
            "<a b=1/>",
        ] {
            let message = refused(document.as_bytes());
            assert!(message.starts_with("must be well-formed XML"), "{document}: {message}");
        }
        for document in ["<adf/>", "<lead><prospect/></lead>", "<adf><x><prospect/></x></adf>"] {
            assert_eq!(
                refused(document.as_bytes()),
                "must have a prospect of ADF 1.0",
                "{document}"
            );
        }
        let two = "<adf><prospect/><prospect/></adf>";
        assert_eq!(refused(two.as_bytes()), "must have one prospect, and has several");
    }

    #[test]
    fn what_is_too_much_is_refused() {
        let long = |name: &str, count: usize| {
            let text = "x".repeat(count);
            format!(
                "<prospect><customer><contact><name>{name}{text}</name></contact><comments>{text}</comments></customer></prospect>"
            )
        };
        assert!(refused(long("", 256).as_bytes()).contains("name of more than 255"));
        let comments = format!(
            "<prospect><customer><comments>{}</comments></customer></prospect>",
            "ä".repeat(20_001)
        );
        assert!(refused(comments.as_bytes()).contains("comments of more than 20000"));
        let wide = format!(
            "<prospect><customer><comments>{}</comments></customer></prospect>",
            "\u{1f697}".repeat(20_000)
        );
        assert_eq!(refused(wide.as_bytes()), "has more than the 64 KiB that a lead holds");
        let large = format!("<prospect><x>{}</x></prospect>", "x".repeat(MAX_ADF_BYTES));
        assert_eq!(refused(large.as_bytes()), "must have at most 256 KiB");
    }

    #[test]
    fn what_a_parser_takes_long_for_is_refused_before_it_is_parsed() {
        let nested = |levels: usize, open: &dyn Fn(usize) -> String| {
            let open: String = (0..levels).map(open).collect();
            format!("<adf><prospect>{open}{}</prospect></adf>", "</a>".repeat(levels))
        };
        let plain = |_| "<a>".to_owned();
        let declaring = |at: usize| format!("<a xmlns:n{at}='urn:{at}'>");
        let attributes = |count: usize| {
            let attributes: String = (0..count).map(|at| format!(" a{at}=''")).collect();
            format!("<prospect{attributes}/>")
        };
        let elements = |count: usize| format!("<adf>{}<prospect/></adf>", "<x/> ".repeat(count - 2));
        for fine in [
            nested(30, &plain),
            elements(5_000),
            attributes(64),
            nested(16, &declaring),
            format!("<prospect><!--{}--></prospect>", nested(100, &declaring)),
        ] {
            prospect(&fine);
        }
        for (document, expected) in [
            (nested(31, &plain), "must be nested at most 32 deep"),
            (nested(30_000, &plain), "must be nested at most 32 deep"),
            ("<a>".repeat(33), "must be nested at most 32 deep"),
            (elements(5_001), "must have at most 5000 elements"),
            (attributes(65), "must have elements of at most 64 attributes"),
            (nested(17, &declaring), "must declare at most 16 namespaces"),
            (nested(1_000, &declaring), "must be nested at most 32 deep"),
        ] {
            assert_eq!(refused(document.as_bytes()), expected);
        }
    }
}
