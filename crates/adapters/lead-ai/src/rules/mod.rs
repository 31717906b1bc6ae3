//! Rates enquiries by rules: no service, no key, the same answer every time.
//!
//! A conversation goes through these steps. `clean` keeps the sender's own words and drops quotes, signatures and the lines of
//! portals. `words` splits them into words, spells out text-speak and mends spelling mistakes. `pattern` finds the phrases of
//! `data/signals.txt`, each of which is a [`Signal`]. `junk` finds the messages that are junk by themselves, which count for
//! nothing if there are others. `features` names the features of the conversation, words and signals alike, and `model` weighs
//! them. `decide` finds the stage of the sale, and `wording` writes the answer from fixed phrases.

mod clean;
#[cfg(test)]
mod corpus;
mod data;
mod decide;
#[cfg(test)]
mod evaluation;
mod facts;
mod features;
mod junk;
#[cfg(test)]
mod learn;
mod model;
mod pattern;
mod signal;
mod wording;
mod words;

use std::{collections::HashSet, fmt, time::Duration};

use async_trait::async_trait;
use forecourt_kernel::BusinessId;
use forecourt_leads::{Analyst, AnalystError, Assessment, Conversation, JunkConfidence, Utterance};

use self::{
    clean::{Cleaned, clean},
    decide::{Evidence, decide},
    features::{Features, Parts, features},
    junk::{JunkKind, Verdict},
    model::{Hints, Model, WEIGHTS},
    pattern::Finder,
    signal::Signal,
    words::{Reader, Words},
};

/// The signals that a word such as "not" before them takes away.
const NEGATABLE: [Signal; 8] = [
    Signal::PartExchange,
    Signal::WantsKind,
    Signal::Commits,
    Signal::Offers,
    Signal::HasCash,
    Signal::Interest,
    Signal::LooksFor,
    Signal::AppliesForFinance,
];
/// Signals of senders who are no buyers…
const NOT_BUYING: [Signal; 11] = [
    Signal::BoughtElsewhere,
    Signal::Lost,
    Signal::StopContact,
    Signal::Service,
    Signal::Parts,
    Signal::WarrantyClaim,
    Signal::Complaint,
    Signal::Praise,
    Signal::Job,
    Signal::Supplier,
    Signal::Admin,
];
/// …and those who may be.
const BUYING: [Signal; 17] = [
    Signal::Commits,
    Signal::Offers,
    Signal::HasCash,
    Signal::AppliesForFinance,
    Signal::AsksReservation,
    Signal::TestDrive,
    Signal::Viewing,
    Signal::Availability,
    Signal::Stock,
    Signal::Finance,
    Signal::PartExchange,
    Signal::Valuation,
    Signal::Interest,
    Signal::LooksFor,
    Signal::WantsKind,
    Signal::NamesCar,
    Signal::Callback,
];
/// Signals of a sender who wanted a car and no longer does.
const GIVES_UP: [Signal; 3] = [Signal::BoughtElsewhere, Signal::Lost, Signal::StopContact];
/// The longest time for one conversation. It is far longer than on the slowest machine, so that a busy server is not taken for
/// dead.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// The maximum number of the latest messages that are read. In longer conversations the beginning no longer matters.
const MAX_MESSAGES: usize = 50;

/// The built-in analyst. `docs/lead-ai.md` says how it rates.
///
/// ```
/// use forecourt_lead_ai::Rules;
/// use forecourt_leads::{Conversation, Utterance};
/// use forecourt_reference::{LeadChannel, LeadType};
///
/// let enquiry = Conversation {
///     types: vec![LeadType::Email],
///     channel: LeadChannel::Website,
///     name: "Ann".into(),
///     is_answerable: true,
///     vehicles: vec!["Volkswagen Golf GTI".into()],
///     messages: vec![Utterance {
///         ours: false,
///         subject: String::new(),
///         text: "Could I test drive it this Saturday? I've a Polo to px".into(),
///     }],
/// };
/// let read = Rules::new().read(&enquiry);
/// assert_eq!(read.intent, Some(LeadType::TestDrive));
/// assert_eq!(read.rating.map(u8::from), Some(4));
/// assert_eq!(
///     read.summary.as_deref(),
///     Some("Wants to test drive the Golf GTI this Saturday; has part exchange.")
/// );
/// ```
pub struct Rules {
    reader: Reader,
    signals: Finder<Signal>,
    junk: Finder<(JunkKind, i32)>,
    model: Model<'static>,
}

