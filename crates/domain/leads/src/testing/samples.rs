//! Sample leads.

use forecourt_kernel::{ContactId, SiteId, StaffId, Timestamp};
use forecourt_reference::{Catalogue, LeadChannel, LeadType, TagChoice};

use crate::{
    AiRead, ContactSuggestion, JunkConfidence, JunkMark, JunkedBy, LeadData, LeadDraft, LeadStatus, Rating, SuggestedBy,
};

/// A lead about which nothing is known.
pub(super) fn a_lead() -> LeadDraft {
    LeadDraft::blank(&Catalogue::default())
}

/// Free-form data with exactly this text.
pub(super) fn data(text: &str) -> LeadData {
    serde_json::from_str(text).expect("it is an object")
}

/// A lead with a value in every field that differs from the default.
pub fn a_full_lead() -> LeadDraft {
    LeadDraft {
        site: SiteId::new(3),
        channel: LeadChannel::Whatsapp,
        name: "Zoë O'Neill-Ångström 李小龍 \\ % _ \" 🚗".to_owned(),
        email: "Zoë.ONeill+cars@Example.COM".to_owned(),
        phone: "+441632960123".to_owned(),
        mobile: "+447700900123".to_owned(),
        contact: Some(ContactId::new(i64::MAX)),
        types: vec![LeadType::TestDrive, LeadType::Finance],
        status: LeadStatus::Closed,
        rating: Rating::new(5),
        summary: Some("Wants\na test drive".to_owned()),
        session: "0123abc".to_owned(),
        avatar: "https://pictures.example/z.png".to_owned(),
        assign: vec![StaffId::new(9), StaffId::new(1)],
        tags: vec![TagChoice {
            name: "Hot".to_owned(),
            checked: false,
        }],
        stat: false,
        reopen: Some("2031-02-28".parse().expect("it is a day")),
        data: data(r#"{ "z": [1.50, null, {"a": "nul \u0000, lone \ud83d, é"}], "a": 1e400, "": "" }"#),
        ai: Some(AiRead {
            intent: Some(LeadType::Service),
            rating_reason: Some("Ready to transact".to_owned()),
            next_action: Some("Call".to_owned()),
            junk: true,
            junk_confidence: Some(JunkConfidence::Medium),
            processed: Some(Timestamp::from_epoch_seconds(1_790_000_003)),
        }),
        // A lead shows the vehicles that are associated with it.
        vehicles: Vec::new(),
        junk: Some(JunkMark {
            by: JunkedBy::Ai,
            at: Timestamp::from_epoch_seconds(1_790_000_004),
            confidence: Some(JunkConfidence::High),
        }),
        suggestion: Some(ContactSuggestion {
            contact: ContactId::new(i64::MAX),
            by: SuggestedBy::Mobile,
        }),
        answered: true,
    }
}
