//! The selection of a lead's text for an analyst.

use crate::{Conversation, Direction, Lead, LeadMessage, LeadVehicle, StockVehicle, Utterance};

/// The maximum number of messages that are read, counting the enquiry.
pub const MAX_MESSAGES_READ: usize = 20;
/// The maximum number of characters of messages that are read, counting subjects.
pub const MAX_CHARS_READ: usize = 8_000;
/// The maximum number of vehicles that are named.
const MAX_VEHICLES_READ: usize = 10;
/// The maximum number of characters of a vehicle's name that are read.
const MAX_NAME_CHARS: usize = 255;

/// Makes the conversation of a lead with these vehicles and messages, each given newest first.
///
/// From a long conversation it takes the newest part: whole messages as long as they fit, and the beginning of the first one that
/// does not.
pub fn conversation(lead: &Lead, vehicles: &[LeadVehicle], messages: &[LeadMessage]) -> Conversation {
    let content = &lead.content;
    let enquiry = Utterance {
        ours: false,
        subject: content.data.text("subject"),
        text: content.data.text("message"),
    };
    let said = messages.iter().map(|message| Utterance {
        ours: message.direction == Direction::Out,
        subject: message.subject.clone(),
        text: message.body.clone(),
    });
    let newest_first = said
        .chain([enquiry])
        .filter(|said| !said.subject.is_empty() || !said.text.is_empty());
    let mut room = MAX_CHARS_READ;
    let mut messages = Vec::new();
    for Utterance { ours, subject, text } in newest_first.take(MAX_MESSAGES_READ) {
        if room == 0 {
            break;
        }
        let subject = beginning(subject, &mut room);
        let text = beginning(text, &mut room);
        messages.push(Utterance { ours, subject, text });
    }
    messages.reverse();

    let mut named: Vec<String> = vehicles
        .iter()
        .map(|of_lead| StockVehicle::name(&of_lead.vehicle))
        .collect();
    if named.is_empty() {
        named.push(content.data.text("vehicle"));
    }
    let named = named.into_iter().filter(|name| !name.is_empty());
    Conversation {
        types: content.types.clone(),
        channel: content.channel,
        name: content.name.clone(),
        is_answerable: [&content.email, &content.phone, &content.mobile]
            .iter()
            .any(|way| !way.is_empty()),
        vehicles: named
            .take(MAX_VEHICLES_READ)
            .map(|name| {
                let mut room = MAX_NAME_CHARS;
                beginning(name, &mut room)
            })
            .collect(),
        messages,
    }
}

/// Truncates the text to `room` characters, and reduces `room` by its length.
fn beginning(mut text: String, room: &mut usize) -> String {
    match text.char_indices().nth(*room) {
        Some((end, _)) => {
            text.truncate(end);
            *room = 0;
        }
        None => *room -= text.chars().count(),
    }
    text
}