/// A message, read.
struct Read {
    cleaned: Cleaned,
    words: Words,
    subject: Words,
    /// The sender wrote the subject, and for this message.
    own_subject: bool,
    signals: HashSet<Signal>,
    /// The signals in the order of the text.
    order: Vec<Signal>,
    /// The business wrote it.
    ours: bool,
    /// The verdict on it by itself, if it is junk.
    junk: Option<Verdict>,
}

impl Read {
    /// Returns `true` for junk that counts for nothing. A guess does not decide, but a test of the form is one at any confidence.
    fn is_junk(&self) -> bool {
        self.junk
            .is_some_and(|verdict| verdict.confidence > JunkConfidence::Low || verdict.kind == JunkKind::Test)
    }
}

/// A conversation, read, up to the sender's last message.
struct Thread {
    messages: Vec<Read>,
    /// The index of the first of the latest messages: those of the sender since the business wrote, or the last one alone if it
    /// gives up.
    latest: usize,
    /// The verdict on the sender's last message.
    junk: Option<Verdict>,
    /// The sender wrote nothing but junk.
    only_junk: bool,
}

impl Thread {
    fn latest(&self) -> &[Read] {
        self.messages.get(self.latest..).unwrap_or_default()
    }

    /// Returns the sender's messages before the latest ones.
    fn earlier(&self) -> Vec<&Read> {
        let before = self.messages.get(..self.latest).unwrap_or_default();
        before.iter().filter(|message| !message.ours).collect()
    }

    /// Returns the last message of the business before the latest ones.
    fn offered(&self) -> Option<&Read> {
        let before = self.messages.get(..self.latest).unwrap_or_default();
        before.iter().rfind(|message| message.ours)
    }

    fn form_names_car(&self) -> bool {
        self.messages.iter().any(|message| message.cleaned.names_car)
    }
}

impl Rules {
    /// Makes the rules.
    pub fn new() -> Self {
        Self::with(Model::parse(WEIGHTS))
    }

    fn with(model: Model<'static>) -> Self {
        let signals = Finder::new(signal::phrases());
        let junk = Finder::new(junk::phrases());
        let mut spelt: Vec<&str> = data::words(data::MAIL, "everyday").collect();
        spelt.extend(data::words(data::MAIL, "test words"));
        Self {
            reader: Reader::new(
                signals
                    .vocabulary()
                    .chain(junk.vocabulary())
                    .chain(spelt.iter().copied()),
            ),
            signals,
            junk,
            model,
        }
    }

    /// Reads a conversation. It needs no waiting, and there is always an answer.
    pub fn read(&self, conversation: &Conversation) -> Assessment {
        let thread = self.read_thread(conversation);
        let evidence = Evidence {
            types: &conversation.types,
            has_vehicle: !conversation.vehicles.is_empty(),
            form_names_car: thread.form_names_car(),
            latest: Evidence::signals(thread.latest().iter().map(|message| &message.order)),
            earlier: Evidence::signals(thread.earlier().iter().map(|message| &message.order)),
            asks: thread
                .latest()
                .iter()
                .any(|message| message.words.asks || message.signals.contains(&Signal::Asks)),
            says_nothing: thread
                .latest()
                .iter()
                .all(|message| message.words.count() == 0 || thread.offered().is_none() && is_courtesy(&message.words)),
            is_reply: thread.offered().is_some(),
            junk: thread.junk,
            only_junk: thread.only_junk,
        };
        let hints = Hints {
            of_form: evidence.expected(),
            not_buying: evidence.now(&NOT_BUYING) && !evidence.now(&BUYING),
        };
        let prediction = self.model.read(&self.features(conversation, &thread), hints);
        let outcome = decide(&evidence, prediction);
        let words = thread.latest().iter().rev().map(|message| &message.words);
        wording::write(
            &evidence,
            outcome,
            &conversation.vehicles,
            words.clone().find_map(facts::day),
            words.clone().find_map(facts::budget),
        )
    }

    fn features(&self, conversation: &Conversation, thread: &Thread) -> Features {
        let parts = Parts {
            types: &conversation.types,
            has_car: !conversation.vehicles.is_empty() || thread.form_names_car(),
            latest: &thread.latest().iter().collect::<Vec<_>>(),
            earlier: &thread.earlier(),
            offered: thread.offered(),
        };
        features(&parts, &self.junk)
    }

