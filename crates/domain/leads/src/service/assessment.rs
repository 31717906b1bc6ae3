//! The use cases of assessments: preparing a conversation for an analyst, and applying the answer.
//!
//! No transaction is open between the two. An answer is applied only if the conversation is still the one that was read.

use forecourt_accounts::Business;
use forecourt_kernel::{BusinessId, Clock, StoreError};

use super::{conversation::newest, save_if_changed};
use crate::{
    AiRead, Assessment, Conversation, ConversationReader, ConversationStore, DueAssessment, JunkConfidence, JunkMark,
    JunkedBy, Lead, LeadDraft, LeadError, LeadStatus, conversation::conversation,
};

/// The result of applying an assessment.
#[derive(Clone, PartialEq, Debug)]
pub enum Applied {
    /// The lead has the assessment now.
    Applied(Box<Lead>),
    /// The conversation has changed, or another server has it. It is read again, and this assessment is discarded.
    Outdated,
    /// The lead is deleted.
    Gone,
}

/// Returns the leased conversation. `None` if its lead is deleted; then there is nothing left to do.
///
/// # Errors
/// [`LeadError::Store`].
pub async fn begin_assessment(
    store: &mut dyn ConversationReader,
    due: &DueAssessment,
) -> Result<Option<Conversation>, LeadError> {
    let Some(lead) = store.lead(due.business, due.lead).await? else {
        return Ok(None);
    };
    Ok(Some(read(store, due.business, &lead).await?))
}

/// Applies an analyst's assessment of `read` to the lead, without texts that are out of bounds, and records the event. A lead
/// that was never replied to becomes junk if the analyst is almost certain that it is.
///
/// # Errors
/// [`LeadError::Store`].
pub async fn apply_assessment(
    store: &mut dyn ConversationStore,
    clock: &dyn Clock,
    business: &Business,
    due: &DueAssessment,
    read: &Conversation,
    assessment: Assessment,
) -> Result<Applied, LeadError> {
    let now = clock.now();
    let stored = store.lock_lead(due.business, due.lead).await?;
    if !store.finish_assessment(due).await? {
        return Ok(if stored.is_some() {
            Applied::Outdated
        } else {
            Applied::Gone
        });
    }
    let Some(stored) = stored else {
        return Ok(Applied::Gone);
    };
    if self::read(store, due.business, &stored).await? != *read {
        store.request_assessment(due.business, due.lead, now).await?;
        return Ok(Applied::Outdated);
    }

    let Assessment {
        rating,
        intent,
        summary,
        reason,
        next_action,
        junk,
        junk_confidence,
    } = assessment.bounded();
    let content = &stored.content;
    let is_open = matches!(
        content.status,
        LeadStatus::New | LeadStatus::NewMessage | LeadStatus::Read
    );
    let is_junk = junk && junk_confidence == Some(JunkConfidence::High) && is_open && !content.is_answered();
    let content = LeadDraft {
        rating,
        summary,
        status: if is_junk { LeadStatus::Junk } else { content.status },
        junk: is_junk
            .then_some(JunkMark {
                by: JunkedBy::Ai,
                at: now,
                confidence: junk_confidence,
            })
            .or(content.junk),
        ai: Some(AiRead {
            intent,
            rating_reason: reason,
            next_action,
            junk,
            junk_confidence,
            processed: Some(now),
        }),
        ..content.clone()
    };
    let lead = save_if_changed(store, now, business, stored, content).await?;
    Ok(Applied::Applied(Box::new(lead)))
}

/// Returns the conversation of a lead in its current state.
async fn read(
    store: &mut dyn ConversationReader,
    business: BusinessId,
    lead: &Lead,
) -> Result<Conversation, StoreError> {
    let vehicles = store.lead_vehicles(business, lead.id, &newest()).await?;
    let messages = store.lead_messages(business, lead.id, &newest()).await?;
    Ok(conversation(
        lead,
        &vehicles.map(|page| page.items).unwrap_or_default(),
        &messages.map(|page| page.items).unwrap_or_default(),
    ))
}
