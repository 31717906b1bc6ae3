//! The rows that a session has written and not sent yet, and the counters that it has locked.

use std::collections::VecDeque;

use forecourt_kernel::{BusinessId, NewEvent};

use crate::models::{AnswerRow, AssessmentRow, NewLeadRow, NewMailRow, Numbers};

/// The rows that are sent with the commit, all of one business.
#[derive(Default)]
pub(super) struct WriteBuffer {
    pub(super) business: Option<BusinessId>,
    /// The leads with their ids.
    pub(super) leads: Vec<(i64, NewLeadRow)>,
    pub(super) events: Vec<NewEvent>,
    pub(super) mails: Vec<NewMailRow>,
    pub(super) answers: Vec<AnswerRow>,
    pub(super) assessments: Vec<AssessmentRow>,
    /// The number of leads to add to the business's, and the number of their writes.
    pub(super) more_leads: i64,
    pub(super) lead_writes: i64,
}

/// The counters of a business while this transaction holds their row.
pub(super) struct LockedCounters {
    pub(super) business: BusinessId,
    pub(super) numbers: Numbers,
    /// The number of the business's subscriptions to webhooks; 0 if none is active.
    pub(super) subscribers: i64,
    /// They differ from the stored ones.
    pub(super) changed: bool,
    /// The ids that are reserved for further leads.
    pub(super) lead_ids: VecDeque<i64>,
}

impl LockedCounters {
    /// Returns the numbers, and `true` if they differ from the stored ones.
    pub(super) fn state(&self) -> (Numbers, bool) {
        (self.numbers.clone(), self.changed)
    }

    pub(super) fn with(self, (numbers, changed): (Numbers, bool)) -> Self {
        Self {
            numbers,
            changed,
            ..self
        }
    }
}

impl WriteBuffer {
    /// The numbers of leads, events, mails, stored answers and waiting conversations.
    pub(super) fn lengths(&self) -> [usize; 5] {
        [
            self.leads.len(),
            self.events.len(),
            self.mails.len(),
            self.answers.len(),
            self.assessments.len(),
        ]
    }

    /// The number of leads to add to the business's, and the number of their writes.
    pub(super) const fn counted(&self) -> (i64, i64) {
        (self.more_leads, self.lead_writes)
    }

    /// Drops everything beyond these lengths.
    pub(super) fn truncate(&mut self, [leads, events, mails, answers, assessments]: [usize; 5], counted: (i64, i64)) {
        self.leads.truncate(leads);
        self.events.truncate(events);
        self.mails.truncate(mails);
        self.answers.truncate(answers);
        self.assessments.truncate(assessments);
        (self.more_leads, self.lead_writes) = counted;
    }

    pub(super) fn lead(&mut self, id: i64, row: NewLeadRow) {
        self.leads.push((id, row));
    }

    pub(super) fn event(&mut self, event: NewEvent) {
        self.events.push(event);
    }

    pub(super) fn mail(&mut self, row: NewMailRow) {
        self.mails.push(row);
    }

    pub(super) fn assessment(&mut self, row: AssessmentRow) {
        self.assessments.push(row);
    }

    /// Returns `true` if it has an answer under this key.
    pub(super) fn has_answer(&self, business: BusinessId, key: &str) -> bool {
        let of_business = |row: &&AnswerRow| row.business_id == business.get();
        self.answers.iter().filter(of_business).any(|row| row.key == key)
    }

    pub(super) fn answer(&mut self, row: AnswerRow) {
        self.answers.push(row);
    }

    /// Counts a write of leads, which adds `more` to their number.
    pub(super) fn lead_writes(&mut self, more: i64) {
        self.more_leads += more;
        self.lead_writes += 1;
    }
}
