//! What people write to a dealership, by what they write about.

use forecourt_reference::LeadType;

/// An enquiry of one kind. `{car}`, `{name}`, `{day}` and `{site}` are filled in.
pub(super) struct Script {
    pub(super) about: LeadType,
    pub(super) subject: &'static str,
    pub(super) message: &'static str,
    /// How ready to buy such a writer is, 1 to 5.
    pub(super) rating: i64,
    /// What the AI makes of it, in at most 12 words.
    pub(super) summary: &'static str,
    pub(super) reason: &'static str,
    pub(super) next_action: &'static str,
}

/// Enquiries with how often each is made.
pub(super) const SCRIPTS: &[(u32, Script)] = &[
    (
        10,
        Script {
            about: LeadType::TestDrive,
            subject: "Test drive of the {car}",
            message: "Hi, I would like to book a test drive of the {car} for {day}, ideally in the morning. Thanks, {name}",
            rating: 4,
            summary: "Wants to test drive the {car} on {day}",
            reason: "Names a vehicle and a day for a test drive.",
            next_action: "Confirm a test-drive slot.",
        },
    ),
    (
        12,
        Script {
            about: LeadType::Availability,
            subject: "Is the {car} still available?",
            message: "Hello, is the {car} on your website still available? I could come and see it on {day}.",
            rating: 4,
            summary: "Asks if the {car} is available, suggests {day}",
            reason: "Asks about a specific vehicle and offers to visit.",
            next_action: "Confirm availability and invite them in.",
        },
    ),
    (
        9,
        Script {
            about: LeadType::Finance,
            subject: "Finance on the {car}",
            message: "Could you let me have a finance quote for the {car} over 48 months with a £2,000 deposit? {name}",
            rating: 4,
            summary: "Wants a 48-month finance quote for the {car}",
            reason: "Asks for a quote on a specific vehicle with terms.",
            next_action: "Send a finance quote.",
        },
    ),
    (
        8,
        Script {
            about: LeadType::PartExchange,
            subject: "Part exchange against the {car}",
            message: "I'm interested in the {car} and have a car to part exchange, 61,000 miles with full history. What would \
                  it be worth?",
            rating: 4,
            summary: "Wants the {car}, has a part exchange",
            reason: "Specific vehicle and a car to trade in.",
            next_action: "Value the part exchange.",
        },
    ),
    (
        4,
        Script {
            about: LeadType::Reservation,
            subject: "Reserve the {car}",
            message: "I'd like to pay the deposit and reserve the {car} today. Please call me as soon as you can. {name}",
            rating: 5,
            summary: "Ready to pay a deposit on the {car} today",
            reason: "Asks to pay a deposit now.",
            next_action: "Call now and take the deposit.",
        },
    ),
    (
        3,
        Script {
            about: LeadType::Callback,
            subject: "Please call about the {car}",
            message: "We saw the {car} on {day} and have talked it over. Happy with the price, please call to agree a collection \
                  date.",
            rating: 5,
            summary: "Accepts the price of the {car}, wants collection",
            reason: "Accepts the price and asks to collect.",
            next_action: "Call and agree the collection.",
        },
    ),
    (
        12,
        Script {
            about: LeadType::Email,
            subject: "Question about the {car}",
            message: "Hi, does the {car} have a full service history and two keys? When is the MOT due? Regards, {name}",
            rating: 3,
            summary: "Asks about history, keys and MOT of the {car}",
            reason: "Genuine questions about a vehicle, no sign of timing.",
            next_action: "Answer and offer a viewing.",
        },
    ),
    (
        6,
        Script {
            about: LeadType::Callback,
            subject: "Call me back",
            message: "Could somebody from {site} ring me about the {car} please? After 5pm is best.",
            rating: 3,
            summary: "Wants a call after 5pm about the {car}",
            reason: "Asks to be called about a vehicle.",
            next_action: "Ring after 5pm.",
        },
    ),
    (
        5,
        Script {
            about: LeadType::Video,
            subject: "Video of the {car}",
            message: "I live quite far away. Could you send a walk-round video of the {car} showing any marks? Cheers, {name}",
            rating: 3,
            summary: "Lives far away, wants a video of the {car}",
            reason: "Genuine interest from a distance.",
            next_action: "Record and send a video.",
        },
    ),
    (
        5,
        Script {
            about: LeadType::Valuation,
            subject: "What is my car worth?",
            message: "I'm thinking of selling. Can you tell me roughly what you would give me for my {car}?",
            rating: 2,
            summary: "Thinks of selling a {car}, wants a rough valuation",
            reason: "Early and selling only.",
            next_action: "Book an appraisal.",
        },
    ),
    (
        5,
        Script {
            about: LeadType::Brochure,
            subject: "Brochure",
            message: "Please send me a brochure and price list for the {car}. We may change our car next year.",
            rating: 2,
            summary: "Wants a {car} brochure, may change car next year",
            reason: "A purchase is far off.",
            next_action: "Send the brochure and follow up.",
        },
    ),
    (
        4,
        Script {
            about: LeadType::Phone,
            subject: "Missed call",
            message: "Caller asked what family cars are in stock at {site} and will ring again.",
            rating: 2,
            summary: "Asked what family cars are in stock, will ring again",
            reason: "No vehicle named.",
            next_action: "Ring back with two suggestions.",
        },
    ),
    (
        6,
        Script {
            about: LeadType::Service,
            subject: "Service and MOT",
            message: "My {car} is due a service and MOT. Do you have anything on {day}? I would need a courtesy car.",
            rating: 1,
            summary: "Wants service, MOT and a courtesy car on {day}",
            reason: "Workshop customer, not buying.",
            next_action: "Pass on to the workshop.",
        },
    ),
    (
        3,
        Script {
            about: LeadType::Warranty,
            subject: "Warranty question",
            message: "The warning light of the {car} I bought from you has come on. Is this covered by the warranty? {name}",
            rating: 1,
            summary: "Asks whether a warning light is covered by warranty",
            reason: "After-sales question.",
            next_action: "Pass on to after-sales.",
        },
    ),
    (
        3,
        Script {
            about: LeadType::Parts,
            subject: "Roof bars",
            message: "Do you have roof bars for a {car} in stock, and what do they cost?",
            rating: 1,
            summary: "Asks what roof bars for a {car} cost",
            reason: "Parts enquiry.",
            next_action: "Pass on to parts.",
        },
    ),
    (
        2,
        Script {
            about: LeadType::Feedback,
            subject: "Thank you",
            message: "Just wanted to say thanks to everybody at {site}, we love the {car}. {name}",
            rating: 1,
            summary: "Thanks the team after buying a {car}",
            reason: "Already a customer.",
            next_action: "Ask for a review.",
        },
    ),
    (
        3,
        Script {
            about: LeadType::Other,
            subject: "Opening hours",
            message: "What time do you close at {site} on {day}?",
            rating: 2,
            summary: "Asks for opening hours on {day}",
            reason: "Too little to go by.",
            next_action: "Answer and ask what they look for.",
        },
    ),
];

