//! Removal of a deleted contact's personal data from jobs.

use forecourt_kernel::{BoundedText, BusinessId, Person, Timestamp};
use serde_json::Value;

use crate::{Job, JobContent, JobDocument, JobError, JobStore, Stage, service::save};

/// Removes a person whose contact is deleted from a job, which the caller has locked: the stages lose them as their supplier, and the
/// texts every place that names them. A job that this changes gets a new stamp and an event.
///
/// # Errors
/// [`JobError::Store`].
pub async fn forget_person_in_job(
    store: &mut dyn JobStore,
    now: Timestamp,
    business: BusinessId,
    stored: Job,
    person: &Person,
) -> Result<(), JobError> {
    let mut content = stored.content.clone();
    forget_person(&mut content, person);
    save(store, now, business, stored, content).await.map(drop)
}

fn forget_person(content: &mut JobContent, person: &Person) {
    let JobContent {
        notes,
        stages,
        documents,
        ..
    } = content;
    redact(notes, person);
    for stage in stages {
        let Stage {
            name,
            supplier,
            notes,
            tasks,
            ..
        } = stage;
        if *supplier == Some(person.contact()) {
            *supplier = None;
        }
        person.redact(name);
        redact(notes, person);
        for task in tasks {
            person.redact(&mut task.name);
        }
    }
    for JobDocument { name, description, .. } in documents {
        redact(name, person);
        redact(description, person);
    }
}

fn redact<const MAX: usize>(text: &mut BoundedText<MAX>, person: &Person) {
    let mut left = text.as_str().to_owned();
    if person.redact(&mut left) {
        *text = BoundedText::new(left).unwrap_or_default();
    }
}

/// Removes a person whose contact is deleted from a job's representation in an event. Returns `false` if nothing of them was in it.
pub fn forget_person_in_event(job: &mut Value, person: &Person) -> bool {
    let mut changed = false;
    for text in ["notes", "stage"] {
        changed |= job.get_mut(text).is_some_and(|text| person.redact_value(text));
    }
    let documents = job.get_mut("documents").and_then(Value::as_array_mut);
    for name in documents.into_iter().flatten().filter_map(|row| row.get_mut("name")) {
        changed |= person.redact_value(name);
    }
    let stages = job.get_mut("stages").and_then(Value::as_array_mut);
    for stage in stages.into_iter().flatten() {
        if let Some(supplier) = stage.get_mut("supplier")
            && supplier.as_i64() == Some(person.contact().get())
        {
            *supplier = Value::Null;
            changed = true;
        }
        for text in ["name", "notes"] {
            changed |= stage.get_mut(text).is_some_and(|text| person.redact_value(text));
        }
        let tasks = stage.get_mut("tasks").and_then(Value::as_array_mut);
        for name in tasks.into_iter().flatten().filter_map(|task| task.get_mut("name")) {
            changed |= person.redact_value(name);
        }
    }
    changed
}
