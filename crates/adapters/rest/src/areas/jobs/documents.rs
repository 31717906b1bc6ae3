//! The documents of jobs over HTTP. They are uploaded and downloaded as those of vehicles are.

use std::cell::RefCell;

use forecourt_accounts::Shown;
use forecourt_dealership::Session;
use forecourt_jobs::{self as jobs, AddJobDocument, Job, JobDocument, JobDocumentView};
use forecourt_kernel::View;

use super::{
    super::vehicles::documents::{DeletedDocument, DocumentBody, DocumentDownload, DocumentParts, download},
    id::{IdParameter, JobIdParameter, job_of, part_of},
    shown, state_of,
};
use crate::{
    call::Call,
    code::Code,
    error::ApiError,
    list::{PageEnvelope, RecordSize},
    operation::{Declared, Operation, operations},
    parameters::{FieldsParameter, PageParameters, parameters},
    query::Rendering,
    record::Personal,
    reply::{Answer, Envelope, Reply},
    schemas::DocumentId,
    upload::Upload,
    write::Prepared,
};

pub(super) fn operations() -> Declared<Vec<Operation>> {
    Ok(operations![
        self::<__path_list_vehicle_job_documents> list_vehicle_job_documents,
        self::<__path_create_vehicle_job_document> create_vehicle_job_document { upload: Some(Upload::Document) },
        self::<__path_read_vehicle_job_document> read_vehicle_job_document,
        self::<__path_download_vehicle_job_document> download_vehicle_job_document,
        self::<__path_delete_vehicle_job_document> delete_vehicle_job_document,
    ])
}