/// What nobody wants, with how often each comes.
pub(super) const JUNK: &[(u32, Script)] = &[
    (
        5,
        Script {
            about: LeadType::Other,
            subject: "First page of search results",
            message: "Dear Sir, we noticed your website is not ranking. Our experts guarantee page one within 30 days.",
            rating: 1,
            summary: "Unsolicited offer of search marketing",
            reason: "Sells a service.",
            next_action: "None.",
        },
    ),
    (
        3,
        Script {
            about: LeadType::Other,
            subject: "Business loan approved",
            message: "Your business is pre-approved for funding up to £250,000. Reply with your bank details to proceed.",
            rating: 1,
            summary: "Unsolicited loan offer that asks for bank details",
            reason: "Looks like fraud.",
            next_action: "None.",
        },
    ),
    (
        2,
        Script {
            about: LeadType::Email,
            subject: "asdf",
            message: "asdf asdf test",
            rating: 1,
            summary: "Meaningless test text",
            reason: "No enquiry.",
            next_action: "None.",
        },
    ),
];

/// Cars that people have themselves, or ask about without having seen one.
pub(super) const CARS: &[&str] = &[
    "Ford Focus",
    "Ford Puma",
    "Vauxhall Corsa",
    "Vauxhall Mokka",
    "Volkswagen Golf",
    "Volkswagen Tiguan",
    "Nissan Qashqai",
    "Nissan Leaf",
    "Toyota Yaris",
    "Toyota Corolla",
    "Kia Sportage",
    "Kia Niro",
    "Hyundai Tucson",
    "Hyundai Kona",
    "BMW 3 Series",
    "BMW X1",
    "Audi A3",
    "Audi Q5",
    "Mercedes-Benz A-Class",
    "MINI Hatch",
    "Skoda Octavia",
    "SEAT Leon",
    "Peugeot 3008",
    "Peugeot 208",
    "Renault Clio",
    "Honda Jazz",
    "Mazda CX-5",
    "MG ZS EV",
    "Land Rover Discovery Sport",
    "Volvo XC40",
    "Tesla Model 3",
    "Ford Transit Custom",
];

/// Days that people propose.
pub(super) const DAYS: &[&str] = &[
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];

/// What is filled in.
pub(super) struct Words<'a> {
    pub(super) car: &'a str,
    pub(super) name: &'a str,
    pub(super) day: &'a str,
    pub(super) site: &'a str,
}

impl Words<'_> {
    /// A text with everything filled in.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len() + 48);
        let mut rest = text;
        while let Some((before, marked)) = rest.split_once('{') {
            let (word, after) = marked.split_once('}').unwrap_or((marked, ""));
            filled.push_str(before);
            filled.push_str(match word {
                "car" => self.car,
                "name" => self.name,
                "day" => self.day,
                _ => self.site,
            });
            rest = after;
        }
        filled.push_str(rest);
        filled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_summary_fits_even_with_the_longest_car() {
        let longest = CARS.iter().map(|car| car.split(' ').count()).max().unwrap();
        let words = Words {
            car: &vec!["word"; longest].join(" "),
            name: "Ann Smith",
            day: "Monday",
            site: "Main",
        };
        for (_, script) in SCRIPTS.iter().chain(JUNK) {
            let summary = words.fill(script.summary);
            assert!(summary.split_whitespace().count() <= 12, "{summary}");
            assert!((1..=5).contains(&script.rating));
        }
    }

    #[test]
    fn words_are_filled_in() {
        let words = Words {
            car: "Ford Focus",
            name: "Ann",
            day: "Monday",
            site: "Main",
        };
        assert_eq!(
            words.fill("{car} on {day}, {name} at {site}."),
            "Ford Focus on Monday, Ann at Main."
        );
        assert_eq!(words.fill("nothing"), "nothing");
    }

    #[test]
    fn every_kind_of_enquiry_is_made() {
        for kind in LeadType::ALL {
            assert!(SCRIPTS.iter().any(|(_, script)| script.about == *kind), "{kind:?}");
        }
    }
}