    /// Returns the features of a message by itself.
    fn features_of_message(&self, message: &Read) -> Features {
        let parts = Parts {
            types: &[],
            has_car: false,
            latest: &[message],
            earlier: &[],
            offered: None,
        };
        features(&parts, &self.junk)
    }

    fn read_thread(&self, conversation: &Conversation) -> Thread {
        let begin = conversation.messages.len().saturating_sub(MAX_MESSAGES);
        let messages = conversation.messages.get(begin..).unwrap_or_default();
        let mut messages: Vec<Read> = messages.iter().map(|message| self.read_message(message)).collect();
        let last = messages.iter().rfind(|message| !message.ours);
        let junk = last.and_then(|last| last.junk);
        let is_nothing = |message: &Read| message.ours || message.is_junk() || is_courtesy(&message.words);
        let only_junk = last.is_some_and(Read::is_junk) && messages.iter().all(is_nothing);
        if !only_junk {
            messages.retain(|message| message.ours || !message.is_junk());
        }
        // Their latest messages: those since the business wrote, or the last ones before, if it wrote last.
        let end = messages
            .iter()
            .rposition(|message| !message.ours)
            .map_or(0, |last| last + 1);
        messages.truncate(end);
        let latest = messages
            .iter()
            .rposition(|message| message.ours)
            .map_or(0, |ours| ours + 1);
        // Wishes from before the sender gave up no longer hold.
        let gives_up = messages
            .last()
            .is_some_and(|last| GIVES_UP.iter().any(|signal| last.signals.contains(signal)));
        let latest = if gives_up { messages.len() - 1 } else { latest };
        Thread {
            messages,
            latest,
            junk,
            only_junk,
        }
    }

    fn read_message(&self, message: &Utterance) -> Read {
        let cleaned = clean(&message.text);
        let words = self.reader.read(&cleaned.text);
        let subject = clean(&message.subject);
        let subject = self.reader.read(&subject.text);
        // A reply has the subject of the message that it answers, and a portal writes its own.
        let own_subject = subject
            .sentences
            .first()
            .and_then(|words| words.first())
            .is_some_and(|word| !matches!(word.text.as_str(), "re" | "fw" | "fwd" | "aw"))
            && !cleaned.names_car
            && !message.ours;
        let mut order = Vec::new();
        if own_subject {
            self.find(&subject, &mut order);
        }
        // The signals of the text come first.
        let mut said = Vec::new();
        self.find(&words, &mut said);
        said.append(&mut order);
        let mut read = Read {
            signals: said.iter().copied().collect(),
            order: said,
            cleaned,
            words,
            subject,
            own_subject,
            ours: message.ours,
            junk: None,
        };
        if !message.ours {
            let log_odds = self.model.junk(&self.features_of_message(&read));
            read.junk = junk::weigh(&self.junk, &read, log_odds);
        }
        read
    }

    #[cfg(test)]
    fn features_of(&self, conversation: &Conversation) -> Features {
        self.features(conversation, &self.read_thread(conversation))
    }

    #[cfg(test)]
    fn features_of_last_message(&self, conversation: &Conversation) -> Features {
        let last = conversation.messages.iter().rfind(|message| !message.ours);
        last.map_or_else(Features::new, |last| self.features_of_message(&self.read_message(last)))
    }

    fn find(&self, words: &Words, order: &mut Vec<Signal>) {
        for found in self.signals.find(words) {
            let is_taken_back = found.negated && NEGATABLE.contains(&found.what);
            if !is_taken_back && !order.contains(&found.what) {
                order.push(found.what);
            }
        }
    }
}

/// Returns `true` for a text that only greets, thanks or agrees.
fn is_courtesy(words: &Words) -> bool {
    let mut all = words.sentences.iter().flatten();
    all.all(|word| {
        let is = |group: &&str| word.groups.contains(group);
        ["greeting", "thanks", "agree"].iter().any(is) || ["you", "there", "all"].contains(&word.text.as_str())
    })
}

impl Default for Rules {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").finish_non_exhaustive()
    }
}

#[async_trait]
impl Analyst for Rules {
    async fn assess(&self, _: BusinessId, conversation: &Conversation) -> Result<Assessment, AnalystError> {
        Ok(self.read(conversation))
    }

    fn time_limit(&self) -> Duration {
        TIME_LIMIT
    }
}
