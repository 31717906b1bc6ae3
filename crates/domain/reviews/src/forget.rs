//! Removal of a deleted contact's personal data from reviews.

use forecourt_kernel::{BoundedText, BusinessId, EventName, Person, Timestamp};
use serde_json::Value;

use crate::{Review, ReviewError, ReviewStore, service::record};

/// Removes a person whose contact is deleted from a review, which the caller has locked: the author's name, and every place where
/// the texts name the person. A review that this changes gets a new stamp and an event.
///
/// # Errors
/// [`ReviewError::Store`].
pub async fn forget_person_in_review(
    store: &mut dyn ReviewStore,
    now: Timestamp,
    business: BusinessId,
    stored: Review,
    person: &Person,
) -> Result<(), ReviewError> {
    let mut content = stored.content.clone();
    if person.is_named(&content.name) {
        content.name = BoundedText::default();
    }
    let mut data = Value::Object(stored.data.clone());
    let changed = redact(&mut content.name, person)
        | redact(&mut content.review, person)
        | redact(&mut content.source, person)
        | person.redact_value(&mut data);
    if !changed && content == stored.content {
        return Ok(());
    }
    let data = match data {
        Value::Object(data) => data,
        _ => stored.data,
    };
    let review = Review {
        version: stored.version.next(),
        updated: now.max(stored.created),
        content,
        data,
        ..stored
    };
    store.save_review(business, &review).await?;
    record(store, business, EventName::ReviewUpdated, &review, now).await?;
    Ok(())
}

fn redact<const MAX: usize>(text: &mut BoundedText<MAX>, person: &Person) -> bool {
    let mut left = text.as_str().to_owned();
    let changed = person.redact(&mut left);
    if changed {
        *text = BoundedText::new(left).unwrap_or_default();
    }
    changed
}

/// Removes a person whose contact is deleted from a review's representation in an event. Returns `false` if it does not name the
/// person.
pub fn forget_person_in_event(review: &mut Value, person: &Person) -> bool {
    let mut changed = false;
    if let Some(Value::String(name)) = review.get_mut("name")
        && person.is_named(name)
    {
        name.clear();
        changed = true;
    }
    person.redact_value(review) | changed
}