/// List a job's documents
///
/// Newest first.
#[utoipa::path(get, path = "/2.0/vehicles/{id}/jobs/{job_id}/documents", tag = "jobs",
    security(("bearer" = ["vehicle-jobs:read"])), params(IdParameter, JobIdParameter, PageParameters, FieldsParameter),
    responses((status = 200, description = "A page of documents", body = PageEnvelope<JobDocumentView<'static>>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_job_not_found`")))]
async fn list_vehicle_job_documents(call: Call) -> Result<Answer, ApiError> {
    let list = call.list(call.list_within_second("vehicle-job-documents"), View::Full)?;
    list.answer(
        call,
        RecordSize::Small,
        async move |session, call, page| {
            let (vehicle, job) = job_of(call, session).await?;
            let page = jobs::list_documents(session, &call.caller, vehicle, job.id, page).await;
            page.map_err(ApiError::from)
        },
        |item, document| item.show(&JobDocumentView::from(document)),
    )
    .await
}

/// Upload a document of a job
///
/// A PDF document, or a JPEG or PNG picture, of at most 25 MB. Its type is recognised by its content, not by its name. A job has at
/// most 100.
#[utoipa::path(post, path = "/2.0/vehicles/{id}/jobs/{job_id}/documents", tag = "jobs",
    security(("bearer" = ["vehicle-jobs:write"])), params(IdParameter, JobIdParameter),
    request_body(content = DocumentBody, extensions(("x-rules" = json!({
        "if": {"required": ["public"], "properties": {"public": {"const": true}}},
        "then": {"required": ["description"], "properties": {"description": {"type": "string", "pattern": "\\S"}}},
    })))),
    responses((status = 201, description = "The document that was uploaded", body = Envelope<JobDocumentView<'static>>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_job_not_found`")))]
async fn create_vehicle_job_document(call: Call) -> Result<Reply, ApiError> {
    let read = call.body().await.and_then(|body: DocumentBody| body.read(&call));
    let (document, file, kind) = match call.strictly(read) {
        Ok(read) => read,
        Err(refused) => return call.refuse(refused).await,
    };
    // Nothing is stored for a request that is refused, or that was answered before.
    let prepared = call.prepare(async |session: &mut dyn Session| {
        let (vehicle, job) = job_of(&call, session).await?;
        let stored = jobs::read_job(session, &call.caller, vehicle, job.id).await?;
        Ok(job.precondition.check(stored.version)?)
    });
    if let Prepared::Answered(reply) = prepared.await? {
        return Ok(reply);
    }
    let stored = [call.store_file(file, kind, false).await?];
    let [file] = &stored;
    let DocumentParts {
        filename,
        description,
        public,
    } = document;
    let command = AddJobDocument {
        filename,
        description,
        public,
        file: file.clone(),
    };
    let outcome = call.write(Ok(command), async |session: &mut dyn Session, command| {
        let (vehicle, job) = job_of(&call, session).await?;
        let clock = call.clock().as_ref();
        let (job, document) = jobs::add_document(session, clock, &call.caller, vehicle, job, command).await?;
        call.created(&OfJob { job, document })
    });
    let outcome = outcome.await;
    call.discard_unused(&stored, &outcome).await;
    outcome
}

/// A document, as the answer to its upload.
struct OfJob {
    job: Job,
    document: JobDocument,
}

impl Personal for OfJob {
    type View<'a> = JobDocumentView<'a>;

    fn view<'a>(&'a self, _: &'a Call) -> JobDocumentView<'a> {
        (&self.document).into()
    }

    fn shown(&self) -> Shown {
        shown(&self.job)
    }
}

/// Read a document of a job
///
/// Returns its metadata, without its content.
#[utoipa::path(get, path = "/2.0/vehicles/{id}/jobs/{job_id}/documents/{document_id}", tag = "jobs",
    security(("bearer" = ["vehicle-jobs:read"])),
    params(IdParameter, JobIdParameter, DocumentIdParameter, FieldsParameter),
    responses((status = 200, description = "The document", body = Envelope<JobDocumentView<'static>>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_job_not_found`, `vehicle_job_document_not_found`")))]
async fn read_vehicle_job_document(call: Call) -> Result<Reply, ApiError> {
    let rendering = Rendering {
        view: View::Full,
        fields: call.fields()?,
    };
    let (job, document) = found(&call).await?;
    // A document has no version of its own: a change of it is a change of the job.
    call.record(state_of(&job), &rendering, &JobDocumentView::from(&document))
}

/// Download a document of a job
#[utoipa::path(get, path = "/2.0/vehicles/{id}/jobs/{job_id}/documents/{document_id}/download", tag = "jobs",
    security(("bearer" = ["vehicle-jobs:read"])),
    params(IdParameter, JobIdParameter, DocumentIdParameter, FieldsParameter),
    responses((status = 200, description = "The document with its content", body = Envelope<DocumentDownload>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_job_not_found`, `vehicle_job_document_not_found`")))]
async fn download_vehicle_job_document(call: Call) -> Result<Answer, ApiError> {
    let fields = call.fields()?;
    let (_, JobDocument { id, name, file, .. }) = found(&call).await?;
    download(&call, fields.as_ref(), id.to_string(), name, &file).await
}

/// Returns the job and the document that the path names.
async fn found(call: &Call) -> Result<(Job, JobDocument), ApiError> {
    let mut session = call.read().await?;
    let absent = Code::VEHICLE_JOB_DOCUMENT_NOT_FOUND;
    let (vehicle, job, document) = part_of(call, session.as_mut(), absent).await?;
    Ok(jobs::read_document(session.as_mut(), &call.caller, vehicle, job.id, document).await?)
}

/// Delete a document of a job
///
/// Its file is deleted too.
#[utoipa::path(delete, path = "/2.0/vehicles/{id}/jobs/{job_id}/documents/{document_id}", tag = "jobs",
    security(("bearer" = ["vehicle-jobs:delete"])), params(IdParameter, JobIdParameter, DocumentIdParameter),
    responses((status = 200, description = "The document is gone", body = Envelope<DeletedDocument>),
        (status = 404, description = "`vehicle_not_found`, `vehicle_job_not_found`, `vehicle_job_document_not_found`")))]
async fn delete_vehicle_job_document(call: Call) -> Result<Reply, ApiError> {
    let gone = RefCell::new(Vec::new());
    let reply = call.write(Ok(()), async |session: &mut dyn Session, ()| {
        let absent = Code::VEHICLE_JOB_DOCUMENT_NOT_FOUND;
        let (vehicle, job, document) = part_of(&call, session, absent).await?;
        let clock = call.clock().as_ref();
        let files = jobs::delete_document(session, clock, &call.caller, vehicle, job, document).await?;
        gone.replace(files);
        Reply::ok(&DeletedDocument {
            id: document.to_string(),
            deleted: true,
        })
    });
    let reply = reply.await?;
    call.discard(&gone.into_inner()).await;
    Ok(reply)
}

parameters! {
    path DocumentIdParameter;

    /// Document id.
    document_id: DocumentId;
}
