//! Removes a person from the orders of a deleted contact.

use forecourt_billing::{forget_person_in_agreement, forget_person_in_document};
use forecourt_kernel::{BusinessId, Person, StoreResult, Timestamp};
use serde_json::{Map, Value};

use crate::{Order, OrderStore};

/// Removes a person from an order, which the caller has locked: the link to the contact, and the person's traces in its texts.
/// Numbers, days, amounts and the frozen parties stay. If the order changes, its version and its time of change do too; no event is
/// recorded.
///
/// # Errors
/// If the store fails.
pub async fn forget_person_in_order(
    store: &mut dyn OrderStore,
    now: Timestamp,
    business: BusinessId,
    stored: Order,
    person: &Person,
) -> StoreResult<()> {
    let mut order = stored;
    if forget_person_in_agreement(&mut order.content.agreement, person) {
        store.save_order(business, &order.changed_at(now)).await?;
    }
    Ok(())
}

/// Removes a person from an order's representation in an event. Returns `false` if nothing of them was in it.
pub fn forget_person_in_order_event(order: &mut Map<String, Value>, person: &Person) -> bool {
    forget_person_in_document(order, person)
}
